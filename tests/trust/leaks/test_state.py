"""State between calls."""

from random import Random

from tedaudit.api import load_corpus
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
