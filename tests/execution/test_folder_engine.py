"""An engine that takes what lies in a folder, and leaves the rest to another."""

from dataclasses import replace

import pytest

from engine_examples import POOL, Backwards, list_contents, make_draws, make_rewriting
from helpers import make_spec, reference
from tedaudit.api import run
from tedaudit.batches import Observations, Rewrites
from tedaudit.errors import RunDirectoryError
from tedaudit.execution.chunks import GuessChunk, RewriteChunk
from tedaudit.execution.wire import read_chunk, write_chunk, write_result
from tedaudit.execution.work import Bench
from tedaudit.execution.work_folder import FolderEngine
from tedaudit.seeding import key_words


def _guessing(texts):
    seen = Observations(Rewrites.from_texts(texts), POOL, None, key_words(range(len(texts))))
    return GuessChunk(reference("attack", "lexical"), seen)


def _do(there, name, chunk):
    """Write a chunk and its result."""
    bench = Bench()
    write_chunk(there / f"{name}.chunk", chunk, bench.describe(chunk))
    unit = read_chunk(there / f"{name}.chunk")
    write_result(there / f"{name}.result", bench.perform(chunk), unit, unit.determinants)


@pytest.fixture
def folder(tmp_path):
    """A folder with the rewrites of some draws."""
    there = tmp_path / "work"
    there.mkdir()
    for name, numbers in {"one": (1, 4, 5), "two": (8, 2), "of another": ()}.items():
        _do(there, name, make_rewriting(*numbers))
    return there


class Noted(Backwards):
    """Notes the texts of the draws that reach it."""

    def __init__(self, room):
        super().__init__(room)
        self.asked = {}

    def submit(self, ticket, chunk):
        super().submit(ticket, chunk)
        self.asked[ticket] = chunk


def test_known_and_new_rewrites_of_a_chunk_are_put_together_in_their_order(folder):
    inner = Noted(9)
    engine = FolderEngine(folder, inner)
    chunks = {
        11: make_rewriting(0, 1, 2, 3, 4, 5, 6),  # some of each
        12: make_rewriting(5, 1, 8),  # all known
        13: make_rewriting(0, 3, 7),  # all new
        14: make_rewriting(9, 8, 10, 2),
        15: _guessing(["the rent", "a red bicycle"]),
    }
    for ticket, chunk in chunks.items():
        engine.submit(ticket, chunk)
    results = dict(engine.finished())
    assert results.keys() == chunks.keys()
    for ticket, chunk in chunks.items():
        assert results[ticket] == Bench().perform(chunk)
    assert inner.asked.keys() == {11, 13, 14, 15}
    assert inner.asked[11].draws == make_draws(0, 3, 6)
    assert inner.asked[14].draws == make_draws(9, 10)
    assert inner.asked[15] is chunks[15]


def test_the_folders_engine_has_no_room_while_a_result_waits_to_be_taken(folder):
    engine = FolderEngine(folder)
    assert engine.has_room
    engine.submit(1, make_rewriting(1, 8))
    assert not engine.has_room
    assert [ticket for ticket, _ in engine.finished()] == [1]
    assert engine.has_room
    engine.submit(2, make_rewriting(0))
    assert not engine.has_room  # the other engine has none


def test_rewrites_of_a_mechanism_with_other_settings_are_not_taken(folder):
    inner = Noted(9)
    other = RewriteChunk(reference("mechanism", "word-rr", slots=6), make_draws(1, 2))
    engine = FolderEngine(folder, inner)
    engine.submit(1, other)
    assert dict(engine.finished())[1] == Bench().perform(other)
    assert len(inner.asked[1]) == 2


def test_rewrites_for_an_adversary_are_taken_for_adversaries_alone(tmp_path):
    audited = make_rewriting(1, 2)
    for_adversary = replace(audited, own=True)
    _do(tmp_path, "own", for_adversary)
    inner = Noted(9)
    engine = FolderEngine(tmp_path, inner)
    engine.submit(1, for_adversary)
    engine.submit(2, audited)
    assert dict(engine.finished()).keys() == {1, 2}
    assert inner.asked.keys() == {2}


def test_files_are_noted_before_their_rewrites_are_taken_and_again_if_more_are_read(tmp_path):
    audited, told = make_rewriting(1, 2), []
    for name, chunk in {"one": audited, "other": replace(audited, own=True)}.items():
        _do(tmp_path, name, chunk)
    engine = FolderEngine(tmp_path)
    engine.note = lambda *counts: told.append(counts)
    for ticket, chunk in enumerate([audited, audited, replace(audited, own=True)]):
        engine.submit(ticket, chunk)
    assert told == [(audited.plugin.identity, 1, 0), (audited.plugin.identity, 2, 0)]


def test_a_file_of_few_draws_may_have_none_that_differs(tmp_path):
    _do(tmp_path, "one", make_rewriting(1, 2, 3))
    unit = read_chunk(tmp_path / "one.chunk")
    made = Bench().perform(unit.chunk)
    edited = replace(made, texts=["edited", *made.texts[1:]])
    write_result(tmp_path / "one.result", edited, unit, unit.determinants)
    with pytest.raises(RunDirectoryError, match="of 3 draws that were made again 1 gave another output"):
        FolderEngine(tmp_path).submit(1, make_rewriting(1))


@pytest.mark.parametrize("room", [1, 50])
def test_a_run_that_takes_some_rewrites_from_a_folder_writes_the_same_tables(tmp_path, room):
    settings = {
        "mechanisms": [{"name": "word-rr", "slots": 4}],
        "epsilons": [1, 4],
        "trials": 200,
        "block": 30,
    }
    noted = Noted(1)
    run(make_spec(tmp_path / "here", **settings), engine=noted)
    there = tmp_path / "work"
    there.mkdir()
    chunks = [chunk for chunk in noted.asked.values() if isinstance(chunk, RewriteChunk)]
    for number, chunk in enumerate(chunks):  # every third draw was made elsewhere
        _do(there, number, RewriteChunk(chunk.plugin, chunk.draws[number % 3 :: 3]))
    inner = Noted(room)
    run(make_spec(tmp_path / "there", **settings), engine=FolderEngine(there, inner))
    assert list_contents(tmp_path / "there") == list_contents(tmp_path / "here")
    new = sum(len(chunk) for chunk in inner.asked.values() if isinstance(chunk, RewriteChunk))
    assert 0 < new < sum(map(len, chunks))
