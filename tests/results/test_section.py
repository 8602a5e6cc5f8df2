"""The one value that tells a result: what a kind of column means for writing and for redaction."""

import json
import math
from dataclasses import replace

import pytest

from tedaudit.errors import RunDirectoryError
from tedaudit.results.section import (
    Column,
    Marked,
    Section,
    Table,
    read_sections,
    store_section,
    strip_sections,
)
from tedaudit.runs.directory import RunDirectory

COLUMNS = (
    Column("mechanism", "label", 0), Column("task", "task"), Column("attacks", "labels"),
    Column("n", "count"),
    Column("eps_emp", "bound", meaning="a lower bound."), Column("loss", "loss"), Column("p", "p"),
    Column("text", "text", 2),
)  # fmt: skip
ROW = ("my sister Ann", "my sister F1", ("lexical", "her name"), 1234, 1.005, math.inf, 0.00123, "Dear Ann")
SECTION = Section("Pairs", Table(COLUMNS, (ROW,), frozenset({0})), "How to read it.", ("Ann was found.",))


@pytest.fixture
def run(tmp_path):
    return RunDirectory(tmp_path)


def test_a_kind_decides_how_a_cell_is_written():
    [row] = SECTION.table.cells
    assert row == (*ROW[:2], "lexical, her name", "1,234", "1.00", "infinite", "0.0012", "Dear Ann")
    assert Column("n", "count").write(None) == ""
    assert Column("n", "count").write("too few trials") == "too few trials"
    assert Column("e", "bound").write(math.inf) == "inf"


def test_a_number_has_the_digits_that_it_needs_and_stands_on_the_left():
    column = Column("tau", "number")
    values = (1000, 0.0, 1000.0, 2.3456, -0.00123, 1e6, math.inf, None, "none")
    shown = ["1,000", "0", "1000", "2.35", "-0.0012", "1000000.00", "inf", "", "none"]
    assert [column.write(value) for value in values] == shown
    assert not column.is_figure


def test_figures_are_told_from_words():
    right = [column.name for column in COLUMNS if column.is_figure]
    assert right == ["n", "eps_emp", "loss", "p"]


def test_what_columns_mean_follows_how_to_read_them_and_goes_with_them():
    assert SECTION.remarks == ("How to read it. Eps_emp: a lower bound.", "Ann was found.")
    assert Section("x", SECTION.table.keep([0]), "How.").remarks == ("How.",)
    assert Section("x").remarks == ()


def test_redaction_leaves_out_texts_sentences_and_what_somebody_typed():
    shown = SECTION.redact()
    assert "text" not in shown.table.headings
    [row] = shown.table.cells
    assert row[:3] == ("(left out)", "(left out) F1", "lexical, (left out)")
    assert row[3:] == SECTION.table.cells[0][3:-1]
    assert shown.sentences == ()
    assert Column("attacks", "labels").redact(("Smith, John", "lexical")) == ("(left out)", "lexical")
    assert shown.reading == SECTION.reading
    assert "Ann" not in str(shown)
    assert Column("attacks", "labels").redact("Smith, John") == "(left out)"  # where a tuple should be


def test_redaction_reaches_marked_cells_and_takes_figures_away():
    assert Column("who", "label").redact(Marked("my sister", "ceiling")) == Marked("(left out)", "ceiling")
    assert Column("eps_emp", "bound").redact(Marked(1.5, "ceiling")) == Marked(1.5, "ceiling")
    assert Section("x", figure=print).redact().figure is None  # it may show what somebody typed


def test_a_report_may_leave_texts_out_and_keep_the_rest():
    shown = SECTION.leave_texts_out()
    assert shown.sentences == SECTION.sentences
    assert shown.table.rows == (ROW[:-1],)


def test_columns_without_a_cell_are_left_out_unless_there_is_no_row():
    table = Table((Column("a"), Column("b"), Column("c", "count")), (("x", "", 0), ("y", None, 1)))
    assert table.leave_empty_out().headings == ("a", "c")
    assert Table(COLUMNS).leave_empty_out().headings == Table(COLUMNS).headings


def test_a_section_is_read_from_a_run_as_it_was_written(run):
    store_section(run, "pairs", SECTION)
    [found] = read_sections(run)
    assert found.remarks == SECTION.remarks
    assert found.table.columns == COLUMNS
    assert found.table.cells == SECTION.table.cells
    assert found.table.marked == {0}
    assert found.table.rows[0][5] == "infinite"  # JSON knows no such number


def test_a_section_that_leads_is_read_as_one_and_without_its_sentences_its_title_is_the_headline(run):
    store_section(run, "pairs", replace(SECTION, leads=True))
    [found] = read_sections(run)
    assert (found.leads, found.headline) == (True, SECTION.sentences[0])
    assert (found.redact().leads, found.redact().headline) == (True, SECTION.title)
    store_section(run, "pairs", SECTION)
    assert not read_sections(run)[0].leads


def test_a_section_of_a_redacted_run_has_no_text(run):
    store_section(run, "pairs", SECTION)
    run.files.note_redaction(redacted=True)
    strip_sections(run)
    [found] = read_sections(run)
    assert found.table.cells == SECTION.redact().table.cells
    assert "Ann" not in (run.sections / "pairs.json").read_text("utf-8")


@pytest.mark.parametrize(
    "change",
    [
        {"rows": [["a"]]},
        {"columns": [{"name": "a"}]},
        {"columns": [{"name": "a", "kind": "x", "rank": 1, "meaning": ""}], "rows": []},
        {"marked": None},
        {"marked": [1e999]},
        {"rows": [[True, *ROW[1:5], "x", *ROW[6:]]]},
        {"rows": [[10**400, *ROW[1:5], "x", *ROW[6:]]]},
    ],
)
def test_a_damaged_section_is_named(run, change):
    store_section(run, "pairs", SECTION)
    content = json.loads((run.sections / "pairs.json").read_text("utf-8"))
    run.files.write({run.sections / "pairs.json": json.dumps({**content, **change}).encode()}, redacted=False)
    with pytest.raises(RunDirectoryError, match=r"pairs\.json' is damaged"):
        read_sections(run)
