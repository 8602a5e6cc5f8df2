"""Randomised response, by enumeration: draws, claim and scores agree exactly."""

import itertools
import math
import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, chisquare

from tedaudit.errors import SpecError
from tedaudit.mechanisms import word_rr
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.values import Draw
from tedaudit.seeding import derive, rare, uniforms

TINY = WordRR(slots=2, vocabulary=("yes", "no"))
TEXTS = ["", "yes", "no", "yes yes", "yes no", "no yes", "no no", "maybe yes"]
EPSILONS = [1e-6, 0.5, 1.0, 4.0, 20.0, 73.0, 300.0]
SEQUENCES = list(itertools.product(range(3), repeat=2))


def draws(text, epsilon, count, seed=0):
    return [Draw(text, epsilon, derive(seed, i)) for i in range(count)]


def slot_distribution(mechanism, epsilon, size):
    """Return P(item out | item in) of one slot as the sampler draws it: kept, or uniform over all items."""
    noise = mechanism.noise_probability(epsilon)
    return noise / size + (1 - noise) * np.eye(size)


def definition(epsilon, size):
    """Return P(item out | item in) of k-ary randomised response: e^epsilon against 1."""
    small = math.exp(-epsilon)
    return np.where(np.eye(size, dtype=bool), 1.0, small) / (1 + (size - 1) * small)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("words", [1, 2, 30])
def test_one_slot_is_randomised_response_by_definition(epsilon, words):
    mechanism = WordRR(slots=1, vocabulary=tuple(f"w{i}" for i in range(words)))
    found = slot_distribution(mechanism, epsilon, words + 1)
    assert found == pytest.approx(definition(epsilon, words + 1), rel=1e-12, abs=0)
    assert found.sum(axis=1) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_two_inputs_are_further_apart_than_epsilon_and_some_are_exactly_that_far(epsilon):
    noise = Fraction(TINY.noise_probability(epsilon))
    other, same = noise / 3, noise / 3 + 1 - noise
    ratio = math.log(same.numerator * other.denominator) - math.log(same.denominator * other.numerator)
    assert ratio == pytest.approx(epsilon, rel=1e-9)
    whole = slot_distribution(TINY, epsilon, 3)
    for one, another, out in itertools.product(range(3), repeat=3):
        assert math.log(whole[one, out] / whole[another, out]) <= epsilon * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 1.0, 4.0, 20.0, 300.0, 700.0, 1000.0])
def test_the_likelihoods_of_all_sequences_sum_to_one(epsilon):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = np.array([TINY.log_likelihood(sequence, TEXTS, epsilon) for sequence in SEQUENCES])
    assert np.isfinite(table).all()
    assert np.exp(table).sum(axis=0) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_likelihood_is_the_probability_with_which_the_sampler_draws(epsilon):
    slot = slot_distribution(TINY, epsilon, 3)
    items = {"yes": 1, "no": 2}
    for text in TEXTS:
        original = ([items.get(word, 0) for word in text.split()] + [0, 0])[:2]
        for sequence in SEQUENCES:
            expected = sum(math.log(slot[a, b]) for a, b in zip(original, sequence, strict=True))
            assert TINY.log_likelihood(sequence, [text], epsilon)[0] == pytest.approx(
                expected, rel=1e-9, abs=1e-12
            )


@pytest.mark.parametrize("epsilon", [0.5, 4.0, 300.0, 700.0, 1000.0])
def test_the_whole_claim_is_reached_by_two_texts_and_by_no_two_exceeded(epsilon):
    claim = TINY.claim(epsilon)
    assert (claim.epsilon, claim.unit, claim.max_units, claim.total) == (epsilon, "word", 2, 2 * epsilon)
    table = np.array([TINY.log_likelihood(sequence, TEXTS, epsilon) for sequence in SEQUENCES])
    loss = table[:, :, None] - table[:, None, :]
    assert loss.max() == pytest.approx(claim.total, rel=1e-12)
    assert loss.max() <= claim.total * (1 + 1e-12)


def test_the_sampler_draws_with_those_probabilities():
    epsilon, count = 1.0, 20_000
    released = [rewrite.tokens for rewrite in TINY.rewrite(draws("yes no", epsilon, count))]
    for sequence in SEQUENCES:
        probability = math.exp(TINY.log_likelihood(sequence, ["yes no"], epsilon)[0])
        low, high = binom.ppf([1e-9, 1 - 1e-9], count, probability)
        assert low <= released.count(sequence) <= high


def test_noise_and_the_word_drawn_come_from_different_positions_of_the_key():
    sample = draws("yes no", 1.0, 500)
    keys = [draw.key for draw in sample]
    noise = rare(keys, 2, TINY.noise_probability(1.0))
    drawn = (uniforms(keys, 2, start=4) * 3).astype(int)
    expected = np.where(noise, drawn, [1, 2])
    assert [rewrite.tokens for rewrite in TINY.rewrite(sample)] == [tuple(row) for row in expected.tolist()]


@pytest.mark.parametrize("epsilon", [1e-6, 700.0, 745.0, 746.0, 1000.0, 1e6])
def test_no_epsilon_overflows_and_every_claim_that_is_finite_leaves_noise_possible(epsilon):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        probability = TINY.noise_probability(epsilon)
        rewrites = TINY.rewrite(draws("yes no", epsilon, 200))
    assert 0 < probability <= 1
    if epsilon >= 700:
        assert {rewrite.text for rewrite in rewrites} == {"yes no"}
    else:
        assert probability == pytest.approx(1.0, abs=1e-5)
        assert len({rewrite.text for rewrite in rewrites}) > 4


def test_epsilons_share_their_noise_so_that_more_epsilon_keeps_more_words():
    grid = [0.1, 0.5, 1.0, 2.0, 4.0, 8.0]
    mechanism = WordRR(slots=6, vocabulary=tuple("abcdefghij"))
    text = "a b c d e f"
    original = mechanism.rewrite([Draw(text, 1000.0, 0)])[0].tokens
    for key in range(100):
        released = mechanism.rewrite([Draw(text, epsilon, derive(1, key)) for epsilon in grid])
        for less, more in itertools.pairwise(rewrite.tokens for rewrite in released):
            for a, b, word in zip(less, more, original, strict=True):
                assert b in (a, word)  # a slot is what it was, or has become the original


def test_a_batch_of_several_epsilons_is_the_same_as_each_alone():
    batch = [Draw(text, epsilon, derive(2, i)) for i, text in enumerate(TEXTS) for epsilon in (0.5, 3.0)]
    assert TINY.rewrite(batch) == [TINY.rewrite([draw])[0] for draw in batch]
    assert TINY.rewrite(batch[::-1]) == TINY.rewrite(batch)[::-1]
    assert TINY.rewrite([]) == []


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("", (0, 0, 0)),
        ("?! ...", (0, 0, 0)),
        ("yes", (1, 0, 0)),
        ("YES, No!", (1, 2, 0)),
        ("perhaps yes", (0, 1, 0)),
        ("yes no yes no yes", (1, 2, 1)),
        ("don't", (3, 0, 0)),
        ("don\u2019t", (3, 0, 0)),
        ("yes\x00no", (1, 2, 0)),
        ("\U0001f600", (0, 0, 0)),
        ("yes " * 100_000, (1, 1, 1)),
    ],
)
def test_every_text_is_so_many_slots(text, items):
    mechanism = WordRR(slots=3, vocabulary=("yes", "no", "don't"))
    rewrite = mechanism.rewrite([Draw(text, 1000.0, 5)])[0]
    assert rewrite.tokens == items
    assert rewrite.units == 3
    assert rewrite.error == ""
    assert rewrite.text == " ".join(["", "yes", "no", "don't"][item] for item in items if item)


def test_texts_that_fill_their_slots_alike_cannot_be_told_apart():
    mechanism = WordRR(slots=2, vocabulary=("yes", "no"))
    alike = ["yes no", "YES... no?", "yes no and then some"]
    for key in range(50):
        assert len({mechanism.rewrite([Draw(text, 1.0, key)])[0] for text in alike}) == 1


def test_the_vocabulary_is_lower_cased_and_without_blanks_or_repetitions(tmp_path):
    file = tmp_path / "words.txt"
    file.write_text("Yes\n\n no \nyes\nNO\ncaf\u00e9\n", encoding="utf-8")
    from_file, from_list = WordRR(1, str(file)), WordRR(1, ("Yes", " ", "no", "yes", "caf\u00e9"))
    assert from_file.fingerprint() == from_list.fingerprint()
    outputs = {rewrite.text for rewrite in from_file.rewrite(draws("yes", 0.01, 400))}
    assert outputs == {"", "yes", "no", "caf\u00e9"}
    assert WordRR(1, ["b", "a"]).fingerprint() != WordRR(1, ["a", "b"]).fingerprint()


def test_the_public_vocabulary_is_large_distinct_and_can_be_found_in_texts():
    mechanism = WordRR()
    words = mechanism._items[1:]
    assert len(words) > 1000
    assert len(set(words)) == len(words)
    released = mechanism.rewrite([Draw(word.upper(), 1000.0, 0) for word in words])
    assert tuple(rewrite.text for rewrite in released) == words


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"slots": 0}, "slots is 0; it must be 1 or more"),
        ({"slots": -1}, "slots is -1"),
        ({"vocabulary": ()}, "the vocabulary is empty"),
        ({"vocabulary": (" ", "\n")}, "the vocabulary is empty"),
        ({"vocabulary": "no/such/file.txt"}, "cannot read the vocabulary 'no/such/file.txt'"),
    ],
)
def test_what_cannot_work_is_refused(fields, message):
    with pytest.raises(SpecError) as caught:
        WordRR(**fields)
    assert f"'word-rr': {message}" in str(caught.value)


def test_a_vocabulary_file_that_is_not_text_or_is_empty_is_refused(tmp_path):
    binary, empty = tmp_path / "binary.txt", tmp_path / "empty.txt"
    binary.write_bytes(b"\xff\xfe\x00y")
    empty.write_text("\n \n")
    with pytest.raises(SpecError, match="must be a UTF-8 file with one word per line"):
        WordRR(vocabulary=str(binary))
    with pytest.raises(SpecError, match="the vocabulary is empty"):
        WordRR(vocabulary=str(empty))


def test_a_vocabulary_file_that_changes_is_read_again(tmp_path):
    file = tmp_path / "words.txt"
    file.write_text("yes\n")
    before = WordRR(1, str(file)).fingerprint()
    file.write_text("yes\nno\n")
    assert WordRR(1, str(file)).fingerprint() != before


# The likelihood of the text

SPACED = ("red", "new york", "new", "york", "york city", "a  b", "a", "it's")
SOURCES = ("", "red", "red new york", "york new a it's red", "red red red red")


def add_up_texts(mechanism, epsilon):
    """Return the log-probability of every text for each source, by listing all draws."""
    found = {}
    for drawn in itertools.product(range(len(mechanism._items)), repeat=mechanism.slots):
        text = " ".join(mechanism._items[item] for item in drawn if item)
        found.setdefault(text, []).append(mechanism.log_likelihood(drawn, SOURCES, epsilon))
    return {text: np.logaddexp.reduce(rows) for text, rows in found.items()}


@pytest.mark.parametrize("vocabulary", [("red",), ("red", "green", "blue"), SPACED], ids=len)
@pytest.mark.parametrize("slots", [1, 2, 4])
@pytest.mark.parametrize("epsilon", [0.0, 1.3, 60.0, 800.0])
def test_a_text_has_the_probability_of_all_draws_that_give_it(vocabulary, slots, epsilon):
    mechanism = WordRR(slots=slots, vocabulary=vocabulary)
    known = add_up_texts(mechanism, epsilon)
    scores = mechanism.text_log_likelihood(list(known), [SOURCES] * len(known), epsilon)
    assert not scores.is_score
    assert np.array(scores.points) == pytest.approx(np.array(list(known.values())), rel=1e-12, abs=1e-12)
    assert np.exp(scores.points).sum(axis=0) == pytest.approx(np.ones(len(SOURCES)), abs=1e-9)


def test_what_no_draw_gives_is_impossible():
    mechanism = WordRR(slots=2, vocabulary=SPACED)
    texts = ["green", " red", "red ", "red  red", "Red", " ", "red red red", "red " * 99, "york cit", "b"]
    scores = np.array(mechanism.text_log_likelihood(texts, [SOURCES] * len(texts), 3.0).points)
    assert np.isneginf(scores).all()
    assert np.isfinite(mechanism.text_log_likelihood(["new york york city"], [SOURCES], 3.0).points).all()


def test_texts_come_as_often_as_they_are_said_to():
    mechanism, source, count = WordRR(slots=3, vocabulary=("red", "york", "red york")), "york red", 100_000
    texts = list(add_up_texts(mechanism, 1.5))
    seen = Counter(rewrite.text for rewrite in mechanism.rewrite(draws(source, 1.5, count)))
    assert set(seen) <= set(texts)
    scores = mechanism.text_log_likelihood(texts, [[source]] * len(texts), 1.5).points
    assert chisquare([seen[text] for text in texts], count * np.exp(scores).ravel()).pvalue > 0.001


def test_any_number_of_candidates_is_scored_in_any_number_of_parts(monkeypatch):
    mechanism = WordRR(slots=3, vocabulary=SPACED)
    texts, sets = ["red", "new york", "", "red red"], [["red"], [], list(SOURCES), ["a", "red a"]]
    together = mechanism.text_log_likelihood(texts, sets, 2.0).points
    monkeypatch.setattr(word_rr, "_ROWS", 1)
    alone = mechanism.text_log_likelihood(texts, sets, 2.0).points
    assert [row.tolist() for row in alone] == [row.tolist() for row in together]
    assert [len(row) for row in together] == [1, 0, 5, 2]
    assert not len(mechanism.text_log_likelihood([], [], 2.0))
