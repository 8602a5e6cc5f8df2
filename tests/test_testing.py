"""The contract suite on plug-ins that are broken on purpose: each must be caught, with the right words."""

import gc
import inspect
import random
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from tedaudit.errors import ContractError, SpecError
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.seeding import normals, uniforms
from tedaudit.testing import ODD, ORDINARY, check_attack, check_mechanism
from tedaudit.types import Card, Claim, Guess, Plan, Rewrite


class Noisy:
    """A mechanism that keeps every rule: some words go, by the draw's key."""

    card: ClassVar[Card] = Card(name="noisy", summary="Drops words.")

    def claim(self, epsilon):
        return Claim(epsilon, "document")

    def rewrite(self, draws):
        return [self.one(draw) for draw in draws]

    def one(self, draw):
        words = draw.text.split()[:20]
        kept = uniforms([draw.key], len(words))[0] < 0.7
        return Rewrite(" ".join(word for word, keep in zip(words, kept, strict=True) if keep))


class Overlap:
    """An attack that keeps every rule: counts shared words."""

    card: ClassVar[Card] = Card(name="overlap", summary="Shared words.")

    def guess(self, seen):
        return [Guess(self.scores(observation)) for observation in seen]

    def scores(self, observation):
        words = set(observation.output.text.split())
        return np.array([float(len(words & set(text.split()))) for text in observation.candidates])


def refusal(check, plugin, **options):
    with pytest.raises(ContractError) as caught:
        check(plugin, **options)
    return str(caught.value)


def test_a_good_mechanism_passes_and_is_reported_as_random():
    checked = check_mechanism(Noisy())
    assert (checked.name, checked.random, checked.unusable) == ("noisy", True, 0)
    assert checked.items == 3 * (len(ORDINARY) + len(ODD))


def test_a_class_is_built_by_the_suite():
    assert check_mechanism(Noisy) == check_mechanism(Noisy())
    assert check_attack(Overlap) == check_attack(Overlap())


def test_a_mechanism_without_noise_passes_and_is_reported_as_such():
    class Upper(Noisy):
        def one(self, draw):
            return Rewrite(draw.text.upper())

    assert not check_mechanism(Upper()).random


def test_failures_with_a_code_are_counted_and_allowed():
    class Fails(Noisy):
        def one(self, draw):
            return super().one(draw) if draw.text.strip() else Rewrite("", error="no-words")

    assert check_mechanism(Fails()).unusable == 2 * 3


def test_texts_and_epsilon_of_the_author_are_used_besides_the_odd_ones():
    seen = []

    class Remembers(Noisy):
        def one(self, draw):
            seen.append((draw.text, draw.epsilon))
            return super().one(draw)

    check_mechanism(Remembers(), texts=["only this one"], epsilon=3.0)
    assert {text for text, _ in seen} == {"only this one", *ODD.values()}
    assert {epsilon for _, epsilon in seen} == {3.0, 6.0}


class DropsARow(Noisy):
    def rewrite(self, draws):
        return super().rewrite(draws)[: max(1, len(draws) - 1)]


class Reorders(Noisy):
    def rewrite(self, draws):
        return super().rewrite(draws)[::-1]


class SortsByText(Noisy):
    def rewrite(self, draws):
        return super().rewrite(sorted(draws, key=lambda draw: draw.text))


class DependsOnTheBatch(Noisy):
    def rewrite(self, draws):
        first = draws[0].key
        return [self.one(replace(draw, key=(draw.key + first) % 2**128)) for draw in draws]


class NoiseByPlace(Noisy):
    def rewrite(self, draws):
        return [self.one(replace(draw, key=place)) for place, draw in enumerate(draws)]


class OnlyBigBatchesDiffer(Noisy):
    def rewrite(self, draws):
        done = super().rewrite(draws)
        return done if len(draws) != 7 else [replace(one, text=one.text + ".") for one in done]


class OwnGenerator(Noisy):
    def one(self, draw):
        return Rewrite(f"{draw.text} {np.random.default_rng().random()}")


class Counts(Noisy):
    calls = 0

    def one(self, draw):
        self.calls += 1
        return Rewrite(str(self.calls))


class GlobalRandom(Noisy):
    def one(self, draw):
        return Rewrite(draw.text if random.random() < 0.5 else "")


class GlobalNumpy(Noisy):
    def one(self, draw):
        return Rewrite(draw.text if np.random.rand() < 0.5 else "")  # noqa: NPY002


class SeedsTheGlobalGenerator(Noisy):
    def one(self, draw):
        random.seed(draw.key)  # repeatable, but it changes what everybody else draws
        return Rewrite(draw.text if random.random() < 0.5 else "")


class RaisesOnEmpty(Noisy):
    def one(self, draw):
        return Rewrite(draw.text.split()[0])


class RaisesOnLong(Noisy):
    def one(self, draw):
        if len(draw.text) > 2000:
            raise ValueError("too long")
        return super().one(draw)


class LeaksTheText(Noisy):
    def one(self, draw):
        return Rewrite("", error=f"cannot rewrite {draw.text[:20]}") if len(draw.text) > 55 else Rewrite("")


class LeaksAWord(Noisy):
    def one(self, draw):
        words = draw.text.split()
        return Rewrite("", error=f"unknown-word-{words[2]}") if "Lisbon" in words else super().one(draw)


class ReturnsStrings(Noisy):
    def rewrite(self, draws):
        return [draw.text for draw in draws]


class ReturnsATuple(Noisy):
    def rewrite(self, draws):
        return tuple(super().rewrite(draws))


class TextIsNone(Noisy):
    def one(self, draw):
        return Rewrite(None)


class TokensAreAList(Noisy):
    def one(self, draw):
        return Rewrite("", tokens=[1, 2])


class LatentIsNan(Noisy):
    def one(self, draw):
        return Rewrite("", latent=np.array([1.0, np.nan]))


class ChargesTooMuch(Noisy):
    def one(self, draw):
        return Rewrite("", units=2)


class ClaimIsANumber(Noisy):
    def claim(self, epsilon):
        return epsilon


class NameWithCapitals(Noisy):
    card = Card(name="My_Mechanism", summary="x")


class NoSummary(Noisy):
    card = Card(name="noisy", summary=" ")


class NoCard:
    def rewrite(self, draws):
        return []


class NoVerb:
    card = Card(name="no-verb", summary="x")


BAD_MECHANISMS = [
    (DropsARow, "On a batch of 42: 'noisy' was given 42 items and returned"),
    (Reorders, "does not keep the order"),
    (SortsByText, "does not keep the order"),
    (DependsOnTheBatch, "in a whole batch than alone"),
    (NoiseByPlace, "in a whole batch than alone"),
    (OnlyBigBatchesDiffer, "in batches of 7 than alone"),
    (OwnGenerator, "when the same batch comes again. Whatever chance it needs must come from the draw's key"),
    (Counts, "when the same batch comes again"),
    (GlobalRandom, "the global generator of random"),
    (GlobalNumpy, "the global generator of numpy"),
    (SeedsTheGlobalGenerator, "the global generator of random"),
    (RaisesOnEmpty, "On the empty text: 'noisy' raised IndexError"),
    (RaisesOnLong, "On a text of 3,000 words: 'noisy' raised ValueError"),
    (LeaksTheText, "never holds a text"),
    (LeaksAWord, "put 'flight', a word of the text, into the error code 'unknown-word-flight'"),
    (ReturnsStrings, "returned a str where a Rewrite is due"),
    (ReturnsATuple, "1 in a tuple"),
    (TextIsNone, "whose text is a NoneType"),
    (TokensAreAList, "a tuple of whole numbers"),
    (LatentIsNan, "no array of finite numbers"),
    (ChargesTooMuch, "cost 2 units, but claims that there are 1 at most"),
    (ClaimIsANumber, "claim(1) is a float; it must be a tedaudit.Claim"),
    (NameWithCapitals, "its card is named 'My_Mechanism'"),
    (NoSummary, "summary must be one line"),
    (NoCard, "its class needs a `card`"),
    (NoVerb, "a method `rewrite`"),
]


@pytest.mark.parametrize(
    ("mechanism", "message"), BAD_MECHANISMS, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_bad_mechanism_is_caught(mechanism, message):
    assert message in refusal(check_mechanism, mechanism())


@pytest.mark.parametrize("text", sorted(ODD))
def test_an_exception_names_the_odd_text_that_caused_it(text):
    class Picky(Noisy):
        def one(self, draw):
            if draw.text == ODD[text]:
                raise RuntimeError
            return super().one(draw)

    assert f"On {text}: 'noisy' raised RuntimeError" in refusal(check_mechanism, Picky())


def test_construction_is_watched_too():
    class SeedsWhenMade(Noisy):
        def __init__(self):
            np.random.seed(0)  # noqa: NPY002

    assert "the global generator of numpy" in refusal(check_mechanism, SeedsWhenMade)


def test_the_global_generator_of_torch_is_watched_where_torch_is_loaded():
    torch = pytest.importorskip("torch")

    class GlobalTorch(Noisy):
        def one(self, draw):
            return Rewrite(str(float(torch.rand(1))))

    assert "the global generator of torch" in refusal(check_mechanism, GlobalTorch())


def test_a_word_that_codes_hold_anyway_is_no_leak():
    class Fails(Noisy):
        def one(self, draw):
            return Rewrite("", error="left-over") if len(draw.text) < 40 else super().one(draw)

    assert "left" in ODD["control characters"]
    assert check_mechanism(Fails()).unusable


@pytest.mark.parametrize("mechanism", [OwnGenerator, GlobalRandom, GlobalNumpy, Counts])
def test_honest_noise_of_its_own_passes_when_the_author_says_so(mechanism):
    assert check_mechanism(mechanism(), repeatable=False).name == "noisy"


@pytest.mark.parametrize("mechanism", [DropsARow, RaisesOnEmpty, LeaksTheText, TextIsNone, ClaimIsANumber])
def test_what_is_not_about_repeating_is_checked_even_then(mechanism):
    refusal(check_mechanism, mechanism(), repeatable=False)


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


class AsksTheCollector(Overlap):
    """Looks for plans among all objects that are alive."""

    def guess(self, seen):
        plans = [found for found in gc.get_objects() if type(found) is Plan and len(found)]
        bonus = sum(int(plan.secret.sum()) for plan in plans)
        return [Guess(self.scores(observation) + bonus) for observation in seen]


BAD_ATTACKS = [
    (TooFewScores, "returned scores of shape (1,) for 2 candidates"),
    (OneScoreForAll, "returned scores of shape () for 2 candidates"),
    (ScoreIsNan, "a score that is not a number"),
    (SilentNan, "that is not finite"),
    (ScoreIsInfinite, "that is not finite"),
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
    (LooksAtFrames, "it looks where no adversary can"),
    (LooksAtNames, "it looks where no adversary can"),
    (AsksTheCollector, "it looks where no adversary can"),
]


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


def test_an_attack_must_say_what_it_sees():
    class SeesEverything(Overlap):
        card = Card(name="sees-everything", summary="x", sees=("secret",))

    assert "`sees` is ('secret',); it holds one or more of: latent, text, tokens" in refusal(
        check_attack, SeesEverything()
    )


def test_an_attack_is_checked_on_the_outputs_of_a_mechanism_where_one_is_given():
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


def test_the_suite_loads_no_heavy_library():
    heavy = ("torch", "polars", "pydantic", "sklearn", "pytest", "scipy")
    code = f"import sys, tedaudit.testing; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
