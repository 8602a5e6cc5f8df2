"""The run directory: whose it is, what may be in it, who may write to it, and what comes back."""

import json
import os
import stat
import subprocess
import sys

import numpy as np
import pytest

from tedaudit.errors import RunDirectoryError
from tedaudit.plugins.values import Corpus, Plan, Split
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.files import write_atomically
from tedaudit.runs.formats import FORMAT
from tedaudit.runs.table_folder import TableFolder

CORPUS = {"name": "c", "fingerprint": "f", "splits": [], "texts": 0, "notes": []}
MANIFEST = {"name": "a", "spec": {}, "corpus": CORPUS, "plans": {}, "looks": [], "models": [], "tables": {},
            "history": []}  # fmt: skip


def _mode(path):
    return stat.S_IMODE(path.stat().st_mode)


# --- the folder


def test_the_run_directory_is_closed_to_everybody_else(tmp_path):
    run = RunDirectory(tmp_path / "runs" / "mine")
    with run.locked():
        pass
    assert _mode(run.root) == 0o700


def test_an_empty_folder_that_lay_open_is_closed_before_texts_come_in(tmp_path):
    root = tmp_path / "open"
    root.mkdir()
    root.chmod(0o755)
    with RunDirectory(root).locked():
        pass
    assert _mode(root) == 0o700


def test_a_run_that_its_owner_has_opened_for_others_stays_so(tmp_path):
    run = RunDirectory(tmp_path / "mine")
    with run.locked():
        run.write_manifest(MANIFEST)
    run.root.chmod(0o750)
    with run.locked():
        pass
    assert _mode(run.root) == 0o750


def test_nothing_and_an_empty_folder_are_no_run_yet(tmp_path):
    assert not RunDirectory(tmp_path / "none").exists()
    assert not RunDirectory(tmp_path).exists()


def test_a_folder_with_other_things_in_it_is_refused_with_their_names(tmp_path):
    (tmp_path / "holiday.jpg").write_bytes(b"x")
    with pytest.raises(RunDirectoryError, match=r"holds no run.*holiday\.jpg.*`out`") as caught:
        RunDirectory(tmp_path).exists()
    assert str(tmp_path) in str(caught.value)


def test_a_folder_whose_corpus_is_somebody_elses_is_refused_too(tmp_path):
    (tmp_path / "corpus").mkdir()
    with pytest.raises(RunDirectoryError, match="holds no run"):
        RunDirectory(tmp_path).exists()


def test_a_run_that_lost_its_manifest_is_not_written_over(tmp_path):
    run = RunDirectory(tmp_path)
    with run.locked():
        run.write_corpus(Corpus("c", {"train": Split(("a", "b"))}))
        TableFolder(tmp_path / "rewrites" / "m" / "1").claim({"a": 1}, {})
    with pytest.raises(RunDirectoryError, match="holds no run"):
        run.exists()


def test_a_run_killed_before_its_first_manifest_may_begin_again(tmp_path):
    run = RunDirectory(tmp_path)
    with run.locked():
        run.write_corpus(Corpus("c", {"train": Split(("a", "b"))}))
        assert not run.exists()
        run.write_plan("p", Plan(None, np.zeros(2, np.int32), np.zeros(2, np.int32)), "key")
    (tmp_path / ".writing-77-manifest.json").write_bytes(b"{")
    assert not run.exists()


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    path = tmp_path / "file"
    path.write_text("x")
    with pytest.raises(RunDirectoryError, match="file' is a file; name a folder with `out`"):
        RunDirectory(path).exists()


# --- the manifest


def test_a_manifest_comes_back_as_written(tmp_path):
    run = RunDirectory(tmp_path)
    run.write_manifest(MANIFEST | {"name": "löwe"})
    assert run.exists()
    for found in (run, RunDirectory(tmp_path)):
        manifest = found.manifest()
        assert manifest.pop("files")  # the name of its list of files
        assert manifest == {"format": FORMAT, **MANIFEST, "name": "löwe"}


def test_a_folder_without_manifest_is_no_run_directory(tmp_path):
    with pytest.raises(RunDirectoryError, match=r"not a run directory.*manifest\.json.*tedaudit run"):
        RunDirectory(tmp_path).manifest()


@pytest.mark.parametrize("content", [b"", b"{", b'{"format": 1, "name"', b"\xff\xfe", b"nonsense"])
def test_a_damaged_manifest_is_named_with_the_way_out(tmp_path, content):
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(RunDirectoryError, match=r"manifest\.json' is damaged.*run again"):
        RunDirectory(tmp_path).manifest()


@pytest.mark.parametrize("data", [[], 3, {}, MANIFEST])
def test_a_manifest_that_names_no_format_is_damaged(tmp_path, data):
    (tmp_path / "manifest.json").write_text(json.dumps(data))
    with pytest.raises(RunDirectoryError, match=r"manifest\.json' is damaged \(it names no format\)"):
        RunDirectory(tmp_path).manifest()


@pytest.mark.parametrize("lacking", MANIFEST)
def test_a_manifest_that_lacks_a_part_is_damaged(tmp_path, lacking):
    data = {"format": FORMAT, "files": "x", **MANIFEST}
    del data[lacking]
    (tmp_path / "manifest.json").write_text(json.dumps(data))
    with pytest.raises(RunDirectoryError, match=rf"manifest\.json' is damaged \(it lacks: {lacking}\)"):
        RunDirectory(tmp_path).manifest()


# --- one writer at a time


def test_a_second_process_is_refused_while_one_writes_and_let_in_afterwards(tmp_path):
    script = (
        "import sys; from pathlib import Path; from tedaudit.runs.directory import RunDirectory\n"
        "from tedaudit.errors import RunDirectoryError\n"
        "try:\n    with RunDirectory(Path(sys.argv[1])).locked(): print('in')\n"
        "except RunDirectoryError as error: print(error)"
    )

    def other():
        command = [sys.executable, "-c", script, str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    with RunDirectory(tmp_path).locked():
        left = tmp_path / "plans" / f".writing-{os.getpid()}-p.parquet"
        left.parent.mkdir()
        left.write_bytes(b"half")
        assert f"Another process is writing to '{tmp_path}'" in other()
        assert left.exists()  # what the first one is writing at the moment is not touched
    assert other() == "in\n"


def test_what_a_killed_process_left_half_written_is_cleared_away(tmp_path):
    run = RunDirectory(tmp_path)
    keep = tmp_path / "guesses" / "p" / "part-000000000-000000010.parquet"
    keep.parent.mkdir(parents=True)
    write_atomically(keep, b"kept")
    for folder in (tmp_path, keep.parent):
        (folder / ".writing-4711-part-000000.parquet").write_bytes(b"half")
    with run.locked():
        assert not list(tmp_path.rglob(".writing-*"))
    assert keep.read_bytes() == b"kept"


# --- corpus and plans


def test_a_corpus_comes_back_with_splits_and_columns(tmp_path):
    run = RunDirectory(tmp_path)
    train = Split(("naïve", "b\nc", "\u2028"), {"label": (1, 2, None), "tag": ("x", "", "z")})
    corpus = Corpus("c", {"train": train, "test": Split(("q",), {"label": (3,), "tag": ("y",)})}, ("a note",))
    run.write_corpus(corpus)
    about = {**CORPUS, "fingerprint": corpus.fingerprint, "splits": ["train", "test"], "notes": ["a note"]}
    run.write_manifest({**MANIFEST, "corpus": about})
    assert run.corpus() == corpus


@pytest.mark.parametrize("candidates", [None, np.array([[0, 1, 2], [2, 0, 1]], dtype=np.int32)])
def test_a_plan_comes_back_with_its_types(tmp_path, candidates):
    plan = Plan(candidates, np.array([2, 0], dtype=np.int32), np.array([0, 1], dtype=np.int32))
    run = RunDirectory(tmp_path)
    assert run.plan("p", "key") is None
    run.write_plan("p", plan, "key")
    back = run.plan("p", "key")
    for name in ("candidates", "secret", "replicate"):
        old, new = getattr(plan, name), getattr(back, name)
        assert (old is None and new is None) or (old.dtype == new.dtype and (old == new).all())
    with pytest.raises(RunDirectoryError, match="does not belong"):
        run.plan("p", "another")
