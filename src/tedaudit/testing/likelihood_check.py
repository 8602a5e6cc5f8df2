"""Refuses a mechanism whose likelihoods are not those of what it draws; part of the contract suite.

The mechanism rewrites one text of each of many pairs, and the likelihood attack names the likelier one. If
the likelihoods are right, every guess is right with the probability that they give it. That is tested exactly
(`tedaudit.estimators.likelihood_check`), with fixed keys: the same mechanism always gets the same answer.

It is done at an epsilon at which that probability is .6 to .95 on average. A loss above about 10 is almost
never followed by a wrong guess, so that no sample can check its scale: what is right where losses are small
is believed where they are large. Nor is a likelihood found that is right for a part of the release and leaves
out the rest: `results.contradictions` finds it if an attack makes more of the whole.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.abilities import HasLatent, HasLikelihood, HasOwnEpsilons
from tedaudit.attacks.likelihood import Likelihood
from tedaudit.errors import ContractError
from tedaudit.estimators.likelihood_check import ERROR, calibration_p, posteriors
from tedaudit.execution.likelihood_game import LikelihoodGame
from tedaudit.execution.work import Bench
from tedaudit.nominal import Nominal
from tedaudit.plans.candidates import Sampling
from tedaudit.plans.plans import make_plan
from tedaudit.registry import Reference
from tedaudit.seeding import derive
from tedaudit.types import Floats

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
        self._game = LikelihoodGame(Bench().perform, *plugins, Likelihood.card.sees, texts)

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
