"""The contract suite on attacks that are broken on purpose: each must be caught, with the right words."""

import gc
import inspect
import random
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from rule_keepers import Overlap, refusal
from tedaudit.batches import Guesses, Observations
from tedaudit.errors import SpecError
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.seeding import normals, uniforms
from tedaudit.testing import ODD, ORDINARY, check_attack
from tedaudit.types import Card, Guess, Plan, Rewrite


def test_a_good_attack_passes():
    checked = check_attack(Overlap())
    assert (checked.name, checked.unusable) == ("overlap", 0)
    assert checked.items == 3 * len(ORDINARY) + len(ODD)


def test_an_attack_may_toss_coins_with_its_tie_key():
    class Coins(Overlap):
        def scores(self, observation):
            chance = uniforms([observation.tie_key], 1)[0, 0]
            return super().scores(observation) * chance

    check_attack(Coins())


def test_an_attack_may_say_that_it_has_no_answer():
    class Silent(Overlap):
        def guess(self, seen):
            return [Guess(np.zeros(len(observation.candidates)), usable=False) for observation in seen]

    checked = check_attack(Silent())
    assert checked.unusable == checked.items


def test_an_attack_may_answer_with_columns_to_columns():
    class Columns(Overlap):
        def guess(self, seen):
            batch = Observations.of(seen)
            return Guesses.of([Guess(self.scores(observation)) for observation in batch])

    assert check_attack(Columns()) == check_attack(Overlap())


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


@pytest.fixture
def _young_heap():
    """Hide what other tests have left from the collector: looking through all of it takes long."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("_young_heap")
@pytest.mark.parametrize(("attack", "message"), BAD_ATTACKS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_bad_attack_is_caught(attack, message):
    assert message in refusal(check_attack, attack())


@dataclass
class LatentMechanism:
    """Releases where the text lies, with noise, and a text that says nothing."""

    card: ClassVar[Card] = Card(name="latent-mechanism", summary="Noisy lengths.")

    def claim(self, epsilon):
        return None

    def rewrite(self, draws):
        noise = normals([draw.key for draw in draws], 1)[:, 0]
        return [
            Rewrite("", error="unlucky") if n > 1 else Rewrite("released", latent=np.array([len(d.text) + n]))
            for d, n in zip(draws, noise, strict=True)
        ]


class NearestLength(Overlap):
    card = Card(name="nearest-length", summary="Nearest length.", sees=("latent",))

    def scores(self, observation):
        output = observation.output
        assert (output.text, output.tokens, output.units, output.error) == ("", None, None, "")
        return -np.abs(np.array([len(text) for text in observation.candidates]) - output.latent[0])


def test_an_attack_on_latents_needs_a_mechanism_that_releases_them():
    with pytest.raises(SpecError, match="'nearest-length' sees latent: give check_attack a mechanism"):
        check_attack(NearestLength())


def test_failed_rewrites_reach_no_attack():
    checked = check_attack(NearestLength(), mechanism=LatentMechanism())
    assert 0 < checked.items < 3 * len(ORDINARY)


class ReadsCodes(Overlap):
    """Sees error codes, and answers by them."""

    card = Card(name="reads-codes", summary="Codes.", sees=("text", "error"))

    def scores(self, observation):
        long = np.array([float(len(text)) for text in observation.candidates])
        return long if observation.output.error == "too-long" else super().scores(observation)


def test_failed_rewrites_reach_an_attack_that_sees_their_codes():
    shown = []

    class Remembers(ReadsCodes):
        def scores(self, observation):
            shown.append((observation.output.text, observation.output.error))
            return super().scores(observation)

    assert check_attack(Remembers()).items == 3 * len(ORDINARY) + len(ODD) + 2
    assert {("", "too-long"), ("", "raised-ValueError")} <= set(shown)
    shown.clear()
    assert check_attack(Remembers(), mechanism=LatentMechanism()).items == 3 * len(ORDINARY)
    assert ("", "unlucky") in shown


def test_an_attack_that_cannot_stand_the_codes_that_it_sees_is_caught():
    class Picky(ReadsCodes):
        def scores(self, observation):
            return super().scores(observation) / {"": 1, "too-long": 1}[observation.output.error]

    message = refusal(check_attack, Picky())
    assert (
        "On a rewrite that failed with the code 'raised-ValueError': 'reads-codes' raised KeyErr" in message
    )


def test_an_attack_must_say_what_it_sees():
    class SeesEverything(Overlap):
        card = Card(name="sees-everything", summary="x", sees=("secret",))

    assert "`sees` is ('secret',); it holds one or more of: error, latent, text, tokens" in refusal(
        check_attack, SeesEverything()
    )


def test_an_attack_is_checked_on_the_outputs_of_a_mechanism_if_one_is_given():
    shown = []

    class Remembers(Overlap):
        def scores(self, observation):
            shown.append(observation.output.text)
            return super().scores(observation)

    check_attack(Remembers(), mechanism=WordRR(slots=2, vocabulary=("yes", "no")))
    assert set(shown) <= {"", "yes", "no", "yes yes", "yes no", "no yes", "no no"}


def test_an_attack_is_prepared_before_it_guesses():
    class Prepared(Overlap):
        pool = ()

        def prepare(self, pool):
            self.pool = pool

        def scores(self, observation):
            assert set(observation.candidates) <= set(self.pool)
            return super().scores(observation)

    check_attack(Prepared(), texts=["a b", "b c", "c d", "d e"])


def test_an_attack_needs_three_texts():
    with pytest.raises(SpecError, match="needs 3 texts or more that differ; it was given 2"):
        check_attack(Overlap(), texts=["a", "b", "a"])
