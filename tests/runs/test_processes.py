"""The engine `processes`: the same files as one process writes, and what its workers meet."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest

import tedaudit
from engine_examples import PLUGINS, list_contents, make_latents, make_many_chunks, make_work
from engine_plugins import OwnError, shout
from helpers import Stop, summary
from tedaudit.api import run
from tedaudit.errors import ContractError, PluginError
from tedaudit.runs.engines import ProcessEngine

TESTS = Path(__file__).parents[1]
ONE = {"name": "processes", "workers": 1}  # where it does not matter how many there are: each takes a second
TWO = {"name": "processes", "workers": 2}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """An audit with many small steps, done by one process."""
    root = tmp_path_factory.mktemp("plain")
    run(make_many_chunks(root))
    return root


# --- results


def test_processes_write_the_same_files_as_one(tmp_path):
    class Watching(ProcessEngine):
        most = 0

        def submit(self, step):
            assert self.has_room
            super().submit(step)
            self.most = max(self.most, len(self._flying))

    with Watching(2) as engine:
        for name, make in (("work", make_work), ("latents", make_latents)):
            run(make(tmp_path / "serial" / name))
            run(make(tmp_path / "processes" / name), engine)
            assert list_contents(tmp_path / "processes" / name) == list_contents(tmp_path / "serial" / name)
            assert summary(tmp_path / "processes" / name) == summary(tmp_path / "serial" / name)
    assert 2 <= engine.most <= 3  # what the workers do, and one step that waits


def test_the_engine_of_the_spec_is_used_and_all_processes_work(tmp_path):
    (tmp_path / "who").mkdir()
    slow = {"name": f"{PLUGINS}:Slow", "folder": str(tmp_path / "who"), "seconds": 0.3}
    run(make_many_chunks(tmp_path / "run", mechanisms=[slow], trials=1000, block=50, engine=TWO))
    who = [int(path.name) for path in (tmp_path / "who").iterdir()]
    assert len(who) == 2
    assert os.getpid() not in who


def test_a_run_that_was_stopped_is_resumed_and_extended_by_another_engine(tmp_path, plain):
    steps = []

    def progress(*what):
        steps.append(what)
        if len(steps) > 9:
            raise Stop

    with pytest.raises(Stop):
        run(make_many_chunks(tmp_path, trials=200), TWO, progress)
    run(make_many_chunks(tmp_path, trials=200), "serial")
    run(make_many_chunks(tmp_path), TWO)
    assert list_contents(tmp_path) == list_contents(plain)
    manifest = tedaudit.load_run(tmp_path).run.manifest()
    assert "engine" not in manifest["spec"]  # whoever goes on with it chooses their own


# --- errors of plug-ins


def test_an_error_of_a_plug_in_is_the_one_that_it_is_in_one_process_and_the_engine_goes_on(tmp_path, plain):
    cases = [
        ({"what": "value"}, ContractError),
        ({"what": "key", "when": "prepare"}, KeyError),
        ({"what": "exit"}, SystemExit),
    ]
    with ProcessEngine(1) as engine:
        for number, (settings, kind) in enumerate(cases):
            errors = []
            for name, chosen in (("serial", "serial"), ("processes", engine)):
                attack = {"name": f"{PLUGINS}:Raising", **settings}
                with pytest.raises(kind) as caught:
                    run(make_many_chunks(tmp_path / f"{name}-{number}", attacks=[attack]), chosen)
                errors.append(caught.value)
            assert type(errors[0]) is type(errors[1])
            assert str(errors[0]) == str(errors[1])
            assert "engine_plugins.py" in str(errors[1].__cause__)  # where it was raised
        attack = {"name": f"{PLUGINS}:Raising", "what": "own", "when": "prepare"}
        with pytest.raises(OwnError):
            run(make_many_chunks(tmp_path / "serial-own", attacks=[attack]))
        with pytest.raises(RuntimeError, match=r"^OwnError: 3: broken"):  # no pickle holds it
            run(make_many_chunks(tmp_path / "processes-own", attacks=[attack]), engine)
        run(make_many_chunks(tmp_path / "plain"), engine)
    assert list_contents(tmp_path / "plain") == list_contents(plain)


# --- functions and objects of this process


def test_functions_travel_lambdas_and_closures_too_and_it_is_said_that_they_may_remember(tmp_path):
    suffix, told = " indeed", []

    def closure(text, seed):
        return text + suffix if seed % 2 else ""

    spec = {"mechanisms": [shout, closure, lambda text: text.upper()], "attacks": ["lexical"], "trials": 60}
    run(make_many_chunks(tmp_path / "serial", **spec), announce=lambda _: None)
    with ProcessEngine(2, told.append) as engine:
        result = run(make_many_chunks(tmp_path / "processes", **spec), engine, announce=told.append)
    assert list_contents(tmp_path / "processes") == list_contents(tmp_path / "serial")
    repeats = result.run.manifest()["repeats"]
    assert [repeated["differing"] for repeated in repeats.values()] == [0, 0, 0]
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
    assert "cannot be sent to another process (TypeError: cannot pickle '_thread.lock' object)" in message
    assert "Use the engine `serial`; or give it by its name, as py:package.module:name." in message


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


def test_attacks_that_ask_a_server_or_try_a_function_stay_in_this_process(tmp_path):
    """How often a function is tried was said before: several processes would each try it as often."""
    (tmp_path / "asked").mkdir()
    (tmp_path / "tried").mkdir()
    attacks = [
        {"name": f"{PLUGINS}:Server", "folder": str(tmp_path / "asked")},
        {"name": f"{PLUGINS}:Practising", "folder": str(tmp_path / "tried")},
    ]
    spec = make_many_chunks(tmp_path / "run", mechanisms=[shout], attacks=attacks, epsilons=[1, 2])
    run(spec, TWO, announce=lambda _: None)
    assert [path.name for path in (tmp_path / "asked").iterdir()] == [str(os.getpid())]
    tried = sorted(path.name for path in (tmp_path / "tried").iterdir())
    assert tried == [f"1.0-{os.getpid()}", f"2.0-{os.getpid()}"]


def test_a_worker_has_one_thread_and_the_folder_of_this_process_and_prints_elsewhere(
    tmp_path, capfd, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    mechanisms = [f"{PLUGINS}:Noisy", f"{PLUGINS}:Surroundings"]
    run(make_many_chunks(tmp_path / "run", mechanisms=mechanisms, trials=40), ONE)
    out, errors = capfd.readouterr()
    assert out == ""
    for line in ("printed by a plug-in", "written by a plug-in", "by a child"):
        assert line in errors
    [told] = pl.read_parquet(tmp_path / "run/rewrites/Surroundings/3/part-*.parquet")["output"].unique()
    assert told == f"1 1 {tmp_path}"
    assert os.environ["OMP_NUM_THREADS"] == "7"


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from engine_examples import make_many_chunks
from tedaudit.api import run
print("begun", flush=True)
for name, engine in (("serial", "serial"), ("processes", {{"name": "processes", "workers": 2}})):
    def keep(text):
        return text.lower()
    run(make_many_chunks(Path({out!r}) / name, mechanisms=[keep], trials=60), engine, announce=print)
print("ended")
"""


def test_a_script_that_does_not_ask_whether_it_is_the_main_one_is_run_once(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(tests=str(TESTS), out=str(tmp_path)))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=600, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("begun") == done.stdout.count("ended") == 1
    assert "Traceback" not in done.stderr
    assert list_contents(tmp_path / "processes") == list_contents(tmp_path / "serial")
