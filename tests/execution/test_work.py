import math
import subprocess
import sys
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

from helpers import HERE, FileExecutor, reference, sentences
from tedaudit.errors import ContractError
from tedaudit.execution.chunks import GuessChunk, RewriteChunk
from tedaudit.execution.work import Bench, SerialExecutor
from tedaudit.registry import Reference
from tedaudit.seeding import derive
from tedaudit.types import Card, Draw, Guess, Rewrite

POOL = tuple(sentences(12))
DRAWS = [Draw(text, epsilon, derive(1, text, r)) for text in POOL for r in range(3) for epsilon in (1.0, 6.0)]


@dataclass
class Watched:
    """Notes how it is called, and returns what it is told to."""

    answer: object = None
    calls: list[int] = field(default_factory=list)
    pools: list[object] = field(default_factory=list)
    card: ClassVar[Card] = Card(name="watched", summary="Notes its calls.")

    def claim(self, epsilon):
        return None

    def prepare(self, pool):
        self.pools.append(pool)

    def rewrite(self, draws):
        self.calls.append(len(draws))
        return self.answer(draws) if callable(self.answer) else [Rewrite(draw.text) for draw in draws]

    def guess(self, seen):
        self.calls.append(len(seen))
        return (
            self.answer(seen) if callable(self.answer) else [Guess(np.zeros(len(o.candidates))) for o in seen]
        )


def _rewrite_chunk(plugin, draws=DRAWS):
    return RewriteChunk(Reference("mechanism", "watched", live=plugin), draws)


def _guess_chunk(plugin, rows=10, pool=POOL):
    candidates = np.tile(np.array([0, 1, 2], dtype=np.int32), (rows, 1))
    return GuessChunk(
        Reference("attack", "watched", live=plugin),
        pool,
        [Rewrite("x")] * rows,
        candidates,
        list(range(rows)),
    )


def _plain(result):
    return [
        (r.text, r.tokens, r.units, r.error, None if r.latent is None else r.latent.tolist()) for r in result
    ]


@pytest.mark.parametrize("size", [1, 7, 512])
def test_work_goes_to_a_plug_in_in_batches_and_comes_back_in_order(size):
    plugin = Watched()
    done = Bench(size).perform(_rewrite_chunk(plugin))
    assert [rewrite.text for rewrite in done] == [draw.text for draw in DRAWS]
    assert sum(plugin.calls) == len(DRAWS)
    assert max(plugin.calls) == min(size, len(DRAWS))


@pytest.mark.parametrize("mechanism", ["word-rr", "Latents"])
def test_a_draw_gives_the_same_rewrite_alone_and_in_any_batch(mechanism):
    chunk = RewriteChunk(reference("mechanism", mechanism), DRAWS)
    whole = _plain(Bench(512).perform(chunk))
    for size in (1, 7):
        assert _plain(Bench(size).perform(chunk)) == whole
    backwards = RewriteChunk(chunk.plugin, DRAWS[::-1])
    assert _plain(Bench(5).perform(backwards))[::-1] == whole


def test_the_lexical_attack_gives_the_same_scores_in_any_batch_and_for_the_whole_pool():
    rows = [Rewrite(text) for text in (*POOL[:5], "", "the dog on monday", "漢字")]
    for candidates in (None, np.array([[i, (i + 3) % 12, 11] for i in range(8)], dtype=np.int32)):
        chunk = GuessChunk(reference("attack", "lexical"), POOL, rows, candidates, list(range(8)))
        whole = [guess.scores.round(5).tolist() for guess in Bench(512).perform(chunk)]
        for size in (1, 3):
            assert [guess.scores.round(5).tolist() for guess in Bench(size).perform(chunk)] == whole


def test_an_attack_takes_in_the_pool_once_for_many_chunks_and_again_for_another_pool():
    plugin = Watched()
    bench = Bench(4)
    for _ in range(3):
        bench.perform(_guess_chunk(plugin))
    assert len(plugin.pools) == 1
    assert plugin.pools[0] is POOL
    bench.perform(_guess_chunk(plugin, pool=tuple(sentences(5))))
    assert len(plugin.pools) == 2


def test_a_chunk_without_work_does_not_even_build_the_plug_in():
    bench = Bench()
    assert bench.perform(RewriteChunk(reference("mechanism", "no-such-thing"), [])) == []
    assert bench.perform(GuessChunk(reference("attack", "no-such-thing"), POOL, [], None, [])) == []


def test_a_plug_in_is_built_once_and_another_one_for_other_fields():
    bench = Bench()
    for slots in (2, 3, 2):
        [done] = bench.perform(RewriteChunk(reference("mechanism", "word-rr", slots=slots), DRAWS[:1]))
        assert len(done.tokens) == slots
    assert len(bench._plugins) == 2


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda draws: [Rewrite("x")] * (len(draws) - 1), "given 72 items and returned '71 in a list'"),
        (lambda draws: [], "returned '0 in a list'"),
        (lambda draws: tuple(Rewrite("x") for _ in draws), "returned '72 in a tuple'"),
        (lambda draws: None, "returned None"),
        (lambda draws: ["x" for _ in draws], "returned a str where a Rewrite is due"),
        (lambda draws: [Guess(np.zeros(2)) for _ in draws], "returned a Guess where a Rewrite is due"),
    ],
)
def test_a_mechanism_that_breaks_its_contract_is_named(answer, told):
    with pytest.raises(ContractError, match=f"'watched'.*{told}"):
        Bench().perform(_rewrite_chunk(Watched(answer)))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda seen: [Guess(np.zeros(3))] * (len(seen) + 1), "given 10 items and returned '11 in a list'"),
        (lambda seen: [Guess(np.zeros(2)) for _ in seen], r"scores of shape \(2,\) for 3 candidates"),
        (lambda seen: [Guess(np.zeros((3, 1))) for _ in seen], r"scores of shape \(3, 1\)"),
        (lambda seen: [Guess(np.array([0, math.nan, 1])) for _ in seen], "not a number.*usable=False"),
        (lambda seen: [1 for _ in seen], "returned a int where a Guess is due"),
    ],
)
def test_an_attack_that_breaks_its_contract_is_named(answer, told):
    with pytest.raises(ContractError, match=f"'watched'.*{told}"):
        Bench().perform(_guess_chunk(Watched(answer)))


def test_an_unusable_guess_may_hold_anything_of_the_right_shape():
    nothing = Guess(np.full(3, math.nan), usable=False)
    done = Bench(3).perform(_guess_chunk(Watched(lambda seen: [nothing] * len(seen))))
    assert done == [nothing] * 10


def test_the_serial_executor_asks_for_a_chunk_only_when_the_one_before_is_done():
    events = []

    def work():
        for tag in range(3):
            events.append(f"asked {tag}")
            yield tag, _rewrite_chunk(Watched(), DRAWS[:2])

    for tag, result in SerialExecutor(batch_size=1).run(work()):
        events.append(f"done {tag}")
        assert len(result) == 2
    assert events == ["asked 0", "done 0", "asked 1", "done 1", "asked 2", "done 2"]


def test_another_process_does_a_chunk_from_file_to_file_with_the_same_result(tmp_path):
    rewriting = RewriteChunk(reference("mechanism", "Latents"), DRAWS)
    [(_, rewrites)] = SerialExecutor().run([(0, rewriting)])
    guessing = GuessChunk(
        reference("attack", "lexical"), POOL, [Rewrite(d.text) for d in DRAWS], None, list(range(len(DRAWS)))
    )
    [(_, guesses)] = SerialExecutor().run([(0, guessing)])
    found = dict(FileExecutor(tmp_path).run([("rewrites", rewriting), ("guesses", guessing)]))
    assert _plain(found["rewrites"]) == _plain(rewrites)
    assert [g.scores.tolist() for g in found["guesses"]] == [g.scores.tolist() for g in guesses]


def test_a_worker_needs_nothing_but_numpy_until_a_plug_in_does():
    heavy = ["polars", "pydantic", "typer", "rich", "torch", "transformers", "sklearn", "scipy", "yaml"]
    script = f"import sys, tedaudit.execution.work; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=HERE, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
