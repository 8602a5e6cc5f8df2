"""Which worker does which chunk, and what becomes of the chunks of one that is lost."""

import threading
import time
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from engine_examples import POOL, make_rewriting
from engine_plugins import Server, shout
from helpers import reference
from tedaudit.batches import Observations, Rewrites
from tedaudit.errors import InfrastructureError
from tedaudit.execution.engines.pool import Done, Lost, PoolEngine, name_work
from tedaudit.execution.units import Finished, GuessChunk, Guessing, Interrupted, Rewriting, SealedPart, Unit
from tedaudit.execution.wire import pack
from tedaudit.mechanisms.function import Function
from tedaudit.nominal import Nominal
from tedaudit.plans.trials import Wanted
from tedaudit.plugins.registry import Reference
from tedaudit.seeding import key_words
from tedaudit.types import Plan


@dataclass(eq=False)
class Person:
    """A worker that does nothing by itself."""

    tickets: list = field(default_factory=list)
    shelf: set = field(default_factory=set)
    is_ready: bool = True


class Office(PoolEngine):
    """An engine whose workers are told by the test when they are done or gone."""

    def _start(self):
        self._workers.append(Person())

    def _give(self, worker, ticket, task):
        worker.shelf |= task.needs

    def _drop(self, worker, number):
        pass

    def _next_event(self):
        return self._events.get(timeout=300)

    def _end(self, worker):
        pass

    def finish(self, ticket, result=None):
        """Have whoever has some work finish it, and return what the engine yields then."""
        [worker] = [worker for worker in self._workers if ticket in worker.tickets]
        self._events.put(Done(ticket, worker, pack(result or Rewrites.from_texts([str(ticket)]))))
        return next(self.finished())

    def lose(self, worker):
        """Lose a worker."""
        self._give_back(Lost(worker, "went home"))
        self._hand_out()


FUNCTION = Reference("mechanism", "function", {"function": shout})


_PART = SealedPart(Nominal(1), "", 0, b"", 1)


def _unit(*, lacking=True):
    rows = np.full(2, lacking)
    plan = Plan(None, np.array([1, 2], dtype=np.int32), np.zeros(2, dtype=np.int32))
    rewriting = (Rewriting(Nominal(1), "key", 0, rows, np.zeros(2, dtype=np.bool_)),)
    return Unit(reference("mechanism", "word-rr"), "plan", 100, plan, 7, POOL, 0, 10, rewriting)


def _guessing(mechanism, epsilon=1.0, practice=("a", "b")):
    seen = Observations(Rewrites.from_texts(["x"]), POOL, None, key_words([1]))
    return GuessChunk(reference("attack", "trained"), seen, mechanism, Nominal(epsilon), practice)


def test_workers_are_started_as_long_as_there_is_work_and_each_does_one_piece_of_it():
    engine = Office(3, 100)
    for ticket in range(1, 3):
        engine.submit(ticket, make_rewriting(ticket))
    assert [worker.tickets for worker in engine._workers] == [[1], [2]]
    for ticket in range(3, 9):
        engine.submit(ticket, make_rewriting(ticket))
    assert [worker.tickets for worker in engine._workers] == [[1], [2], [3]]
    assert list(engine._waiting) == [4, 5, 6, 7, 8]
    assert engine.finish(3)[0] == 3
    assert [worker.tickets for worker in engine._workers] == [[1], [2], [4]]


def test_work_of_a_lost_worker_is_done_next_and_ends_the_run_if_it_has_cost_three():
    engine = Office(1, 100)
    for ticket in range(1, 6):
        engine.submit(ticket, make_rewriting(ticket))
    for _ in range(2):
        [worker] = engine._workers
        assert worker.tickets == [1]
        engine.lose(worker)
        assert engine._workers != [worker]
        engine._hand_out()
    with pytest.raises(
        InfrastructureError, match=r"The rewriting of 1 texts by 'word-rr' at epsilon 3 has cost 3"
    ):
        engine.lose(engine._workers[0])


def test_a_unit_that_had_parts_is_interrupted_and_its_rest_begins_to_count_anew():
    engine = Office(1, 100)
    unit = _unit()
    for ticket in range(1, 5):  # every worker returns a part and is lost: no unit is to blame
        engine.submit(ticket, unit)
        assert engine.finish(ticket, (_PART,))[0] == ticket
        engine.lose(engine._workers[0])
        assert next(engine.finished()) == (ticket, Interrupted())
        assert engine._tasks == {}
    engine.submit(9, unit)  # the rest of the last one costs two more
    engine.lose(engine._workers[0])
    with pytest.raises(InfrastructureError, match=r"The work on trials 7 to 9 of 'word-rr' has cost 3"):
        engine.lose(engine._workers[0])


def test_losses_of_work_that_was_done_in_the_end_and_of_other_work_do_not_add_up():
    engine = Office(1, 100)
    own = Wanted(np.array([1], np.int32), np.array([0], np.int32), np.array([1.0]))
    other = replace(own, text=np.array([2], np.int32))
    units = [replace(_unit(lacking=False), own=some) for some in (own, other)]
    assert name_work(units[0]) == name_work(units[1])
    for ticket in range(1, 7):  # each is lost twice, and done by the third worker
        engine.submit(ticket, units[ticket % 2])
        for _ in range(2):
            engine.lose(engine._workers[0])
            engine._hand_out()
        assert engine.finish(ticket, Finished()) == (ticket, Finished())
    engine.submit(7, units[0])
    engine.submit(8, units[1])
    for _ in range(2):
        engine.lose(engine._workers[0])
        engine._hand_out()
    assert engine.finish(7, Finished())[0] == 7
    for _ in range(2):  # which has not been to blame yet
        engine.lose(engine._workers[0])
        engine._hand_out()
    assert engine.finish(8, Finished())[0] == 8


def test_what_a_worker_has_learnt_is_learnt_by_another_only_if_much_waits():
    engine = Office(2, 100)
    mechanism = reference("mechanism", "word-rr")
    for ticket in range(1, 5):
        engine.submit(ticket, _guessing(mechanism))
    first, second = engine._workers
    assert (first.tickets, second.tickets) == ([1], [])
    engine.submit(5, _guessing(mechanism))
    assert second.tickets == [5]  # 2, 3, 4 and 5 waited for the first
    engine.submit(7, _guessing(mechanism, epsilon=2.0))
    assert engine.finish(5)[0] == 5
    assert second.tickets == [7]
    assert engine._homes[engine._tasks[7].home] is second


def test_a_function_is_tried_by_one_worker_however_much_waits():
    engine = Office(2, 100)
    engine.offer({FUNCTION.identity: Function(shout)})
    for ticket in range(1, 9):
        engine.submit(ticket, _guessing(FUNCTION))
    first, second = engine._workers
    assert (first.tickets, second.tickets) == ([1], [])
    engine.lose(first)
    engine._hand_out()
    assert second.tickets == [1]  # it moves as a whole


def test_guessing_apart_has_a_home_and_a_unit_that_rewrites_has_none():
    guessing = Guessing(
        "trained", reference("attack", "trained"), ("text",), Nominal(1), ((7, 9),), practice=("a", "b")
    )
    apart = replace(_unit(lacking=False), guessing=(guessing,))
    engine = Office(2, 100)
    for ticket in (1, 2):
        engine.submit(ticket, apart)
    assert [worker.tickets for worker in engine._workers] == [[1], []]
    engine.submit(3, replace(_unit(), guessing=(guessing,)))
    assert [worker.tickets for worker in engine._workers] == [[1], [3]]


def test_an_attack_that_neither_practises_nor_learns_has_no_home():
    engine = Office(2, 100)
    for ticket in (1, 2):
        engine.submit(ticket, _guessing(reference("mechanism", "word-rr"), practice=()))
    assert [worker.tickets for worker in engine._workers] == [[1], [2]]


def test_an_attack_on_a_server_is_asked_here(tmp_path):
    attack = Reference("attack", "py:engine_plugins:Server", {"folder": str(tmp_path)})
    engine = Office(2, 100)
    engine.offer({attack.identity: Server(str(tmp_path))})
    engine.submit(1, GuessChunk(attack, _guessing(None).observations))
    assert engine._workers == []
    [(ticket, guesses)] = engine.finished()
    assert (ticket, len(guesses)) == (1, 1)
    thread = engine._here.thread
    engine.close()
    thread.join(300)
    assert not thread.is_alive()


def test_nobody_is_asked_any_more_once_an_engine_is_closed_or_does_another_run(tmp_path):
    attack = Reference("attack", "py:engine_plugins:Server", {"folder": str(tmp_path)})
    engine, asked, may_answer = Office(2, 100), [], threading.Event()

    class Slow(Server):
        def guess(self, seen):
            asked.append(len(seen))
            may_answer.wait(300)
            return super().guess(seen)

    for end in (engine.close, lambda: engine.offer({})):
        asked.clear()
        may_answer.clear()
        engine.offer({attack.identity: Slow(str(tmp_path))})
        for ticket in range(1, 6):
            engine.submit(ticket, GuessChunk(attack, _guessing(None).observations))
        thread = engine._here.thread
        while not asked:
            time.sleep(0.01)
        end()
        may_answer.set()
        thread.join(300)
        assert not thread.is_alive()
        assert len(asked) == 1
    engine.offer({attack.identity: Server(str(tmp_path))})  # and it can be used again
    engine.submit(9, GuessChunk(attack, _guessing(None).observations))
    assert [ticket for ticket, _ in engine.finished()] == [9]


def test_work_of_a_run_that_was_stopped_is_ignored():
    engine = Office(1, 100)
    engine.submit(1, make_rewriting(1))
    [worker] = engine._workers
    engine.offer({})
    engine.submit(2, make_rewriting(2))
    assert worker.tickets == [1]  # it is still at it
    engine._events.put(Done(1, worker, pack((_PART,))))
    engine._events.put(Done(1, worker, pack(Rewrites.from_texts(["old"]))))
    engine._events.put(Done(2, worker, pack(Rewrites.from_texts(["new"]))))
    [(ticket, made)] = engine.finished()
    assert (ticket, made.texts) == (2, ["new"])
    assert worker.tickets == []


def test_chunks_are_named_without_their_texts():
    assert name_work(make_rewriting(1, 2)) == "The rewriting of 2 texts by 'word-rr' at epsilon 3"
    assert name_work(_guessing(FUNCTION)) == "The guessing of 1 trials by 'trained' at epsilon 1"
    assert name_work(_unit()) == "The work on trials 7 to 9 of 'word-rr'"
    one, other = (
        Guessing(name, reference("attack", name), ("text",), Nominal(1), ((7, 9),))
        for name in ("lexical", "resample")
    )
    apart, several = (replace(_unit(lacking=False), guessing=some) for some in ((one,), (one, other)))
    assert name_work(apart) == "The guessing of trials 7 to 9 by 'lexical' at epsilon 1"
    assert name_work(several) == "The work on trials 7 to 9 of 'word-rr'"
