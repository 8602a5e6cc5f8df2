"""Engines: whichever one does the work, in whatever order, the run writes the same files."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

from engine_examples import Backwards, list_contents, make_rewriting
from helpers import Recording, Stop, make_spec, reference, summary, tables
from tedaudit.api import run
from tedaudit.batches import Guesses, Rewrites
from tedaudit.errors import ContractError
from tedaudit.execution.engines.serial import SerialEngine
from tedaudit.execution.work import Bench
from tedaudit.store.guesses import GuessTable
from tedaudit.store.table_folder import TableFolder
from tedaudit.types import Card, Guess, Rewrite


class Talkative(SerialEngine):
    """Returns results that nobody asked for, before and after each that somebody did."""

    def finished(self):
        for ticket, result in super().finished():
            yield -ticket, result
            yield ticket, result
            yield ticket, result  # done twice
            yield 10**9, Rewrites.of([])


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
def test_results_do_not_depend_on_how_many_chunks_an_engine_holds_or_on_their_order(tmp_path, serial, room):
    engine = Backwards(room)
    run(_work(tmp_path), engine=engine)
    assert engine.most <= room
    assert engine.most >= min(room, 5)  # it was given several where it had room
    assert tables(tmp_path) == tables(serial)
    assert summary(tmp_path) == summary(serial)
    assert list_contents(tmp_path) == list_contents(serial)  # parts of rewrites too, in the same order


def test_a_result_that_cannot_be_of_a_unit_is_refused(tmp_path):
    class Mistaken(SerialEngine):
        def finished(self):
            for ticket, _ in super().finished():
                yield ticket, Guesses.of([])

    with pytest.raises(ContractError, match="Mistaken returned another work's result"):
        run(make_spec(tmp_path / "run"), Mistaken())


def test_a_result_with_an_unknown_ticket_is_ignored(tmp_path, serial):
    run(_work(tmp_path), engine=Talkative())
    assert list_contents(tmp_path) == list_contents(serial)


def test_parts_that_come_twice_are_counted_once(tmp_path):
    both = {"attacks": ["lexical", "resample"], "trials": 60}
    run(_work(tmp_path / "twice", **both), engine=Talkative())
    run(_work(tmp_path / "once", **both))
    assert list_contents(tmp_path / "twice") == list_contents(tmp_path / "once")


def test_an_engine_that_loses_own_rewrites_is_named(tmp_path):
    class Forgetful(SerialEngine):
        def finished(self):
            for ticket, result in super().finished():
                is_own = isinstance(result, tuple) and any(part.own for part in result)
                if not is_own:
                    yield ticket, result

    with pytest.raises(ContractError, match="Forgetful has lost own rewrites"):
        run(_work(tmp_path, mechanisms=["py:helpers:Failing"], attacks=["resample"], trials=60), Forgetful())


@pytest.mark.parametrize("steps", [8, 14])
def test_an_engine_that_still_holds_chunks_of_a_stopped_run_can_do_the_next(tmp_path, serial, steps):
    engine, seen = Backwards(5), []

    def progress(*what):
        seen.append(what)
        if len(seen) > steps:
            raise Stop

    with pytest.raises(Stop):
        run(_work(tmp_path), engine=engine, progress=progress)
    assert engine.waiting
    run(_work(tmp_path), engine=engine)
    assert engine.waiting == []
    assert tables(tmp_path) == tables(serial)
    assert summary(tmp_path) == summary(serial)


def test_a_finished_run_submits_nothing(tmp_path):
    run(_work(tmp_path, trials=60))
    engine = Backwards(3)
    run(_work(tmp_path, trials=60), engine=engine)
    assert (engine.done, engine.most) == (0, 0)


def test_no_result_waits_for_another_and_readers_use_the_rows_before_the_first_gap(tmp_path):
    spec = {"mechanisms": [Recording()], "attacks": ["py:helpers:SharedWords"], "trials": 340, "block": 20}
    run(make_spec(tmp_path / "whole", **spec))
    whole = list_contents(tmp_path / "whole")
    calls = []

    def progress(*what):
        calls.append(what)
        if len(calls) == 4:
            raise Stop

    with pytest.raises(Stop):
        run(make_spec(tmp_path / "part", **spec), engine=Backwards(100), progress=progress)
    some = list_contents(tmp_path / "part")
    parts = [name for name in some if "part-" in name]
    assert len(parts) == 3
    assert all("000000000" not in name for name in parts)  # the last unit was done first
    assert some.items() <= whole.items()
    [path] = {(tmp_path / "part" / name).parent for name in parts if name.startswith("guesses")}
    assert GuessTable(TableFolder(path), "").complete() == 0


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


def test_an_engine_is_offered_the_plug_ins_that_are_built_by_their_identity(tmp_path):
    offered = {}

    class Listening(SerialEngine):
        def offer(self, plugins):
            offered.update(plugins)

    mechanism = Recording()
    run(make_spec(tmp_path, mechanisms=[mechanism, "identity"], trials=20), engine=Listening())
    assert {type(plugin).__name__ for plugin in offered.values()} == {"Recording", "Identity", "Lexical"}
    assert any(plugin is mechanism for plugin in offered.values())
    assert f"{reference('attack', 'lexical').identity}" in offered


# --- the serial engine


def test_the_serial_engine_holds_one_chunk_and_does_it_when_its_result_is_asked_for():
    engine = SerialEngine(batch_size=1)
    assert engine.has_room
    assert list(engine.finished()) == []
    for ticket in (7, 3):
        engine.submit(ticket, make_rewriting(ticket))
        assert not engine.has_room
        [(returned, result)] = engine.finished()
        assert returned == ticket
        assert result == Bench().perform(make_rewriting(ticket))
        assert engine.has_room


def test_the_runner_gives_the_serial_engine_a_unit_only_when_the_one_before_is_done(tmp_path):
    events = []

    class Noting(SerialEngine):
        def submit(self, ticket, work):
            events.append("submitted")
            super().submit(ticket, work)

        def finished(self):
            for ticket, result in super().finished():
                events.append("part" if isinstance(result, tuple) else "done")
                yield ticket, result

    run(make_spec(tmp_path), engine=Noting())
    assert events == ["submitted", "part", "part", "done"] * 4  # four blocks, rewritten and guessed
