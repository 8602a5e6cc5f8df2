"""Programs that answer JSON lines: what they are told, and all that they may do instead of answering."""

import json
import math
import os
import signal
import sys

import pytest

from child_programs import SHOUT, MarkedClock, make_command, make_draws, rewrite, save_program, save_script
from tedaudit.errors import InfrastructureError, PluginError, SpecError
from tedaudit.mechanisms import _program, _programs
from tedaudit.mechanisms.command import Command
from tedaudit.plugins.values import Rewrite

TELL = "answer(request, text=json.dumps(request))"


def told(command, *texts, epsilon=2.0):
    return [json.loads(made.text) for made in command.rewrite(make_draws(*texts, epsilon=epsilon))]


def test_every_text_is_answered_in_order_by_one_process(tmp_path):
    command = make_command(tmp_path, 'answer(request, text=f"{os.getpid()} {text.upper()}")')
    made = rewrite(command, "a b", "", "c\nd\u2028\u00e9 \U0001f600") + rewrite(command, "e")
    numbers, texts = zip(*(text.split(" ", 1) for text in made), strict=True)
    assert texts == ("A B", "", "C\nD\u2028\u00c9 \U0001f600", "E")
    assert len(set(numbers)) == 1
    assert list(command.rewrite([])) == []


def test_a_program_is_told_the_text_and_epsilon_and_no_more(tmp_path):
    [request] = told(make_command(tmp_path, TELL), "a")
    assert set(request) == {"id", "text", "epsilon"}
    assert (request["text"], request["epsilon"]) == ("a", 2.0)
    [request] = told(make_command(tmp_path, TELL), "a", epsilon=math.inf)
    assert set(request) == {"id", "text"}


def test_a_seeded_program_is_told_a_seed_and_the_whole_key(tmp_path):
    command = make_command(tmp_path, TELL, seeded=True)
    draws = make_draws("a", "a")
    requests = told(command, "a", "a")
    assert [request["seed"] for request in requests] == [draw.key % 2**31 for draw in draws]
    assert [int(request["draw_key"], 16) for request in requests] == [draw.key for draw in draws]
    assert command.is_seeded
    assert not make_command(tmp_path, TELL).is_seeded


def test_an_adversary_has_a_process_and_seeds_of_its_own(tmp_path):
    command = make_command(
        tmp_path, 'answer(request, text=json.dumps({**request, "pid": os.getpid()}))', seeded=True
    )
    own = command.for_adversary()
    [audited], [other] = told(command, "a"), told(own, "a")
    assert other["seed"] == audited["seed"] + 2**31
    assert other["pid"] != audited["pid"]
    assert own == command


def test_full_pipes_stop_nobody(tmp_path):
    body = """
    sys.stderr.write("x" * 300_000)
    answer(request, text=text[::-1])
    sys.stderr.write("y" * 300_000)
    """
    command = make_command(tmp_path, body, timeout=30)
    long = "ab" * 500_000
    assert rewrite(command, long, "cd", long) == [long[::-1], "dc", long[::-1]]


def test_a_program_that_is_killed_between_two_texts_is_started_again(tmp_path):
    command = make_command(tmp_path, "answer(request, text=str(os.getpid()))")
    [first] = rewrite(command, "a")
    os.kill(int(first), signal.SIGKILL)
    [second] = rewrite(command, "a")
    assert second not in (first, "")
    assert second.isdigit()


def test_a_text_on_which_it_dies_once_is_answered(tmp_path):
    body = """
    if text == "b" and not os.path.exists("died"):
        open("died", "w").close()
        os.abort()
    answer(request, text=text.upper())
    """
    command = make_command(tmp_path, body, folder=str(tmp_path))
    assert rewrite(command, "a", "b", "c") == ["A", "B", "C"]


@pytest.mark.parametrize(
    ("does", "code"),
    [
        ("sys.exit(3)", "exit-3"),
        ("sys.exit(0)", "exit-0"),
        ("os.abort()", "signal-SIGABRT"),
        ("raise KeyError(text)", "exit-1"),
        ("print('once upon a time', flush=True)", "not-json"),
        ("print('[1, 2]', flush=True)", "not-json"),
        ("answer({'id': -1}, text='x')", "wrong-id"),
        ("print(json.dumps({'text': 'x'}), flush=True)", "wrong-id"),
        ("sys.stdout.buffer.write(bytes([255, 254, 10])); sys.stdout.flush()", "not-utf-8"),
        ("os.close(1); time.sleep(60)", "closed-output"),
        ("answer(request, text=7)", "returned-int"),
        ("answer(request)", "returned-NoneType"),
        ("answer(request, error='too-long')", "too-long"),
        ("answer(request, error='too long for ' + text)", "unnamed-error"),
        ("answer(request, error=['x'], text='y')", "unnamed-error"),
    ],
)
def test_a_text_that_it_cannot_answer_is_a_failed_rewrite_and_others_are_answered(
    tmp_path, monkeypatch, does, code
):
    body = f"if text == 'bad':\n    {does}\nelse:\n    {SHOUT}"
    if code != "closed-output":  # a busy machine may take its time to end a program
        monkeypatch.setattr(_program, "_GRACE", 60.0)
    good, bad, other = make_command(tmp_path, body).rewrite(make_draws("a", "bad", "c"))
    assert (good, bad, other) == (Rewrite("A"), Rewrite("", error=code), Rewrite("C"))


def test_a_text_on_which_it_is_too_slow_is_a_failed_rewrite_and_others_are_answered(tmp_path, monkeypatch):
    clock = MarkedClock(tmp_path / "marks")
    monkeypatch.setattr(_program, "time", clock)
    body = f"if text == 'bad':\n    {clock.mark}; time.sleep(600)\nelse:\n    {SHOUT}"
    good, bad, other = make_command(tmp_path, body).rewrite(make_draws("a", "bad", "c"))
    assert (good, bad, other) == (Rewrite("A"), Rewrite("", error="timed-out"), Rewrite("C"))
    assert clock.monotonic() == 2 * 3600  # it was tried twice


def test_two_answers_to_one_question_are_never_taken_for_those_to_two(tmp_path):
    before = "import threading\n"
    body = """
    answer(request, text=text.upper())
    threading.Timer(0.05, answer, (request,), {"text": "late " + text}).start()
    """
    texts = [f"text {number}" for number in range(6)]
    assert rewrite(make_command(tmp_path, body, before), *texts) == [text.upper() for text in texts]


def test_lines_that_are_no_answers_can_be_named(tmp_path):
    before = 'print("Loading 300 vectors...", flush=True)'
    body = 'print("working", flush=True)\n' + SHOUT
    command = make_command(tmp_path, body, before, ignore=r"Loading .*|working")
    assert rewrite(command, "a", "b") == ["A", "B"]
    with pytest.raises(PluginError) as caught:
        rewrite(make_command(tmp_path, body, before), "a", "b", "c")
    assert "'Loading 300 vectors...', which is not a JSON object" in str(caught.value)
    assert "`ignore`" in str(caught.value)


def test_a_slow_start_has_a_limit_of_its_own(tmp_path, monkeypatch):
    clock = MarkedClock(tmp_path / "marks")
    with monkeypatch.context() as patch:
        patch.setattr(_program, "time", clock)
        before = f"time.sleep(0.5); {clock.mark}; time.sleep(0.5)"  # within it the limit is looked at
        command = make_command(tmp_path, SHOUT, before, timeout=60, start_timeout=2 * 3600)
        assert rewrite(command, "a", "b") == ["A", "B"]
    late = make_command(tmp_path, SHOUT, "time.sleep(30)", timeout=0.2, start_timeout=0.2)
    with pytest.raises(PluginError, match=r"gave no answer within 0\.4 seconds"):
        rewrite(late, "a", "b")


def test_the_limit_is_told_as_it_was_set_and_not_as_what_was_left_of_it(tmp_path):
    late = make_command(
        tmp_path, SHOUT, "time.sleep(30)", timeout=0.25, start_timeout=0.25, lines="plain"
    )  # fmt: skip
    with pytest.raises(PluginError, match=r"gave no answer within 0\.5 seconds"):
        rewrite(late, "a", "b")


def test_a_program_that_never_answers_stops_the_run_and_its_last_words_are_shown(tmp_path):
    command = Command(
        save_script(tmp_path, "import sys\nprint('x' * 9000, 'no model', file=sys.stderr)\nsys.exit(9)")
    )
    with pytest.raises(PluginError) as caught:
        rewrite(command, "a", "b", "c")
    for part in ("ended with exit status 9", "no model", "not answered once in 4 attempts"):
        assert part in str(caught.value)


def test_a_program_that_answers_no_more_stops_the_run(tmp_path):
    command = make_command(tmp_path, f"if text == 'a':\n    {SHOUT}\nelse:\n    sys.exit(4)")
    with pytest.raises(InfrastructureError, match="failure number 20 in a row"):
        rewrite(command, "a", *"bcdefghijklmno")


def test_failures_are_counted_over_the_whole_run(tmp_path):
    command = make_command(tmp_path, f"if text == 'b':\n    sys.exit(4)\nelse:\n    {SHOUT}", restarts=4)
    assert rewrite(command, *"abab") == ["A", "exit-4", "A", "exit-4"]
    with pytest.raises(InfrastructureError, match="It has failed 5 times"):
        rewrite(command, *"ab")


def test_a_program_that_is_killed_twice_at_a_text_is_no_output(tmp_path):
    command = make_command(
        tmp_path, f"if text == 'b':\n    os.kill(os.getpid(), signal.SIGKILL)\nelse:\n    {SHOUT}"
    )
    with pytest.raises(InfrastructureError, match="was killed twice at the same text"):
        rewrite(command, "a", "b")


def test_an_answer_without_an_end_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(_program, "LONGEST_LINE", 100_000)
    command = make_command(
        tmp_path, f"if text == 'b':\n    while True: sys.stdout.write('x' * 9999)\nelse:\n    {SHOUT}"
    )
    assert rewrite(command, "a", "b", "c") == ["A", "too-long", "C"]


def test_what_a_program_started_does_not_keep_us_waiting(tmp_path):
    before = "import subprocess"
    body = f"if text == 'b':\n    subprocess.Popen(['sleep', '60']); os._exit(5)\nelse:\n    {SHOUT}"
    assert rewrite(make_command(tmp_path, body, before), "a", "b", "c") == ["A", "exit-5", "C"]


def test_a_command_line_is_split_and_no_shell_reads_it(tmp_path):
    script = save_program(tmp_path, "answer(request, text=json.dumps(sys.argv[1:]))")
    line = f"{' '.join(script)} 'a b' $(touch made) '{{print $1}}' *"
    assert json.loads(rewrite(Command(line, folder=str(tmp_path)), "x")[0]) == [
        "a b", "$(touch", "made)", "{print $1}", "*",
    ]  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]
    assert Command(" ".join(script)) == Command(script) == Command(list(script))


def test_epsilon_may_stand_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.setattr(_programs, "_MOST_KEPT", 2)
    script = save_program(tmp_path, 'answer(request, text=f"{os.getpid()} {sys.argv[1]}")')
    command = Command((*script, "--epsilon={epsilon}"))
    draws = [draw for epsilon in (1.0, 2.5, 1.0, 7.0, 1.0) for draw in make_draws("a", epsilon=epsilon)]
    made = [rewritten.text.split() for rewritten in command.rewrite(draws)]
    assert [argument for _, argument in made] == [f"--epsilon={e}" for e in (1.0, 2.5, 1.0, 7.0, 1.0)]
    assert made[0][0] == made[2][0]
    assert len(command._programs._running) == 2
    assert list(command.epsilons([1.0])) == [1.0]
    with pytest.raises(SpecError, match="takes an epsilon: set the values"):
        command.epsilons([])
    assert list(Command(script).epsilons([])) == [math.inf]


def test_the_claim_is_what_the_caller_says():
    claim = Command("cat", unit="word", max_units=5, delta=1e-6).claim(2.0)
    assert (claim.epsilon, claim.unit, claim.max_units, claim.delta) == (2.0, "word", 5, 1e-6)
    assert Command("cat").claim(math.inf) is None
    assert Command("cat", promised=False).claim(2.0) is None


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"program": ""}, "there is no program"),
        ({"program": []}, "there is no program"),
        ({"program": "a 'b"}, "cannot be split"),
        ({"program": "cat", "timeout": 0}, "timeout is 0"),
        ({"program": "cat", "start_timeout": math.inf}, "start_timeout is inf"),
        ({"program": "cat", "restarts": -1}, "restarts is -1"),
        ({"program": "cat", "ignore": "("}, "not a regular expression"),
        ({"program": "cat", "lines": "plain", "seeded": True}, "plain lines carry no seed"),
    ],
)
def test_settings_that_cannot_be_are_refused(fields, said):
    with pytest.raises(SpecError, match=said):
        Command(**fields)


def test_a_program_that_does_not_exist_is_named(tmp_path):
    for program in ("no-such-program", str(tmp_path), "./nothing.py"):
        with pytest.raises(PluginError, match=r"no program|cannot be started"):
            Command(program, folder=str(tmp_path)).fingerprint()
        with pytest.raises(PluginError, match="cannot be started"):
            rewrite(Command(program, folder=str(tmp_path)), "a")


def test_the_callee_is_the_program():
    assert Command((sys.executable, "x.py")).callee(2).name.startswith("the program 'python")


class Listener:
    """Takes what is written to standard error; the second line of it makes a file."""

    def __init__(self, file):
        self.file, self.lines = file, []

    def write(self, line):
        self.lines.append(line)
        if len(self.lines) == 2:
            self.file.touch()


WAIT = """
while text == "slow" and not os.path.exists({!r}):
    time.sleep(0.01)
"""


def test_a_program_that_does_not_answer_is_told_of_until_it_does(tmp_path, monkeypatch):
    """It answers once it was told of twice: no clock decides."""
    heard = Listener(tmp_path / "go")
    monkeypatch.setattr(sys, "stderr", heard)
    command = make_command(tmp_path, WAIT.format(str(heard.file)) + SHOUT, timeout=60, start_timeout=100)
    assert rewrite(command, "quick") == ["QUICK"]
    assert heard.lines == []
    monkeypatch.setattr(_program, "NOTICE", 0.01)
    assert rewrite(command, "slow") == ["SLOW"]
    assert len(heard.lines) >= 2
    for line in heard.lines:
        assert "program.py' has not answered text number 2 for " in line
        assert "After 60 seconds (`timeout`, `start_timeout`)" in line


def test_a_batch_that_is_not_answered_is_told_of_by_its_numbers(tmp_path, monkeypatch):
    heard = Listener(tmp_path / "go")
    monkeypatch.setattr(sys, "stderr", heard)
    monkeypatch.setattr(_program, "NOTICE", 0.01)
    waiting = f"while not os.path.exists({str(heard.file)!r}): time.sleep(0.01)"
    script = f"import os, sys, time\n{waiting}\nfor line in sys.stdin:\n    print(line[:-1].upper())"
    command = Command(save_script(tmp_path, script), lines="plain", timeout=10, start_timeout=30)
    assert rewrite(command, "a", "b", "c") == ["A", "B", "C"]
    assert "has not answered texts number 1 to 3 for " in heard.lines[0]
    assert "After 60 seconds" in heard.lines[0]


def test_people_are_told_of_a_silent_program_every_minute():
    assert _program.NOTICE == 60.0
