"""The step summary: gates first, no promise that was not tested, no markup from names."""

from dataclasses import replace

import pytest

from helpers import Failing, audited
from tedaudit.reports.export.gates import make_step_summary
from tedaudit.results.gates import Gates


def first_lines(result, gates):
    return make_step_summary(result, gates).split("### Lower bounds")[0]


def test_without_a_gate_nothing_is_said_of_passing(made):
    told = make_step_summary(made, Gates())
    assert "passed" not in told
    assert "failed**" not in told
    assert "(ceiling)" in told
    assert ": violated" in told


def test_a_gate_that_failed_says_for_whom_and_why(made):
    told = first_lines(made, Gates(("violated",)))
    assert "`--fail-on violated`: **failed** for 1 of 5." in told
    assert "guesses were right; under the claim of 0.5" in told


@pytest.mark.parametrize(
    ("label", "gates", "said"),
    [
        (
            "constant",
            Gates((), 1.0),
            "**passed**. That these attacks did not break it does not show that none",
        ),
        ("constant", Gates((), 50.0), "**1 of 1 could not be tested**, which is no pass."),
        ("identity", Gates(("violated",)), "**nothing to test**"),
        ("identity", Gates((), 1.0), "**failed** for 1 of 1."),
    ],
)
def test_what_is_said_of_a_gate_is_what_happened(made, label, gates, said):
    findings = tuple(finding for finding in made if finding.label == label)
    rows = tuple(finding.row for finding in findings)
    part = replace(made, findings=findings, family=replace(made.family, rows=rows))
    assert said in first_lines(part, gates)


def test_a_limit_that_is_broken_is_not_called_violated(made):
    told = first_lines(made, Gates((), 1.0)).partition("## ")[2].partition("claims")[0]
    assert "(limit): above the limit: the bound is" in told
    assert "violat" not in told.partition("(limit)")[2].partition("privacy")[0]


def test_rewrites_that_all_fail_are_no_pass(tmp_path):
    result = audited(tmp_path / "run", Failing(1.0), epsilons=[1])
    told = first_lines(result, Gates(("violated",), 1.0))
    assert "passed" not in told.replace("no pass", "")
    assert "could not be tested" in told


def test_names_are_shown_and_not_obeyed(made):
    odd = replace(made, findings=tuple(replace(f, label="<b>|`x`[y](z)") for f in made))
    told = make_step_summary(odd, Gates((), 1.0))
    assert "<b>" not in told
    assert "[y](z)" not in told


def test_a_run_without_a_bound_says_so(made):
    told = make_step_summary(replace(made, findings=()), Gates(("violated",)))
    assert "nothing to estimate from" in told
    assert "nothing to test" in told
