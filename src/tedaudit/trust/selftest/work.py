"""The single pieces of work of the tool's own test: one audit each, with or without the battery.

Each is a function of small values with a small answer, so that other processes can do it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from tedaudit.api import DEFAULT_ATTACKS, audit, load_corpus
from tedaudit.estimators.gdp import read_as_gaussian
from tedaudit.mechanisms.function import Function
from tedaudit.plugins.registry import Reference, build, find
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.trust.leaks.finder import find_leaks
from tedaudit.trust.lint.linter import lint
from tedaudit.trust.planted import known
from tedaudit.trust.planted.flaws import FLAWS, find_flaw
from tedaudit.trust.planted.known import NULLS
from tedaudit.trust.planted.scripts import SCRIPTS, write_texts

ERROR = 0.0025
"""The one-sided error of an audit, and that of a battery beside it."""
_TEXTS = 240


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is done in one piece of work: trials of an audit, and calls that the battery is sized by."""

    trials: int
    battery: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What one attack made of one mechanism."""

    attack: str
    bound: float
    found: bool
    by_certain: bool  # whether its most certain guesses decided, not all of them


@dataclass(frozen=True, slots=True)
class JudgedFlaw:
    """What all parts said of one mechanism on one corpus."""

    name: str
    texts: str
    attacks: tuple[Seen, ...]
    largest: float
    leaks: tuple[str, ...]
    lint: tuple[str, ...] = ()  # rules with a warning or an error, which need no sample

    @property
    def finders(self) -> tuple[str, ...]:
        """The parts that found something."""
        attacks = tuple(seen.attack for seen in self.attacks if seen.found)
        return attacks + (("leaks",) if self.leaks else ())

    @property
    def says_anything(self) -> bool:
        """Whether anything was said: a violation, a bound above 0, a finding."""
        return bool(self.finders) or self.largest > 0


def audit_null(number: int, effort: Effort) -> JudgedFlaw:
    """Audit a rewriter that reveals nothing, on texts of some script, and run the battery on it."""
    null = NULLS[number % len(NULLS)]
    script = (None, *SCRIPTS)[number // len(NULLS) % (1 + len(SCRIPTS))]
    texts = _read_texts(100) if script is None else write_texts(script, 100, number)
    rewriter = partial(null.rewrite)  # which no fresh process can import: that would take most of the time
    return _judge(null.name, script or "demo", Function(rewriter), 0.0, (texts, number), effort)


def audit_flaw(name: str, effort: Effort) -> JudgedFlaw:
    """Audit a planted flaw under its claim, and run the battery on it."""
    flaw = find_flaw(name)
    judged = _judge(name, "demo", flaw.mechanism(), flaw.claim.epsilon, (_read_texts(), 0), effort)
    notes = lint(flaw.mechanism(), epsilons=[flaw.claim.epsilon], texts=()).notes
    return replace(judged, lint=tuple(dict.fromkeys(n.rule for n in notes if n.level != "info")))


def audit_twin(name: str, effort: Effort) -> JudgedFlaw:
    """Audit the repaired twin of a planted flaw, of which nothing may be said."""
    flaw, twin = find_flaw(name), find_flaw(name).twin()
    if twin is None:
        raise ValueError(f"'{name}' has no repaired twin")
    return _judge(f"{name} repaired", "demo", twin, flaw.claim.epsilon, (_read_texts(), 0), effort)


def list_twins(names: Sequence[str]) -> list[str]:
    """Return flaws whose repaired twins are all different: many flaws have the same one."""
    twins = {flaw.repaired(): flaw.name for flaw in FLAWS if flaw.name in names and flaw.repaired}
    return list(twins.values())


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of a mechanism whose truth is known."""

    name: str
    truth: float
    lower: float
    point: float
    right: int
    trials: int


def measure_response(epsilon: float, seed: int, effort: Effort) -> Measured:
    """Audit randomised response: the lexical attack names what it says, the best that can be done."""
    function = Function(known.answer_randomly)
    result = _audit(function, known.TEXTS, epsilon, effort.trials, seed=seed, attack="lexical")
    [finding] = result.findings
    counts = (finding.bound.correct, finding.bound.trials)
    return Measured("randomised response", epsilon, result.eps_emp, finding.bound.point, *counts)


def measure_gaussian(mu: float, seed: int, effort: Effort) -> Measured:
    """Audit Gaussian noise on a number by the nearest latent, and read it under GDP."""
    attack = {"name": "internal", "distance": "l2"}
    result = _audit(known.GaussianBit(mu), known.TEXTS, 1.0, effort.trials, seed=seed, attack=[attack])
    [finding] = result.findings
    right, trials = finding.bound.correct, finding.bound.trials
    lower = read_as_gaussian(right, trials, alpha=2 * ERROR).mu
    return Measured("Gaussian latent", mu, lower, _read_mu(right / trials), right, trials)


def _read_mu(success: float) -> float:
    from scipy.special import ndtri

    return 2 * float(ndtri(success))


def _judge(
    name: str,
    title: str,
    mechanism: Function,
    epsilon: float,
    drawn: tuple[Sequence[str], int],
    effort: Effort,
) -> JudgedFlaw:
    texts, seed = drawn
    result = _audit(mechanism, texts, epsilon, effort.trials, seed=seed)
    attacks = tuple(_describe(finding) for finding in result)
    leaks = find_leaks(
        mechanism, list(texts), epsilon=epsilon or None, claim=epsilon, trials=effort.battery, error=ERROR,
        seed=seed,
    )  # fmt: skip
    names = tuple(dict.fromkeys(finding.name for finding in leaks.findings))
    return JudgedFlaw(name, title, attacks, result.eps_emp, names)


def _describe(finding: Finding) -> Seen:
    by_certain = (
        finding.row is not None and finding.claim is not None and finding.row.decisive_part() is not None
    )
    return Seen(finding.attack, finding.eps_emp, finding.verdict.is_violation, by_certain)


def _audit(mechanism: Any, texts: Sequence[str], epsilon: float, trials: int, **settings: Any) -> AuditResult:
    chosen = {"attack": _attacks(), "encoder": "lexical", "alpha": 2 * ERROR, **settings}
    return audit(mechanism, texts, epsilon=epsilon, trials=trials, announce=lambda _: None, **chosen)


def _attacks() -> list[Mapping[str, Any]]:
    """Return the default attacks on any function, with the encoder that every machine has if they use one."""
    fit = [name for name in DEFAULT_ATTACKS if find("attack", name).card.knows != "its model and settings"]
    return [{"name": name, **({"encoder": "lexical"} if uses_encoder(name) else {})} for name in fit]


def uses_encoder(name: str) -> bool:
    """Return whether an attack has a setting for the encoder that it compares texts with."""
    return any(setting.name == "encoder" for setting in fields(build(Reference("attack", name))))


def _read_texts(size: int = _TEXTS) -> list[str]:
    return list(load_corpus("demo", size=size).texts)
