"""Code that a run of somebody else names: it is asked for before it runs."""

import io
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
def strange_once(tmp_path_factory):
    """A run whose code leaves a mark whenever it is imported."""
    folder = tmp_path_factory.mktemp("strange")
    (folder / "texts.txt").write_text(TEXTS)
    (folder / "telltale.py").write_text(TELLTALE)
    done = process("run", "-m", "py:telltale:shout", "-t", "20", *SMALL, cwd=folder)
    assert done.returncode == 0, done.stderr
    (folder / "it-ran").unlink()
    return folder


@pytest.fixture
def strange(strange_once, here, monkeypatch):
    """A copy of it, with its code, in the current folder; its code was not imported yet."""
    shutil.copy(strange_once / "telltale.py", here)
    shutil.copytree(strange_once / "made", here / "made")
    monkeypatch.delitem(sys.modules, "telltale", raising=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO())  # no terminal, however the tests were started
    yield here
    sys.modules.pop("telltale", None)


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


def test_a_replay_that_would_run_code_is_refused_without_a_terminal(strange, typed):
    before = contents(strange)
    code, out, err = typed("replay", "made", "0")
    assert (code, out) == (2, "")
    assert err == (
        "error: 'made' names code that would run here: py:telltale:shout. If you trust whoever made the run, "
        "say so with --yes.\n"
    )
    assert contents(strange) == before
    assert not (strange / "it-ran").exists()


def test_a_replay_runs_code_if_it_is_told_to(strange, typed):
    code, _, err = typed("replay", "made", "0", "--yes")
    assert code == 0, err
    assert (strange / "it-ran").exists()


@pytest.mark.parametrize(("answer", "ran"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_on_a_terminal_a_replay_asks_first(strange, answer, ran):
    code, shown = _asked(strange, answer, "replay", "made", "0")
    assert "names code that will run here: py:telltale:shout" in shown
    assert "Do you trust whoever made the run? [y/N]" in shown
    assert (strange / "it-ran").exists() == ran
    assert code == (0 if ran else 2)
    assert ("Nothing was run" in shown) == (not ran)


def test_a_function_that_is_named_without_the_prefix_is_code_too(strange, typed):
    (strange / "f.yaml").write_text(
        "mechanisms: [{name: function, function: 'telltale:shout'}]\ntrials: 20\nout: made2\n"
        "corpus: {name: files, path: texts.txt}\n"
    )
    assert typed("run", "f.yaml", "-q")[0] == 0
    (strange / "it-ran").unlink()
    del sys.modules["telltale"]
    code, _, err = typed("replay", "made2", "0")
    assert (code, "telltale:shout" in err) == (2, True)
    assert not (strange / "it-ran").exists()


def test_a_replay_without_code_asks_nothing(here, typed):
    assert typed("run", "-m", "identity", "-t", "20", *SMALL)[0] == 0
    assert typed("replay", "made", "0")[0] == 0


def test_a_study_of_a_run_asks_for_its_code_but_not_for_what_flags_name_instead(strange, typed):
    arguments = ("utility", "--run", "made", "--task", "x", "-q")
    code, _, err = typed(*arguments)
    assert code == 2
    assert "names code that would run here: py:telltale:shout" in err
    assert not (strange / "it-ran").exists()
    for flags in (("-m", "identity"), ("--yes",)):
        assert "names code" not in typed(*arguments, *flags)[2]


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "made"),
        ("estimate", "made"),
        ("export", "made", "-f", "card"),
        ("compare", "made", "copy"),
    ],
)
def test_commands_that_only_read_a_run_run_none_of_its_code(strange, arguments, typed):
    shutil.copytree("made", "copy")
    code, _, err = typed(*arguments)
    assert code == 0, err
    assert not (strange / "it-ran").exists()
    assert "telltale" not in sys.modules


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
