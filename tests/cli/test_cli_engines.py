"""Engines from the command line: every command that makes trials takes one, and results are the same."""

import pytest

from engine_examples import list_contents
from helpers import strict

ENGINE = ["--engine", "processes", "--workers", "2"]
AUDIT = ["-m", "word-rr", "--set", "word-rr.slots=4", "-c", "texts.txt", "-e", "2", "-t", "60", "-q"]


def test_a_run_has_the_same_tables_whichever_engine_did_it(command, here):
    for name, engine in (("one", []), ("two", ENGINE)):
        code, out, _ = command("run", *AUDIT, "-a", "lexical", "-o", name, "--json", *engine)
        assert code == 0
        assert strict(out)["findings"][0]["trials"] == 60
    assert list_contents(here / "one") == list_contents(here / "two")
    assert command("run", *AUDIT, "-a", "lexical", "-o", "two", "-t", "90")[0] == 0  # goes on with another


def test_the_engine_of_a_file_is_used_and_wrong_ones_are_told(command, here):
    (here / "audit.yaml").write_text(
        "mechanisms: [word-rr]\nepsilons: [2]\ntrials: 20\ncorpus: {name: files, path: texts.txt}\n"
        "engine: {name: processes, workers: 1}\nout: made\n"
    )
    assert command("run", "audit.yaml", "-q")[0] == 0
    code, _, errors = command("run", "audit.yaml", "--engine", "serial", "--workers", "2", "-q")
    assert code == 2
    assert "the engine serial has one worker" in errors
    code, _, errors = command("run", *AUDIT, "--engine", "proceses")
    assert code == 2
    assert "'engine.name' is 'proceses'" in errors


@pytest.mark.parametrize(
    "arguments",
    [
        ["loss", "-e", "2", "-t", "30"],
        ["calibrate", "--target", "0.6225", "-a", "lexical", "-t", "100", "--from", "1", "--to", "8"],
    ],
)
def test_other_commands_take_an_engine_too(command, arguments):
    results = []
    for out, engine in (("made-1", []), ("made-2", ENGINE)):
        flags = ["-m", "word-rr", "-c", "texts.txt", "-o", out, "-q", "--json"]
        code, told, errors = command(*arguments, *flags, *engine)
        assert code == 0, errors
        results.append(told.replace(out, "made"))
    assert results[0] == results[1]


def test_records_of_a_run_are_tried_by_an_engine(command, here):
    assert command("run", *AUDIT, "-o", "made")[0] == 0
    code, out, errors = command("records", "made", "--count", "2", "-t", "20", "--json", "-q", *ENGINE)
    assert code == 0, errors
    assert len(strict(out)["records"]) == 2
