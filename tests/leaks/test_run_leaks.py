"""Leaks of a run: every mechanism of it, on its texts and at its epsilons, in its page and report."""

import json
import shutil

import pytest

import command_line
from helpers import make_spec
from pages import embedded
from tedaudit.api import load_run, run
from tedaudit.leaks.run_leaks import find_run_leaks
from tedaudit.leaks.telling import tell_run
from tedaudit.results.section import read_sections, store_section

TEXTS = [
    f"<script>alert(1)</script> | {who} number {number} went to the {where}."
    for number, (who, where) in enumerate(
        (who, where) for who in ("Mary", "old Tom", "The clerk") for where in ("sea", "town hall", "market")
    )
]
NAMES = ("identity", "word-rr")


@pytest.fixture
def call(capsys):
    """Run the command line, and return its exit code, output and messages."""

    def run_it(*arguments):
        code = command_line.call(*arguments)
        return code, *capsys.readouterr()

    return run_it


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A finished run of a mechanism that leaks everything and of one that leaks nothing."""
    folder = tmp_path_factory.mktemp("leaks")
    (folder / "texts.txt").write_text("\n".join(TEXTS))
    mechanisms = ["identity", {"name": "word-rr", "slots": 2}]
    corpus = {"name": "files", "path": str(folder / "texts.txt")}
    run(make_spec(folder / "run", mechanisms=mechanisms, corpus=corpus, epsilons=[0.05, 9], trials=60))
    return folder / "run"


@pytest.fixture(scope="module")
def found(made):
    return find_run_leaks(load_run(made), trials=60)


def test_every_mechanism_is_tested_at_zero_budget_and_at_epsilons_where_something_could_be_found(found):
    assert tuple(report.mechanism for report in found.reports) == NAMES
    leaking, private = found.reports
    assert {"whole text", "case", "name"} <= leaking.names
    assert private.findings == ()
    assert [epsilon.json for epsilon in private.epsilons] == [1e-6, 0.05]
    assert any(part.part == "epsilon 9" and "allows every pair" in part.reason for part in private.not_run)
    assert [report.error for report in found.reports] == [found.error / 2] * 2
    assert leaking.texts == len(TEXTS)


def test_a_finding_has_culprit_strength_interval_fix_and_example(found):
    [section] = tell_run(found)
    rows = [dict(zip(section.table.headings, row, strict=True)) for row in section.table.cells]
    [whole] = [row for row in rows if "whole text" in row["leak"]]
    assert whole["mechanism"] == "identity"
    assert whole["pairs or guesses that follow"] == "60 of 60 (92% to 100%)"
    assert whole["what would fix it"].startswith("never return a text unchanged")
    finding = next(f for f in found.reports[0].findings if f.name == "whole text")
    assert float(whole["adjusted p"]) == pytest.approx(2 * finding.adjusted, rel=0.05)
    assert finding.example.texts[0] in whole["one text and its rewrite"]
    [nothing] = [row for row in rows if row["mechanism"] == "word-rr"]
    assert nothing["leak"].startswith("nothing was found by ")
    assert "proves nothing" in section.remarks[0]


def test_the_page_and_report_have_the_section_and_redacted_ones_no_text(made, tmp_path, call):
    copy = tmp_path / "run"
    shutil.copytree(made, copy)
    code, out, _ = call("leaks", copy, "-q", "--trials", 60, "--json", "--fail-on", "finding")
    assert code == 1
    assert [entry["mechanism"] for entry in json.loads(out)["mechanisms"]] == list(NAMES)
    page = (copy / "report.html").read_text("utf-8")
    [section] = embedded(copy)["sections"]
    assert section["title"] == "Leaks"
    assert any("alert(1)" in cell for row in section["rows"] for cell in row)
    assert "<script>alert(1)" not in page
    told = (copy / "report.md").read_text("utf-8").partition("## Leaks")[2]
    assert "whole texts come back" in told
    assert "alert(1)" not in told
    assert not any(text in told for text in TEXTS)
    assert call("leaks", copy, "-q", "--trials", 60, "--redact")[0] == 0
    for name in ("report.html", "report.md"):
        assert "alert(1)" not in (copy / name).read_text("utf-8")
    [shown] = read_sections(load_run(copy).run)
    assert "one text and its rewrite" not in shown.table.headings


def test_texts_come_from_the_run_whatever_became_of_their_file(made, found):
    (made.parent / "texts.txt").unlink()
    assert find_run_leaks(load_run(made), trials=60).to_dict() == found.to_dict()


def test_settings_that_a_run_has_are_refused(made, call):
    code, _, told = call("leaks", made, "-m", "identity", "-e", 3)
    assert (code, "leave out --epsilon, --mechanism" in told) == (2, True)


def test_code_that_a_run_names_is_asked_for_first(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_code.py").write_text("def shout(text):\n    return text.upper()\n")
    out = tmp_path / "run"
    run(make_spec(out, mechanisms=["py:own_code:shout"], epsilons=[], trials=20))
    code, _, told = call("leaks", out, "-q")
    assert (code, "py:own_code:shout" in told) == (2, True)
    code, found, _ = call("leaks", out, "-q", "--yes", "--trials", 50, "--json")
    assert code == 0
    names = {finding["name"] for finding in json.loads(found)["mechanisms"][0]["findings"]}
    assert "fresh process" in names  # a function that can be imported is


def test_another_battery_replaces_the_section(made, tmp_path, found):
    copy = tmp_path / "run"
    shutil.copytree(made, copy)
    store = load_run(copy).run
    for _ in range(2):
        store_section(store, "leaks", *tell_run(found))
    assert len(read_sections(store)) == 1
