"""The battery's report in words: what is said, what is left out, and that nothing said is false."""

import leaky_rewriters as planted
import pytest

from helpers import sentences
from tedaudit.trust.leaks.finder import find_leaks
from tedaudit.trust.leaks.rendering import describe_leaks, write_markdown

TEXTS = sentences(40)


@pytest.fixture(scope="module")
def copied():
    return find_leaks(lambda text: f"{text}|<b>`", TEXTS, trials=50)


def test_lines_fit_a_terminal_and_name_culprit_strength_and_fix(copied):
    lines = describe_leaks(copied)
    assert max(map(len, lines)) <= 80
    shown = " ".join(" ".join(lines).split())
    for finding in copied.findings:
        assert finding.culprit[1:] in shown
        assert f"{finding.signs.followed} of {finding.signs.pairs}" in shown
    assert "Share found in a rewrite of its own text" in shown
    assert "Not run:" in shown


@pytest.mark.parametrize("write", [lambda r: " ".join(describe_leaks(r, redact=True)),
                                   lambda r: write_markdown(r, redact=True)])  # fmt: skip
def test_redacted_reports_hold_no_text(copied, write):
    shown = write(copied)
    assert not any(text in shown for text in TEXTS)
    assert "bicycle" not in shown
    assert "<b>" not in shown


def test_markdown_escapes_what_a_table_would_read(copied):
    shown = write_markdown(copied)
    assert "<b>" not in shown
    assert any(text in shown for text in TEXTS)
    rows = [line for line in shown.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + len(copied.findings)


def test_silence_is_no_proof_and_says_the_smallest_p_value():
    report = find_leaks(lambda text: "the same", TEXTS, trials=50)
    shown = " ".join(" ".join(describe_leaks(report)).split())
    assert "No leak was found" in shown
    assert "proves nothing" in shown
    assert "The smallest p-value was 1" in shown


def test_a_claim_without_a_maximum_is_not_shown_as_a_number_of_its_own():
    from dataclasses import dataclass
    from typing import ClassVar

    from tedaudit.types import Card, Claim, Rewrite

    @dataclass(frozen=True)
    class Endless:
        card: ClassVar[Card] = Card("endless", "Says nothing.")

        def claim(self, epsilon):
            return Claim(epsilon, "word", max_units=None)

        def rewrite(self, draws):
            return [Rewrite("x") for _ in draws]

    report = find_leaks(Endless(), TEXTS, trials=50)
    assert report.claims == ("1e-06 for each unit, 0.01 for 10,000 of them",)


def test_tests_out_of_reach_are_counted():
    report = find_leaks(planted.constant, TEXTS, trials=50, claim=9.0)
    assert "out of reach" in " ".join(" ".join(describe_leaks(report)).split())
    assert report.to_dict()["tests"][0]["in_reach"] is False
