"""Paths as people write them, and what the operating system says about them."""

import errno
from pathlib import Path

import pytest

from tedaudit.errors import PathError
from tedaudit.paths import describe_os_error, explain_os_error, parse_path


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


def test_an_error_of_the_system_names_the_file_the_reason_and_the_next_step():
    error = OSError(errno.ENOSPC, "No space left on device", "runs/x")
    assert describe_os_error(error) == "No space left on device"
    told = str(explain_os_error(error))
    assert told.startswith("'runs/x' cannot be used (No space left on device). Check")
    assert "run the same command again" in told
    assert str(explain_os_error(OSError("odd"))).startswith("A file or folder cannot be used (odd)")
    assert describe_os_error(OSError()) == "OSError"
