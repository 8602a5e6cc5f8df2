"""The contract suite on mechanisms that are broken on purpose: each must be caught, with the right words."""

import random
from dataclasses import replace

import numpy as np
import pytest

from rule_keepers import Noisy, refusal
from tedaudit.plugins.batches import Draws, Rewrites
from tedaudit.plugins.values import Card, Rewrite
from tedaudit.testing import ODD, ORDINARY, check_mechanism


def test_a_good_mechanism_passes_and_is_reported_as_random():
    checked = check_mechanism(Noisy())
    assert (checked.name, checked.random, checked.unusable) == ("noisy", True, 0)
    assert checked.items == 3 * (len(ORDINARY) + len(ODD))


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


@pytest.mark.parametrize("form", [tuple, Rewrites.of])
def test_a_mechanism_may_answer_with_any_sequence(form):
    class Other(Noisy):
        def rewrite(self, draws):
            return form(super().rewrite(draws))

    assert check_mechanism(Other()) == check_mechanism(Noisy())


@pytest.mark.parametrize("tokens", [[1, 2], (1, 2), np.array([1, 2])])
def test_tokens_may_be_any_sequence_of_whole_numbers(tokens):
    class Tokens(Noisy):
        def one(self, draw):
            return Rewrite("", tokens=tokens)

    check_mechanism(Tokens())


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


class ReleasesWhatFailed(Noisy):
    def one(self, draw):
        return Rewrite(draw.text, error="low-quality") if len(draw.text) > 55 else Rewrite("")


class ReturnsStrings(Noisy):
    def rewrite(self, draws):
        return [draw.text for draw in draws]


class ReturnsAGenerator(Noisy):
    def rewrite(self, draws):
        return (rewrite for rewrite in super().rewrite(draws))


class ReturnsADict(Noisy):
    def rewrite(self, draws):
        return dict(enumerate(super().rewrite(draws)))


class TextIsNone(Noisy):
    def one(self, draw):
        return Rewrite(None)


class TokensAreWords(Noisy):
    def one(self, draw):
        return Rewrite("", tokens=("a", "b"))


class TokensAreFractions(Noisy):
    def one(self, draw):
        return Rewrite("", tokens=(1.5, 2.0))


class UnitsAreAText(Noisy):
    def one(self, draw):
        return Rewrite("", units="two")


class LatentIsAText(Noisy):
    def one(self, draw):
        return Rewrite("", latent="somewhere")


class LatentIsNan(Noisy):
    def one(self, draw):
        return Rewrite("", latent=np.array([1.0, np.nan]))


class ColumnsDiffer(Noisy):
    """Reads columns if there are any, and reads them wrong."""

    def rewrite(self, draws):
        if isinstance(draws, Draws):
            return [self.one(replace(draw, text=draws.texts[0])) for draw in draws]
        return super().rewrite(draws)


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
    (ReleasesWhatFailed, "has both the error code 'low-quality' and a text"),
    (ReturnsStrings, "returned a str instead of a Rewrite"),
    (ReturnsAGenerator, "it must return a sequence with one Rewrite per item"),
    (ReturnsADict, "1 in a dict"),
    (TextIsNone, "whose text is a NoneType"),
    (TokensAreWords, "Tokens must be whole numbers"),
    (TokensAreFractions, "Tokens must be whole numbers"),
    (UnitsAreAText, "units a whole number"),
    (LatentIsAText, "returned a latent that does not hold numbers"),
    (ColumnsDiffer, "in a batch held as columns than alone"),
    (LatentIsNan, "not an array of finite numbers"),
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


def test_the_global_generator_of_torch_is_watched_if_torch_is_loaded():
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
