"""Attacks that each break one rule of the contract suite: each must be caught, with the right words."""

import gc
import inspect
import random

import numpy as np
import pytest

from rule_keepers import Overlap, refusal
from tedaudit.plugins.batches import Observations
from tedaudit.plugins.values import Guess, Plan
from tedaudit.testing import ORDINARY, check_attack


class TooFewScores(Overlap):
    def scores(self, observation):
        return super().scores(observation)[:-1]


class OneScoreForAll(Overlap):
    def scores(self, observation):
        return np.float64(1.0)


class ScoreIsNan(Overlap):
    def scores(self, observation):
        return super().scores(observation) / len(observation.output.text.split() or [0]) * np.nan


class SilentNan(Overlap):
    def guess(self, seen):
        return [Guess(np.full(len(observation.candidates), np.nan), usable=False) for observation in seen]


class ScoreIsInfinite(Overlap):
    def scores(self, observation):
        with np.errstate(divide="ignore"):
            return np.log(super().scores(observation))


class ScoresAreWords(Overlap):
    def scores(self, observation):
        return ["likely"] * len(observation.candidates)


class PlacesAreWords(Overlap):
    def guess(self, seen):
        places = ["first", "second"]
        return [Guess(self.scores(observation), shown=places) for observation in seen]


class DropsAGuess(Overlap):
    def guess(self, seen):
        return super().guess(seen)[1:] if len(seen) > 1 else super().guess(seen)


class ReordersGuesses(Overlap):
    def guess(self, seen):
        return super().guess(seen)[::-1]


class ScoresByBatch(Overlap):
    def guess(self, seen):
        common = set.intersection(*(set(observation.output.text.split()) for observation in seen))
        return [Guess(self.scores(observation) + len(common)) for observation in seen]


class LikesTheFirst(Overlap):
    def scores(self, observation):
        return super().scores(observation) + 0.001 * (np.arange(len(observation.candidates)) == 0)


class LikesTheFirstOfAll(Overlap):
    """Depends on the order only where the candidates are the whole pool."""

    def scores(self, observation):
        many = len(observation.candidates) == len(ORDINARY)
        return super().scores(observation) + many * 0.001 * (np.arange(len(observation.candidates)) == 0)


class OwnCoins(Overlap):
    def scores(self, observation):
        return super().scores(observation) + np.random.default_rng().random()


class GlobalCoins(Overlap):
    def scores(self, observation):
        return super().scores(observation) + 0 * random.random()


class RaisesOnEmptyOutput(Overlap):
    def scores(self, observation):
        assert observation.output.text[0]
        return super().scores(observation)


class ReadsTheSecret(Overlap):
    def scores(self, observation):
        return super().scores(observation) + observation.secret


class ReadsTheSecretIfThereIsOne(Overlap):
    def scores(self, observation):
        return super().scores(observation) + getattr(observation, "secret", 0)


class ReadsTheKeyIfThereIsOne(Overlap):
    def scores(self, observation):
        return super().scores(observation) + (0 if not hasattr(observation, "draw_key") else 1)


class LooksAtFrames(Overlap):
    """Walks up the stack until it finds a plan."""

    def guess(self, seen):
        frame = inspect.currentframe()
        while frame is not None and not isinstance(frame.f_locals.get("plan"), Plan):
            frame = frame.f_back
        if frame is None:
            return super().guess(seen)
        secret = int(frame.f_locals["plan"].secret[0])
        return [Guess(np.eye(len(observation.candidates))[secret]) for observation in seen]


class LooksAtNames(Overlap):
    """Takes any local variable that is called a secret."""

    def guess(self, seen):
        found = [info.frame.f_locals["secret"] for info in inspect.stack() if "secret" in info.frame.f_locals]
        return [Guess(np.eye(len(observation.candidates))[found[0] if found else 0]) for observation in seen]


class ReadsASecretColumn(Overlap):
    """Asks a batch held as columns for one that it does not have."""

    def guess(self, seen):
        if isinstance(seen, Observations):
            getattr(seen, "secret", None)
        return super().guess(seen)


class FirstRowForAll(Overlap):
    """Is wrong only on batches that are held as columns."""

    def guess(self, seen):
        done = super().guess(seen)
        return [done[0]] * len(done) if isinstance(seen, Observations) and len(seen) > 1 else done


class AsksTheCollector(Overlap):
    """Looks for plans among all objects that are alive."""

    def guess(self, seen):
        gc.collect()  # no plan of another test that is dying
        plans = [found for found in gc.get_objects() if type(found) is Plan and len(found)]
        bonus = sum(int(plan.secret.sum()) for plan in plans)
        return [Guess(self.scores(observation) + bonus) for observation in seen]


BAD_ATTACKS = [
    (TooFewScores, "returned scores of shape (1,) for 2 candidates"),
    (OneScoreForAll, "returned scores of shape () for 2 candidates"),
    (ScoreIsNan, "a score that is not a number"),
    (SilentNan, "that is not finite"),
    (ScoreIsInfinite, "that is not finite"),
    (ScoresAreWords, "a score that is not a number"),
    (PlacesAreWords, "`shown` a whole number per candidate"),
    (DropsAGuess, "On a batch of 14: 'overlap' was given 14 items and returned"),
    (ReordersGuesses, "does not keep the order"),
    (ScoresByBatch, "in a whole batch than alone"),
    (LikesTheFirst, "another place among the candidates"),
    (LikesTheFirstOfAll, "another place among the candidates"),
    (OwnCoins, "must come from the observation's tie_key"),
    (GlobalCoins, "the global generator of random"),
    (RaisesOnEmptyOutput, "On the output '': 'overlap' raised IndexError"),
    (ReadsTheSecret, "asks an observation for `secret`"),
    (ReadsTheSecretIfThereIsOne, "asks an observation for `secret`"),
    (ReadsTheKeyIfThereIsOne, "asks an observation for `draw_key`"),
    (ReadsASecretColumn, "asks an observation for `secret`"),
    (FirstRowForAll, "in a batch held as columns than alone"),
    (LooksAtFrames, "it looks at what no adversary can see"),
    (LooksAtNames, "it looks at what no adversary can see"),
    (AsksTheCollector, "it looks at what no adversary can see"),
]


@pytest.mark.usefixtures("_young_heap")
@pytest.mark.parametrize(("attack", "message"), BAD_ATTACKS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_bad_attack_is_caught(attack, message):
    assert message in refusal(check_attack, attack())
