"""Paths as people write them, and what the operating system says about them."""

import errno
import hashlib
from pathlib import Path

import pytest

from tedaudit.errors import PathError
from tedaudit.paths import (
    checksum_file,
    checksum_folder,
    describe_os_error,
    explain_os_error,
    lock_file,
    parse_path,
)


def hash_bytes(data):
    return hashlib.sha256(data).hexdigest()[:16]


def test_a_leading_tilde_is_the_home_folder_and_only_a_leading_one(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ann")
    assert parse_path("~/x") == Path("/home/ann/x")
    assert parse_path("~") == Path("/home/ann")
    assert parse_path("a/~/x") == Path("a/~/x")
    assert parse_path(Path("a")) == Path("a")


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("a\0b", "holds the character NUL"), ("~nobody-of-that-name/x",
        "home folder of a user who is not known"),
        ("x" * 256, "too long: a name has at most 255 bytes"), ("é" * 128, "this has one of 256"),
        ("a/" * 2100 + "b", "a path 4,095"), ("\ud800", "half a surrogate pair"),
    ],
)  # fmt: skip
def test_what_no_file_can_be_called_is_refused_in_one_short_line(written, said):
    with pytest.raises(PathError) as caught:
        parse_path(written)
    assert said in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("written", ["x" * 255, "é" * 127, "a b", "[x]*", "..", "", "/", "\udcff"])
def test_what_a_file_can_be_called_is_left_as_it_is(written):
    assert parse_path(written) == Path(written)


def test_a_checksum_of_a_folder_changes_with_contents_names_and_places_of_its_files(tmp_path):
    def write(name, text):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(text)
        return folder

    same = checksum_folder(write("a/b.json", b"text"))
    assert same == checksum_folder(write("a/b.json", b"text")) == hash_bytes(b"a/b.jsontext")
    others = [write("a/b.json", b"more"), write("a/c.json", b"text"), write("b.json", b"text")]
    assert len({same, *map(checksum_folder, others)}) == 4


def test_a_checksum_of_a_folder_counts_only_files_with_the_endings_that_were_named(tmp_path):
    (tmp_path / "config.json").write_bytes(b"{}")
    before = checksum_folder(tmp_path, (".json", ".bin"))
    (tmp_path / "README.md").write_bytes(b"a remark")
    assert checksum_folder(tmp_path, (".json", ".bin")) == before
    (tmp_path / "weights.bin").write_bytes(bytes(3 << 20))
    assert checksum_folder(tmp_path, (".json", ".bin")) == hash_bytes(
        b"config.json{}weights.bin" + bytes(3 << 20)
    )


def test_a_checksum_of_a_file_is_of_its_contents_alone(tmp_path):
    (tmp_path / "one").write_bytes(b"text")
    (tmp_path / "other").write_bytes(b"text")
    assert checksum_file(tmp_path / "one") == checksum_file(tmp_path / "other") == hash_bytes(b"text")


def test_an_error_of_the_system_names_the_file_the_reason_and_the_next_step():
    error = OSError(errno.ENOSPC, "No space left on device", "runs/x")
    assert describe_os_error(error) == "No space left on device"
    told = str(explain_os_error(error))
    assert told.startswith("'runs/x' cannot be used (No space left on device). Check")
    assert "run the same command again" in told
    assert str(explain_os_error(OSError("odd"))).startswith("A file or folder cannot be used (odd)")
    assert describe_os_error(OSError()) == "OSError"


def test_a_lock_is_had_by_one_and_a_file_system_without_locks_is_no_other_process(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    with (tmp_path / "lock").open("w") as first, (tmp_path / "lock").open("w") as second:
        assert lock_file(first.fileno())
        assert not lock_file(second.fileno())

        def refuse(*_):
            raise OSError(errno.ENOLCK, "No locks available")

        monkeypatch.setattr(fcntl, "flock", refuse)
        assert lock_file(second.fileno())
