"""`tedaudit export`: files that other programs read, and gates for CI."""

import csv
import io
import os
import re
import stat
from xml.etree import ElementTree as ET

import polars as pl
import pytest

from command_line import TEXTS
from helpers import make_spec, snapshot, stopped, strict
from tedaudit.reports.export.documents import ROW
from tedaudit.reports.export.frames import list_columns
from tedaudit.results.findings import Finding

TEXT = TEXTS.splitlines()[0]


def test_rows_are_printed_in_every_format_of_text(made, command):
    code, out, _ = command("export", "made", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert list(rows[0]) == list(list_columns(Finding, ROW))
    assert [row["mechanism"] for row in rows] == ["identity", "shout"]
    code, out, _ = command("export", "made", "--format", "json")
    told = strict(out)
    assert (code, told["schema"]) == (0, "urn:tedaudit:rows:2")
    assert [str(row["lower"]) for row in told["rows"]] == [row["lower"] for row in rows]
    assert r"\toprule" in command("export", "made", "-f", "latex")[1]
    assert "## Privacy audit" in command("export", "made", "-f", "markdown")[1]


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("a.csv", b"plan,mech"),
        ("a.tex", b"% Made"),
        ("a.parquet", b"PAR1"),
        ("a.json", b"{\n"),
        ("a.md", b"## "),
    ],
)
def test_the_name_of_the_file_says_the_format(made, command, here, name, start):
    code, out, told = command("export", "made", "--out", name)
    assert (code, out) == (0, "")
    assert f"Wrote {name}" in told
    assert (here / name).read_bytes().startswith(start)


def test_a_parquet_file_names_its_schema(made, command, here):
    assert command("export", "made", "--what", "trials", "-o", "t.parquet")[0] == 0
    assert len(pl.read_parquet(here / "t.parquet")) == 80
    assert pl.read_parquet_metadata(here / "t.parquet")["schema"] == "urn:tedaudit:trials:1"


@pytest.mark.parametrize("name", ["manifest.json", "summary.json", "report.md", "guesses/a.csv"])
def test_a_file_of_the_run_itself_is_not_overwritten(made, command, here, name):
    before = snapshot(here / "made")
    for force in ((), ("--force",)):
        code, _, told = command("export", "made", "--format", "csv", "--out", f"made/{name}", *force)
        assert code == 2
        assert "belongs to the run itself" in told
    assert snapshot(here / "made") == before
    assert command("export", "made", "--format", "csv", "--out", "made/table.csv")[0] == 0


def test_a_run_without_losses_says_why_there_are_no_rows(made, command):
    code, out, told = command("export", "made", "--format", "csv", "--what", "losses")
    assert code == 0
    assert len(out.splitlines()) == 1
    assert "no rows" in told
    assert "--loss" in told
    assert "no rows" not in command("export", "made", "--format", "csv")[2]


def test_an_unknown_ending_is_named(made, command):
    assert "'table.xlsx' does not end in one" in command("export", "made", "--out", "table.xlsx")[2]


def test_no_text_leaves_unless_asked_and_then_into_a_closed_file(made, command, here):
    for what in ("rows", "trials", "losses"):
        assert TEXT not in command("export", "made", "-f", "json", "--what", what)[1]
    (here / "t.csv").write_text("older")
    (here / "t.csv").chmod(0o644)
    assert command("export", "made", "--what", "trials", "--texts", "-o", "t.csv", "--force")[0] == 0
    assert TEXT in (here / "t.csv").read_text()
    if os.name == "posix":
        assert stat.S_IMODE((here / "t.csv").stat().st_mode) == 0o600


def test_redacted_names_are_numbers_in_everything(command, here):
    label = "my sister called"
    (here / "odd.yaml").write_text(
        "corpus: {name: files, path: texts.txt}\n"
        f"mechanisms: [{{name: identity, label: {label}}}, identity]\n"
        "trials: 30\nattacks: [lexical]\nout: odd\n"
    )
    assert command("run", "odd.yaml", "-q")[0] == 0
    for options in (("-f", "csv"), ("-f", "latex"), ("-f", "json", "--what", "trials"), ("-f", "markdown"),
                    ("-f", "junit", "--fail-above", "9")):  # fmt: skip
        assert label in command("export", "odd", *options)[1]
        shown = command("export", "odd", *options, "--redact")[1]
        assert label not in shown
        assert re.search(r"mechanism [12]", shown)


def test_junit_tells_gates_and_ends_with_their_code(made, command, here):
    code, out, _ = command("export", "made", "-f", "junit", "--fail-on", "violated")
    root = ET.fromstring(out.encode())
    assert code == 1
    assert int(root.get("failures")) == 2  # the row and the claim
    assert command("export", "made", "-o", "j.xml", "--fail-above", "30")[0] == 0
    other = ET.parse(here / "j.xml").getroot()
    assert other.get("skipped") == other.get("tests") == "4"  # two rows and two mechanisms
    code, out, _ = command("export", "made", "-f", "markdown", "--fail-above", "1")
    assert code == 1
    assert "`--fail-above 1`: **failed** for 2 of 2" in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "Name a --format: csv, latex, parquet, json"),
        (("-o", "a.xyz"), "Name a --format"),
        (("-f", "parquet"), "Parquet is binary: name a file with --out"),
        (("-f", "csv", "--what", "trials", "--texts"), "texts are private: name a file with --out"),
        (("-f", "csv", "--texts", "-o", "a"), "--texts belongs to --what trials"),
        (
            ("-f", "latex", "--what", "trials"),
            "--what trials is data: --format is one of csv, json, parquet",
        ),
        (("-f", "junit"), "JUnit shows how gates came out: name one"),
        (("-f", "csv", "--fail-on", "violated"), "belong to --format junit or markdown"),
        (("-f", "junit", "--fail-on", "violate"), "Did you mean 'violated'?"),
        (("-f", "csv", "-o", "none/a.csv"), "'none/a.csv' cannot be written"),
        (("-f", "csv", "--what", "trials", "--texts", "--redact", "-o", "a"), "cannot be combined"),
    ],
)
def test_what_cannot_be_is_said_and_nothing_is_written(made, command, here, options, said):
    before = sorted(here.iterdir())
    code, out, told = command("export", "made", *options)
    assert (code, out) == (2, "")
    assert said in told
    assert sorted(here.iterdir()) == before


def test_reading_is_no_look_and_a_gate_is_one(command, here):
    spec = make_spec(here / "half", mechanisms=["identity"], attacks=["lexical"], trials=100, block=20)
    stopped(spec, 2)
    manifest = here / "half" / "manifest.json"
    before = manifest.read_bytes()
    assert command("export", "half", "-f", "csv")[0] == 0
    assert manifest.read_bytes() == before
    assert command("export", "half", "-f", "junit", "--fail-above", "0.1")[0] == 1
    assert manifest.read_bytes() != before


def test_a_table_of_an_unfinished_run_says_so_and_of_which_bounds(command, here):
    spec = make_spec(here / "half", mechanisms=["identity"], attacks=["lexical"], trials=100, block=20,
                     plans=[{"k": 2}, {"k": 3}])  # fmt: skip
    stopped(spec, 7)
    tables = command("export", "half", "-f", "latex")[1].split(r"\end{table}")
    assert [("the run is not finished" in table) for table in tables] == [False, True, False]
    assert "All bounds are of the kind that holds at every look" in tables[1]
    notes = command("export", "half", "-f", "markdown")[1]
    assert "bounds of what is not finished come from complete blocks" in notes


def test_what_is_no_run_is_said(command):
    code, _, told = command("export", "nowhere", "-f", "csv")
    assert code == 2
    assert "'nowhere' is not a run directory" in told


@pytest.mark.parametrize(("kind", "number"), [("summary", 2), ("rows", 2), ("trials", 1), ("losses", 2)])
def test_every_schema_is_printed(command, kind, number):
    code, out, _ = command("export", "--schema", kind)
    assert (code, strict(out)["$id"]) == (0, f"urn:tedaudit:{kind}:{number}")


def test_the_run_that_is_exported_stays_as_it_was(made, command, here):
    before = snapshot(here / "made")
    command("export", "made", "-f", "junit", "--fail-on", "violated")
    command("export", "made", "-f", "json", "--what", "trials")
    assert snapshot(here / "made") == before
