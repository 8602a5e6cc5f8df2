"""docs/data.md against a real run: every file that is written is on the page, and closed as it says."""

import os
import re
import shutil
from fnmatch import fnmatchcase
from pathlib import Path

import polars as pl
import pytest

import tedaudit
from command_line import call
from helpers import make_spec, sentences
from tedaudit.api import load_run, report, run
from tedaudit.cli.records import try_worst
from tedaudit.results.certain_losses import write_certain
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.file_list import SHOWN
from tedaudit.studies.utility.study import run_study
from tedaudit.studies.utility.study_folder import write_study
from tiny_models import save_roberta
from tiny_study import make_study

TEXT = sentences(40)[0]
ATTACKS = ["lexical", "resample", "likelihood"]
PAGE = Path(tedaudit.__file__).parents[2] / "docs" / "data.md"


@pytest.fixture(scope="module")
def page():
    if not PAGE.is_file():
        pytest.skip("the documentation is not here")
    return PAGE.read_text("utf-8")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run directory with everything that commands put into it, made with an ordinary umask."""
    before = os.umask(0o022)
    try:
        top = tmp_path_factory.mktemp("given")
        rows = [f"{text},{'ab'[n % 2]}" for n, text in enumerate([*sentences(40), *sentences(39)])]
        (top / "texts.csv").write_text("\n".join(["text,author", *rows]))
        mlm = {"name": "dp-mlm", "model": str(save_roberta(top / "mlm")), "slots": 3, "low": -2, "high": 2}
        settings = {
            "mechanisms": ["identity", {"name": "word-rr", "slots": 4}, mlm], "attacks": ATTACKS,
            "plans": [{"k": 2, "lambda": 0}, {"k": 2, "author": "author"}],
            "corpus": {"name": "files", "path": str(top / "texts.csv")},
        }  # fmt: skip
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path_factory.mktemp("made"))
            out = run(make_spec("", **settings)).folder.absolute()  # a folder of its own
        report(out, figures=True)
        call("export", out, "-f", "card")
        call("export", out, "--out", out.with_name("rows.csv"))
        try_worst(load_run(out), make_spec(out, **settings), 1, 20, quiet=True)
        call("records", out, "--count", 40, "-t", 2, "-q", "--yes")
        call("leaks", out, "-t", 50, "-q")
        write_study(run_study(make_study(out.with_name("study"), limit=20)), out)
        write_certain(RunDirectory(out), [])  # no mechanism here breaks its claim for sure
    finally:
        os.umask(before)
    return out


def patterns(page):
    """Return the names of files in the table of the run directory; capitals stand for anything."""
    table = page.partition("## The run directory")[2].partition("\n- Every file")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return [re.sub(r"[A-Z]{2,}", "*", name) for row in rows for name in re.findall(r"`([^`]+)`", row)]


def test_every_file_of_a_run_is_on_the_page_and_every_name_on_it_is_real(page, made):
    files = [str(path.relative_to(made)) for path in made.rglob("*") if path.is_file()]
    unknown = [file for file in files if not any(fnmatchcase(file, pattern) for pattern in patterns(page))]
    unseen = [pattern for pattern in patterns(page) if not any(fnmatchcase(file, pattern) for file in files)]
    assert (unknown, unseen) == ([], [])


@pytest.mark.skipif(os.name != "posix", reason="modes mean nothing here")
def test_folders_with_texts_are_closed_as_the_page_says(page, made):
    assert "a run directory, the folder of a study of utility | `0700`" in page
    for folder in (made, made.with_name("study")):
        assert folder.stat().st_mode & 0o777 == 0o700
    texts = ["a b", "c d", "e f"]
    result = tedaudit.audit("identity", texts, trials=20, attack="lexical")
    assert result.folder.parent.name.startswith("tedaudit-")
    assert result.folder.parent.stat().st_mode & 0o777 == 0o700


def read(path):
    """Return what a file says, tables included."""
    if path.suffix == ".parquet":
        return str(pl.read_parquet(path, glob=False).to_dicts())
    return path.read_bytes().decode("utf-8", "replace")


def test_only_the_files_that_the_page_names_hold_texts(page, made):
    files = [path for path in made.rglob("*") if path.is_file()]
    holding = {path.relative_to(made).parts[0] for path in files if TEXT in read(path)}
    assert holding == {"corpus", "rewrites", "own_rewrites", "report.html", "studies", "sections"}
    cells = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    bold = {name.strip(" `").split("/")[0] for _, name, _, private, *_ in cells if "**" in private}
    assert bold == holding


def test_what_is_redacted_holds_none_and_is_what_the_page_names(page, made, tmp_path):
    copy = shutil.copytree(made, tmp_path / "copy")
    assert TEXT in read(copy / "report.html")
    report(copy, redact=True, figures=True)
    named = page.partition("--redact` replaces ")[2].partition(" by editions")[0]
    assert [name.strip("/") for name in re.findall(r"`([^`]+)`", named)] == list(SHOWN)
    places = [copy / name for name in SHOWN]
    files = [path for place in places for path in ([place] if place.is_file() else place.glob("*"))]
    assert {path.relative_to(copy).parts[0] for path in files} >= {*SHOWN} - {"cards"}
    assert not any(TEXT in read(path) for path in files)
