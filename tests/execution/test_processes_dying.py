"""What becomes of the engine `processes` if workers die, or the run itself."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tedaudit
from engine_examples import PLUGINS, list_contents, make_many_chunks, make_work
from helpers import sentences, tables
from tedaudit.api import run
from tedaudit.errors import InfrastructureError
from tedaudit.execution.engines.processes import ProcessEngine

TESTS = Path(__file__).parents[1]


def _wait_until_gone(pids):
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if not any(Path(f"/proc/{pid}/stat").exists() and _is_alive(pid) for pid in pids):
            return
        time.sleep(0.05)
    raise AssertionError(f"some of {pids} are still there")


def _is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    root = tmp_path_factory.mktemp("serial")
    run(make_work(root / "work"))
    run(make_many_chunks(root / "plain"))
    return root


def test_a_worker_that_is_killed_is_replaced_and_its_units_are_done_by_others(tmp_path, serial):
    killed, seen = [], []
    with ProcessEngine(2) as engine:

        def progress(*what):
            seen.append(what)
            busy = [worker for worker in engine._workers if worker.tickets]
            if len(seen) in (10, 20, 30) and busy:
                killed.append(busy[0].process.pid)
                os.kill(busy[0].process.pid, signal.SIGKILL)

        run(make_many_chunks(tmp_path), engine, progress)
        assert len(killed) == 3
        assert not set(killed) & {worker.process.pid for worker in engine._workers}
    assert list_contents(tmp_path) == list_contents(serial / "plain")


@pytest.mark.parametrize("times", [2, 99])
def test_a_unit_that_has_killed_three_workers_ends_the_run_with_its_name(tmp_path, times):
    def spec(name):
        (tmp_path / f"{name}-deaths").mkdir()
        deadly = {"name": f"{PLUGINS}:Deadly", "folder": str(tmp_path / f"{name}-deaths")}
        # here it would end this process
        return {**deadly, "text": sentences(40)[3], "times": times if name == "killed" else 0}

    with ProcessEngine(2) as engine:
        audit = make_many_chunks(tmp_path / "killed", mechanisms=[spec("killed")])
        if times == 2:
            run(audit, engine)
        else:
            with pytest.raises(InfrastructureError) as caught:
                run(audit, engine)
            message = str(caught.value)
            assert message.startswith("The work on trials ")
            assert " of 'py:engine_plugins:Deadly' has cost 3 workers" in message
            assert "was ended by SIGKILL" in message
            assert sentences(40)[3] not in message
    deaths = len(list((tmp_path / "killed-deaths").iterdir()))
    assert deaths == 2 if times == 2 else 3 <= deaths <= 6  # another unit may have that text too
    if times == 2:
        run(make_many_chunks(tmp_path / "calm", mechanisms=[spec("calm")]))
        rows = [tedaudit.load_run(tmp_path / name).findings[0].bound.correct for name in ("killed", "calm")]
        assert rows[0] == rows[1]


def test_workers_that_cannot_begin_are_not_started_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with (
        ProcessEngine(1) as engine,
        pytest.raises(InfrastructureError, match=r"3 workers in a row did not begin.*exit code 1"),
    ):
        run(make_many_chunks(tmp_path), engine)


def test_a_worker_ends_when_its_input_does_even_if_it_is_at_work():
    ended = subprocess.run(
        [sys.executable, "-m", "tedaudit.worker", "--serve"], stdin=subprocess.DEVNULL, check=False,
        capture_output=True, timeout=300,
    )  # fmt: skip
    assert ended.returncode == 0
    assert len(ended.stdout) == 17  # it said that it is ready, and nothing else


SCRIPT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever started the tests
sys.path.insert(0, {tests!r})
from pathlib import Path
from helpers import make_spec
from tedaudit.api import run
slow = {{"name": "py:engine_plugins:Slow", "folder": {who!r}, "seconds": {seconds}}}
run(make_spec(Path({out!r}), mechanisms=[slow], attacks=["py:engine_plugins:Zero"], trials=400, block=20,
              engine={{"name": "processes", "workers": 2}}))
"""


def _start(tmp_path, seconds):
    who, out = tmp_path / "who", tmp_path / "run"
    who.mkdir()
    script = SCRIPT.format(tests=str(TESTS), who=str(who), out=str(out), seconds=seconds)
    process = subprocess.Popen(
        [sys.executable, "-c", script], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 300
    while len(list(who.iterdir())) < 2:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    return process, [int(path.name) for path in who.iterdir()], out


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_worker_outlives_a_run_that_is_killed_or_interrupted(tmp_path, how):
    process, pids, _ = _start(tmp_path, seconds=3000)  # far longer than the test may take
    if how == signal.SIGINT:
        os.killpg(process.pid, how)  # as a terminal does
    else:
        process.send_signal(how)
    _, told = process.communicate(timeout=300)
    assert process.returncode != 0
    _wait_until_gone(pids)
    if how == signal.SIGINT:
        assert told.count("KeyboardInterrupt") == 1  # of the run, and of no worker


def test_a_run_whose_process_was_killed_is_finished_by_another_engine(tmp_path, serial):
    process, pids, out = _start(tmp_path, seconds=0.1)
    deadline = time.monotonic() + 300
    while not list(out.glob("rewrites/**/part-*.parquet")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.kill()
    process.communicate()
    _wait_until_gone(pids)
    slow = {"name": f"{PLUGINS}:Slow", "folder": str(tmp_path / "who"), "seconds": 0.1}
    run(make_many_chunks(out, mechanisms=[slow]))
    counts = [tedaudit.load_run(folder).findings[0].bound for folder in (out, serial / "plain")]
    assert counts[0].correct == counts[1].correct
    assert counts[0].trials == 400


def test_workers_that_are_killed_in_the_middle_of_large_units_change_no_row(tmp_path):
    slow = {"name": f"{PLUGINS}:Slow", "seconds": 0.02}
    changes = {"mechanisms": [slow], "trials": 4000, "block": 0, "epsilons": [1, 3], "batch_size": 100}
    run(make_many_chunks(tmp_path / "calm", **changes))
    killed = []
    with ProcessEngine(2) as engine:

        def progress(*_):
            progress.seen += 1
            busy = [worker for worker in engine._workers if worker.tickets]
            in_the_middle = [w for w in busy if (t := engine._tasks.get(w.tickets[0])) and t.has_parts]
            if progress.seen % 4 == 0 and len(killed) < 5 and in_the_middle:
                killed.append(in_the_middle[0].process.pid)
                os.kill(killed[-1], signal.SIGKILL)

        progress.seen = 0
        run(make_many_chunks(tmp_path / "killed", **changes), engine, progress)
    assert len(killed) >= 3
    assert tables(tmp_path / "killed") == tables(tmp_path / "calm")
