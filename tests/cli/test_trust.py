"""Code that a run of somebody else names: it is asked for before it runs."""

import os
import pty
import shutil
import subprocess
import sys

import pytest

from command_line import SMALL, TEXTS, contents, process
from tedaudit.spec.example import EXAMPLE

TELLTALE = """\
from pathlib import Path
Path("it-ran").touch()
from tedaudit.attacks.lexical import Lexical

def shout(text):
    return text.upper()
"""


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    """A run whose code leaves a mark whenever it is imported."""
    folder = tmp_path_factory.mktemp("strange")
    (folder / "texts.txt").write_text(TEXTS)
    (folder / "telltale.py").write_text(TELLTALE)
    done = process("run", "-m", "py:telltale:shout", "-t", "20", *SMALL, cwd=folder)
    assert done.returncode == 0, done.stderr
    (folder / "it-ran").unlink()
    return folder


@pytest.fixture
def strange(made_once, here):
    """A copy of it, with its code, in the current folder."""
    shutil.copy(made_once / "telltale.py", here)
    shutil.copytree(made_once / "made", here / "made")
    return here


def _asked(here, answer, *arguments):
    """Run the command on a terminal, answer its question, and return its exit code and what it showed."""
    terminal, other = pty.openpty()
    command = [sys.executable, "-m", "tedaudit", *arguments]
    child = subprocess.Popen(command, cwd=here, stdin=other, stdout=other, stderr=other)
    os.close(other)
    os.write(terminal, answer.encode())
    shown = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        shown += piece
    os.close(terminal)
    return child.wait(timeout=300), shown.decode()


def test_a_replay_that_would_run_code_is_refused_without_a_terminal(strange):
    before = contents(strange)
    done = process("replay", "made", "0", cwd=strange)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "error: 'made' names code that would run here: py:telltale:shout. If you trust whoever made the run, "
        "say so with --yes.\n"
    )
    assert contents(strange) == before
    assert not (strange / "it-ran").exists()


def test_a_replay_runs_code_if_it_is_told_to(strange):
    done = process("replay", "made", "0", "--yes", cwd=strange)
    assert done.returncode == 0, done.stderr
    assert (strange / "it-ran").exists()


@pytest.mark.parametrize(("answer", "ran"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_on_a_terminal_a_replay_asks_first(strange, answer, ran):
    code, shown = _asked(strange, answer, "replay", "made", "0")
    assert "names code that will run here: py:telltale:shout" in shown
    assert "Do you trust whoever made the run? [y/N]" in shown
    assert (strange / "it-ran").exists() == ran
    assert code == (0 if ran else 2)
    assert ("Nothing was run" in shown) == (not ran)


def test_a_function_that_is_named_without_the_prefix_is_code_too(strange):
    (strange / "f.yaml").write_text(
        "mechanisms: [{name: function, function: 'telltale:shout'}]\ntrials: 20\nout: made2\n"
        "corpus: {name: files, path: texts.txt}\n"
    )
    assert process("run", "f.yaml", "-q", cwd=strange).returncode == 0
    (strange / "it-ran").unlink()
    done = process("replay", "made2", "0", cwd=strange)
    assert (done.returncode, "telltale:shout" in done.stderr) == (2, True)
    assert not (strange / "it-ran").exists()


def test_a_replay_without_code_asks_nothing(here):
    assert process("run", "-m", "identity", "-t", "20", *SMALL, cwd=here).returncode == 0
    assert process("replay", "made", "0", cwd=here).returncode == 0


def test_a_study_of_a_run_asks_for_its_code_but_not_for_what_flags_name_instead(strange):
    arguments = ("utility", "--run", "made", "--task", "x", "-q")
    done = process(*arguments, cwd=strange)
    assert done.returncode == 2
    assert "names code that would run here: py:telltale:shout" in done.stderr
    assert not (strange / "it-ran").exists()
    done = process(*arguments, "-m", "identity", cwd=strange)
    assert "names code" not in done.stderr
    done = process(*arguments, "--yes", cwd=strange)
    assert "names code" not in done.stderr


@pytest.mark.parametrize(
    "arguments", [("report", "made"), ("estimate", "made"), ("card", "made"), ("compare", "made")]
)
def test_commands_that_only_read_a_run_run_none_of_its_code(strange, arguments):
    process(*arguments, cwd=strange)
    assert not (strange / "it-ran").exists()


@pytest.mark.parametrize("command_name", ["run", "replay", "utility"])
def test_help_says_that_a_name_runs_code(typed, command_name):
    shown = " ".join(typed(command_name, "--help")[1].split())
    assert "py:package.module:name" in shown
    assert "code" in shown


def test_the_example_and_the_readme_say_that_a_name_runs_code():
    from helpers import HERE

    assert "this runs its code" in EXAMPLE
    readme = " ".join((HERE.parent / "README.md").read_text().split())
    assert "runs that code" in readme
    assert "`tedaudit replay` asks first" in readme
