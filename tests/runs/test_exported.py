"""Files that go where the user says: whose they are, and that nothing of somebody else is lost."""

import os
import shutil
import stat

import pytest

from tedaudit.errors import PathError, TedauditError
from tedaudit.runs.exported import RECORD, check_target, write_exported


@pytest.fixture
def run(tmp_path):
    """A folder that files are written from."""
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


@pytest.fixture
def out(tmp_path):
    return tmp_path / "table.csv"


def test_a_file_of_somebody_else_stays_unless_force_is_given(run, out):
    out.write_text("mine")
    for attempt in (lambda: check_target(out, [run]), lambda: write_exported(out, b"new", [run])):
        with pytest.raises(PathError, match=r"already exists.*--force"):
            attempt()
    assert out.read_text() == "mine"
    assert not (run / RECORD).exists()
    write_exported(out, b"new", [run], force=True)
    assert out.read_text() == "new"


def test_a_file_that_was_written_from_the_run_is_replaced_again_and_again(run, out):
    for content in (b"one", b"two", b"two", b"three", b"one"):
        write_exported(out, content, [run])
        assert out.read_bytes() == content
    assert len((run / RECORD).read_text().split()) == 3


@pytest.mark.parametrize("change", ["edited", "of another run", "renamed", "without a run"])
def test_what_became_somebody_elses_is_not_replaced(run, out, tmp_path, change):
    write_exported(out, b"one", [run])
    others, target = [run], out
    if change == "edited":
        out.write_bytes(b"one, and a remark")
    elif change == "of another run":
        others = [tmp_path / "other"]
    elif change == "renamed":  # a copy that was put aside
        target = tmp_path / "kept.csv"
        shutil.copy(out, target)
    else:
        others = []
    before = target.read_bytes()
    with pytest.raises(PathError, match="already exists"):
        write_exported(target, b"two", others)
    assert target.read_bytes() == before


def test_folders_may_be_moved_together(run, out, tmp_path):
    write_exported(out, b"one", [run])
    shutil.move(run, tmp_path / "elsewhere")
    (tmp_path / "there").mkdir()
    shutil.move(out, tmp_path / "there" / out.name)
    write_exported(tmp_path / "there" / out.name, b"two", [tmp_path / "elsewhere"])


def test_one_of_several_runs_is_enough(run, out, tmp_path):
    write_exported(out, b"one", [run])
    (tmp_path / "other").mkdir()
    write_exported(out, b"two", [tmp_path / "other", run])
    write_exported(out, b"three", [tmp_path / "other"])


def test_an_empty_file_may_be_written_to(run, out):
    out.touch()
    write_exported(out, b"one", [run])
    assert out.read_bytes() == b"one"


@pytest.mark.skipif(os.name != "posix", reason="links, pipes and modes of POSIX")
class TestPosix:
    def test_a_link_is_followed_to_the_file_that_would_be_lost(self, run, out, tmp_path):
        own = tmp_path / "own.csv"
        own.write_text("mine")
        out.symlink_to(own)
        with pytest.raises(PathError, match="already exists"):
            write_exported(out, b"new", [run])
        write_exported(out, b"new", [run], force=True)
        assert out.is_symlink()
        assert own.read_bytes() == b"new"
        write_exported(own, b"newer", [run])

    def test_links_in_a_circle_are_named(self, run, out):
        out.symlink_to(out)
        with pytest.raises(TedauditError, match="cannot be written"):
            write_exported(out, b"new", [run])

    def test_a_pipe_takes_what_is_written(self, run, tmp_path):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        try:
            write_exported(pipe, b"new", [run])
            assert os.read(reader, 10) == b"new"
        finally:
            os.close(reader)

    def test_a_private_file_is_its_owners_alone(self, run, out):
        write_exported(out, b"open", [run])
        out.chmod(0o644)
        write_exported(out, b"texts", [run], private=True)
        assert stat.S_IMODE(out.stat().st_mode) == 0o600

    def test_a_record_that_is_a_link_is_not_written_to(self, run, out, tmp_path):
        own = tmp_path / "own.txt"
        own.write_text("mine")
        (run / RECORD).symlink_to(own)
        write_exported(out, b"one", [run])
        assert own.read_text() == "mine"


def test_a_folder_and_a_file_without_one_are_refused(run, tmp_path):
    with pytest.raises(PathError, match="is a folder"):
        write_exported(tmp_path, b"new", [run], force=True)
    with pytest.raises(PathError, match="there is no folder"):
        write_exported(tmp_path / "none" / "a.csv", b"new", [run])
