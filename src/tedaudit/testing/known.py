"""Mechanisms whose answer is known before they are audited, and what an audit makes of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

import numpy as np

from tedaudit.estimators.gdp import find_mu, read_as_gaussian
from tedaudit.plugins.values import Array, Card, Claim, Draw, Floats, Rewrite
from tedaudit.results.findings import AuditResult
from tedaudit.seeding import normals

TEXTS = ("The answer is yes.", "The answer is no.")
"""The two texts that are told apart: with more, pairs that look alike would blur what is known."""
EPSILONS = (0.5, 1.0, 2.0)
MUS = (1.0, 2.0)
ATTACKS = ("lexical", "resample", {"name": "trained", "encoder": "lexical"})
"""The default attacks on any function, with the encoder that every machine has."""
TRIALS = 2_000
ERROR = 0.0025
"""The one-sided error of an audit."""
CLOSE = 0.2
"""How far an estimate may lie from the truth."""


@dataclass(frozen=True, slots=True)
class Known:
    """What an audit found of a mechanism whose truth is known."""

    name: str
    truth: float
    """Its epsilon, or mu of Gaussian noise: infinite if it keeps the text, 0 if it reveals nothing."""
    estimate: float
    """What the share of right guesses stands for."""
    bound: float
    """What is shown, with the error of an audit."""
    right: int
    trials: int
    is_violated: bool = False
    """Whether its claim, which holds, was said to be broken."""

    @property
    def is_right(self) -> bool:
        """Whether the bound is below the truth, and the estimate close to it if it is above 0."""
        if self.is_violated or self.bound > self.truth:
            return False
        return not self.truth or (self.bound > 0 and math.isclose(self.estimate, self.truth, abs_tol=CLOSE))


@dataclass(frozen=True, slots=True)
class SelfTest:
    """What `selftest` found; printed, it is a line for each mechanism."""

    known: tuple[Known, ...]

    @property
    def passed(self) -> bool:
        """Whether the answer was right for every mechanism."""
        return all(known.is_right for known in self.known)

    def __str__(self) -> str:
        right = sum(known.is_right for known in self.known)
        lines = [f"tedaudit's own test: right about {right} of {len(self.known)} mechanisms."]
        lines.append(f"{'mechanism':24}{'truth':>6}{'estimate':>10}{'bound':>7}")
        for known in self.known:
            figures = f"{known.truth:6g}{known.estimate:10.2f}{known.bound:7.2f}"
            lines.append(f"{known.name:24}{figures}  {'right' if known.is_right else 'WRONG'}")
        return "\n".join(lines)


def selftest() -> SelfTest:
    """Audit mechanisms whose answer is known: wherever the tool is wrong about one, it is told.

    What keeps the text must be found, what reveals nothing must not; randomised response must give its exact
    epsilon, and Gaussian noise its mu. Every call makes the same trials.

    >>> selftest().passed
    True
    """
    unrelated = {"constant": "constant", "one of twenty answers": answer_anything, "failures": fail_at_random}
    return SelfTest((
        measure("identity", math.inf, "identity"),
        *(measure(name, 0.0, mechanism) for name, mechanism in unrelated.items()),
        *(measure_response(epsilon) for epsilon in EPSILONS),
        *(measure_gaussian(mu) for mu in MUS),
    ))  # fmt: skip


def audit_known(mechanism: Any, texts: Any, epsilon: float, trials: int, **settings: Any) -> AuditResult:
    """Audit by the default attacks if none is named, and with the encoder that every machine has."""
    from tedaudit.api import audit

    chosen = {"attack": ATTACKS, "encoder": "lexical", "alpha": 2 * ERROR, **settings}
    return audit(mechanism, texts, epsilon=epsilon, trials=trials, announce=lambda _: None, **chosen)


def measure(name: str, truth: float, mechanism: Any, trials: int = TRIALS) -> Known:
    """Audit what keeps the texts of the demo, or what reveals nothing of them and claims 0."""
    result = audit_known(mechanism, {"name": "demo", "size": 100}, 0.0, trials)
    most = max((finding.bound for finding in result), key=lambda bound: bound.point)
    return Known(
        name=name,
        truth=truth,
        estimate=most.point,
        bound=result.eps_emp,
        right=most.correct,
        trials=most.trials,
        is_violated=result.violated,
    )


def measure_response(epsilon: float, trials: int = TRIALS, seed: int = 0) -> Known:
    """Audit randomised response: the lexical attack names what it says, the best that can be done."""
    result = audit_known(answer_randomly, TEXTS, epsilon, trials, seed=seed, attack="lexical")
    [finding] = result
    name, bound = "randomised response", finding.bound
    return Known(
        name=name,
        truth=epsilon,
        estimate=bound.point,
        bound=result.eps_emp,
        right=bound.correct,
        trials=bound.trials,
        is_violated=result.violated,
    )


def measure_gaussian(mu: float, trials: int = TRIALS, seed: int = 0) -> Known:
    """Audit Gaussian noise on a number by the nearest latent, and read it under GDP."""
    attack = {"name": "internal", "distance": "l2"}
    [finding] = audit_known(GaussianBit(mu), TEXTS, 1.0, trials, seed=seed, attack=[attack])
    right, trials = finding.bound.correct, finding.bound.trials
    share, bound = right / trials, read_as_gaussian(right, trials, alpha=2 * ERROR).mu
    return Known(
        name="Gaussian noise, its mu",
        truth=mu,
        estimate=find_mu(share, 1 - share),
        bound=bound,
        right=right,
        trials=trials,
    )


# --- The mechanisms themselves.


def answer_randomly(text: str, seed: int, epsilon: float) -> str:
    """Return one of the two texts by randomised response: its epsilon is exact."""
    is_true = Random(seed).random() < math.exp(epsilon) / (math.exp(epsilon) + 1)
    return text if is_true else TEXTS[1 - TEXTS.index(text)]


def answer_anything(text: str, seed: int) -> str:  # noqa: ARG001
    """Return one of twenty answers, whatever the text."""
    return f"Answer {Random(seed).randrange(20)}."


def fail_at_random(text: str, seed: int) -> str:  # noqa: ARG001
    """Fail in every third call or so, whatever the text."""
    if Random(seed).random() < 0.3:
        raise ValueError("at random")
    return "Thank you for your message."


@dataclass(frozen=True)
class GaussianBit:
    """Adds standard normal noise to a number that differs by `mu` between the two texts."""

    mu: float = 1.0
    card: ClassVar[Card] = Card(
        name="gaussian-bit",
        summary="A number with Gaussian noise.",
        claim="mu-GDP, exactly; none for epsilon alone",
    )

    def claim(self, epsilon: float) -> Claim | None:  # noqa: ARG002 - the noise does not depend on it
        """Promise nothing at delta 0: no epsilon would hold."""
        return None

    def rewrite(self, draws: Sequence[Draw]) -> list[Rewrite]:
        """Release the noisy number."""
        noise = normals([draw.key for draw in draws], 1)
        latents = np.asarray(self.encode([draw.text for draw in draws])) + noise
        return [Rewrite("released", latent=latent) for latent in latents]

    def encode(self, texts: Sequence[str]) -> Array:
        """Return the number of each text."""
        return np.array([[self.mu * TEXTS.index(text)] for text in texts])

    def log_density(self, latent: Array, latents: Sequence[Array] | Array, epsilon: float) -> Floats:  # noqa: ARG002
        """Return the normal log density around each number."""
        distance = np.asarray(latents, dtype=np.float64)[:, 0] - float(latent[0])
        return np.asarray(-0.5 * distance**2 - 0.5 * math.log(math.tau), dtype=np.float64)
