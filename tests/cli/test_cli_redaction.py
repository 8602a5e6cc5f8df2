"""--redact is noted in a run: whichever commands follow, none writes a text, until --full takes it back."""

import shutil
from itertools import permutations

import polars as pl
import pytest

import tedaudit
from command_line import call
from helpers import sentences
from tedaudit.api import load_run, report
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.file_list import SHOWN
from tedaudit.studies.utility.study import run_study
from tedaudit.studies.utility.study_folder import write_study
from tiny_study import make_study

TEXTS = sentences(30)
LABEL = "what my sister told me"
SPEC = f"""
corpus: {{name: files, path: texts.csv}}
mechanisms: [{{name: word-rr, slots: 3, label: {LABEL}}}, identity]
epsilons: [4]
attacks: [lexical, likelihood]
plans: [{{k: 2, lambda: 0}}]
trials: 40
encoder: lexical
out: run
"""
RUN = ("run", "audit.yaml", "-q")
RECORDS = ("records", "run", "--count", 2, "-t", 4, "-q")
LEAKS = ("leaks", "run", "-t", 50, "-q")
WORST = (*RUN, "--worst", 1, "--worst-trials", 10)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a run that has everything with texts in it that there is."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "texts.csv").write_text("text\n" + "\n".join(TEXTS) + "\n")
    (folder / "audit.yaml").write_text(SPEC)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        for words in (WORST, RECORDS, LEAKS, ("report", "run"), ("export", "run", "-f", "card")):
            assert call(*words) == 0
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    folder = shutil.copytree(made, tmp_path / "here")
    monkeypatch.chdir(folder)
    return folder


def read(path):
    if path.suffix == ".parquet":
        return str(pl.read_parquet(path, glob=False).to_dicts())
    return path.read_bytes().decode("utf-8", "replace")


def list_shown(run):
    places = [run / name for name in SHOWN]
    return [path for place in places for path in (place.rglob("*") if place.is_dir() else [place])]


def find_texts(run):
    """Return which of the files that may be passed on hold a text, or a label that may be one."""
    files = [path for path in list_shown(run) if path.is_file()]
    assert len(files) >= 4
    secrets = [*TEXTS, LABEL]
    return {str(path.relative_to(run)) for path in files if any(text in read(path) for text in secrets)}


def test_a_run_that_is_not_redacted_holds_texts_where_the_test_looks_for_them(here):
    found = find_texts(here / "run")
    assert {"report.html", "summary.json", "report.md", "estimates.parquet", "sections/pairs.json",
            "sections/records.json", "sections/leaks.json"} <= found  # fmt: skip


@pytest.mark.parametrize("order", list(permutations([RUN, RECORDS, LEAKS])), ids=str)
def test_no_text_comes_back_after_any_order_of_three_commands(here, order, capsys, is_thorough):
    if order not in ((RECORDS, LEAKS, RUN), (RUN, LEAKS, RECORDS)) and not is_thorough:
        pytest.skip("`make test-all` tries every order")
    assert call("report", "run", "--redact", "--no-figures") == 0
    assert find_texts(here / "run") == set()
    assert not list((here / "run").glob("figures/*"))  # they showed labels
    for words in order:
        capsys.readouterr()
        assert call(*words) == 0
        assert find_texts(here / "run") == set(), words
        told = capsys.readouterr()
        assert not any(text in told.out for text in TEXTS)
        assert "Redacted: " in told.err
        assert "report.html" in told.err
        assert "may be passed on; nothing else there may" in told.err
    assert call("report", "run", "--check") == 0


def test_other_commands_write_no_text_either(here, capsys):
    report("run", redact=True)
    study = run_study(make_study(here / "study", limit=20))
    for words in (
        WORST, ("loss", "run"), ("export", "run", "-f", "card"),
        ("records", "run", "--loss", "--csv", "rows.csv"), ("report", "run"),
        ("export", "run", "--out", "rows.json"),
    ):  # fmt: skip
        assert call(*words) == 0, words
        assert find_texts(here / "run") == set(), words
    write_study(study, here / "run")
    assert call("report", "run", "--no-figures") == 0
    told = capsys.readouterr()
    assert not any(text in told.out for text in TEXTS)
    assert not any(
        text in read(here / name) for name in ("rows.json", "rows.csv") for text in [*TEXTS, LABEL]
    )
    assert find_texts(here / "run") == set()
    assert len(list((here / "run" / "figures").iterdir())) > 1


def test_python_and_copies_keep_to_it(here):
    tedaudit.report("run", redact=True)
    tedaudit.report(load_run("run"))
    tedaudit.report("run", redact=False)  # says nothing: it stays as it is
    assert find_texts(here / "run") == set()
    copy = load_run("run").save(here / "copy")
    tedaudit.report(copy, figures=True)
    assert find_texts(copy) == set()
    with pytest.raises(tedaudit.SpecError, match="cannot be combined"):
        tedaudit.report("run", redact=True, full=True)


@pytest.mark.parametrize(
    "words", [(*RECORDS, "--redact"), (*LEAKS, "--redact"), ("loss", "run", "--redact")], ids=str
)
def test_whichever_command_is_told_to_redact_notes_it(here, words):
    assert call(*words) == 0
    assert find_texts(here / "run") == set()
    assert call(*RUN) == 0
    assert find_texts(here / "run") == set()


def test_full_takes_it_back_and_says_which_sections_have_lost_their_texts(here, capsys):
    report("run", redact=True)
    assert call("report", "run", "--full", "--no-figures") == 0
    told = capsys.readouterr().err
    assert "Redacted" not in told
    assert "sections/leaks.json, sections/pairs.json" in told
    assert "report.html" in find_texts(here / "run")
    assert call(*RECORDS) == 0
    assert "sections/records.json" in find_texts(here / "run")
    assert call("report", "run", "--full", "--redact") == 2


def test_a_redacted_run_exports_no_texts(here, capsys):
    report("run", redact=True)
    capsys.readouterr()
    assert call("export", "run", "--what", "trials", "--texts", "--out", "t.csv") == 2
    assert "`tedaudit report run --full` takes that back" in capsys.readouterr().err
    assert not (here / "t.csv").exists()
    assert call("export", "run", "-f", "csv") == 0
    told = capsys.readouterr()
    assert LABEL not in told.out
    assert "Redacted, as run is" in told.err


def test_what_a_killed_process_left_half_written_goes_with_the_texts(here):
    run = here / "run"
    for name in ("report.html", "sections/pairs.json", "figures/k2-lambda0.png"):
        path = run / name
        path.with_name(f".writing-77-{path.name}").write_text(TEXTS[0])
    report("run", redact=True)
    assert not list(run.rglob(".writing-*"))


def test_a_run_that_another_command_redacts_in_the_meantime_is_not_written_in_full(here, monkeypatch):
    from tedaudit.leaks import run_leaks

    find = run_leaks.find_run_leaks

    def redact_first(result, **settings):
        RunDirectory(here / "run").note_redaction(redacted=True)
        return find(result, **settings)

    monkeypatch.setattr(run_leaks, "find_run_leaks", redact_first)
    assert call(*LEAKS) == 0
    assert find_texts(here / "run") == set()
