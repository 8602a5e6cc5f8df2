"""CSV files: no cell is a formula to a spreadsheet, numbers stay numbers, what tedaudit reads is whole."""

import csv
import io
import json
import re
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command_line import call
from tedaudit.mechanisms.recorded import Recorded
from tedaudit.studies.link.table import ColumnNames, read_release

TEXTS = [
    f"{mark}{who} {what}" for mark in ("=", "+", "-", "@", "'=", "", "''-", "- ")
    for who in ("ann", "bob", "cat") for what in ("HYPERLINK(A1)", "1+1")
]  # fmt: skip
BREAKS = ("\r", "\n", "\r\n", "\n\r", "\r\r")
NASTY = [
    f"{name}{mark}{brk}{more}" for name, brk in zip("abcde", BREAKS, strict=True)
    for mark, more in (("x", "=1+1"), ("-", "'@A1"), ('"', '"=1+1"'), (",", "\t+1"), ("\0", "-5"), ("y", "z"))
] + [f"{brk}=1+1" for brk in BREAKS]  # fmt: skip
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
    assert command("link", "own.csv", "--texts", "--no-committee", "-q", "-o", "study")[0] == 0
    assert formulas(here / "study" / "records.csv") == []
    assert "'=0" in read_cells(here / "study" / "records.csv")


# --- Texts that break a line, and hold what a csv is made of.


def read_everywhere(content):
    """Return the rows, which Python and polars must read alike; whoever ignores quotes finds no formula."""
    text = content.decode()
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    frame = pl.read_csv(content, infer_schema=False).fill_null("")
    assert [frame.columns, *map(list, frame.rows())] == rows
    assert not [c for row in rows for c in row if re.match(r"[=+\-@\t\r]", c) and not NUMBER.fullmatch(c)]
    assert not re.search(r"""(?:^|[\r\n])"*[=+\-@\t]""", text)
    return rows


def write_texts(file, texts):
    """Write texts with ids, so that no line of a table begins with a text unless a text breaks it."""
    rows = [{"id": str(row), "text": text} for row, text in enumerate(texts)]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def check_rewritten(folder, texts):
    """Rewrite texts, read what came out in every way, and rewrite that again."""
    write_texts(folder / "texts.jsonl", texts)
    flags = ("--column", "text", "-m", "identity", "-q")
    for name, more in {"released.csv": (), "paired.csv": ("--pairs",)}.items():
        assert call("rewrite", folder / "texts.jsonl", *flags, *more, "-o", folder / name) == 0
        assert len(read_everywhere((folder / name).read_bytes())) == len(texts) + 1
        back = ("--column", "rewrite", "-m", "identity", "-q", "-o", folder / f"{name}.jsonl")
        assert call("rewrite", folder / name, *back) == 0
        lines = (folder / f"{name}.jsonl").read_text("utf-8").rstrip("\n").split("\n")
        assert [json.loads(line)["rewrite"] for line in lines] == texts
    assert list(read_release(folder / "paired.csv", ColumnNames()).originals) == [
        t for t in texts if t.split()
    ]


@settings(max_examples=60)
@given(st.lists(st.text(st.sampled_from("=+-@\t\r\n'\",;\0 a1.é\u2028")), min_size=2, max_size=5))
def test_any_text_comes_back_from_a_csv_as_it_was(texts):
    with tempfile.TemporaryDirectory() as folder:
        check_rewritten(Path(folder), ["one", "two", *texts])


def test_texts_that_break_lines_come_back_from_a_csv_as_they_were(here):
    check_rewritten(here, NASTY)


def test_no_table_of_a_run_or_a_study_is_cut_where_a_text_breaks_a_line(command, here):
    write_texts(here / "texts.jsonl", NASTY)
    corpus = ("--set", "corpus.name=files", "--set", "corpus.path=texts.jsonl", "--set", "corpus.column=text")
    assert command("run", "-m", "identity", *corpus, "-t", "40", "-q", "-o", "made")[0] == 0
    assert command("export", "made", "--what", "trials", "--texts", "--out", "trials.csv")[0] == 0
    assert len(read_everywhere((here / "trials.csv").read_bytes())) > 40
    assert command("records", "made", "--count", "40", "-t", "10", "-q", "--csv", "records.csv")[0] == 0
    assert len(read_everywhere((here / "records.csv").read_bytes())) > 20
    pairs = [{"id": row, "original": text, "rewrite": text} for row, text in enumerate(NASTY)]
    (here / "own.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in pairs))
    assert command("link", "own.jsonl", "--texts", "--no-committee", "-q", "-o", "study")[0] == 0
    [names, *rows] = read_everywhere((here / "study" / "records.csv").read_bytes())
    assert len(rows) == len(NASTY)
    assert {row[names.index("original")].replace("'", "") for row in rows} == {
        text.replace("'", "") for text in NASTY
    }
