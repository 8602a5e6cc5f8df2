"""Refuses a mechanism whose likelihoods are not those of what it draws; part of the contract suite.

The mechanism rewrites one text of each of many pairs, and the likelihood attack names the likelier one. If
the likelihoods are right, every guess is right with the probability that they give it. That is tested exactly
(`tedaudit.estimators.likelihood_check`), with fixed keys: the same mechanism always gets the same answer.

It is done at an epsilon at which that probability is .6 to .95 on average. A loss above about 10 is almost
never followed by a wrong guess, so that no sample can check its scale: what is right where losses are small
is believed where they are large. Nor is a likelihood found that is right for a part of the release and leaves
out the rest: `results.run_notes` finds it if an attack makes more of the whole.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.attacks.likelihood import Likelihood
from tedaudit.attacks.text_likelihood import TextLikelihood
from tedaudit.errors import ContractError
from tedaudit.estimators.likelihood_check import ERROR, calibration_p, posteriors, success_tails
from tedaudit.plugins.batches import Rewrites
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.protocols import (
    HasLatent,
    HasLikelihood,
    HasOwnEpsilons,
    can_compare,
)
from tedaudit.plugins.registry import Reference
from tedaudit.plugins.values import Draw, Floats
from tedaudit.runs.bench import Bench
from tedaudit.runs.likelihood_game import LikelihoodGame
from tedaudit.seeding import derive
from tedaudit.trials.candidates import Sampling
from tedaudit.trials.plan import make_plan

PAIRS = 2_000
_PILOT = 200  # pairs that are looked at to find an epsilon
_RANGE = (0.65, 0.9)  # of the mean posterior in a pilot, so that it is .6 to .95 in the end
_EPSILONS = (1e-3, 1e5)
_STEPS = 24


@dataclass(frozen=True, slots=True)
class _Played:
    """Pairs of texts, one of each rewritten: the losses between them, and if the likelier was the source."""

    epsilon: float
    losses: Floats
    right: npt.NDArray[np.bool_]

    @property
    def mean(self) -> float:
        """The mean posterior of the likelier source."""
        return float(posteriors(self.losses).mean()) if len(self.losses) else 0.5

    @property
    def is_telling(self) -> bool:
        """Whether guesses are often right and often wrong."""
        return _RANGE[0] <= self.mean <= _RANGE[1]

    @property
    def is_blind(self) -> bool:
        """Whether guesses are too seldom right."""
        return self.mean < _RANGE[0]


def check_likelihood(
    mechanism: Any, name: str, texts: Sequence[str], epsilon: float, pairs: int = PAIRS
) -> float | None:
    """Refuse wrong likelihoods, or return the p-value of right ones; None if the mechanism has none."""
    if not isinstance(mechanism, HasLikelihood | HasLatent):
        return None
    game = _Game(mechanism, name, tuple(dict.fromkeys(texts)))
    chosen = _choose_epsilon(game, mechanism, epsilon)
    played = game.play(chosen, pairs, "likelihood")
    p = calibration_p(played.losses, played.right, derive(0, "testing", "redraws"))
    if p <= ERROR:
        method = "log_likelihood" if isinstance(mechanism, HasLikelihood) else "log_density"
        told = played.losses != 0
        promised, right = float(posteriors(played.losses[told]).sum()), int(played.right[told].sum())
        given = f"At epsilon {chosen:.4g} it" if Nominal(chosen).is_given else "It"
        raise ContractError(
            f"'{name}': `{method}` is not that of what it draws. {given} promises "
            f"{promised:,.0f} right guesses among {told.sum():,} pairs of texts, and {right:,} were right: "
            f"p = {p:.4f} (right ones are refused with probability {ERROR}). Look for a wrong sign, for "
            "another epsilon than that of the draws, and for factors left out that depend on the candidate."
        )
    return p


class _Game:
    """Plays pairs of texts, one of each rewritten, with the likelihood attack, as an audit does."""

    def __init__(self, mechanism: Any, name: str, texts: tuple[str, ...]) -> None:
        plugins = (
            Reference("mechanism", name, live=mechanism),
            Reference("attack", "likelihood", live=Likelihood()),
        )
        self._game = LikelihoodGame(Bench(), *plugins, Likelihood.card.sees, texts)

    def play(self, epsilon: float, pairs: int, purpose: str) -> _Played:
        """Return the losses of so many pairs, those without a likelihood left out."""
        sampling = Sampling(2, temperature=0.0)
        plan = make_plan(len(self._game.texts), sampling, range(pairs), derive(0, purpose))
        guesses, rows = self._game.play(plan, Nominal(epsilon), 0, purpose)
        scores = np.asarray(guesses.scores, dtype=np.float64).reshape(-1, 2)[guesses.usable]
        losses = scores[:, 0] - scores[:, 1]
        return _Played(epsilon, losses, (losses > 0) == (plan.secret[rows][guesses.usable] == 0))


def _choose_epsilon(game: _Game, mechanism: Any, epsilon: float) -> float:
    """Return an epsilon at which guesses are neither blind nor always right, or the nearest to it."""
    if isinstance(mechanism, HasOwnEpsilons):
        tried = [game.play(value, _PILOT, "pilot") for value in mechanism.epsilons((epsilon,))]
    else:
        tried = _search(game, epsilon)
    return min(tried, key=lambda played: abs(played.mean - sum(_RANGE) / 2)).epsilon


def _search(game: _Game, epsilon: float) -> list[_Played]:
    """Return what was played at this epsilon, at one end of the range, and between them by bisection."""
    tried = [game.play(epsilon, _PILOT, "pilot")]
    if tried[0].is_telling:
        return tried
    tried.append(game.play(_EPSILONS[tried[0].is_blind], _PILOT, "pilot"))
    low, high = sorted(math.log(played.epsilon) for played in tried)
    if tried[0].is_blind == tried[1].is_blind:  # at any epsilon
        return tried
    while not tried[-1].is_telling and len(tried) < _STEPS:
        middle = (low + high) / 2
        tried.append(game.play(math.exp(middle), _PILOT, "pilot"))
        low, high = (middle, high) if tried[-1].is_blind else (low, middle)
    return tried


# --- Refuses a mechanism whose `compare` contradicts its own likelihoods; part of the contract suite.

_ROUNDING = 1e-5  # of a figure: logits are kept to seven digits


def check_comparison(mechanism: Any, name: str, texts: Sequence[str], epsilon: float) -> None:
    """Hold what `compare` says of neighbouring texts against likelihoods, terms and the largest loss."""
    if not can_compare(mechanism):
        return
    pairs = list(zip(texts, [*texts[1:], *texts[:1]], strict=True))
    done = Rewrites.of(mechanism.rewrite([Draw(text, epsilon, i) for i, (text, _) in enumerate(pairs)]))
    has_tokens = isinstance(mechanism, HasLikelihood)
    released = [rewrite.tokens if has_tokens else rewrite.latent for rewrite in done]
    given = [i for i, part in enumerate(released) if part is not None and not done.errors[i]]
    scores, losses = mechanism.compare([released[i] for i in given], [pairs[i] for i in given], epsilon)
    for place, i in enumerate(given):
        if has_tokens:
            own = mechanism.log_likelihood(released[i], pairs[i], epsilon)
        else:
            own = mechanism.log_density(released[i], mechanism.encode(pairs[i]), epsilon)
        _hold(name, np.asarray(scores[place]), np.asarray(own), losses[place])


def _hold(name: str, compared: Any, own: Any, loss: Any) -> None:
    """Refuse one pair's figures that cannot all be true."""
    if not np.allclose(compared, own, rtol=_ROUNDING, atol=_ROUNDING):
        raise ContractError(
            f"'{name}': `compare` gives a pair of texts the log-likelihoods {compared.tolist()}, and "
            f"`log_likelihood` or `log_density` gives {own.tolist()}; they must be the same."
        )
    size = _ROUNDING * (1 + float(np.abs(np.where(np.isfinite(own), own, 0.0)).max()))
    with np.errstate(invalid="ignore"):
        gap = float(own[0] - own[1])
    if loss.terms is not None and not abs(float(np.sum(loss.terms)) - gap) <= size:
        raise ContractError(
            f"'{name}': the terms of a pair add up to {float(np.sum(loss.terms)):.6g}, and its "
            f"log-likelihoods differ by {gap:.6g}; they must be the same."
        )
    if abs(gap) > loss.largest + size:  # never if the largest loss is not known
        raise ContractError(
            f"'{name}': an output has a loss of {abs(gap):.6g}, above the {loss.largest:.6g} that `compare` "
            "calls the largest of any."
        )


# --- Refuses a mechanism whose probabilities of texts are wrong; part of the contract suite.
#
# A text is at least as probable as the draw that was written as it. And if a text is rewritten twice, the
# second rewrite equals the first with the probability of that text: a likelihood that leaves out draws, or
# half of what texts tell, promises other equals than there are.

_TWICE = (0.1, 0.9)  # of the mean probability of a text: elsewhere equals say little
_FACTORS = (1.0, 4.0, 16.0, 64.0, 256.0, 1 / 4, 1 / 16)  # of the epsilon, tried in this order
_FEW = 40  # texts that are rewritten to find an epsilon


def check_text_likelihood(
    mechanism: Any, name: str, texts: Sequence[str], epsilon: float, draws: int
) -> None:
    """Refuse probabilities of texts below those of draws, or that equal rewrites do not fit."""
    if TextLikelihood().unfit(mechanism):
        return
    own = mechanism.epsilons((epsilon,)) if isinstance(mechanism, HasOwnEpsilons) else ()
    for value in own or [factor * epsilon for factor in _FACTORS]:
        twice = _Twice.play(mechanism, texts, value, _FEW)
        if twice is None:
            return
        twice.hold_draws(mechanism, name)
        if _TWICE[0] <= float(np.exp(twice.upper).mean()) <= _TWICE[1]:
            whole = _Twice.play(mechanism, texts, value, draws)
            if whole is not None:
                whole.hold_equals(name)
            return


@dataclass(frozen=True)
class _Twice:
    """Texts that were rewritten twice, and both ends of how probable the first rewrites are for them."""

    epsilon: float
    texts: Sequence[str]
    first: Rewrites
    second: Rewrites
    lower: Floats
    upper: Floats

    @classmethod
    def play(cls, mechanism: Any, texts: Sequence[str], epsilon: float, draws: int) -> "_Twice | None":
        """Rewrite; None if that fails, or if the mechanism has a score in place of a probability."""
        chosen = [texts[i % len(texts)] for i in range(draws)]
        asked = [Draw(text, epsilon, derive(0, "twice", i)) for i, text in enumerate(chosen * 2)]
        done = Rewrites.of(mechanism.rewrite(asked))
        given = [i for i in range(draws) if not done.errors[i] and not done.errors[draws + i]]
        if not given:
            return None
        first, second = done[given], done[[draws + i for i in given]]
        sources = [chosen[i] for i in given]
        found = mechanism.text_log_likelihood(first.texts, [[text] for text in sources], epsilon)
        if found.lower is None or found.upper is None:
            return None
        return cls(
            epsilon=epsilon,
            texts=sources,
            first=first,
            second=second,
            lower=np.concatenate(found.lower),
            upper=np.concatenate(found.upper),
        )

    def hold_draws(self, mechanism: Any, name: str) -> None:
        """Refuse a text that is less probable than the draw that was written as it."""
        if not isinstance(mechanism, HasLikelihood):
            return
        for i, text in enumerate(self.texts):
            tokens = self.first[i].tokens
            if tokens is None:
                continue
            drawn = float(mechanism.log_likelihood(tokens, [text], self.epsilon)[0])
            if self.upper[i] < drawn - _ROUNDING * (1 + abs(drawn)):
                raise ContractError(
                    f"'{name}': `text_log_likelihood` gives a text {self.upper[i]:.6g}, and `log_likelihood` "
                    f"gives the draw that was written as it {drawn:.6g}. A text is at least as probable as "
                    "each of its draws: look for draws that are left out."
                )

    def hold_equals(self, name: str) -> None:
        """Refuse probabilities by which rewrites would be equal more often, or more seldom."""
        equal = sum(a == b for a, b in zip(self.first.texts, self.second.texts, strict=True))
        promised = [float(np.exp(end).mean()) for end in (self.lower, self.upper)]
        below = success_tails(promised[0], len(self.texts), equal)[0]
        above = success_tails(min(1.0, promised[1]), len(self.texts), equal)[1]
        if min(below, above) <= ERROR / 2:
            raise ContractError(
                f"'{name}': `text_log_likelihood` is not that of what it writes. At epsilon "
                f"{self.epsilon:.4g} it promises that {promised[0] * len(self.texts):,.0f} of "
                f"{len(self.texts):,} rewrites are the same when made again, and {equal:,} were: "
                f"p = {2 * min(below, above):.4f} (right ones are refused with probability {ERROR})."
            )
