"""The engine `ray`, on a real cluster of two machines with one core each, none of them to spare."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tedaudit
from engine_examples import list_contents, make_rewriting
from helpers import make_spec, sentences, summary
from tedaudit.api import run
from tedaudit.errors import ContractError, InfrastructureError, ModelError, PluginError
from tedaudit.execution.engines.ray import RayEngine
from tedaudit.execution.engines.workplace import Actor, describe_known, restore_error
from tedaudit.execution.wire import Shelf, unpack
from tedaudit.execution.work import Bench
from tedaudit.plugins.registry import build
from tedaudit.spec.engine import EngineSpec

ray = pytest.importorskip("ray")
PLUGINS = "py:engine_plugins"
TESTS = Path(__file__).parents[1]
MEMORY = 100 * 2**20
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}  # a busy machine starves nice workers
HEALTH = {
    "health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_timeout_ms": 60_000,
    "health_check_failure_threshold": 3,
}  # fmt: skip


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    os.environ |= QUIET
    head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": MEMORY}
    made = Cluster(initialize_head=True, head_node_args={**head, "_system_config": HEALTH})
    made.add_node(num_cpus=1, object_store_memory=MEMORY)
    ray.init(address=made.address, log_to_driver=False, logging_level="FATAL")
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="module")
def engine(cluster):
    with RayEngine(EngineSpec(name="ray"), 4096) as made:
        yield made


def _plain(out, **changes):
    settings = {"mechanisms": [f"{PLUGINS}:Slow"], "attacks": [f"{PLUGINS}:Zero"], "trials": 400, "block": 20}
    return make_spec(out, **settings | changes)


def _work(out):
    return make_spec(
        out, mechanisms=[{"name": "word-rr", "slots": 4, "epsilons": [1, 4]}, "py:helpers:Failing"],
        plans=[{"k": 2, "lambda": -1e4}], attacks=["lexical", "resample"], trials=60, block=20,
    )  # fmt: skip


def _wait_for_actors(engine, count):
    """Wait until so many actors are there."""
    deadline = time.monotonic() + 300
    while sum(worker.is_ready for worker in engine._workers) < count:
        assert time.monotonic() < deadline, engine.status
        engine._next_event()


def test_a_cluster_writes_the_same_files_as_one_process(tmp_path, engine):
    told = []
    run(_work(tmp_path / "here"))
    run(_work(tmp_path / "there"), engine, lambda what, *_: told.append(what))
    assert list_contents(tmp_path / "here") == list_contents(tmp_path / "there")
    assert summary(tmp_path / "here") == summary(tmp_path / "there")
    assert any(what.endswith(" of 2 actors)") for what in told)
    assert len(engine._workers) == 2


def test_workers_that_are_killed_and_machines_that_go_and_come_change_no_result(
    tmp_path, cluster, engine, monkeypatch
):
    who, done, lost = tmp_path / "who", [], []
    who.mkdir()
    slow = {"name": f"{PLUGINS}:Slow", "folder": str(who), "seconds": 0.1}
    give_back = engine._give_back
    monkeypatch.setattr(engine, "_give_back", lambda event: (lost.append(event.reason), give_back(event)))

    def progress(*_):
        done.append(len(done))
        if len(done) == 8:
            os.kill(int(next(who.iterdir()).name), signal.SIGKILL)
        if len(done) == 30:
            cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
        if len(done) == 40:
            cluster.add_node(num_cpus=1, object_store_memory=MEMORY)

    run(_plain(tmp_path / "there", mechanisms=[slow], trials=1000), engine, progress)
    assert len(done) > 40
    assert lost
    run(_plain(tmp_path / "here", mechanisms=[slow], trials=1000))
    assert list_contents(tmp_path / "here") == list_contents(tmp_path / "there")
    _wait_for_actors(engine, 2)  # the new machine is used


def test_a_unit_that_has_killed_three_workers_ends_the_run_with_its_name(tmp_path, engine):
    (tmp_path / "deaths").mkdir()
    deadly = {"name": f"{PLUGINS}:Deadly", "folder": str(tmp_path / "deaths"), "times": 99}
    with pytest.raises(InfrastructureError, match=r"The work on trials .*Deadly' has cost 3 work"):
        run(_plain(tmp_path / "run", mechanisms=[{**deadly, "text": sentences(40)[3]}]), engine)
    assert 3 <= len(list((tmp_path / "deaths").iterdir())) <= 6  # another unit may have that text too


def test_a_plug_in_that_raises_gives_the_error_that_it_gives_in_one_process(tmp_path, engine):
    raised = []
    for name, chosen in (("here", "serial"), ("there", engine)):
        with pytest.raises(ContractError) as caught:
            run(_plain(tmp_path / name, attacks=[f"{PLUGINS}:Raising"], trials=40), chosen)
        raised.append(str(caught.value))
    assert raised[0] == raised[1]
    assert "raised ValueError: no such word" in raised[0]


def test_functions_travel_and_a_run_is_resumed_by_another_engine(tmp_path, engine):
    def rewrite(text, seed):
        return text if seed % 2 else "else"

    for trials, chosen in ((60, engine), (100, "serial"), (140, engine)):
        run(_plain(tmp_path / "turns", mechanisms=[rewrite], trials=trials), chosen, announce=lambda _: None)
    run(_plain(tmp_path / "once", mechanisms=[rewrite], trials=140), announce=lambda _: None)
    results = [tedaudit.load_run(tmp_path / name).findings[0].bound for name in ("turns", "once")]
    assert results[0].correct == results[1].correct


def test_an_address_of_another_cluster_is_refused(cluster):
    with pytest.raises(InfrastructureError, match=r"is connected to the Ray cluster at .* already"):
        RayEngine(EngineSpec(name="ray", address="127.0.0.1:1"), 4096)


@pytest.mark.parametrize("is_named", [True, False])  # or this process was connected to it before
def test_it_is_said_that_a_cluster_sees_the_texts(cluster, is_named):
    told, address = [], cluster.address if is_named else ""
    with RayEngine(EngineSpec(name="ray", address=address), 4096, told.append) as made:
        made.offer({})
    assert told == [f"Texts go to the Ray cluster at {cluster.address}: whoever may use it can read them."]


# --- what lives on a machine of the cluster


def _ask(actor, chunk, known):
    shelf = Shelf()
    parcel, needs = shelf.pack(chunk)
    numbers = sorted(needs)
    lacking = actor.perform(parcel, numbers, known, [])
    [result] = actor.perform(parcel, numbers, known, numbers, *map(shelf.parcel, numbers))
    return lacking, result


def test_an_actor_says_what_it_lacks_and_then_does_the_chunk():
    chunk = make_rewriting(1, 2, 3)
    known = {chunk.plugin.identity: describe_known(chunk.plugin, build(chunk.plugin))}
    lacking, result = _ask(Actor(50, 1, []), chunk, known)
    assert lacking is None
    assert unpack(result) == Bench().perform(chunk)


def test_a_plug_in_that_is_another_one_on_a_machine_is_refused():
    chunk = make_rewriting(1, 2, 3)
    known = describe_known(chunk.plugin, build(chunk.plugin))
    _, result = _ask(
        Actor(50, 1, []), chunk, {chunk.plugin.identity: known | {"weights": "of another model"}}
    )
    error = restore_error(unpack(result))
    assert isinstance(error, ModelError)
    assert (
        "'word-rr' is not the same on every machine of the cluster (weights: 'of another model' there, "
        in str(error)
    )


def test_an_object_that_cannot_be_loaded_on_a_machine_is_refused():
    class Broken:
        def __reduce__(self):
            return (int, ("no number",))

    actor, shelf = Actor(50, 1, []), Shelf()
    number = shelf._put(Broken())
    [result] = actor.perform(b"", [number], {}, [number], shelf.parcel(number))
    error = restore_error(unpack(result))
    assert isinstance(error, PluginError)
    assert "Use the engine `serial`" in str(error)


# --- a cluster that is started for a run


SCRIPT = """
import json, stat, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import ray
from helpers import make_spec
from tedaudit.api import run
seen = {{}}

def look(*_):
    node = ray._private.worker._global_node
    folder = Path(node.get_temp_dir_path())
    modes = [oct(stat.S_IMODE(path.stat().st_mode)) for path in (folder, folder.parent)]
    seen.update(modes=modes, folder=str(folder), page=node.webui_url, session=node.get_session_dir_path())

run(make_spec(Path({out!r}), trials=40, engine={{"name": "ray", "workers": 1}}), progress=look)
print(json.dumps(seen))
"""


def test_a_cluster_that_is_started_here_is_closed_to_others_and_leaves_nothing(tmp_path):
    script = SCRIPT.format(tests=str(TESTS), out=str(tmp_path / "there"))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=500,
        env={**os.environ, **QUIET},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)  # and nothing else was printed
    assert seen["modes"] == ["0o700", "0o700"]
    assert seen["session"].startswith(seen["folder"])  # where Ray spills what does not fit into memory
    assert not seen["page"]
    assert not Path(seen["folder"]).parent.exists()
    run(make_spec(tmp_path / "here", trials=40))
    assert list_contents(tmp_path / "here") == list_contents(tmp_path / "there")
