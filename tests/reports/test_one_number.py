"""eps_emp of a row is one number, wherever it is told: here of a row whose most certain guesses decide."""

import io
import json
import re

import pytest

import tedaudit
from compared_runs import audited
from helpers import Promising, SharedWords, make_spec, sentences
from tedaudit.api import run
from tedaudit.cli.console import show_bound, show_result
from tedaudit.errors import SpecError
from tedaudit.estimators import reduced_form
from tedaudit.reports.export.writing import Export, make_export, make_latex
from tedaudit.reports.plugin_cards import calibration_cards, markdown
from tedaudit.reports.telling_comparison import explain_comparison, format_cells, headings
from tedaudit.results.comparison import compare_runs
from tedaudit.results.gates import Gates
from tedaudit.testing.assertion import NotPrivateError, assert_private

pl = pytest.importorskip("polars")
TEXTS = sentences(60)


def one_in_ten(text):
    """Give few texts away whole: over all guesses that is nearly nothing."""
    return text if text in TEXTS[::10] else "nothing"


@pytest.fixture(scope="module")
def rare(tmp_path_factory):
    settings = {"trials": 1000, "lambda_": 0, "attack": "lexical", "epsilon": 1.0}
    return tedaudit.audit(one_in_ten, TEXTS, out=str(tmp_path_factory.mktemp("rare") / "run"), **settings)


def printed(result, capsys, table):
    show_result(result, table)
    return capsys.readouterr().out


def row_of(table, known="eps_emp"):
    """Return the cells of the only row of the first table in Markdown with a known heading, by heading."""
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    at = next(i for i, line in enumerate(lines) if known in line)
    return dict(zip(*([cell.strip() for cell in lines[i].split("|")] for i in (at, at + 2)), strict=True))


def read_page(result):
    page = (result.folder / "report.html").read_text(encoding="utf-8")
    found = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    return json.loads(found[1])


def read_summary(result):
    return json.loads((result.folder / "summary.json").read_text())


def exported(result, format_, **settings):
    return make_export(result, Export(format_, **settings)).decode()


def caught(result):
    """Return what `assert_private` says of the same function on the same trials."""
    with pytest.raises(NotPrivateError) as error:
        assert_private(
            one_in_ten, TEXTS, claim=1.0, trials=1000, battery=False, lint=False, lambda_=0, attack="lexical"
        )
    return float(re.search(r"eps_emp ([\d.]+)\.\n", str(error.value))[1])


def read_table(run):
    """Return the first finding as the page's table of its plan shows it."""
    table = read_page(run)["tables"][-1]
    return dict(zip(table["headings"], table["rows"][0], strict=True))


SURFACES = {
    "the first screen": lambda r, c: re.search(r"one_in_ten +([\d.]+)", printed(r, c, "pivot"))[1],
    "the full table": lambda r, c: re.search(r"/ 1,000; │ +([\d.]+) │", printed(r, c, "full"))[1],
    "report.md": lambda r, _: row_of((r.folder / "report.md").read_text())["eps_emp"],
    "all rows of report.md": lambda r, _: row_of((r.folder / "report.md").read_text(), "alone")["eps_emp"],
    "the largest of report.md": lambda r, _: re.search(
        r"is at least ([\d.]+) at error 0.005", (r.folder / "report.md").read_text()
    )[1],
    "the table of the page": lambda r, _: read_table(r)["eps_emp"],
    "the chart of the page": lambda r, _: read_page(r)["findings"][0]["lower"],
    "the first lines of the page": lambda r, _: re.search(
        r"is at least ([\d.]+) at error 0.005", read_page(r)["lead"]["detail"]
    )[1],
    "the first table of the page": lambda r, _: dict(
        zip(read_page(r)["strongest"]["headings"], read_page(r)["strongest"]["rows"][0], strict=True)
    )["eps_emp"],
    "summary.json": lambda r, _: read_summary(r)["findings"][0]["lower"],
    "the largest of summary.json": lambda r, _: read_summary(r)["eps_emp"],
    "estimates.parquet": lambda r, _: pl.read_parquet(r.folder / "estimates.parquet")["lower"][0],
    "a frame": lambda r, _: r.to_frame()["lower"][0],
    "CSV": lambda r, _: pl.read_csv(io.StringIO(exported(r, "csv")))["lower"][0],
    "JSON": lambda r, _: json.loads(exported(r, "json"))["rows"][0]["lower"],
    "LaTeX": lambda r, _: re.search(r"1 per document\S* & ([\d.]+) ", exported(r, "latex"))[1],
    "LaTeX beside the TeDA bound": lambda r, _: re.search(
        r"1 per document\S* & ([\d.]+) & 0.00", exported(r, "latex", teda=True)
    )[1],
    "a step summary": lambda r, _: re.search(
        r"\| 1 per document: violated \| ([\d.]+) \|", exported(r, "markdown")
    )[1],
    "JUnit": lambda r, _: re.search(
        r"the bound is ([\d.]+), above 1", exported(r, "junit", gates=Gates(fail_above=1.0))
    )[1],
    "a notebook": lambda r, _: re.search(r"surest [^<]*</td><td[^>]*>([\d.]+)</td>", r._repr_html_())[1],
    "a card": lambda r, _: row_of(markdown(calibration_cards(r)[0]))["eps_emp"],
    "the data of a card": lambda r, _: calibration_cards(r)[0]["results"][0]["lower"],
    "a figure": lambda r, _: r.plot().axes[0].get_lines()[0].get_ydata()[0],
    "print(result)": lambda r, _: re.search(r"one_in_ten +([\d.]+)", str(r))[1],
    "the Python API": lambda r, _: r.eps_emp,
    "a finding": lambda r, _: r.findings[0].bound.lower,
    "assert_private": lambda r, _: caught(r),
}


@pytest.mark.parametrize("surface", SURFACES)
def test_every_surface_shows_the_same_number(rare, capsys, surface):
    [finding] = rare.findings
    told = rare.family.rows[0].bound(rare.family.row_error).lower
    assert (finding.teda.lower, finding.eps_emp) == (0.0, told)
    assert told > 1.0
    shown = SURFACES[surface](rare, capsys)
    assert f"{float(shown):.2f}" == f"{told:.2f}"


def test_what_a_row_named_beforehand_shows_is_a_column_of_its_own(rare):
    [finding] = rare.findings
    row = row_of((rare.folder / "report.md").read_text(), "alone")
    assert float(row["eps_emp"]) < float(row["alone"]) == round(finding.alone, 2)
    assert finding.alone == rare.family.rows[0].bound(rare.alpha / 2).lower
    assert row["TeDA bound"] == "0.00" == f"{reduced_form(finding.bound.correct, 1000).lower:.2f}"
    assert row["right / trials"].endswith(f"; surest {finding.surest.right} / {finding.surest.size}")
    told = rare.to_dict()["findings"][0]
    assert (told["alone"], told["teda_bound"]) == (finding.alone, finding.teda.lower)
    assert told["surest"] == {"size": finding.surest.size, "right": finding.surest.right}


def test_latex_has_teda_bounds_if_they_are_asked_for_and_says_what_they_are(rare):
    assert "TeDA" not in make_latex(rare)
    text = make_latex(rare, teda=True)
    assert "& lexical & lexical, TeDA bound " in text
    assert "wrong with probability at most 0.005 for each row, and not for the largest of several" in text
    with pytest.raises(SpecError, match="--teda belongs to --format latex, not csv"):
        Export("csv", teda=True)


def test_a_bound_from_counts_is_called_one_of_a_row_alone(capsys):
    show_bound(reduced_form(10_000, 10_000))
    out = capsys.readouterr().out
    assert "bound, this row alone" in out
    assert "7.54" in out
    assert "eps_emp" not in out.partition("What a number means")[0]


def test_a_figure_has_no_bar_if_the_most_certain_guesses_prove_more_than_the_upper_end(rare):
    [finding] = rare.findings
    assert finding.bound.upper < finding.eps_emp
    [bars] = [part for part in rare.plot().axes[0].collections if len(part.get_segments()) == 1]
    assert {y for _, y in bars.get_segments()[0]} == {finding.eps_emp}


def test_a_claim_that_is_violated_below_its_total_is_explained(tmp_path):
    """Two tests and four rows: 100 right guesses of 100 are enough for a test and not for a bound."""
    share, ceiling = 0.01 / 4, lambda error: reduced_form(100, 100, 2, error).lower
    between = (ceiling(share / 4) + ceiling(share / 2)) / 2
    mechanisms = [Promising(), "identity"]
    result = run(
        make_spec(tmp_path, mechanisms=mechanisms, epsilons=[between], attacks=["lexical", SharedWords()])
    )
    violated = [finding for finding in result if finding.verdict.is_violation]
    assert [finding.label for finding in violated] == ["promising"] * 2
    assert max(finding.eps_emp for finding in result) < between
    notes = [note for note in result.notes if "is violated although eps_emp is" in note]
    assert len(notes) == 2
    assert f"the claim of {between:g} is violated although eps_emp is {violated[0].eps_emp:.2f}" in notes[0]
    assert "(2, fewer with each that does: Tarone, Holm), bounds among all 4 rows" in notes[0]
    clear = run(make_spec(tmp_path / "clear", mechanisms=mechanisms, epsilons=[0.1], attacks=["lexical"]))
    assert clear.violated
    assert not any("although" in note for note in clear.notes)


def test_runs_with_different_families_are_compared_by_success_and_show_both_errors(tmp_path):
    runs = [
        audited(tmp_path / "few", mechanisms=["identity"], epsilons=[2]),
        audited(tmp_path / "many"),
    ]
    compared = compare_runs(runs)
    one = next(c for c in compared.comparisons if c.first.finding.bound.success == 1)
    few, many = (side.finding.bound for side in (one.first, one.second))
    assert few.error != many.error
    assert few.lower != many.lower
    assert (one.success.value, one.epsilon_span.value, one.differs) == (0.0, 0.0, False)
    cell = dict(zip(headings(compared), format_cells(one, compared), strict=True))["eps_emp of each"]
    assert cell == f"{few.lower:.2f} (error {few.error:.2g}), {many.lower:.2f} (error {many.error:.2g})"
    assert "a larger eps_emp need not mean a larger leak" in explain_comparison(compared)
    told = one.to_dict()
    assert (told["first"]["eps_emp"], told["first"]["error"]) == (few.lower, few.error)
    assert "eps_emp_difference" not in told
    same = compare_runs(runs[1:], by="attack")
    cells = dict(zip(headings(same), format_cells(same.comparisons[0], same), strict=True))
    assert "error" not in cells["eps_emp of each"]
    assert "need not mean" not in explain_comparison(same)
