"""Probabilities of joined texts, against every list of words that slots can write."""

import math
import random
from collections import defaultdict
from itertools import product

import numpy as np
import pytest

from tedaudit.mechanisms import _text_lattice
from tedaudit.mechanisms._text_lattice import (
    Wordlist,
    add_logarithms,
    add_up_draws,
    build_lattice,
    find_room,
    takes_space,
)
from tedaudit.models.triples.treebank import join_run, join_words

VOCABULARIES = [
    ("can", "not", "n't", "'s", "cannot"),
    ("``", "''", "'", '"', "x"),
    ("'", "''''", "!!", "'\""),  # a quote that is eaten over any number of empty words
    ("'", ",", "''", '"', ",'"),  # the swap of two closing quotes
    ("(", "$", "((", "a b", ")"),
    ("gon", "na", "wan", "--", "home"),
    (".", "..", "...", "!", "!!"),
    ("''''", ".'", '"', "..'"),
    ("\ufffd", "e-mail", "flight", ":", "3.88"),
]


SIGNS = [
    "'", "''", "``", '"', "\"'", "'s", "''s", ".", "...", "!", ",", "--", "(", "]", "?!", ".'", "x", "a b",
    "n't", "can", "not", "$", "''.", "_", "d", "'ye", "%", "#1", ":", ";", "-", "<", "&", "is", "'t", "5%",
    "N'T", "x.",
]  # fmt: skip


def add_up_all(vocabulary, weights, keeps_empty):
    """Return the probability of every text by listing what slots write; the last weight is for nothing."""
    found = defaultdict(list)
    for drawn in product(range(len(vocabulary) + 1), repeat=len(weights)):
        words = [(*vocabulary, "")[item] for item in drawn]
        text = join_words([word for word in words if word or keeps_empty])
        found[text].append(math.prod(row[item] for row, item in zip(weights, drawn, strict=True)))
    return {text: math.fsum(parts) for text, parts in found.items()}


def score_all(texts, vocabulary, weights, keeps_empty):
    words = Wordlist([*vocabulary, *[""] * keeps_empty])
    parts = []
    for text in texts:
        lattice = build_lattice(text, [words], len(weights))
        logs = np.log(weights[:, [(*vocabulary, "").index(word) for word in lattice.words]])
        nothing = np.full(len(weights), -math.inf) if keeps_empty else np.log(weights[:, -1])
        parts.append((lattice, np.column_stack([logs, nothing])))
    return np.exp(add_up_draws(parts))


def check_all(vocabulary, slots, keeps_empty):
    weights = np.random.default_rng(slots).dirichlet(np.ones(len(vocabulary) + 1), slots)
    known = add_up_all(vocabulary, weights, keeps_empty)
    found = score_all(known, vocabulary, weights, keeps_empty)
    assert found == pytest.approx(list(known.values()), rel=1e-9), vocabulary
    assert math.fsum(found) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("keeps_empty", [False, True])
@pytest.mark.parametrize("vocabulary", VOCABULARIES, ids=" ".join)
def test_every_text_has_the_probability_of_all_draws_that_give_it(vocabulary, keeps_empty, is_thorough):
    check_all(vocabulary, 4 if is_thorough else 3, keeps_empty)


@pytest.mark.parametrize("keeps_empty", [False, True])
@pytest.mark.parametrize("vocabulary", [("!!", "!"), ("'", "''''"), (".'", '"'), ("'s", "not")], ids=" ".join)
def test_it_has_so_in_runs_that_are_longer_than_what_is_told_apart(vocabulary, keeps_empty):
    check_all(vocabulary, _text_lattice._REACH + 2, keeps_empty)


def test_what_one_word_has_taken_from_the_next_is_not_forgotten():
    """Two runs look alike up to a point, and one of them has used up what a rule looks at."""
    assert join_words(['"', "''''", ".'"]) == join_words(["''''", '"', ".'"])
    assert join_words(['"', "''''", ".'", ".'"]) != join_words(["''''", '"', ".'", ".'"])
    check_all(("''''", ".'", '"'), 4, keeps_empty=False)


@pytest.mark.parametrize("vocabulary", [(")",), ("--",), ("``", "("), ("...",), ("$", "!")], ids=" ".join)
def test_it_has_so_if_most_words_are_empty_and_rules_take_spaces_away(vocabulary):
    check_all((*vocabulary, "x"), 5, keeps_empty=True)


@pytest.mark.parametrize("empty", [1, 3])
def test_rules_take_no_more_of_several_spaces_than_is_said(empty):
    """One for each word that is a sign at that end; before a quote all of them."""
    taken = set()
    for first, second in product(SIGNS, SIGNS):
        if second[0] not in _text_lattice._QUOTES:
            joined = join_run((first, *[""] * empty, second), True, True)
            left = joined[: joined.rindex(second)]
            spaces = len(left) - len(left.rstrip())
            assert find_room(spaces, second[0]) + takes_space(first[-1]) >= empty + 1, (first, second)
            taken.add(empty + 1 - spaces)
    assert taken == {0, 1, 2}


def test_it_has_so_for_vocabularies_drawn_by_chance(is_thorough):
    chance = random.Random(5)
    for _ in range(200 if is_thorough else 8):
        check_all(tuple(chance.sample(SIGNS, 4)), 4 if is_thorough else 3, chance.random() < 0.5)


def test_a_long_run_of_marks_is_cut_in_all_ways_without_listing_them():
    """Thirty exclamation marks in words of one to three: as many ways as the recurrence says."""
    words, slots = Wordlist(["!", "!!", "!!!"]), 30
    lattice = build_lattice("!" * 30, [words], slots)
    weights = np.zeros((slots, 4))
    ways = np.zeros((31, 31), dtype=object)  # by words and marks
    ways[0, 0] = 1
    for count in range(1, 31):
        for marks in range(1, 31):
            ways[count, marks] = sum(ways[count - 1, marks - size] for size in (1, 2, 3) if size <= marks)
    expected = sum(math.comb(slots, count) * ways[count, 30] for count in range(31))
    assert add_up_draws([(lattice, weights)])[0] == pytest.approx(math.log(expected), rel=1e-12)


def test_a_text_that_no_words_are_joined_to_has_no_way():
    words = Wordlist(["a", "flight", ","])
    for text in ("a  flight", "a ,", "flights", " a", "a,,b", ","):
        possible = text == ","
        lattice = build_lattice(text, [words], 4)
        weights = np.zeros((4, len(lattice.words) + 1))
        assert bool(lattice.nodes) is possible
        assert np.isfinite(add_up_draws([(lattice, weights)])[0]) == possible


def test_texts_are_added_up_alone_as_with_others_and_in_parts(monkeypatch):
    words = Wordlist(["a", "b", "c,", ","])
    parts = []
    for seed, text in enumerate(["a b", "", "a, b c,", "zzz", "b"]):
        lattice = build_lattice(text, [words], 6)
        shape = (seed + 1, len(lattice.words) + 1)
        parts.append((lattice, np.random.default_rng(seed).normal(size=shape)))
    together = add_up_draws(parts)
    assert np.isfinite(together).tolist() == [False, True, False, False, True]  # two words in one slot
    assert together.tolist() == [add_up_draws([part])[0] for part in parts]
    monkeypatch.setattr(_text_lattice, "_CELLS", 1)
    assert add_up_draws(parts).tolist() == together.tolist()
    assert add_up_draws([]).tolist() == []


def test_probabilities_far_below_those_of_floats_are_added_up():
    lattice = build_lattice("a", [Wordlist(["a"])], 2)
    found = add_up_draws([(lattice, np.array([[-2000.0, -3000.0], [-1500.0, -2500.0]]))])
    assert found[0] == pytest.approx(np.logaddexp(-2000 - 2500, -3000 - 1500))
    values = np.array([[-np.inf, -np.inf, 0.0, -800.0]])
    assert add_logarithms(values, np.array([0, 2])).tolist() == [[-np.inf, 0.0]]
