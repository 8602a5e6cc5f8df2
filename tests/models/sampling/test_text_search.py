"""The search for draws of a text, with a model that draws every token from the same distribution."""

import itertools

import numpy as np
import pytest

from tedaudit.models.sampling.text_draws import Spellings, TextDraws
from tedaudit.models.sampling.text_search import IMPOSSIBLE, Sought, search

WRITTEN = (b"", b"A", b"AA", b"AAA", b"AAAA", b" ", b"")
END, LIMIT = 0, 5


def reader(chances):
    with np.errstate(divide="ignore"):
        logs = np.log(np.array(chances))
    calls = []

    def read(pairs, asked):
        calls.append([tokens for _, tokens in pairs])
        return [logs[table] for table in asked]

    return read, calls


def believe(drawn):
    return [True] * len(drawn)


def sought(text, limit=LIMIT):
    return Sought(TextDraws.find(text, Spellings.of(WRITTEN), (END,)), (), limit)


def add_up(text, chances):
    """Return the probability of a text from all draws."""
    total = 0.0
    for length in range(1, LIMIT + 1):
        for tokens in itertools.product(range(len(WRITTEN)), repeat=length):
            if END not in tokens[:-1] and (length == LIMIT or tokens[-1] == END):
                is_it = b"".join(WRITTEN[token] for token in tokens).strip() == text.encode()
                total += np.prod([chances[token] for token in tokens]) * is_it
    return total


EVEN = (0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1)
UNEVEN = (0.01, 0.9, 0.03, 0.03, 0.0, 0.02, 0.01)


@pytest.mark.parametrize("chances", [EVEN, UNEVEN], ids=["even", "one is impossible"])
@pytest.mark.parametrize("text", ["", "A", "AAAA", "AA A", "A" * 20])
def test_the_ends_close_in_on_the_probability(text, chances):
    with np.errstate(divide="ignore"):
        truth = np.log(add_up(text, chances))
    before = np.inf
    for budget in (1, 3, 10, 1000):
        read, calls = reader(chances)
        [found] = search([sought(text)], read, believe, budget)
        assert found.lower <= truth + 1e-9 <= found.upper + 2e-9
        assert found.lower <= found.guess
        assert len(calls) <= budget
        assert found.upper <= before + 1e-9
        before = found.upper
    if truth > -np.inf:
        assert found.upper - found.lower <= 0.0101


def test_if_the_first_way_to_finish_is_impossible_others_are_found_soon():
    read, calls = reader(UNEVEN)
    [found] = search([sought("AAAA")], read, believe, 3)
    assert 4 in calls[0][0]  # which is shortest, and impossible
    assert found.lower > -np.inf


def test_nothing_is_read_for_a_text_that_needs_more_tokens_than_there_may_be():
    read, calls = reader(EVEN)
    assert search([sought("A" * 21)], read, believe, 9) == [IMPOSSIBLE]
    assert calls == []


def test_no_draw_is_read_twice_and_none_that_promises_little():
    read, calls = reader((0.97, 0.005, 0.005, 0.005, 0.005, 0.005, 0.005))
    [found] = search([sought("AAAA", 20)], read, believe, 64)
    paths = [path for call in calls for path in call]
    assert len(set(paths)) == len(paths) < 20
    assert found.guess - found.lower < 0.0101


def test_searches_side_by_side_find_what_each_finds_alone():
    texts = ["A" * (1 + i % 7) for i in range(150)]
    read, _ = reader(EVEN)
    together = search([sought(text) for text in texts], read, believe, 5)
    for text, found in zip(texts[:8], together, strict=False):
        assert [found] == search([sought(text)], read, believe, 5)
    assert together[:7] == together[7:14] == together[140:147]


def test_a_draw_is_checked_with_the_number_of_what_is_sought():
    read, _ = reader(EVEN)
    few = [sought("A")] * 70
    found = search(few, read, lambda drawn: [number == 69 for number, _ in drawn], 500)
    assert [one.lower > -np.inf for one in found] == [False] * 69 + [True]
    assert found[0].upper == pytest.approx(found[69].upper, abs=0.02)


def test_what_becomes_of_a_beginning_is_guessed_from_another_that_led_to_the_same_place():
    """With a token less left, too: an end token finishes both in the same way."""
    chances = (0.5, 0.2, 0.2, 0.04, 0.0001, 0.05, 0.0099)
    read, calls = reader(chances)
    [found] = search([sought("AAAA A", 8)], read, believe, 1)
    assert calls == [[(4, 5, 1, END)]]
    costs = -np.log([chances[token] for token in calls[0][0]])
    cost = min(costs.mean(), np.median(costs))
    tail = np.log([chances[token] for token in calls[0][0][1:]]).sum()
    assert (
        found.guess >= np.log(chances[2]) - cost + tail
    )  # AA, something that makes AAAA of it, and the tail
