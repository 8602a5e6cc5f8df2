"""The files that a run ends with: they agree with each other, tell all that matters, and hold no text."""

import json
import math
import shutil
from itertools import pairwise

import polars as pl
import pytest
from markdown_it import MarkdownIt

from tedaudit.api import run
from tedaudit.corpora.files import Given
from tedaudit.reports.files import markdown, write_reports
from tedaudit.results.family import Family
from tedaudit.results.findings import AuditResult
from tedaudit.results.reading import read_result
from tedaudit.results.telling_audit import tell_plans
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.looks import Look
from tedaudit.runs.spec.model import parse_spec

TEXTS = [f"{who} {did} the {what}" for who in ("ann", "bob", "cat", "dan", "eve")
         for did in ("lost", "sold") for what in ("ring", "boat", "lamp")]  # fmt: skip
ODD = "a|b <script>[x](y)"


def fragile(text):
    """Fail on some texts and give nothing away on others."""
    if text.startswith("ann"):
        raise KeyError(text)
    return text if text.startswith("bob") else "nothing"


def refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run with all that a report must speak of: claims, failures, duplicates, two plans, an odd label."""
    return run(
        parse_spec({
            "corpus": {"name": "given", "live": Given([*TEXTS, *TEXTS[:5], "  "])},
            "mechanisms": [
                {"name": "function", "function": fragile, "label": "fragile"},
                {"name": "function", "function": str.upper, "label": ODD, "delta": 1e-5},
                {"name": "word-rr", "slots": 3},
                "identity",
            ],
            "epsilons": [0.5], "trials": 200, "out": str(tmp_path_factory.mktemp("runs") / "made"),
            "plans": [{"k": 2, "lambda": 0}, {"k": 2, "lambda": 0, "estimator": "baseline"}],
        })
    )  # fmt: skip


@pytest.fixture(scope="module")
def report(made):
    return (made.folder / "report.md").read_text(encoding="utf-8")


def rows(report):
    """Return the cells of every plan's table as a browser would show them."""
    tokens = MarkdownIt("commonmark").enable("table").parse(report[report.index("## Plan") :])
    found = []
    for token, after in pairwise(tokens):
        if token.type == "tr_open":
            found.append([])
        elif token.type == "td_open":
            found[-1].append("".join(child.content for child in after.children))
    return [tuple(row) for row in found if row]


def test_the_report_has_a_row_for_every_finding(made, report):
    assert len(made.findings) == 8
    assert rows(report) == [row for section in tell_plans(made) for row in section.table.cells]


def test_a_row_shows_claim_counts_bound_and_failures(made, report):
    headings = {one.title.removeprefix("Plan "): one.table.headings for one in tell_plans(made)}
    found = {(row[0], plan): dict(zip(headings[plan], row, strict=True))
             for row, plan in zip(rows(report), [f.plan for f in made], strict=True)}  # fmt: skip
    finding = next(f for f in made if f.label == "fragile" and f.plan == "k2-lambda0")
    row = found["fragile", "k2-lambda0"]
    assert row["claim"] == "0.5 per document"
    sure = finding.surest
    assert row["right / trials"] == f"{finding.bound.correct} / 200; surest {sure.right} / {sure.size}"
    assert row["eps_emp"] == f"{finding.bound.lower:.2f}"
    assert row["interval"] == f"{finding.bound.point:.2f} (to {finding.bound.upper:.2f})"
    assert row["ceiling"] == f"{finding.bound.ceiling:.2f}"
    assert finding.counts.failed > 0
    assert (row["unusable"], row["failed"]) == ("0", str(finding.counts.failed))
    assert found["word-rr", "k2-lambda0"]["claim"] == "0.5 per word x 3 = 1.5"
    assert found[ODD, "k2-lambda0"]["claim"] == "0.5 per document, delta 1e-05"
    assert found[ODD, "k2-lambda0"]["verdict"] == "violated"
    assert found["identity", "k2-lambda0"]["epsilon"] == "any"
    assert found["identity", "k2-lambda0-baseline"]["right / trials"] == "400 / 400"


def test_the_report_begins_with_the_verdict_and_how_to_read_it(made, report):
    shown = "a&#124;b &#60;script&#62;&#91;x&#93;(y), fragile, identity and 1 more on given texts"
    assert report.startswith(f"# Audit {shown}\n\n**Shown a rewrite by ")
    assert " and two possible originals, the lexical attack picked the right one " in report.splitlines()[2]
    assert f" is at least {made.eps_emp:.2f} at error 0.005 (eps_emp, " in report.splitlines()[4]
    assert report.splitlines()[6].startswith("Three claims: 2 violated, ")
    assert report.index("## Strongest attack and verdict") < report.index("## All rows")
    assert "That any eps_emp here is too large has probability 0.005 at most, all 8 rows of the run" in report
    assert "as in the TeDA paper, wrong with probability at most 0.005 or 0.01 per row" in report
    assert "no attack proves privacy" in report


def test_the_notes_tell_of_duplicates_and_of_how_even_the_distractors_are(report):
    notes = report.split("## Notes")[1]
    assert "- train: 30 distinct texts of 36 rows (5 duplicates and 1 blank rows left out)\n" in notes
    assert "- plan k2-lambda0: beside the first of each candidate set stand 30 different texts, as " in notes


def test_no_file_that_is_meant_to_be_read_holds_a_text(made, report):
    summary = (made.folder / "summary.json").read_text(encoding="utf-8")
    estimates = str(pl.read_parquet(made.folder / "estimates.parquet").to_dicts())
    for text in [*TEXTS, *(text.upper() for text in TEXTS)]:
        assert text not in report
        assert text not in summary
        assert text not in estimates


def test_an_odd_label_breaks_nothing(made, report):
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(report)
    assert "<script" not in html
    assert "<a " not in html
    assert (
        html.count("<td>a|b &lt;script&gt;[x](y)</td>") == 4
    )  # the first table, its claim, a row in each plan


def test_summary_and_estimates_agree(made):
    text = (made.folder / "summary.json").read_text(encoding="utf-8")
    summary = json.loads(text, parse_constant=refuse)
    assert summary == made.to_dict()
    frame = pl.read_parquet(made.folder / "estimates.parquet")
    assert len(frame) == len(summary["findings"]) == 8
    for stored, finding in zip(frame.to_dicts(), summary["findings"], strict=True):
        claim = finding.pop("claim")
        for part, names in (("surest", "size right"), ("gaussian", "mu epsilon delta")):
            figures = finding.pop(part)
            for name in names.split():
                assert stored.pop(f"{part}_{name}") == (figures and figures[name])
        for key, value in finding.items():
            assert stored.pop(key) == value, key
        assert {key.removeprefix("claim_"): value for key, value in stored.items()} == (
            claim
            or dict.fromkeys(
                ["epsilon", "unit", "delta", "max_units", "neighbours", "actual", "total", "total_delta"]
            )
        )


def test_columns_of_numbers_stay_numbers_if_some_are_infinite(made):
    frame = pl.read_parquet(made.folder / "estimates.parquet")
    for column in ("epsilon", "point", "upper", "lower", "ceiling", "claim_total"):
        assert frame[column].dtype == pl.Float64, column
    assert frame["upper"].null_count() == sum(math.isinf(f.bound.upper) for f in made) > 0


def test_reports_are_made_again_from_the_tables_alone(made, report, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(made.folder, copy)
    names = ("report.md", "summary.json", "estimates.parquet")
    for name in names:
        (copy / name).unlink()
    write_reports(read_result(RunDirectory(copy)))
    assert (copy / "report.md").read_text(encoding="utf-8") == report
    assert (copy / "summary.json").read_bytes() == (made.folder / "summary.json").read_bytes()
    assert pl.read_parquet(copy / "estimates.parquet").equals(
        pl.read_parquet(made.folder / "estimates.parquet")
    )


def test_a_run_without_an_attack_has_a_report_that_says_so(tmp_path):
    spec = {"corpus": {"name": "given", "live": Given(TEXTS)}, "mechanisms": ["identity"], "attacks": []}
    result = run(parse_spec({**spec, "trials": 10, "out": str(tmp_path / "made")}))
    text = (tmp_path / "made" / "report.md").read_text(encoding="utf-8")
    assert result.findings == ()
    assert "there is nothing to estimate from" in text
    assert "probability" not in text
    assert "30 distinct texts" in text
    assert not (tmp_path / "made" / "estimates.parquet").exists()


def test_a_note_cannot_bring_in_markup(tmp_path):
    result = AuditResult("x", RunDirectory(tmp_path), (), ("column '<b>|\n# big' taken as the text",),
                         Family(0.01, (), Look()))  # fmt: skip
    lines = markdown(result, {}, redact=False).splitlines()
    assert "- column '&#60;b&#62;&#124;&#10;# big' taken as the text" in lines
