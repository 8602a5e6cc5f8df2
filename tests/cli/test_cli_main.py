"""The command line as a whole: its verbs, its version, and JSON wherever it is asked for."""

import subprocess
import sys
from pathlib import Path

import pytest

import tedaudit
from helpers import strict


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "-m", "identity", "-m", "word-rr", "-e", "1", "-t", "20", "-c", "texts.txt", "-o", "other"),
        ("run", "-m", "py:my_plugins:Endless", "-e", "1", "-t", "20", "-c", "texts.txt", "-o", "other"),
        ("ls", "mechanisms"),
        ("ls", "attacks"),
        ("ls", "corpora"),
        ("estimate", "--correct", "10", "--trials", "10"),
        ("estimate", "--true-positives", "9", "--false-positives", "0", "--trials", "10"),
        ("estimate", "made"),
        ("replay", "made", "3", "--yes"),
        ("report", "made"),
        ("compare", "made", "--by", "mechanism"),
    ],
)
def test_only_json_is_printed_if_it_is_asked_for(arguments, made, command):
    code, out, _ = command(*arguments, "--json")
    assert code == 0
    assert strict(out)


def test_the_version_is_that_of_the_package(command):
    code, out, _ = command("--version")
    assert (code, out.splitlines()[0]) == (0, f"tedaudit {tedaudit.__version__}")


def test_help_names_every_verb(command):
    code, out, _ = command("--help")
    assert code == 0
    assert all(
        verb in out for verb in ("run", "init", "ls", "estimate", "replay", "report", "compare", "link")
    )


def test_the_installed_command_is_this_one(here):
    script = Path(sys.executable).with_name("tedaudit")
    if not script.exists():
        pytest.skip("the package is not installed as a command")
    done = subprocess.run([script, "report", "none"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: 'none' is not a run directory")
