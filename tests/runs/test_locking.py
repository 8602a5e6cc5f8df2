"""The lock: one writer, and no file outside of the folder is ever touched."""

import os
import stat

import pytest

from tedaudit.errors import RunDirectoryError
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.files import clear_leftovers, lock_folder, make_folders, write_atomically


def test_a_lock_that_is_a_link_is_refused_and_its_target_stays_as_it_is(tmp_path):
    target = tmp_path / "precious.txt"
    target.write_text("keep me")
    root = tmp_path / "run"
    root.mkdir()
    (root / ".lock").symlink_to(target)
    with (
        pytest.raises(RunDirectoryError, match=r"\.lock' is a link to somewhere else.*Remove it"),
        RunDirectory(root).locked(),
    ):
        raise AssertionError("it was locked")
    assert target.read_text() == "keep me"
    assert (root / ".lock").is_symlink()


def test_a_lock_that_points_nowhere_makes_no_file_there(tmp_path):
    root = tmp_path / "run"
    root.mkdir()
    (root / ".lock").symlink_to(tmp_path / "nowhere")
    with pytest.raises(RunDirectoryError, match="is a link"), lock_folder(root):
        raise AssertionError("it was locked")
    assert not (tmp_path / "nowhere").exists()


def test_what_stands_in_a_lock_is_not_emptied(tmp_path):
    (tmp_path / ".lock").write_text("somebody's note")
    with lock_folder(tmp_path):
        pass
    assert (tmp_path / ".lock").read_text() == "somebody's note"


def test_a_new_lock_is_closed_to_others(tmp_path):
    with lock_folder(tmp_path):
        assert stat.S_IMODE((tmp_path / ".lock").stat().st_mode) == 0o600


def test_leftovers_are_removed_and_what_they_point_to_is_not(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / ".writing-1-x").write_text("keep")
    root = tmp_path / "run"
    (root / ".writing-folder").mkdir(parents=True)
    (root / ".writing-2-y").symlink_to(outside / ".writing-1-x")
    (root / "linked").symlink_to(outside)
    clear_leftovers(root)
    assert (outside / ".writing-1-x").read_text() == "keep"
    assert sorted(path.name for path in root.iterdir()) == [".writing-folder", "linked"]


def test_a_file_is_not_written_through_a_link_that_lies_in_the_place_of_the_temporary_one(tmp_path):
    target = tmp_path / "precious.txt"
    target.write_text("keep me")
    (tmp_path / f".writing-{os.getpid()}-a.json").symlink_to(target)
    write_atomically(tmp_path / "a.json", b"new")
    assert target.read_text() == "keep me"
    assert (tmp_path / "a.json").read_bytes() == b"new"
    assert not (tmp_path / "a.json").is_symlink()


def test_a_folder_that_is_gone_is_not_brought_back(tmp_path):
    root = tmp_path / "gone"
    for work in (lambda: write_atomically(root / "a", b""), lambda: make_folders(root / "b" / "c", root)):
        with pytest.raises(RunDirectoryError, match="was deleted or moved while it was in use"):
            work()
    assert not root.exists()
