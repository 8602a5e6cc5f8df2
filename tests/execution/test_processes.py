"""The engine `processes`: the same files as one process writes, whatever happens to the workers."""

import os
import signal
import sys
import threading
import time

import pytest

import tedaudit
from engine_examples import (
    PLUGINS,
    list_contents,
    make_latents,
    make_many_chunks,
    make_rewriting,
    make_work,
)
from engine_plugins import OwnError, shout
from helpers import Stop, sentences, summary
from tedaudit.api import run
from tedaudit.errors import ContractError, PluginError
from tedaudit.execution.engines import pool
from tedaudit.execution.engines.processes import ProcessEngine
from tedaudit.execution.engines.workplace import SHELVE
from tedaudit.execution.work import Bench

ONE = {"name": "processes", "workers": 1}  # where it does not matter how many there are: each takes a second


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    root = tmp_path_factory.mktemp("serial")
    run(make_work(root / "work"))
    run(make_many_chunks(root / "plain"))
    run(make_latents(root / "latents"))
    return root


# --- results


def test_processes_write_the_same_files_as_one(tmp_path, serial):
    with ProcessEngine(2) as engine:
        run(make_work(tmp_path / "work"), engine)
        assert len(engine._workers) == 2
        run(make_latents(tmp_path / "latents"), engine)
    assert list_contents(tmp_path / "work") == list_contents(serial / "work")
    assert summary(tmp_path / "work") == summary(serial / "work")
    assert list_contents(tmp_path / "latents") == list_contents(serial / "latents")


def test_both_processes_work_at_the_same_time(tmp_path):
    (tmp_path / "who").mkdir()
    slow = {"name": f"{PLUGINS}:Slow", "folder": str(tmp_path / "who"), "seconds": 0.1}
    with ProcessEngine(2) as engine:
        run(make_many_chunks(tmp_path / "run", mechanisms=[slow], trials=200), engine)
    assert len(list((tmp_path / "who").iterdir())) == 2
    assert not (tmp_path / "who" / str(os.getpid())).exists()


@pytest.mark.parametrize("first", ["processes", "serial"])
def test_a_run_that_was_stopped_is_resumed_and_extended_by_another_engine(tmp_path, serial, first):
    second = "serial" if first == "processes" else {"name": "processes", "workers": 2}
    steps = []

    def progress(*what):
        steps.append(what)
        if len(steps) > 20:
            raise Stop

    with pytest.raises(Stop):
        run(make_many_chunks(tmp_path, trials=200), first, progress)
    run(make_many_chunks(tmp_path, trials=200), second)
    run(make_many_chunks(tmp_path), first)
    whole, extended = list_contents(serial / "plain"), list_contents(tmp_path)
    assert {name: extended[name] for name in extended if "rewrites/" in name} == {
        name: whole[name] for name in whole if "rewrites/" in name
    }
    manifest = tedaudit.load_run(tmp_path).run.manifest()
    assert "engine" not in manifest["spec"]  # whoever goes on with it chooses their own


def test_the_engine_of_the_spec_is_used(tmp_path):
    (tmp_path / "who").mkdir()
    slow = {"name": f"{PLUGINS}:Slow", "folder": str(tmp_path / "who")}
    engine = {"name": "processes", "workers": 1}
    run(make_many_chunks(tmp_path / "run", mechanisms=[slow], trials=40, engine=engine))
    assert [int(path.name) for path in (tmp_path / "who").iterdir()] != [os.getpid()]


# --- errors of plug-ins


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({"what": "value"}, ContractError),
        ({"what": "own"}, ContractError),
        ({"what": "key", "when": "prepare"}, KeyError),
        ({"what": "exit"}, SystemExit),
    ],
)
def test_an_error_of_a_plug_in_is_the_one_that_it_is_in_one_process(tmp_path, settings, kind):
    errors = {}
    for name, engine in (("serial", "serial"), ("processes", ONE)):
        attack = {"name": f"{PLUGINS}:Raising", **settings}
        with pytest.raises(kind) as caught:
            run(make_many_chunks(tmp_path / name, attacks=[attack]), engine)
        errors[name] = caught.value
    assert type(errors["serial"]) is type(errors["processes"])
    assert str(errors["serial"]) == str(errors["processes"])
    assert "engine_plugins.py" in "".join(errors["processes"].__notes__)  # where it was raised


def test_an_error_that_no_pickle_holds_is_told_in_words(tmp_path):
    attack = {"name": f"{PLUGINS}:Raising", "what": "own", "when": "prepare"}
    with pytest.raises(OwnError):
        run(make_many_chunks(tmp_path / "serial", attacks=[attack]))
    with pytest.raises(RuntimeError, match=r"^OwnError: 3: broken"):
        run(make_many_chunks(tmp_path / "processes", attacks=[attack]), ONE)


def test_an_engine_can_do_the_next_run_after_one_that_failed(tmp_path, serial):
    with ProcessEngine(2) as engine:
        with pytest.raises(ContractError):
            run(make_many_chunks(tmp_path / "raising", attacks=[{"name": f"{PLUGINS}:Raising"}]), engine)
        run(make_many_chunks(tmp_path / "plain"), engine)
    assert list_contents(tmp_path / "plain") == list_contents(serial / "plain")


# --- functions and objects of this process


def test_functions_travel_lambdas_and_closures_too(tmp_path):
    suffix = " indeed"

    def closure(text, seed):
        return text + suffix if seed % 2 else ""

    for number, function in enumerate([shout, closure, lambda text: text.upper()]):
        results = [
            tedaudit.audit(
                function, sentences(30), epsilon=1.0, trials=60, attack="lexical", engine=engine,
                out=str(tmp_path / f"{number}-{name}"), announce=lambda _: None,
            )
            for name, engine in (("serial", "serial"), ("processes", ONE))
        ]  # fmt: skip
        assert results[0].findings[0].bound == results[1].findings[0].bound
        repeats = results[1].run.manifest()["repeats"]
        assert [told["differing"] for told in repeats.values()] == [0]


def test_it_is_said_that_a_function_runs_in_several_processes(tmp_path):
    told = []
    with ProcessEngine(2, announce=told.append) as engine:
        run(make_many_chunks(tmp_path, mechanisms=[shout], trials=20), engine, announce=told.append)
    line = "The function 'shout' runs in up to 2 processes: what it remembers between calls, it remembers in "
    assert told.count(f"{line}each of them apart.") == 1


def test_a_function_that_cannot_travel_is_refused_in_one_line_that_says_what_to_do(tmp_path):
    lock = threading.Lock()

    def locked(text):
        with lock:
            return text

    with pytest.raises(PluginError) as caught:
        run(make_many_chunks(tmp_path, mechanisms=[locked]), ONE, announce=lambda _: None)
    message = str(caught.value)
    assert "\n" not in message
    assert "locked' cannot travel to another process (TypeError: cannot pickle '_thread.lock'" in message
    assert "Use the engine `serial`, or name it as py:package.module:name" in message


def test_an_object_that_workers_cannot_load_is_refused_with_the_same_advice(tmp_path):
    class Nowhere(type(sys)):
        pass

    module = Nowhere("module_that_is_nowhere")
    exec("def rewrite(text):\n    return text\n", module.__dict__)
    sys.modules["module_that_is_nowhere"] = module
    try:
        with pytest.raises(PluginError, match=r"ModuleNotFoundError.*Use the engine `serial`"):
            run(make_many_chunks(tmp_path, mechanisms=[module.rewrite]), ONE, announce=lambda _: None)
    finally:
        del sys.modules["module_that_is_nowhere"]


# --- who does what


def test_an_attack_that_asks_a_server_stays_in_this_process(tmp_path):
    (tmp_path / "who").mkdir()
    server = {"name": f"{PLUGINS}:Server", "folder": str(tmp_path / "who")}
    run(make_many_chunks(tmp_path / "run", attacks=[server]), ONE, announce=lambda _: None)
    assert [path.name for path in (tmp_path / "who").iterdir()] == [str(os.getpid())]


def test_an_attack_tries_a_function_in_one_worker_only(tmp_path):
    (tmp_path / "who").mkdir()
    attack = {"name": f"{PLUGINS}:Practising", "folder": str(tmp_path / "who")}
    spec = make_many_chunks(tmp_path / "run", mechanisms=[shout], attacks=[attack], epsilons=[1, 2])
    run(spec, {"name": "processes", "workers": 2}, announce=lambda _: None)
    tries = sorted(path.name.partition("-")[0] for path in (tmp_path / "who").iterdir())
    assert tries == ["1.0", "2.0"]


def test_work_that_belongs_to_one_worker_moves_if_that_is_killed(tmp_path):
    (tmp_path / "who").mkdir()
    attack = {"name": f"{PLUGINS}:Practising", "folder": str(tmp_path / "who")}
    spec = make_many_chunks(tmp_path / "run", mechanisms=[shout], attacks=[attack])
    killed = []

    def progress(what, *_):
        if "Practising" in what and not killed:
            [home] = (tmp_path / "who").iterdir()
            killed.append(int(home.name.partition("-")[2]))
            os.kill(killed[0], signal.SIGKILL)

    run(spec, {"name": "processes", "workers": 2}, progress, announce=lambda _: None)
    assert killed
    assert len(list((tmp_path / "who").iterdir())) == 2


def test_what_plug_ins_print_and_read_does_not_meet_the_pipes(tmp_path, capfd):
    run(make_many_chunks(tmp_path, mechanisms=[f"{PLUGINS}:Noisy"], trials=40), ONE)
    out, errors = capfd.readouterr()
    assert out == ""
    for line in ("printed by a plug-in", "written by a plug-in", "by a child"):
        assert line in errors


def test_a_worker_computes_with_one_thread(tmp_path):
    run(make_many_chunks(tmp_path, mechanisms=[f"{PLUGINS}:Threads"], trials=20), "processes")
    run_directory = tedaudit.load_run(tmp_path).run
    [folder] = [path.parent for path in run_directory.root.glob("rewrites/**/table.json")]
    import polars as pl

    assert pl.read_parquet(folder / "part-*.parquet")["output"].unique().to_list() == ["1 1"]


# --- bounds


def test_texts_travel_once_to_each_worker(tmp_path):
    shelved = []

    class Spying(ProcessEngine):
        def _send(self, worker, what, number, parcel=b""):
            if what == SHELVE:
                shelved.append((worker.process.pid, number))
            super()._send(worker, what, number, parcel)

    with Spying(2) as engine:
        run(make_many_chunks(tmp_path), engine)
    assert len(shelved) == len(set(shelved))
    assert len({number for _, number in shelved}) == 1  # the pool


def test_a_bounded_number_of_pieces_of_work_and_bytes_is_in_flight(monkeypatch):
    with ProcessEngine(2) as engine:
        count = 0
        while engine.has_room:
            count += 1
            engine.submit(count, make_rewriting(count))
        assert count == 6
        results = dict(engine.finished())
        assert results[5] == Bench().perform(make_rewriting(5))
        assert results.keys() == set(range(1, 7))
        monkeypatch.setattr(pool, "ROOM", 1)  # as if work were large
        engine.submit(7, make_rewriting(7))
        assert not engine.has_room
        assert len(dict(engine.finished())) == 1
        assert engine.has_room


def test_results_that_nobody_takes_wait_with_the_workers_and_are_dropped_in_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "_UNREAD", 3)
    audit = make_many_chunks(tmp_path / "run", block=2)
    with ProcessEngine(2) as engine:
        seen = []

        def progress(*what):
            seen.append(what)
            time.sleep(0.01)
            assert engine._events.qsize() <= 3

        run(audit, engine, progress)
        assert len(seen) > 400
        for ticket in range(1, 10):
            engine.submit(ticket, make_rewriting(ticket))  # and nobody asks for their results
    assert engine._workers == []
