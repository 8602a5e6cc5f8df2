"""Engines: whichever one does the work, in whatever order, the run writes the same files."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from engine_examples import Backwards, list_contents
from helpers import Recording, Stop, make_spec, reference, summary, tables
from tedaudit.api import run
from tedaudit.plugins.values import Card, Guess, Rewrite
from tedaudit.runs.engines import SerialEngine
from tedaudit.runs.listing import Made


class Talkative(SerialEngine):
    """Gives what nobody asked for, and every step twice."""

    def finished(self):
        for step, made in super().finished():
            yield replace(step), [Made("guesses/of/nobody/part-000000000-000000009.parquet", "0" * 64)]
            yield step, made
            yield step, made


def _work(out, **changes):
    settings = {
        "mechanisms": [{"name": "word-rr", "slots": 4, "epsilons": [1, 4]}, "py:helpers:Failing"],
        "plans": [{"k": 2, "lambda": -1e4}, {"k": "all"}, {"k": 2, "estimator": "baseline", "lambda": 0}],
        "attacks": ["lexical", "py:helpers:SharedWords"],
        "trials": 80,
        "block": 24,
        "seed": 11,
    }
    return make_spec(out, **settings | changes)


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    root = tmp_path_factory.mktemp("serial")
    run(_work(root), engine=SerialEngine())
    return root


# --- the runner


@pytest.mark.parametrize("room", [1, 7, 10_000])
def test_results_do_not_depend_on_how_many_steps_an_engine_holds_or_on_their_order(tmp_path, serial, room):
    engine = Backwards(room)
    run(_work(tmp_path), engine=engine)
    assert engine.most <= room
    assert engine.most >= min(room, 3)  # it was given several where it had room
    assert tables(tmp_path) == tables(serial)
    assert summary(tmp_path) == summary(serial)
    assert list_contents(tmp_path) == list_contents(serial)


def test_what_was_not_submitted_in_this_run_is_not_listed(tmp_path, serial):
    run(_work(tmp_path), engine=Talkative())
    assert list_contents(tmp_path) == list_contents(serial)
    assert (tmp_path / "files.txt").read_text() == (serial / "files.txt").read_text()


@pytest.mark.parametrize("steps", [8, 14])
def test_an_engine_that_still_holds_steps_of_a_stopped_run_can_do_the_next(tmp_path, serial, steps):
    class Keeping(Backwards):
        def open(self, here, plugins):
            self.here = here

    engine, seen = Keeping(5), []

    def progress(*what):
        seen.append(what)
        if len(seen) > steps and engine.waiting:
            raise Stop

    with pytest.raises(Stop):
        run(_work(tmp_path), engine=engine, progress=progress)
    left = len(engine.waiting)
    assert left
    engine.room += left
    run(_work(tmp_path), engine=engine)
    assert tables(tmp_path) == tables(serial)
    assert summary(tmp_path) == summary(serial)
    listed = (tmp_path / "files.txt").read_text().splitlines()
    assert len(listed) == len(set(listed))


def test_a_finished_run_submits_nothing(tmp_path):
    run(_work(tmp_path, trials=60))
    engine = Backwards(3)
    run(_work(tmp_path, trials=60), engine=engine)
    assert (engine.done, engine.most) == (0, 0)


def test_no_file_waits_for_another_and_what_was_done_is_not_done_again(tmp_path):
    spec = {"attacks": ["py:helpers:SharedWords"], "trials": 1500, "block": 0}
    run(make_spec(tmp_path / "whole", **spec))
    whole = list_contents(tmp_path / "whole")
    calls = []

    def progress(*what):
        calls.append(what)
        if len(calls) == 3:
            raise Stop

    with pytest.raises(Stop):
        run(make_spec(tmp_path / "part", **spec), engine=Backwards(100), progress=progress)
    some = list_contents(tmp_path / "part")
    parts = [name for name in some if "part-" in name]
    assert [Path(name).name for name in sorted(parts)] == [
        f"part-0000{n}.parquet" for n in (17, 18)
    ]  # the last came first
    assert some.items() <= whole.items()
    engine = Backwards(100)
    run(make_spec(tmp_path / "part", **spec), engine=engine)
    assert list_contents(tmp_path / "part") == whole
    assert engine.done == len([name for name in whole if "part-" in name]) - 2


# --- plug-ins


@dataclass
class Built:
    """Counts how often it is built; it is a mechanism and an attack."""

    builds: ClassVar[int] = 0
    marks: list[int] = field(default_factory=list, init=False)
    card: ClassVar[Card] = Card(name="built", summary="Counts.")

    def __post_init__(self):
        type(self).builds += 1

    def claim(self, epsilon):
        return None

    def rewrite(self, draws):
        return [Rewrite(draw.text) for draw in draws]


@dataclass
class BuiltAttack(Built):
    card: ClassVar[Card] = Card(name="built-attack", summary="Counts too.")
    builds: ClassVar[int] = 0

    def unfit(self, mechanism):
        return ""

    def meet(self, mechanism, epsilon):
        self.met = mechanism

    def guess(self, seen):
        assert self.met.card.name == "built"
        return [Guess(np.zeros(len(one.candidates))) for one in seen]


def test_a_plug_in_is_built_once_in_a_run_with_the_serial_engine(tmp_path):
    Built.builds = BuiltAttack.builds = 0
    plans = [{"k": 2, "lambda": 0}, {"k": "all"}]
    spec = make_spec(
        tmp_path, mechanisms=["py:test_engines:Built"], attacks=["py:test_engines:BuiltAttack"],
        epsilons=[1, 2], plans=plans,
    )  # fmt: skip
    run(spec)
    assert (Built.builds, BuiltAttack.builds) == (1, 1)


def test_an_engine_is_given_the_plug_ins_that_are_built_by_their_identity(tmp_path):
    offered = {}

    class Listening(SerialEngine):
        def open(self, here, plugins):
            offered.update(plugins)
            super().open(here, plugins)

    mechanism = Recording()
    run(make_spec(tmp_path, mechanisms=[mechanism, "identity"], trials=20), engine=Listening())
    assert {type(plugin).__name__ for plugin in offered.values()} == {"Recording", "Identity", "Lexical"}
    assert any(plugin is mechanism for plugin in offered.values())
    assert f"{reference('attack', 'lexical').identity}" in offered


# --- the serial engine


def test_the_serial_engine_has_one_step_at_a_time_and_does_it_when_its_files_are_asked_for(tmp_path):
    events = []

    class Noting(SerialEngine):
        def submit(self, step):
            assert self.has_room
            super().submit(step)
            assert not self.has_room
            events.append("submitted")

        def finished(self):
            for step, made in super().finished():
                assert self.has_room
                events.extend((tmp_path / one.name).name for one in made)
                yield step, made

    run(make_spec(tmp_path), engine=Noting())
    rows = ["000000000-000000030", "000000030-000000060", "000000060-000000090", "000000090-000000100"]
    assert events == [
        event
        for number, guessed in enumerate(rows)
        for event in ("submitted", f"part-{number:06d}.parquet", "submitted", f"part-{guessed}.parquet")
    ]
    assert list(SerialEngine().finished()) == []
