"""Runs of every kind have the rows that they have always had, and are told as they were.

`make golden` writes the files of all kinds again, `make golden KINDS=recorded` those whose name holds a word:
rows change only where a result is meant to, and CHANGELOG says so under *Results changed*.
"""

import csv
import os
import re
from pathlib import Path

import pytest

from golden.kinds import KINDS
from golden.reading import HEADINGS, read_rows

HERE = Path(__file__).parent / "kept"
ROUNDED = 0.02  # share of the rows of a model that another processor may round to another word


@pytest.fixture(scope="module")
def made(request, tmp_path_factory):
    """Do the run of a kind."""
    kind, out = request.param, tmp_path_factory.mktemp("golden") / "run"
    if kind.startswith("zoo"):
        for library in ("tedaudit_zoo", "transformers", "spacy"):
            pytest.importorskip(library)
    with pytest.MonkeyPatch.context() as patch:
        if kind.startswith("zoo"):
            patch.setenv("TEDAUDIT_ZOO", "on")
        KINDS[kind](out)
    if "GOLDEN" in os.environ:
        write(HERE / kind, out)
    return kind, out


def write(folder, out):
    """Write the rows of a run, and what is told of it, as golden."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for name, rows in read_rows(out).items():
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([HEADINGS[name], *rows])
    if not folder.name.startswith("zoo"):
        (folder / "told.md").write_text(read_told(out), encoding="utf-8")


def read_told(out):
    """Return the report of a run without what belongs to one place or version."""
    told = (out / "report.md").read_text(encoding="utf-8").replace(str(out.parent), "FOLDER")
    return re.sub(r"(tedaudit|version) \d[\w.+]*", r"\1 0", told)


def read_golden(folder):
    """Return the rows that are kept, as `read_rows` has them."""
    found = {}
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            found[path.stem] = [tuple(row) for row in csv.reader(file)][1:]
    return found


every_kind = pytest.mark.parametrize("made", KINDS, indirect=True)


@every_kind
def test_a_run_has_the_rows_that_it_has_always_had(made):
    kind, out = made
    rows, golden = read_rows(out), read_golden(HERE / kind)
    assert {name: len(found) for name, found in rows.items()} == {
        name: len(kept) for name, kept in golden.items()
    }
    for name, found in rows.items():
        other = [(new, old) for new, old in zip(found, golden[name], strict=True) if new != old]
        allowed = ROUNDED * len(found) if kind.startswith("zoo") and name != "plans" else 0
        assert len(other) <= allowed, (name, other[:3])


@pytest.mark.parametrize("made", [kind for kind in KINDS if not kind.startswith("zoo")], indirect=True)
def test_a_run_is_told_as_it_was(made):
    kind, out = made
    assert read_told(out) == (HERE / kind / "told.md").read_text(encoding="utf-8")


def test_every_golden_run_has_a_kind():
    assert {folder.name for folder in HERE.iterdir()} == set(KINDS)
