"""A program within an audit: it ends when it should, travels to workers, and is in the key of a table."""

import copy
import gc
import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tedaudit
from child_programs import SHOUT, is_running, make_command, make_draws, rewrite, save_program, wait_until
from command_line import process
from tedaudit.leaks.lint.linter import lint
from tedaudit.mechanisms.command import Command
from tedaudit.plugins.registry import determinants

NOISY = """
import random
rng = random.Random(request["draw_key"])
answer(request, text=" ".join(word for word in text.split() if rng.random() < 0.5))
"""
TEXTS = [
    f"the {colour} {thing} is here" for colour in ("red", "blue", "grey") for thing in ("cup", "hat", "dog")
]


def read_numbers(command):
    """Return the numbers of the processes that rewrite two texts, one at a time."""
    return [int(made.text) for made in [*command.rewrite(make_draws("a")), *command.rewrite(make_draws("b"))]]


def test_a_program_ends_with_its_mechanism(tmp_path):
    command = make_command(tmp_path, "answer(request, text=str(os.getpid()))")
    number, same = read_numbers(command)
    assert number == same
    assert is_running(number)
    del command
    gc.collect()
    assert wait_until(lambda: not is_running(number))


def test_a_program_that_does_not_end_with_its_input_is_ended_with_all_that_it_started(tmp_path):
    before = "import subprocess\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)"
    body = """
    child = subprocess.Popen(["sleep", "600"])
    answer(request, text=f"{os.getpid()} {child.pid}")
    """
    script = Path(save_program(tmp_path, body, before)[-1])
    script.write_text(script.read_text() + "\ntime.sleep(600)\n")
    command = Command((sys.executable, "-I", "-S", str(script)))
    numbers = [int(number) for number in rewrite(command, "a")[0].split()]
    assert all(map(is_running, numbers))
    command._programs.close()
    assert wait_until(lambda: not any(map(is_running, numbers)))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_program_stays_if_the_audit_is_interrupted_or_killed(tmp_path, how):
    place = str(tmp_path / "number")
    before = f"""
    with open({place + ".part"!r}, "w") as file:
        file.write(str(os.getpid()))
    os.rename({place + ".part"!r}, {place!r})
    """
    program = save_program(tmp_path, f"time.sleep(0.05)\n{SHOUT}", before)
    audit = subprocess.Popen(
        [sys.executable, "-m", "tedaudit", "run", "-m", "command",
         "--set", f"command.program={json.dumps(program)}",
         "-t", "2000", "-o", "made", "-q", "--encoder", "lexical"],
        cwd=tmp_path, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert wait_until((tmp_path / "number").exists), audit.communicate(timeout=5)
    audit.send_signal(how)
    _, said = audit.communicate(timeout=300)
    assert audit.returncode != 0
    assert "Traceback" not in said
    assert wait_until(lambda: not is_running(int((tmp_path / "number").read_text())))


@pytest.mark.parametrize("travel", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_starts_a_process_of_its_own(tmp_path, travel):
    command = make_command(tmp_path, "answer(request, text=str(os.getpid()))", restarts=7)
    [number, _] = read_numbers(command)
    other = travel(command)
    assert other == command
    if travel is not copy.copy:  # which shares what the original runs, as any field
        assert read_numbers(other)[0] != number
        assert other._programs.patience.restarts == 7


def test_a_fork_does_not_talk_to_the_program_of_its_parent(tmp_path):
    command = make_command(tmp_path, "answer(request, text=str(os.getpid()))")
    number, _ = read_numbers(command)
    child = os.fork()
    if child == 0:
        is_other = read_numbers(command)[0] != number
        command._programs.close()
        os._exit(0 if is_other else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert read_numbers(command) == [number, number]


def test_every_engine_gives_the_same_rewrites(tmp_path):
    program = {"name": "command", "program": list(save_program(tmp_path, NOISY)), "seeded": True}
    found = []
    for engine in ("serial", "processes"):
        result = tedaudit.audit(
            program, TEXTS, epsilon=1.0, trials=40, attack="lexical", engine=engine, encoder="lexical",
            out=str(tmp_path / engine), announce=lambda _: None,
        )  # fmt: skip
        found.append(result.findings[0].bound)
        assert result.run.manifest()["repeats"]["command"]["differing"] == 0
    assert found[0] == found[1]


def test_what_decides_the_rewrites_is_in_the_key_of_a_table(tmp_path):
    program = save_program(tmp_path, SHOUT)
    (tmp_path / "words.txt").write_text("one")

    def known(**fields):
        return determinants(Command(program, folder=str(tmp_path), **fields))

    first = known()
    assert known(timeout=3, restarts=2, start_timeout=9) == first
    assert first["version"] == Command.card.version
    assert known(program_version="2") != first
    with_words = known(files=["words.txt"])
    (tmp_path / "words.txt").write_text("two")
    assert known(files=["words.txt"]) != with_words
    assert known() == first
    Path(program[-1]).write_text("pass")
    assert known() != first
    with pytest.raises(tedaudit.errors.SpecError, match=r"no file 'other\.txt'"):
        known(files=["other.txt"])


def test_a_changed_script_does_not_continue_a_run(tmp_path):
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    program = save_program(tmp_path, NOISY)
    line = (
        "run", "-m", "command", "-c", "texts.txt", "-e", "2", "--set", f"command.program={' '.join(program)}",
        "--set", "command.seeded=true", "-t", "30", "-o", "made", "--encoder", "lexical", "-q",
    )  # fmt: skip
    done = process(*line, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert process(*line, cwd=tmp_path).returncode == 0
    save_program(tmp_path, NOISY.replace("0.5", "0.6"))
    refused = process(*line, cwd=tmp_path)
    assert refused.returncode == 2
    assert "program.py" in refused.stderr


def test_a_release_has_fresh_noise_in_the_whole_key(tmp_path):
    (tmp_path / "texts.txt").write_text("a\nb\n")
    program = save_program(tmp_path, 'answer(request, text=text + " " + request["draw_key"])')
    line = ("rewrite", "texts.txt", "-m", "command", "-e", "2", "--set", f"program={' '.join(program)}",
            "--set", "seeded=true")  # fmt: skip
    keys = []
    for _ in range(2):
        done = process(*line, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        texts, found = zip(*(written.split() for written in done.stdout.splitlines()), strict=True)
        assert texts == ("a", "b")
        keys += found
    assert len(set(keys)) == 4


def test_failed_rewrites_stay_in_the_count(tmp_path):
    program = save_program(tmp_path, f"if 'red' in text:\n    sys.exit(3)\nelse:\n    {SHOUT}")
    result = tedaudit.audit(
        {"name": "command", "program": list(program)}, TEXTS, trials=30, attack="lexical", encoder="lexical",
        out=str(tmp_path / "made"), announce=lambda _: None,
    )  # fmt: skip
    [finding] = result.findings
    assert finding.bound.trials == 30
    assert 0 < finding.counts.failed < 30


def test_lint_says_that_it_does_not_read_a_program():
    [note] = lint({"name": "command", "program": "cat"}, texts=[]).notes
    assert (note.level, note.rule) == ("info", "source")
