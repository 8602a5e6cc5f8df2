"""Coins through time: earlier texts, texts beside it, repeated ones; and what is no leak."""

import random
import time

import numpy as np
import pytest

from helpers import sentences
from planted.flaws import BY_NAME
from tedaudit.leaks.coins import (
    LAGS,
    SIZES,
    _Call,
    _compare_neighbours,
    _look_back,
    _look_beside,
    find_suspects,
)
from tedaudit.leaks.finder import find_leaks
from tedaudit.leaks.signs import allow
from tedaudit.plugins.values import Rewrite

TEXTS = [f"{text} {tail}" for text, tail in zip(sentences(60), ["now", "at 7", "of it!"] * 20, strict=True)]
WORDS = [
    "amber",
    "basket",
    "cedar",
    "dragon",
    "ember",
    "forest",
    "garden",
    "harbor",
    "island",
    "jungle",
    "kettle",
    "ladder",
]


@pytest.fixture(autouse=True)
def seeded():
    random.seed(4)


def draw(number=6):
    return " ".join(random.choices(WORDS, k=number))


def find(rewriter, texts=TEXTS, **settings):
    return find_leaks(rewriter, texts, **{"trials": 100, "processes": False, **settings})


def remember(lag):
    """Return a rewriter whose output has the last word of the text so many calls before."""
    before = [""] * lag

    def rewrite(text):
        before.append(text)
        return f"{draw()} {' '.join(before.pop(0).split()[:1])}"

    return rewrite


@pytest.mark.parametrize(("lag", "name"), [(1, "one call"), (2, "two calls"), (3, "three calls")])
def test_a_text_that_shows_calls_later_is_named_with_how_many(lag, name):
    report = find(remember(lag))
    assert report.names == {f"text {name} before"}
    [finding] = report.findings
    assert finding.clue[0] in {"words", "place of words"}
    assert any(finding.example.differs)


def test_what_an_output_tells_of_its_own_text_is_no_state_whatever_it_tells():
    report = find(lambda text: text)
    assert not [finding for finding in report.findings if finding.part == "state"]
    assert {"two texts", "two texts in small calls", "equal texts in two calls"} <= report.names
    allowed = find(lambda text: text, claim=20.0)
    assert allowed.names == frozenset()


def test_what_outputs_of_a_call_tell_of_each_other_is_found():
    def sort(texts):
        order = sorted(range(len(texts)), key=lambda place: texts[place])
        numbers = (
            sorted(random.sample(range(100, 1000), len(texts))) if len(texts) < 900 else range(len(texts))
        )
        return [f"ticket {number}" for _, number in sorted(zip(order, numbers, strict=True))]

    assert "place among outputs" in find(sort).names


def test_messages_of_errors_are_told_apart_and_never_kept():
    def fail(text):
        if random.random() < 0.3:
            raise ValueError(f"cannot read {len(text)} characters")
        return draw()

    report = find(fail, TEXTS, trials=200)
    assert "two texts in small calls" in report.names or "two texts" in report.names
    assert report.findings[0].clue[0] == "error"
    assert "cannot read" not in str(report.to_dict())
    assert "failure" not in report.names  # which texts fail is chance


def test_kinds_of_nothing_are_told_apart():
    report = find(lambda text: random.choice([draw(), "" if len(text) % 2 else " "]))
    assert report.findings[0].clue[0] == "kind of nothing"


def test_a_text_in_thirty_that_stands_out_is_found_by_the_screen():
    texts = [f"{sentence} {number}" for number, sentence in enumerate(sentences(300))]
    report = find(
        lambda text: f"{draw()}{' zebra' if text.endswith('7') and '1' in text else ''}", texts, trials=200
    )
    assert "two texts" in report.names


def test_suspects_are_pairs_of_which_one_has_what_the_other_has_not():
    screened = {f"text {n}": [Rewrite(f"{draw()}{' zebra' * (n < 4)}") for _ in range(2)] for n in range(60)}
    [(first, second), *_] = find_suspects(screened, 3, seed=1)
    assert int(first.split()[1]) < 4 <= int(second.split()[1])
    silent = {f"text {n}": [Rewrite("same")] * 2 for n in range(20)}
    assert find_suspects(silent, 3, seed=1) == []


def test_timing_is_told_if_asked_for_and_is_never_a_finding():
    slow = min(TEXTS), max(TEXTS)

    def wait(text):
        time.sleep(0.002 if text == slow[0] else 0)
        return "done"

    report = find(wait, slow, trials=50, timing=True)
    assert [timing.name for timing in report.timings] == ["duration"]
    assert report.names == frozenset()
    assert not find(wait, slow, trials=50).timings


def test_what_a_claim_allows_of_one_output_and_of_two():
    both = allow(0.7, 0.1)
    one = both.of_one
    assert one.rate == pytest.approx(1 / (1 + np.exp(-0.7)))
    assert one.excused == pytest.approx(0.1)
    assert both.of_equality.rate == pytest.approx(one.rate**2 + (1 - one.rate) ** 2)
    assert allow(400.0).of_one.rate == 1.0


def test_two_texts_are_enough_and_take_few_calls():
    report = find(lambda text: f"{draw()} {len(text) % 2}", [TEXTS[0], f"{TEXTS[0]}."], trials=200)
    assert "two texts" in report.names
    assert report.calls <= 5000


def number_calls(size, count=40):
    """Return calls whose coins and outputs say which call and place they are of."""
    return [
        _Call(
            tuple((time, place) for place in range(size)),
            [Rewrite(f"{time} {place}") for place in range(size)],
            0.0,
        )
        for time in range(count)
    ]


@pytest.mark.parametrize("lag", LAGS)
def test_no_output_is_read_whose_own_coin_is_guessed_in_earlier_calls(lag):
    rows = _look_back(number_calls(1), lag)
    read = [tuple(map(int, row.output.text.split())) for row in rows]
    assert all(row.coin == (time - lag, 0) for row, (time, _) in zip(rows, read, strict=True))
    assert not set(read) & {row.coin for row in rows}


@pytest.mark.parametrize("size", SIZES[1:])
def test_no_output_is_read_whose_own_coin_is_guessed_in_a_call(size):
    rows = _look_beside(number_calls(size))
    read = [tuple(map(int, row.output.text.split())) for row in rows]
    assert all(row.coin[0] == time for row, (time, _) in zip(rows, read, strict=True))
    assert not set(read) & {row.coin for row in rows}
    assert len({row.coin for row in rows}) == len(rows) == 40 * size // 2
    assert {place for _, place in (row.coin for row in rows)} == set(range(size))  # both ways


def test_pairs_of_outputs_that_are_compared_share_none():
    for size in SIZES:
        rows = _compare_neighbours(number_calls(size))
        used = [output.text for row in rows for output in (row.beside, row.output)]
        assert len(set(used)) == len(used) == 40 * size


def test_a_rewriter_that_tells_whether_its_text_came_before_is_found_by_sending_new_texts():
    report = find(BY_NAME["repeats-told"].mechanism(), epsilon=0.5, claim=0.5, trials=200)
    assert [(finding.part, finding.name) for finding in report.findings] == [("state", "repeated text")]


def test_a_rewriter_that_counts_its_calls_or_gives_answers_in_turn_is_no_leak():
    calls = 0

    def turn(text):
        nonlocal calls
        calls += 1
        return f"call {calls}" if calls % 4 in (1, 2) else "another one"

    assert not find(turn, trials=60).findings
