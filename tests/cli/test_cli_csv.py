"""CSV files: no cell is a formula to a spreadsheet, numbers stay numbers, what tedaudit reads is whole."""

import csv
import json
import re

import pytest

from tedaudit.mechanisms.recorded import Recorded
from tedaudit.studies.link.table import ColumnNames, read_release

TEXTS = [
    f"{mark}{who} {what}" for mark in ("=", "+", "-", "@", "'=", "", "''-", "- ")
    for who in ("ann", "bob", "cat") for what in ("HYPERLINK(A1)", "1+1")
]  # fmt: skip
NUMBER = re.compile(r"[+-]?[\d.]+(e[+-]?\d+)?")


@pytest.fixture
def table(here):
    """A file of texts that are formulas, with ids that are, and a column of numbers."""
    rows = [{"id": f"={i}", "text": text, "score": f"-{i}"} for i, text in enumerate(TEXTS)]
    (here / "texts.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return rows


def read_cells(path):
    with path.open(newline="", encoding="utf-8") as file:
        return [cell for row in csv.reader(file) for cell in row]


def formulas(path):
    return [c for c in read_cells(path) if c.startswith(("=", "+", "-", "@")) and not NUMBER.fullmatch(c)]


def test_pairs_come_back_as_they_were(command, here, table):
    flags = ("-m", "identity", "--pairs", "--keep", "score", "-q", "-o", "made.csv")
    assert command("rewrite", "texts.jsonl", *flags)[0] == 0
    assert formulas(here / "made.csv") == []
    assert "-3" in read_cells(here / "made.csv")
    recorded = Recorded(str(here / "made.csv"))
    assert list(recorded.texts()) == TEXTS
    release = read_release(here / "made.csv", ColumnNames())
    assert list(release.ids) == [row["id"] for row in table]
    assert (list(release.originals), list(release.rewrites)) == (TEXTS, TEXTS)


def test_a_release_comes_back_as_it_was(command, here, table):
    assert command("rewrite", "texts.jsonl", "-m", "identity", "-q", "-o", "released.csv")[0] == 0
    assert formulas(here / "released.csv") == []
    again = ("rewrite", "released.csv", "--column", "rewrite", "-m", "identity", "-q", "-o", "again.jsonl")
    assert command(*again)[0] == 0
    rows = [json.loads(line) for line in (here / "again.jsonl").read_text().splitlines()]
    assert [row["rewrite"] for row in rows] == TEXTS


def test_what_is_found_in_a_run_or_a_table_is_written_without_a_formula(command, here, table):
    label = "=mine"
    flags = ("-c", "texts.jsonl", "-t", "30", "-q", "-o", "made", "--set", f"identity.label='{label}'")
    assert command("run", "-m", "identity", *flags)[0] == 0
    for name, arguments in {
        "rows.csv": ("export", "made", "--out"),
        "trials.csv": ("export", "made", "--what", "trials", "--texts", "--out"),
        "records.csv": ("records", "made", "--count", "30", "-t", "10", "-q", "--csv"),
    }.items():
        assert command(*arguments, name)[0] == 0
        cells = read_cells(here / name)
        assert f"'{label}" in cells
        assert formulas(here / name) == []
    assert any(f"'{text}" in cells for text in TEXTS)
    rows = [f"={i},{text},{text}" for i, text in enumerate(TEXTS)]
    (here / "own.csv").write_text("\n".join(["id,original,rewrite", *rows]))
    assert command("link", "own.csv", "--texts", "--no-pdf", "-q", "-o", "study")[0] == 0
    assert formulas(here / "study" / "records.csv") == []
    assert "'=0" in read_cells(here / "study" / "records.csv")
