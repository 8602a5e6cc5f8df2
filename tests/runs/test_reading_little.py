"""What reading a run costs: its manifest once, and no output that nobody asks for."""

import pytest
from typer.testing import CliRunner

import tedaudit.runs.directory
import tedaudit.runs.rewrites
from helpers import Failing, SharedWords, make_spec
from tedaudit.api import load_run, run
from tedaudit.cli import app
from tedaudit.reports.files import write_reports
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.files import read_frame
from tedaudit.runs.formats import read_manifest


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    root = tmp_path_factory.mktemp("finished") / "run"
    mechanisms = ["identity", {"name": "word-rr", "slots": 4}, Failing()]
    run(make_spec(root, mechanisms=mechanisms, epsilons=[3, 8], attacks=["lexical", SharedWords()]))
    return root


@pytest.fixture
def outputs_refused(monkeypatch):
    """Nothing may read the column of released texts."""

    def read(path, key, columns=None, **how):
        assert columns is not None, f"{path} is read as a whole"
        assert "output" not in columns, f"the outputs of {path} are read"
        return read_frame(path, key, columns, **how)

    monkeypatch.setattr(tedaudit.runs.rewrites, "read_frame", read)


@pytest.mark.usefixtures("outputs_refused")
def test_findings_and_reports_without_examples_read_no_output(finished):
    result = load_run(finished)
    assert {finding.label: finding.measures.copied for finding in result}["identity"] == 1
    write_reports(result, page=False)


@pytest.mark.usefixtures("outputs_refused")
def test_the_page_shows_outputs_and_so_reads_them(finished):
    with pytest.raises(AssertionError, match="the outputs of"):
        write_reports(load_run(finished))


@pytest.mark.parametrize(
    "command",
    [
        ["estimate", "RUN"], ["estimate", "RUN", "--json"], ["report", "RUN", "--no-figures"],
        ["report", "RUN", "--redact", "--figures"], ["export", "RUN", "-f", "card", "-o", "OUT"],
        ["compare", "RUN", "-o", "OUT/c.html"],
        ["compare", "RUN", "-a", "lexical", "-a", "shared-words", "--examples", "2"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_command_that_reads_a_run_parses_its_manifest_once(finished, tmp_path, monkeypatch, command):
    read = []

    def counting(path, original=read_manifest):
        read.append(path.parent)
        return original(path)

    monkeypatch.setattr(tedaudit.runs.directory, "read_manifest", counting)
    words = [word.replace("RUN", str(finished)).replace("OUT", str(tmp_path)) for word in command]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert read == [finished]


def test_the_corpus_is_read_once_for_all_who_ask(finished):
    directory = RunDirectory(finished)
    first = directory.corpus()
    assert directory.corpus() is first


def test_what_is_written_is_what_is_read_from_then_on(tmp_path):
    directory = RunDirectory(tmp_path)
    corpus = {"name": "c", "fingerprint": "f", "splits": [], "texts": 0, "notes": []}
    manifest = {
        "name": "a",
        "spec": {},
        "corpus": corpus,
        "plans": {},
        "looks": [],
        "models": [],
        "tables": {},
        "history": [],
    }
    manifest["odd"] = ("a", 1)
    directory.write_manifest(manifest)
    assert directory.manifest()["odd"] == ["a", 1]  # as JSON holds it
    directory.write_manifest(manifest | {"name": "b"})
    assert directory.manifest() == RunDirectory(tmp_path).manifest()
    assert directory.manifest()["name"] == "b"
