"""Paths, disks and terminals that are not as they should be: one line, exit code 2, nothing else touched."""

import json
import os
import resource
import subprocess
import sys

import pytest

from command_line import IDENTITY, SMALL, contents
from tedaudit.cli.options import print_json
from tedaudit.errors import RunDirectoryError

RUN = ("run", "-m", "identity", "-c", "texts.txt", "-t", "20", "-q")
LONG = "x" * 300


def _refused(command, here, *arguments):
    """Return what is said on one line; nothing may change."""
    before = contents(here)
    code, out, err = command(*arguments)
    assert (code, out) == (2, ""), err
    assert err.startswith("error: ")
    assert err.endswith("\n")
    assert err[:-1].isprintable(), err
    assert contents(here) == before
    return err


# --- a file where a run is wanted, and other places that are none


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "texts.txt"), ("estimate", "texts.txt"), ("export", "texts.txt", "-f", "card"),
        ("compare", "texts.txt", "texts.txt"), ("replay", "texts.txt", "0"),
        ("compare", "texts.txt", "--examples", "2"), ("report", "texts.txt/x"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_file_in_the_place_of_a_run_is_said_to_be_one(command, here, arguments):
    err = _refused(command, here, *arguments)
    assert "is not a run directory" in err
    assert "`tedaudit run` makes one" in err
    assert ("it is a file" in err) == ("/" not in arguments[1])


@pytest.mark.parametrize(
    "arguments",
    [
        (*RUN, "-o", LONG), (*RUN, "-o", f"a/{LONG}/b"), ("report", LONG), ("replay", LONG, "0"), ("run",
        f"{LONG}.yaml"),
        ("run", "-m", "identity", "-c", f"{LONG}.txt", "-o", "made"),
    ],
    ids=range(6),
)  # fmt: skip
def test_a_name_over_255_bytes_is_said_to_be_too_long(command, here, arguments):
    assert "is too long: a name has at most 255 bytes" in _refused(command, here, *arguments)


@pytest.mark.parametrize("arguments", [("init", f"{LONG}.yaml"), ("rewrite", "texts.txt", "-m", "identity",
"-e", "1",
                                       "-o", f"{LONG}.txt")], ids=["init", "rewrite"])  # fmt: skip
def test_other_files_with_long_names_are_refused_in_one_line_too(command, here, arguments):
    assert "File name too long" in _refused(command, here, *arguments)


@pytest.mark.parametrize("name", ["..", ".", "...", ".hidden", "../x", "a/b", "a\nb", LONG, "", "~"])
def test_a_name_cannot_lead_out_of_the_folder_of_runs(command, here, name):
    assert "'name' is " in _refused(command, here, *RUN, "--name", name)
    assert not (here / "runs").exists()


@pytest.mark.parametrize("place", ["~/kept", "~"])
def test_out_may_name_the_home_folder(command, here, monkeypatch, place):
    monkeypatch.setenv("HOME", str(here / "home"))
    (here / "home").mkdir()
    code, _, err = command(*RUN, "-o", place)
    assert code == 0, err
    assert (here / place.replace("~", "home") / "manifest.json").is_file()
    assert not (here / "~").exists()


def test_a_character_that_no_path_can_hold_is_refused_wherever_it_stands(command, here):
    for text in ('out: "a\\0b"', 'corpus: {name: files, path: "a\\0b.txt"}', 'out: "\\ud800"'):
        (here / "nul.yaml").write_text(f"mechanisms: [identity]\ntrials: 5\n{text}\n")
        assert "no file can be called that" in _refused(command, here, "run", "nul.yaml", "-q")


@pytest.mark.parametrize("k", ["²", "١", "1e3", "0x10", "9" * 30, "--5", ""])  # noqa: RUF001
def test_a_number_that_is_none_is_refused_whatever_its_digits(command, here, k):
    assert "'plans.0.k' is " in _refused(command, here, *IDENTITY, "--k", k)


# --- folders that are closed, disks that are full


@pytest.mark.parametrize("place", ["/proc/self/x", "/sys/x", "/dev/null/x", "/dev/full"])
def test_a_place_that_cannot_be_written_to_is_named(command, here, place):
    assert f"'{place}'" in _refused(command, here, *RUN, "-o", place)


@pytest.mark.skipif(os.geteuid() == 0, reason="everything is open to root")
def test_a_folder_that_is_closed_is_named(command, here):
    (here / "closed").mkdir(mode=0o500)
    assert "(Permission denied)" in _refused(command, here, *RUN, "-o", "closed/run")
    assert "(Permission denied)" in _refused(command, here, *RUN, "-o", "closed")


def _on_a_full_disk(here, size, *arguments):
    """Run the command while no file may be larger than this."""
    return subprocess.run(
        [sys.executable, "-B", "-m", "tedaudit", *arguments], cwd=here, capture_output=True, text=True,
        check=False,  # -B: Python would leave half a compiled module behind, for others to stumble over
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )  # fmt: skip


@pytest.mark.parametrize("size", [500, 1500, 2500, 4000])
def test_a_disk_that_is_full_is_said_and_the_run_goes_on_when_there_is_room(command, here, size, is_thorough):
    if size in (1500, 2500) and not is_thorough:
        pytest.skip("`make test-all` fills it at more files")
    done = _on_a_full_disk(here, size, *RUN, "-o", "made")
    assert done.returncode == 2, done.stderr
    [line] = done.stderr.splitlines()
    assert line.startswith("error: 'made/")
    assert "cannot be written (File too large). Make room or name another folder" in line
    assert not list((here / "made").rglob(".writing-*"))
    code, _, err = command(*RUN, "-o", "made")
    assert code == 0, err


@pytest.mark.parametrize(
    "arguments",
    [
        ("rewrite", "texts.txt", "-m", "identity", "-e", "1", "-o", "out.txt", "-q"), ("init", "new.yaml"),
    ],
    ids=["rewrite", "init"],
)  # fmt: skip
def test_other_files_that_do_not_fit_are_named_in_one_line(here, arguments):
    done = _on_a_full_disk(here, 100, *arguments)
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()[-1:]) == 1
    assert "Traceback" not in done.stderr
    assert "File too large" in done.stderr


def test_an_error_of_the_system_that_nobody_foresaw_is_one_line_too(command, here, monkeypatch):
    import tedaudit.api

    def fail(*_):
        raise OSError(5, "Input/output error", "some\nfile")

    monkeypatch.setattr(tedaudit.api, "load_run", fail)
    err = _refused(command, here, "estimate", "made")
    assert err.startswith(r"error: 'some\nfile' cannot be used (Input/output error)")


# --- what a terminal would obey


HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202e"


def test_names_of_files_columns_and_settings_are_shown_without_their_control_characters(command, here):
    (here / "odd.csv").write_text(f"{HOSTILE}a,{HOSTILE}b\n1,2\n3,4\n")
    (here / "odd.yaml").write_text('mechanisms: [identity]\n"\\e[31mtrials": 5\n')
    for arguments in (
        ("run", "-q", "-m", "identity", "-c", f"{HOSTILE}.txt", "-o", "made"),
        ("run", "-q", "-m", "identity", "-c", "odd.csv", "-o", "made"),
        ("run", "-m", f"{HOSTILE}", *SMALL), ("run", "odd.yaml"), ("report", HOSTILE),
        (*RUN, "--name", HOSTILE),
    ):  # fmt: skip
        assert "\\x1b" in _refused(command, here, *arguments)


def test_json_for_a_terminal_holds_nothing_that_it_obeys(capsys):
    data = {"text": "\x9b31m \x7f \u202e \ud800 naïve"}
    print_json(data)
    out = capsys.readouterr().out
    assert out.replace("\n", "").isprintable()
    assert json.loads(out) == data
    assert "naïve" in out


def test_a_damaged_part_is_one_line_for_every_command_that_reads_it(command, made, here):
    part = min(made.glob("guesses/**/part-*"))
    raw = part.read_bytes()
    part.write_bytes(raw[:300] + bytes([raw[300] ^ 1]) + raw[301:])
    for arguments in (
        ("report", "made"),
        ("estimate", "made"),
        ("export", "made", "-f", "card"),
        ("compare", "made"),
    ):
        err = _refused(command, here, *arguments)
        assert f"{part.name}' is damaged" in err
        assert "Delete it and run the same command again" in err


def test_a_run_that_is_deleted_midway_is_not_brought_back(here, tmp_path):
    from shutil import rmtree

    from helpers import make_spec
    from tedaudit.api import run

    outside = contents(here)
    for moment in range(1, 9):
        calls = []

        def delete(*_, calls=calls, moment=moment):
            calls.append(1)
            if len(calls) == moment:
                rmtree(here / "midway")

        with pytest.raises(
            RunDirectoryError, match=r"deleted or moved|is gone|is missing|lacks|cannot be"
        ) as caught:
            run(make_spec(here / "midway", epsilons=[3, 8]), progress=delete)
        assert str(here / "midway") in str(caught.value)
        assert not (here / "midway").exists()
    assert contents(here) == outside
