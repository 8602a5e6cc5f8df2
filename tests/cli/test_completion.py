"""Completion in a shell: the command as a shell calls it, and the names that it offers."""

import os
import subprocess
import sys

import pytest

from tedaudit.cli.options import complete_attack, complete_corpus, complete_mechanism
from tedaudit.plugins.registry import names

ENTRY = "import sys; sys.argv[0] = 'tedaudit'; from tedaudit.cli import main; main()"


def ask(**variables):
    """Return what the command prints that finds these variables in its environment, as shells set them."""
    environment = {**os.environ, **variables}
    command = [sys.executable, "-c", ENTRY]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout


def complete(line, shell="bash"):
    """Return what is offered for the last word of a line, as the script of a shell asks for it."""
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    others = {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    given = words if shell == "bash" else others
    return ask(**given, _TEDAUDIT_COMPLETE=f"complete_{shell}").split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("tedaudit run -m word", {"word-rr"}),
        ("tedaudit run -m identity -m dp-p", {"dp-prompt", "dp-paraphrase", "dp-pivot"}),
        ("tedaudit run --attack lex", {"lexical"}),
        ("tedaudit calibrate -a resa", {"resample"}),
        ("tedaudit leaks -m word", {"word-rr"}),
        ("tedaudit lint -m word", {"word-rr"}),
        ("tedaudit run -c de", {"demo"}),
        ("tedaudit judg", {"judge"}),
        ("tedaudit ls mech", {"mechanisms"}),
        ("tedaudit run -m py:no", set()),
    ],
)
def test_a_shell_is_offered_commands_and_names_of_plugins(line, offered):
    assert set(complete(line)) == offered


def test_other_shells_are_answered_too():
    assert complete("tedaudit run -m word", "fish") == ["word-rr"]
    assert any("word-rr" in word for word in complete("tedaudit run -m word", "zsh"))


def test_every_name_is_offered_if_nothing_is_typed_yet():
    assert complete_mechanism("") == names("mechanism")
    assert complete_attack("") == names("attack")
    assert complete_corpus("") == names("corpus")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_is_printed(shell):
    assert f"_TEDAUDIT_COMPLETE=complete_{shell}" in ask(_TEDAUDIT_COMPLETE=f"source_{shell}")
