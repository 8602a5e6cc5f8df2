"""What becomes of the engine `processes` if workers die, or the run itself."""

import os
import signal
import subprocess
import sys
from multiprocessing import spawn
from pathlib import Path

import pytest

from child_programs import is_running, wait_until
from engine_examples import PLUGINS, list_contents, make_many_chunks
from helpers import sentences, tables
from tedaudit.api import run
from tedaudit.errors import InfrastructureError
from tedaudit.runs.engines import ProcessEngine

TESTS = Path(__file__).parents[1]
MANY_STEPS = {"trials": 1000, "block": 50, "batch_size": 20}


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """A mechanism that takes its time, and an audit of it by one process."""
    root = tmp_path_factory.mktemp("slow")
    mechanism = {"name": f"{PLUGINS}:Slow", "seconds": 0.05}
    run(make_many_chunks(root, mechanisms=[mechanism], epsilons=[1, 3], **MANY_STEPS))
    return mechanism, root


def test_workers_that_are_killed_in_the_middle_of_steps_change_no_file(tmp_path, slow):
    mechanism, calm = slow
    seen, lost, moments = [], [], [3, 8, 13]

    class Watching(ProcessEngine):
        def _suspect(self, step):
            lost.append(step)
            super()._suspect(step)

    with Watching(2) as engine:

        def progress(*what):
            seen.append(what)
            if len(seen) == 2:  # what is typed is not for workers
                for number in list(engine._pool._processes):
                    os.kill(number, signal.SIGINT)
            if not moments or len(seen) < moments[0] or engine._suspects or engine._pool is None:
                return
            pool, all_of_them = engine._pool, list(engine._pool._processes)
            moments.pop(0)
            for number in all_of_them[: None if not moments else 1]:
                os.kill(number, signal.SIGKILL)
            if not moments:
                assert wait_until(lambda: pool._broken)  # so that the next step meets nobody

        run(
            make_many_chunks(tmp_path, mechanisms=[mechanism], epsilons=[1, 3], **MANY_STEPS),
            engine,
            progress,
        )
    assert not moments
    assert len(lost) > 3  # more than one step was being done at a time, and none was blamed
    assert list_contents(tmp_path) == list_contents(calm)
    assert not list(tmp_path.rglob(".writing-*"))


def test_a_step_that_kills_two_workers_is_done_and_one_that_kills_three_ends_the_run_with_its_name(tmp_path):
    def make(name, times):
        (tmp_path / f"{name}-deaths").mkdir(exist_ok=True)
        deadly = {"name": f"{PLUGINS}:Deadly", "folder": str(tmp_path / f"{name}-deaths"), "times": times}
        return make_many_chunks(
            tmp_path / name, mechanisms=[{**deadly, "text": sentences(40)[3]}], trials=400, block=100
        )

    def count(name):
        return len(list((tmp_path / f"{name}-deaths").iterdir()))

    run(make("calm", 0))
    whole = tables(tmp_path / "calm")
    with ProcessEngine(2) as engine:
        run(make("twice", 2), engine)
        assert count("twice") == 2
        assert tables(tmp_path / "twice") == whole
        with pytest.raises(InfrastructureError) as caught:
            run(make("often", 99), engine)
        message = str(caught.value)
        assert message.startswith("The rewriting of ")
        assert " by 'py:engine_plugins:Deadly' at epsilon 3 has cost 3 processes" in message
        assert sentences(40)[3] not in message
        assert 3 <= count("often") <= 5  # another step may have that text too
    done = list_contents(tmp_path / "often")
    for number in range(99):  # the cause is removed
        (tmp_path / "often-deaths" / str(number)).touch()
    run(make("often", 99))
    assert done.items() <= list_contents(tmp_path / "often").items()
    assert tables(tmp_path / "often") == whole


def test_workers_that_cannot_begin_are_not_started_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(spawn, "_python_exe", b"/bin/false")
    with ProcessEngine(1) as engine, pytest.raises(InfrastructureError, match="has cost 3 processes"):
        run(make_many_chunks(tmp_path), engine)


SCRIPT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever started the tests
sys.path.insert(0, {tests!r})
from pathlib import Path
from helpers import make_spec
from tedaudit.api import run
print("ready", flush=True)
slow = {{"name": "py:engine_plugins:Slow", "folder": {who!r}, "seconds": {seconds}}}
server = {{"name": "py:engine_plugins:Server", "folder": {who!r}, "seconds": {patience}}}
run(make_spec(Path({out!r}), mechanisms=[slow], attacks=[server], trials=400, block=20,
              epsilons=[1, 3], engine={{"name": "processes", "workers": 2}}))
"""


def _list_children(parent):
    """Return the processes that were started by one."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == parent and fields[0] != "Z":
                found.append(int(folder.name))
    return found


@pytest.mark.parametrize("how", ["killed", "interrupted", "interrupted while a server is asked"])
def test_no_worker_outlives_a_run_that_is_killed_or_interrupted(tmp_path, how):
    """What is being done would take far longer than the test may."""
    who, is_asking = tmp_path / "who", "server" in how
    who.mkdir()
    times = {"seconds": 0.001, "patience": 3000} if is_asking else {"seconds": 3000, "patience": 0}
    script = SCRIPT.format(tests=str(TESTS), who=str(who), out=str(tmp_path / "run"), **times)
    process = subprocess.Popen(
        [sys.executable, "-c", script], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        awaited = str(process.pid) if is_asking else "*"

        def is_at_work():
            assert process.poll() is None, process.stderr.read()
            return any(who.glob(awaited))

        assert wait_until(is_at_work)
        children = _list_children(process.pid)
        assert len(children) >= 2
        if how == "killed":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, told = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode != 0
    assert wait_until(lambda: not any(map(is_running, children)))
    if how != "killed":
        assert told.count("KeyboardInterrupt") == 1  # of the run, and of no worker
