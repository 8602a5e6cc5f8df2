"""Which worker does which chunk, and what becomes of the chunks of one that is lost."""

from dataclasses import dataclass, field

import pytest

from engine_examples import POOL, make_rewriting
from engine_plugins import Server, shout
from helpers import reference
from tedaudit.batches import Observations, Rewrites
from tedaudit.errors import InfrastructureError
from tedaudit.execution.chunks import GuessChunk
from tedaudit.execution.engines.pool import PoolEngine
from tedaudit.execution.engines.tasks import Done, Lost, name_chunk
from tedaudit.execution.wire import pack
from tedaudit.mechanisms.function import Function
from tedaudit.nominal import Nominal
from tedaudit.registry import Reference
from tedaudit.seeding import key_words


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
        return self._events.get(timeout=10)

    def _end(self, worker):
        pass

    def finish(self, ticket):
        """Have whoever has a chunk finish it, and return what the engine yields then."""
        [worker] = [worker for worker in self._workers if ticket in worker.tickets]
        self._events.put(Done(ticket, worker, pack(Rewrites.from_texts([str(ticket)]))))
        return next(self.finished())

    def lose(self, worker):
        """Lose a worker."""
        self._give_back(Lost(worker, "went home"))
        self._hand_out()


FUNCTION = Reference("mechanism", "function", {"function": shout})


def _guessing(mechanism, epsilon=1.0, practice=("a", "b")):
    seen = Observations(Rewrites.from_texts(["x"]), POOL, None, key_words([1]))
    return GuessChunk(reference("attack", "trained"), seen, mechanism, Nominal(epsilon), practice)


def test_workers_are_started_as_long_as_there_is_work_and_each_has_two_chunks():
    engine = Office(3, 100)
    for ticket in range(1, 3):
        engine.submit(ticket, make_rewriting(ticket))
    assert [worker.tickets for worker in engine._workers] == [[1], [2]]
    for ticket in range(3, 9):
        engine.submit(ticket, make_rewriting(ticket))
    assert sorted(len(worker.tickets) for worker in engine._workers) == [2, 2, 2]
    assert list(engine._waiting) == [7, 8]
    assert engine.finish(3)[0] == 3
    assert sum(len(worker.tickets) for worker in engine._workers) == 6


def test_of_the_chunks_of_a_lost_worker_only_the_first_is_blamed_and_they_are_done_next():
    engine = Office(1, 100)
    for ticket in range(1, 6):
        engine.submit(ticket, make_rewriting(ticket))
    for lost in (1, 2):
        [worker] = engine._workers
        assert worker.tickets == [1, 2]
        engine.lose(worker)
        assert engine._workers != [worker]
        assert {ticket: task.lost for ticket, task in engine._tasks.items()} == {
            1: lost,
            2: 0,
            3: 0,
            4: 0,
            5: 0,
        }
        engine._hand_out()
    with pytest.raises(
        InfrastructureError, match=r"The rewriting of 1 texts by 'word-rr' at epsilon 3 has cost 3"
    ):
        engine.lose(engine._workers[0])


def test_what_a_worker_has_learnt_is_learnt_by_another_only_if_much_waits():
    engine = Office(2, 100)
    mechanism = reference("mechanism", "word-rr")
    for ticket in range(1, 6):
        engine.submit(ticket, _guessing(mechanism))
    first, second = engine._workers
    assert (first.tickets, second.tickets) == ([1, 2], [])
    engine.submit(6, _guessing(mechanism))
    assert second.tickets == [6]  # 3, 4, 5 and 6 waited for the first
    engine.submit(7, _guessing(mechanism, epsilon=2.0))
    assert second.tickets == [6, 7]
    assert engine._homes[engine._tasks[7].home] is second


def test_a_function_is_tried_by_one_worker_however_much_waits():
    engine = Office(2, 100)
    engine.offer({FUNCTION.identity: Function(shout)})
    for ticket in range(1, 9):
        engine.submit(ticket, _guessing(FUNCTION))
    first, second = engine._workers
    assert (first.tickets, second.tickets) == ([1, 2], [])
    engine.lose(first)
    engine._hand_out()
    assert second.tickets == [1, 2]  # it moves as a whole


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
    thread.join(10)
    assert not thread.is_alive()


def test_work_of_a_run_that_was_stopped_is_ignored():
    engine = Office(1, 100)
    engine.submit(1, make_rewriting(1))
    [worker] = engine._workers
    engine.offer({})
    engine.submit(2, make_rewriting(2))
    assert worker.tickets == [1, 2]
    engine._events.put(Done(1, worker, pack(Rewrites.from_texts(["old"]))))
    assert engine.finish(2)[0] == 2
    assert worker.tickets == []


def test_chunks_are_named_without_their_texts():
    assert name_chunk(make_rewriting(1, 2)) == "The rewriting of 2 texts by 'word-rr' at epsilon 3"
    assert name_chunk(_guessing(FUNCTION)) == "The guessing of 1 trials by 'trained' at epsilon 1"
