"""The engine `ray`, on a real cluster of two machines with one core each, none of them to spare."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from engine_examples import PLUGINS, list_contents, make_many_chunks, make_work
from engine_plugins import shout
from helpers import make_spec, sentences, summary, tables
from tedaudit.api import run
from tedaudit.errors import ContractError, InfrastructureError, ModelError, PluginError
from tedaudit.runs import ray_engine
from tedaudit.runs.ray_engine import RayEngine
from tedaudit.runs.spec.engine import EngineSpec

ray = pytest.importorskip("ray")
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
    with RayEngine(EngineSpec(name="ray")) as made:
        yield made


def test_a_cluster_writes_the_same_files_as_one_process(tmp_path, engine):
    run(make_work(tmp_path / "here"))
    run(make_work(tmp_path / "there"), engine)
    assert list_contents(tmp_path / "here") == list_contents(tmp_path / "there")
    assert summary(tmp_path / "here") == summary(tmp_path / "there")


@pytest.mark.parametrize("has_copy", [False, True])
def test_a_machine_that_does_not_see_the_folder_is_given_files_and_gives_files(
    tmp_path, engine, monkeypatch, has_copy
):
    """Nor does one that has a copy of it: what it wrote there would be lost."""
    elsewhere = Path(ray.get(ray.remote(lambda: str(Path.cwd())).remote())) / "there"
    monkeypatch.chdir(tmp_path)  # machines of the cluster are in another folder
    out = Path("/proc/self/cwd/there")
    if has_copy:
        elsewhere.mkdir()
        (elsewhere / "manifest.json").write_text("{}")
    try:
        run(make_work(out), engine)
        assert not has_copy or [path.name for path in elsewhere.iterdir()] == ["manifest.json"]
    finally:
        shutil.rmtree(elsewhere, ignore_errors=not has_copy)
    assert (tmp_path / "there" / "files.txt").exists()
    run(make_work(tmp_path / "here"))
    assert list_contents(tmp_path / "here") == list_contents(tmp_path / "there")


def test_processes_that_are_killed_and_machines_that_go_and_come_change_no_file(tmp_path, cluster, engine):
    who, done = tmp_path / "who", []
    who.mkdir()
    slow = {"name": f"{PLUGINS}:Slow", "folder": str(who), "seconds": 0.05}
    spec = {"mechanisms": [slow], "trials": 1000, "block": 50, "batch_size": 20}
    machines = ray.cluster_resources()["CPU"]

    def progress(*_):
        done.append(len(done))
        if len(done) == 2:
            os.kill(int(next(who.iterdir()).name), signal.SIGKILL)
        if len(done) == 5:
            cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
        if len(done) == 8:
            cluster.add_node(num_cpus=1, object_store_memory=MEMORY)

    run(make_many_chunks(tmp_path / "there", **spec), engine, progress)
    assert len(done) > 8
    assert len(list(who.iterdir())) >= 2
    run(make_many_chunks(tmp_path / "here", **spec))
    assert list_contents(tmp_path / "here") == list_contents(tmp_path / "there")
    assert ray.cluster_resources()["CPU"] == machines == 2


def test_a_step_that_has_killed_three_processes_ends_the_run_with_its_name(tmp_path, engine):
    (tmp_path / "deaths").mkdir()
    deadly = {"name": f"{PLUGINS}:Deadly", "folder": str(tmp_path / "deaths"), "times": 99}
    mechanisms = [{**deadly, "text": sentences(40)[3]}]
    spec = make_many_chunks(tmp_path / "run", mechanisms=mechanisms, trials=400, block=100)
    with pytest.raises(InfrastructureError, match=r"The rewriting of .*Deadly' at epsilon 3 has cost 3 proc"):
        run(spec, engine)
    deaths = len(list((tmp_path / "deaths").iterdir()))
    assert 3 <= deaths <= 6  # another step may have that text too
    for number in range(99):  # the cause is removed
        (tmp_path / "deaths" / str(number)).touch()
    run(spec, engine)
    [rows] = [rows for name, rows in tables(tmp_path / "run").items() if name.startswith("guesses")]
    assert len(rows) == 400


def test_an_error_of_a_plug_in_is_the_one_that_it_is_in_one_process(tmp_path, engine):
    raised = []
    for name, chosen in (("here", "serial"), ("there", engine)):
        with pytest.raises(ContractError) as caught:
            run(make_many_chunks(tmp_path / name, attacks=[f"{PLUGINS}:Raising"], trials=40), chosen)
        raised.append(str(caught.value))
    assert raised[0] == raised[1]
    assert "raised ValueError: no such word" in raised[0]
    attack = {"name": f"{PLUGINS}:Raising", "what": "own", "when": "prepare"}
    with pytest.raises(RuntimeError, match=r"^OwnError: 3: broken"):  # no pickle holds it
        run(make_many_chunks(tmp_path / "own", attacks=[attack], trials=40), engine)


def test_functions_travel_and_a_run_is_resumed_by_another_engine(tmp_path, engine):
    def rewrite(text, seed):
        return text if seed % 2 else "else"

    for trials, chosen in ((60, engine), (100, "serial"), (140, engine)):
        run(
            make_many_chunks(tmp_path / "turns", mechanisms=[rewrite], trials=trials), chosen,
            announce=lambda _: None,
        )  # fmt: skip
    run(make_many_chunks(tmp_path / "once", mechanisms=[rewrite], trials=140), announce=lambda _: None)
    assert list_contents(tmp_path / "turns") == list_contents(tmp_path / "once")


def test_a_worker_has_one_thread_and_attacks_that_ask_a_server_stay_in_this_process(tmp_path, engine):
    (tmp_path / "asked").mkdir()
    (tmp_path / "tried").mkdir()
    attacks = [
        {"name": f"{PLUGINS}:Server", "folder": str(tmp_path / "asked")},
        {"name": f"{PLUGINS}:Practising", "folder": str(tmp_path / "tried")},
    ]
    mechanisms = [shout, f"{PLUGINS}:Surroundings"]
    spec = make_many_chunks(tmp_path / "run", mechanisms=mechanisms, attacks=attacks, trials=40)
    run(spec, engine, announce=lambda _: None)
    assert [path.name for path in (tmp_path / "asked").iterdir()] == [str(os.getpid())]
    assert (tmp_path / "tried" / f"3.0-{os.getpid()}").exists()  # to try a function
    told = pl.read_parquet(tmp_path / "run/rewrites/Surroundings/3/part-*.parquet")["output"].unique()
    assert {line.split()[0] for line in told} == {"1"}


# --- what is not the same everywhere


def test_a_model_or_a_version_that_is_another_one_on_a_machine_is_refused(tmp_path, engine, monkeypatch):
    mechanism = {"name": f"{PLUGINS}:Weighted", "folder": str(tmp_path)}
    with monkeypatch.context() as here:
        here.setenv("WEIGHTS", "of another model")
        with pytest.raises(ModelError) as caught:
            run(make_many_chunks(tmp_path / "model", mechanisms=[mechanism], trials=40), engine)
    assert (
        "'py:engine_plugins:Weighted' is not the same on every machine of the cluster (weights: "
        "'of another model' there, 'first' here)" in str(caught.value)
    )
    monkeypatch.setattr(ray_engine, "__version__", "99.9")
    with pytest.raises(
        InfrastructureError, match=r"A machine of the cluster has tedaudit .*, and the run 99\.9"
    ):
        run(make_many_chunks(tmp_path / "version", trials=40), engine)


def test_an_object_that_cannot_be_loaded_on_a_machine_is_refused(tmp_path, engine):
    class Nowhere(type(sys)):
        pass

    module = Nowhere("module_that_is_nowhere")
    exec("def rewrite(text):\n    return text\n", module.__dict__)
    sys.modules["module_that_is_nowhere"] = module
    try:
        with pytest.raises(PluginError, match=r"ModuleNotFoundError.*Use the engine `serial`"):
            run(make_many_chunks(tmp_path, mechanisms=[module.rewrite]), engine, announce=lambda _: None)
    finally:
        del sys.modules["module_that_is_nowhere"]


def test_an_address_of_another_cluster_is_refused(cluster):
    with pytest.raises(InfrastructureError, match=r"is connected to the Ray cluster at .* already"):
        RayEngine(EngineSpec(name="ray", address="127.0.0.1:1"))


@pytest.mark.parametrize("is_named", [True, False])  # or this process was connected to it before
def test_it_is_said_that_a_cluster_sees_the_texts(tmp_path, cluster, is_named):
    told, address = [], cluster.address if is_named else ""
    with RayEngine(EngineSpec(name="ray", address=address), told.append) as made:
        run(make_spec(tmp_path, trials=20), made)
    assert told == [f"Texts go to the Ray cluster at {cluster.address}: whoever may use it can read them."]


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
