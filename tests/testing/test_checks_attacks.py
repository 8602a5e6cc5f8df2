"""The contract suite on attacks: what they may do, what they are shown, and what they must say."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from rule_keepers import Overlap, refusal
from tedaudit.errors import SpecError
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.batches import Guesses, Observations
from tedaudit.plugins.values import Card, Guess, Rewrite
from tedaudit.seeding import normals, uniforms
from tedaudit.testing import ODD, ORDINARY, check_attack


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
