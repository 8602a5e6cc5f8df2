"""The table of findings: every cell as text, safe wherever it is put."""

import io
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from tedaudit.estimators import Counts, reduced_form
from tedaudit.estimators.abstaining import Part
from tedaudit.plugins.nominal import NO_EPSILON, Nominal
from tedaudit.plugins.values import Claim
from tedaudit.reports.writers.markdown import write_section
from tedaudit.reports.writers.terminal import fit_section, tell_left_out, to_rich
from tedaudit.results.family import Family
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.results.measures import Measures
from tedaudit.results.section import format_number
from tedaudit.results.telling_audit import (
    HEADINGS,
    explain_table,
    plans,
    tell_plans,
    tell_strongest,
)
from tedaudit.results.verdict import Decision, Verdict
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.looks import Look

NASTY = [
    "a|b",
    "<script>alert(1)</script>",
    "[bold]",
    "[/]",
    "[x](http://y)",
    "`code`",
    "*",
    "a\\|b",
    "&lt;",
    "\\",
]


def finding(**changes):
    parts = {
        "plan": "k2-lambda0", "label": "mine", "epsilon": Nominal(2),
        "claim": Claim(2.0, "word", max_units=3), "attack": "lexical",
        "counts": Counts(1000, (900,), 2, 7, 5), "planned": 1000,
        "bound": reduced_form(900, 1000, alpha=0.001),
        "alone": 2.0, "teda": reduced_form(900, 1000),
        "verdict": Verdict(Decision.NO_VIOLATION, adjusted_p=0.25),
    }  # fmt: skip
    return Finding(**{**parts, **changes})


def result(*findings):
    return AuditResult("test", RunDirectory(Path("made")), findings, (), Family(0.01, (), Look()))


def cells(one):
    """Return a finding as every table shows it; columns that are empty have an empty cell."""
    [section] = tell_plans(result(one))
    shown = dict(zip(section.table.headings, section.table.cells[0], strict=True))
    return [shown.get(name, "") for name in HEADINGS]


def markdown_tables(found):
    return "".join(map(write_section, tell_plans(found)))


def rendered(text):
    """Return Markdown with tables as a browser would get it."""
    return MarkdownIt("commonmark", {"html": True}).enable("table").render(text)


def test_a_finding_is_a_row_with_everything_that_belongs_to_the_number():
    row = dict(zip(HEADINGS, cells(finding()), strict=True))
    bound = reduced_form(900, 1000, alpha=0.001)
    assert row == {
        "mechanism": "mine",
        "epsilon": "2",
        "claim": "2 per word x 3 = 6",
        "attack": "lexical",
        "knows": "nothing",
        "right / trials": "900 / 1,000",
        "attainable": "",
        "eps_emp": f"{bound.lower:.2f}",
        "alone": "2.00",
        "TeDA bound": f"{reduced_form(900, 1000).lower:.2f}",
        "if Gaussian": "",
        "interval": f"{bound.point:.2f} (to {bound.upper:.2f})",
        "ceiling": f"{bound.ceiling:.2f}",
        "cosine": "",
        "copied": "",
        "empty": "",
        "names first": "",
        "own rewrites": "",
        "median rank": "",
        "unusable": "7",
        "failed": "5",
        "adjusted p": "0.25",
        "verdict": "no violation found",
    }


def test_infinite_and_missing_values_are_shown_in_words():
    row = dict(
        zip(
            HEADINGS,
            cells(finding(epsilon=NO_EPSILON, claim=None, bound=reduced_form(9, 9))),
            strict=True,
        )
    )
    assert (row["epsilon"], row["claim"], row["interval"]) == ("any", "none", "inf")
    assert (format_number(math.inf), format_number(1.234)) == ("inf", "1.23")


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        (Claim(1.0, "document"), "1 per document"),
        (Claim(1.0, "token", max_units=None), "1 per token unbounded"),
        (Claim(0.5, "sentence", delta=1e-5), "0.5 per sentence, delta 1e-05"),
        (Claim(0.5, "word", delta=1e-3, max_units=4), "0.5 per word x 4 = 2, delta 0.004"),
    ],
)
def test_a_claim_is_never_shown_without_unit_total_and_delta(claim, told):
    assert cells(finding(claim=claim))[3] == told


def test_the_reading_states_the_error_that_the_bounds_really_have():
    told = explain_table(replace(result(finding()), family=Family(0.02, (), Look())))
    assert "That any eps_emp here is too large has probability 0.01 at most" in told
    assert "a row that was named beforehand, wrong with probability at most 0.01 for that row" in told
    assert "no attack proves privacy" in told
    unjudged = replace(result(finding()), family=Family(0.02, (), Look(noted=False)))
    assert "no error is promised" in explain_table(unjudged)


def test_a_column_is_explained_only_if_it_is_shown():
    known = finding(measures=Measures(attainable=0.95))
    [section] = tell_plans(result(finding(), known))
    assert "attainable" in section.table.headings
    assert "Attainable: the mean posterior" in explain_table(result(finding(), known))
    assert "posterior" not in explain_table(result(finding(), known), ("eps_emp", "verdict"))
    assert "posterior" not in explain_table(result(finding()))
    assert "Alone" not in explain_table(result(finding()), ("TeDA bound",))


def test_the_surest_guesses_are_explained_where_a_row_has_them():
    sure = result(finding(surest=Part(125, 118)))
    explained = "Surest (right / guesses): the attack's most certain guesses"
    assert "; surest 118 / 125" in str(tell_plans(sure)[0].table.cells)
    for told in (explain_table(sure), tell_strongest(sure).reading):
        assert explained in told
    for told in (explain_table(result(finding())), tell_strongest(result(finding())).reading):
        assert explained not in told


def test_every_plan_has_a_table_of_its_own_in_the_order_found():
    found = result(finding(plan="b"), finding(plan="a"), finding(plan="b", attack="other"))
    assert plans(found) == ["b", "a"]
    assert [len(section.table.rows) for section in tell_plans(found)] == [2, 1]
    text = markdown_tables(found)
    assert [line for line in text.splitlines() if line.startswith("#")] == ["## Plan b", "## Plan a"]
    assert text.count("| mine |") == 3


def test_no_number_is_cut_in_a_terminal_of_80_columns_and_what_is_left_out_is_named():
    [section] = tell_plans(result(finding(), finding(attack="embedding")))
    out = Console(width=80, record=True, file=io.StringIO())
    table = to_rich(section, 80)
    out.print(table)
    printed = out.export_text()
    assert max(map(len, printed.splitlines())) <= 80
    shown = [str(column.header) for column in table.columns]
    assert {"mechanism", "epsilon", "attack", "right / trials", "eps_emp", "verdict"} <= set(shown)
    places = [section.table.headings.index(name) for name in shown]
    for word in {word for row in section.table.cells for i in places for word in row[i].split()}:
        assert word in printed.split()
    left_out = tell_left_out(section.table, fit_section(section, 80).table)
    assert {name for name in section.table.headings if name not in shown} == set(
        left_out.removeprefix("No room for: ").removesuffix(".").split(", ")
    )


@pytest.mark.parametrize("label", NASTY)
def test_a_label_cannot_break_the_markdown_table(label):
    text = markdown_tables(
        result(finding(label=label, attack=label, plan=label), finding(label="next", plan=label))
    )
    html = rendered(text)
    assert "<script" not in html
    assert "<a " not in html
    assert html.count("<table>") == 1
    assert html.count("<tr>") == 3
    assert html.count("<td") == 2 * len(tell_plans(result(finding()))[0].table.columns)
    plain = label.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert f"<td>{plain}</td>" in html
    assert f"<h2>Plan {plain}</h2>" in html


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20))
def test_no_name_can_break_out_of_its_cell(name):
    html = rendered(markdown_tables(result(finding(label=name))))
    assert html.count("<td") == len(tell_plans(result(finding()))[0].table.columns)
    assert {tag.split(">")[0].split()[0].lstrip("/") for tag in html.split("<")[1:]} <= {
        "h2", "table", "thead", "tbody", "tr", "th", "td", "em", "strong",
    }  # fmt: skip


@pytest.mark.parametrize("label", NASTY)
def test_a_label_is_not_markup_in_the_terminal(label):
    stream = io.StringIO()
    for section in tell_plans(result(finding(label=label, plan=label))):
        Console(file=stream, width=250, emoji=False).print(to_rich(section, 250))
    assert f" {label} " in stream.getvalue()
    assert f"Plan {label}" in stream.getvalue()
