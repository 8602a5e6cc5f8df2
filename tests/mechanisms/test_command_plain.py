"""Programs that read plain lines: any filter, with as many lines out as in."""

import shutil

import pytest

from child_programs import MarkedClock, make_draws, rewrite, save_script
from tedaudit.errors import PluginError
from tedaudit.mechanisms import _program
from tedaudit.mechanisms.command import Command
from tedaudit.plugins.values import Rewrite

LOOP = """
import os, sys
lines = sys.stdin.read().split("\\n")[:-1]
for line in lines:
    if line == "bad":
        {does}
    else:
        print(line.upper())
"""


def make_filter(folder, does="print('BAD')", **fields):
    return Command(save_script(folder, LOOP.format(does=does)), lines="plain", **fields)


def test_any_filter_can_be_audited():
    assert rewrite(Command("tr a-z A-Z", lines="plain"), "a b", "", "c") == ["A B", "", "C"]
    assert rewrite(Command(["sed", "s/[0-9]/#/g"], lines="plain"), "a1", "22") == ["a#", "##"]
    assert list(Command("tr a-z A-Z", lines="plain").rewrite([])) == []


def test_a_line_break_within_a_text_becomes_a_space():
    breaks = "a\nb\r\nc\rd\u2028e\x85f\x0bg"
    assert rewrite(Command("cat", lines="plain"), breaks, "x") == ["a b c d e f g", "x"]


def test_more_than_a_pipe_holds_goes_through():
    texts = [f"{number} " + "ab" * 3000 for number in range(200)]
    assert rewrite(Command("cat", lines="plain"), *texts) == texts


@pytest.mark.parametrize(
    ("does", "code"),
    [
        ("pass", "printed-0-lines"),
        ("print(); print()", "printed-2-lines"),
        ("sys.exit(7)", "exit-7"),
        ("os.abort()", "signal-SIGABRT"),
        (None, "timed-out"),
        ("sys.stdout.flush(); os.write(1, bytes([255, 10]))", "not-utf-8"),
    ],
)
def test_one_bad_text_does_not_fail_the_others_of_its_batch(tmp_path, monkeypatch, does, code):
    clock = MarkedClock(tmp_path / "marks")
    monkeypatch.setattr(_program, "time", clock)
    command = make_filter(tmp_path, does or f"import time; {clock.mark}; time.sleep(600)")
    texts = ["a", "b", "bad", "c", "d"]
    expected = [Rewrite("", error=code) if text == "bad" else Rewrite(text.upper()) for text in texts]
    assert list(command.rewrite(make_draws(*texts))) == expected


def test_lines_that_are_no_answers_can_be_named(tmp_path):
    script = save_script(
        tmp_path, "import sys\nprint('hello')\nfor line in sys.stdin:\n    print(line[:-1] + '!')"
    )
    assert rewrite(Command(script, lines="plain", ignore="hello"), "a", "b") == ["a!", "b!"]


def test_each_epsilon_has_a_program_of_its_own(tmp_path):
    script = save_script(tmp_path, "import sys\nfor line in sys.stdin:\n    print(sys.argv[1], line[:-1])")
    command = Command((*script, "{epsilon}"), lines="plain")
    draws = [*make_draws("a", epsilon=1.0), *make_draws("b", epsilon=2.0), *make_draws("c", epsilon=1.0)]
    assert [made.text for made in command.rewrite(draws)] == ["1.0 a", "2.0 b", "1.0 c"]


def test_a_program_that_fails_on_everything_stops_the_run():
    with pytest.raises(PluginError, match=r"'false' ended with exit status 1.*not answered once"):
        rewrite(Command("false", lines="plain"), *(str(number) for number in range(50)))


@pytest.mark.skipif(shutil.which("awk") is None, reason="awk is not installed")
def test_braces_of_other_languages_are_left_alone():
    assert rewrite(Command(["awk", "{print $2}"], lines="plain"), "a b c", "d e") == ["b", "e"]
