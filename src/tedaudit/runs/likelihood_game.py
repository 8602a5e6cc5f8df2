"""Trials of an attack that knows the likelihoods of a mechanism, played once and not stored."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tedaudit.estimators.likelihood_check import LIKELIHOOD
from tedaudit.plugins.batches import Guesses, Observations
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.registry import Reference
from tedaudit.plugins.values import Plan
from tedaudit.runs.bench import Bench, GuessChunk, RewriteChunk
from tedaudit.trials.judge import Wanted, make_draws, tie_keys


@dataclass(frozen=True)
class LikelihoodGame:
    """Plays trials with a mechanism and an attack that knows it, as an audit does, and stores nothing."""

    bench: Bench
    mechanism: Reference
    attack: Reference
    sees: Sequence[str]
    texts: Sequence[str]

    def play(
        self, plan: Plan, epsilon: Nominal, seed: int, purpose: str
    ) -> tuple[Guesses, npt.NDArray[np.int64]]:
        """Return the guesses on all outputs but failed ones, and the rows of the plan that they belong to."""
        rows = np.arange(len(plan))
        wanted = Wanted(plan.source, rows.astype(np.int32), np.full(len(plan), float(epsilon)))
        draws = make_draws(self.texts, wanted, seed, purpose)
        order = np.argsort(plan.source, kind="stable")  # draws of the same text together: cheaper
        done = self.bench.perform(RewriteChunk(self.mechanism, draws[order]))
        given = np.flatnonzero(~done.failed)
        rows, keys = order[given], tie_keys(seed, purpose, LIKELIHOOD, range(len(given)))
        outputs = done[given].reveal(self.sees)
        seen = Observations(
            outputs=outputs,
            pool=self.texts,
            candidates=list_candidates(plan, len(self.texts))[rows],
            tie_keys=keys,
        )
        guesses = self.bench.perform(
            GuessChunk(plugin=self.attack, observations=seen, mechanism=self.mechanism, epsilon=epsilon)
        )
        return guesses, rows


def list_candidates(plan: Plan, size: int) -> npt.NDArray[np.int32]:
    """Return the candidates of every row; all texts if the plan names none."""
    if plan.candidates is not None:
        return plan.candidates
    return np.tile(np.arange(size, dtype=np.int32), (len(plan), 1))
