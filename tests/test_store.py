import json
import os
import stat
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from tedaudit.errors import RunDirectoryError
from tedaudit.store import (
    RunDirectory,
    check_table,
    claim_table,
    key_of,
    read_frame,
    table_info,
    write_atomically,
    write_frame,
)
from tedaudit.types import Corpus, Plan, Split

MANIFEST = {"name": "a", "spec": {}, "corpus": {}, "plans": {}}


@pytest.fixture
def part(tmp_path):
    path = tmp_path / "part-000000.parquet"
    write_frame(path, pl.DataFrame({"n": list(range(50)), "t": ["some text"] * 50}), "key")
    return path


def _mode(path):
    return stat.S_IMODE(path.stat().st_mode)


# --- files


def test_a_file_is_replaced_as_a_whole_and_nothing_else_stays(tmp_path):
    path = tmp_path / "new" / "folder" / "a.json"
    for content in (b"first", b"second, longer", b""):
        write_atomically(path, content)
        assert path.read_bytes() == content
    assert [p.name for p in path.parent.iterdir()] == ["a.json"]


def test_a_frame_comes_back_under_its_key_and_only_the_columns_asked_for(part):
    assert read_frame(part, "key")["n"].to_list() == list(range(50))
    assert read_frame(part, "key", ["t"]).columns == ["t"]


def test_a_part_cut_short_anywhere_is_refused_by_name_with_the_way_out(part):
    whole = part.read_bytes()
    for length in {0, 1, 4, 11, 12, len(whole) // 2, len(whole) - 9, len(whole) - 1}:
        part.write_bytes(whole[:length])
        with pytest.raises(RunDirectoryError, match="is damaged") as caught:
            read_frame(part, "key")
        assert str(part) in str(caught.value)
        assert "Delete it and run the same command again" in str(caught.value)


def test_a_damaged_footer_is_refused_even_where_the_reader_of_parquet_panics(part):
    script = """
import sys
from pathlib import Path
from tedaudit.errors import RunDirectoryError
from tedaudit.store import read_frame
path = Path(sys.argv[1])
whole = path.read_bytes()
footer = int.from_bytes(whole[-8:-4], "little") + 8
for position in range(len(whole) - footer, len(whole)):
    path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
    try:
        read_frame(path, "key")
    except RunDirectoryError as error:
        print(path.name in str(error))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(part)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert len(done.stdout.split()) > 100
    assert set(done.stdout.split()) == {"True"}


@pytest.mark.parametrize("content", [b"", b"hello", b"PAR1" * 9, bytes(500)])
def test_something_that_is_no_parquet_at_all_is_damaged(tmp_path, content):
    path = tmp_path / "x.parquet"
    path.write_bytes(content)
    with pytest.raises(RunDirectoryError, match=r"x\.parquet' is damaged"):
        read_frame(path, "key")


def test_a_part_of_another_table_is_foreign_and_so_is_one_of_another_program(part, tmp_path):
    with pytest.raises(RunDirectoryError, match=r"part-000000.*does not belong.*Move it away"):
        read_frame(part, "another key")
    plain = tmp_path / "plain.parquet"
    pl.DataFrame({"n": [1]}).write_parquet(plain)
    with pytest.raises(RunDirectoryError, match=r"plain.*does not belong"):
        read_frame(plain, "key")


def test_a_part_that_lacks_a_column_is_refused(part):
    with pytest.raises(RunDirectoryError, match=str(part)):
        read_frame(part, "key", ["nothing"])


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
        claim_table(tmp_path / "rewrites" / "m" / "1", {"a": 1}, {})
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
    assert run.manifest() == {"format": 1, **MANIFEST, "name": "löwe"}


def test_a_folder_without_manifest_is_no_run_directory(tmp_path):
    with pytest.raises(RunDirectoryError, match=r"not a run directory.*manifest\.json.*tedaudit run"):
        RunDirectory(tmp_path).manifest()


@pytest.mark.parametrize("content", [b"", b"{", b'{"format": 1, "name"', b"\xff\xfe", b"nonsense"])
def test_a_damaged_manifest_is_named_with_the_way_out(tmp_path, content):
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(RunDirectoryError, match=r"manifest\.json' is damaged.*run again"):
        RunDirectory(tmp_path).manifest()


@pytest.mark.parametrize("data", [[], 3, {}, {"format": 99, **MANIFEST}])
def test_a_manifest_of_another_format_is_refused(tmp_path, data):
    (tmp_path / "manifest.json").write_text(json.dumps(data))
    with pytest.raises(
        RunDirectoryError, match=r"manifest\.json' is not a manifest of format 1.*new run dir"
    ):
        RunDirectory(tmp_path).manifest()


@pytest.mark.parametrize("lacking", MANIFEST)
def test_a_manifest_that_lacks_a_part_is_damaged(tmp_path, lacking):
    data = {"format": 1, **{key: value for key, value in MANIFEST.items() if key != lacking}}
    (tmp_path / "manifest.json").write_text(json.dumps(data))
    with pytest.raises(RunDirectoryError, match=rf"manifest\.json' is damaged.*{lacking}"):
        RunDirectory(tmp_path).manifest()


# --- one writer at a time


def test_a_second_process_is_refused_while_one_writes_and_let_in_afterwards(tmp_path):
    script = (
        "import sys; from pathlib import Path; from tedaudit.store import RunDirectory\n"
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
    about = {"name": "c", "fingerprint": corpus.fingerprint, "splits": ["train", "test"], "notes": ["a note"]}
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


# --- tables


def _add_part(folder, key):
    write_frame(folder / "part-000000.parquet", pl.DataFrame({"n": [1]}), key)


def test_a_table_without_a_part_may_be_made_with_other_settings(tmp_path):
    claim_table(tmp_path / "t", {"slots": 4}, {"label": "m"})
    key = claim_table(tmp_path / "t", {"slots": 5}, {"label": "n"})
    assert table_info(tmp_path / "t") == {"key": key, "about": {"label": "n"}, "determinants": {"slots": 5}}


def test_a_key_depends_on_every_determinant_and_not_on_their_order():
    assert key_of({"a": 1, "b": {"c": 2}}) == key_of({"b": {"c": 2}, "a": 1})
    assert len({key_of(d) for d in ({"a": 1}, {"a": 2}, {"b": 1}, {"a": "1"}, {"a": {"a": 1}})}) == 5


def test_a_table_is_claimed_once_and_later_runs_find_its_key(tmp_path):
    folder = tmp_path / "t"
    key = claim_table(folder, {"slots": 4}, {"label": "m"})
    _add_part(folder, key)
    before = (folder / "table.json").stat().st_mtime_ns
    assert claim_table(folder, {"slots": 4}, {"label": "m"}) == key == check_table(folder, {"slots": 4})
    assert (folder / "table.json").stat().st_mtime_ns == before
    assert table_info(folder) == {"key": key, "about": {"label": "m"}, "determinants": {"slots": 4}}


def test_checking_a_table_that_is_not_there_writes_nothing(tmp_path):
    assert check_table(tmp_path / "t", {"slots": 4}) == key_of({"slots": 4})
    assert not (tmp_path / "t").exists()


def test_a_table_made_with_other_settings_is_refused_with_exactly_the_difference(tmp_path):
    old = {"seed": 1, "mechanism": {"slots": 16, "name": "m", "gone": True}}
    _add_part(tmp_path / "t", claim_table(tmp_path / "t", old, {}))
    with pytest.raises(RunDirectoryError) as caught:
        check_table(tmp_path / "t", {"seed": 1, "mechanism": {"slots": 8, "name": "m", "new": (1, 2)}})
    message = str(caught.value)
    assert str(tmp_path / "t") in message
    assert (
        "mechanism.gone: True -> (nothing); mechanism.new: (nothing) -> [1, 2]; mechanism.slots: 16 -> 8."
        in message
    )
    assert "seed" not in message
    assert "delete that folder" in message


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"key": "k"}', b"\xff", b"null"])
def test_a_damaged_description_of_a_table_is_named_and_deleting_the_folder_helps(tmp_path, content):
    folder = tmp_path / "t"
    claim_table(folder, {"slots": 4}, {})
    (folder / "table.json").write_bytes(content)
    with pytest.raises(RunDirectoryError, match=r"table\.json' is damaged.*Delete the folder '.*t' and run"):
        claim_table(folder, {"slots": 4}, {})
    (folder / "table.json").unlink()
    folder.rmdir()
    claim_table(folder, {"slots": 4}, {})
    assert table_info(folder)["determinants"] == {"slots": 4}


def test_a_table_without_parts_may_be_made_anew_with_other_settings(tmp_path):
    claim_table(tmp_path / "table", {"slots": 16}, {"label": "word-rr"})
    key = claim_table(tmp_path / "table", {"slots": 8}, {"label": "word-rr"})
    assert table_info(tmp_path / "table")["key"] == key == key_of({"slots": 8})
    (tmp_path / "table" / "part-000000.parquet").write_bytes(b"")
    with pytest.raises(RunDirectoryError, match="slots: 8 -> 4"):
        claim_table(tmp_path / "table", {"slots": 4}, {"label": "word-rr"})
