"""State between calls."""

from random import Random

import pytest
from tedaudit.trust.leaks.state import judge_repeats, judge_state

from tedaudit.api import load_corpus
from tedaudit.plugins.registry import Reference, build
from tedaudit.trust.leaks.calls import Calls
from tedaudit.trust.leaks.finder import find_leaks
from tedaudit.trust.planted.flaws import find_flaw

TEXTS = list(load_corpus("demo").texts[:60])


def test_a_rewriter_that_tells_whether_its_text_came_before_is_found_by_sending_it_twice():
    report = find_leaks(find_flaw("repeats-told").mechanism(), TEXTS, epsilon=0.5, claim=0.5, trials=200)
    assert [finding.name for finding in report.findings] == ["repeated text"]
    [finding] = report.findings
    assert finding.part == "state"


def test_a_rewriter_that_counts_its_calls_or_turns_is_no_leak():
    calls = 0

    def count(text):
        nonlocal calls
        calls += 1
        return f"call {calls}, {'odd' if calls % 2 else 'even'}"

    noise = Random(5)
    assert not find_leaks(count, TEXTS, trials=60).findings
    assert not find_leaks(lambda text: noise.choice(["one", "two words"]), TEXTS, trials=60).findings


def make_turning():
    """Return a mechanism that gives each of two answers twice in turn, whatever the texts.

    A comparison makes two calls for each of its sides, so one that always came first would have one answer.
    """
    calls = 0

    def turn(text):
        nonlocal calls
        calls += 1
        return "the first half" if calls % 4 in (1, 2) else "another one"

    return build(Reference("mechanism", "function", {"function": turn}))


@pytest.mark.parametrize("together", [False, True])
def test_which_text_goes_first_is_a_coin_so_that_turns_are_not_taken_for_state(together):
    outcomes = judge_state(Calls(make_turning(), 1.0, 3), TEXTS, 60, together=together)
    assert [outcome.signs.p_value > 0.01 for outcome in outcomes] == [True, True]


def test_whether_the_repeated_text_goes_first_is_a_coin_so_that_turns_are_not_taken_for_memory():
    assert judge_repeats(Calls(make_turning(), 1.0, 3), TEXTS, 60).signs.p_value > 0.01
