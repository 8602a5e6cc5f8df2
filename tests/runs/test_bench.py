import math
import subprocess
import sys
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pytest

from helpers import HERE, reference, sentences
from tedaudit.errors import ContractError
from tedaudit.plugins.batches import Draws, Guesses, Observations, Rewrites
from tedaudit.plugins.registry import Reference
from tedaudit.plugins.values import Card, Draw, Guess, Rewrite
from tedaudit.runs.bench import Bench, GuessChunk, RewriteChunk
from tedaudit.seeding import LateKeys, derive, key_words

POOL = tuple(sentences(12))
DRAWS = Draws.of(
    [Draw(text, epsilon, derive(1, text, r)) for text in POOL for r in range(3) for epsilon in (1.0, 6.0)]
)


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
        Reference("attack", "watched", live=plugin), _observations(["x"] * rows, pool, candidates)
    )


def _observations(texts, pool=POOL, candidates=None):
    return Observations(Rewrites.from_texts(texts), pool, candidates, key_words(range(len(texts))))


@pytest.mark.parametrize("size", [1, 7, 512])
def test_work_goes_to_a_plug_in_in_batches_and_comes_back_in_order(size):
    plugin = Watched()
    done = Bench(size).perform(_rewrite_chunk(plugin))
    assert [rewrite.text for rewrite in done] == [draw.text for draw in DRAWS]
    assert sum(plugin.calls) == len(DRAWS)
    assert max(plugin.calls) == min(size, len(DRAWS))


def _plain(result):
    return [
        (r.text, r.tokens, r.units, r.error, None if r.latent is None else r.latent.tolist()) for r in result
    ]


@pytest.mark.parametrize("mechanism", ["word-rr", "Latents"])
def test_a_draw_gives_the_same_rewrite_alone_and_in_any_batch(mechanism):
    chunk = RewriteChunk(reference("mechanism", mechanism), DRAWS)
    whole = _plain(Bench(512).perform(chunk))
    for size in (1, 7):
        assert _plain(Bench(size).perform(chunk)) == whole
    backwards = RewriteChunk(chunk.plugin, DRAWS[::-1])
    assert _plain(Bench(5).perform(backwards))[::-1] == whole


def test_the_lexical_attack_gives_the_same_scores_in_any_batch_and_for_the_whole_pool():
    outputs = (*POOL[:5], "", "the dog on monday", "漢字")
    for candidates in (None, np.array([[i, (i + 3) % 12, 11] for i in range(8)], dtype=np.int32)):
        chunk = GuessChunk(reference("attack", "lexical"), _observations(outputs, POOL, candidates))
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


@pytest.mark.parametrize("says_no", [False, True])
def test_an_attack_is_given_its_keys_as_numbers_unless_it_says_that_it_tosses_no_coins(says_no):
    given = []

    class Reads(Watched):
        def guess(self, seen):
            given.append(seen.tie_keys)
            return super().guess(seen)

    if says_no:
        Reads.tosses_coins = False
    chunk = _guess_chunk(Reads())
    late = LateKeys(derive(1, "tie"), np.arange(len(chunk)))
    Bench(4).perform(replace(chunk, observations=replace(chunk.observations, tie_keys=late)))
    assert {isinstance(keys, LateKeys) for keys in given} == {says_no}
    assert np.array_equal(np.concatenate([np.asarray(keys) for keys in given]), np.asarray(late))


def test_a_chunk_without_work_does_not_even_build_the_plug_in():
    bench = Bench()
    assert bench.perform(RewriteChunk(reference("mechanism", "no-such-thing"), DRAWS[:0])) == []
    assert bench.perform(GuessChunk(reference("attack", "no-such-thing"), _observations([]))) == []


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
        (lambda draws: (Rewrite("x") for _ in draws), "returned <generator"),
        (lambda draws: dict.fromkeys(range(len(draws)), Rewrite("x")), "returned '72 in a dict'"),
        (lambda draws: "x" * len(draws), "returned '72 in a str'"),
        (lambda draws: Rewrites.from_texts(["x"] * 71), "returned '71 in a Rewrites'"),
        (lambda draws: None, "returned None"),
        (lambda draws: ["x" for _ in draws], "returned a str instead of a Rewrite"),
        (lambda draws: [Guess(np.zeros(2)) for _ in draws], "returned a Guess instead of a Rewrite"),
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
        (lambda seen: [Guess(np.zeros(3), shown=np.arange(2)) for _ in seen], "one place per candidate"),
        (lambda seen: [Guess(np.array([0, math.nan, 1])) for _ in seen], "not a number.*usable=False"),
        (lambda seen: [1 for _ in seen], "returned a int instead of a Guess"),
    ],
)
def test_an_attack_that_breaks_its_contract_is_named(answer, told):
    with pytest.raises(ContractError, match=f"'watched'.*{told}"):
        Bench().perform(_guess_chunk(Watched(answer)))


def test_an_unusable_guess_may_hold_anything_of_the_right_shape():
    nothing = Guess(np.full(3, math.nan), usable=False)
    done = Bench(3).perform(_guess_chunk(Watched(lambda seen: [nothing] * len(seen))))
    assert done == [nothing] * 10


@pytest.mark.parametrize("form", [list, tuple, Rewrites.of])
def test_a_mechanism_may_answer_with_any_sequence(form):
    done = Bench(7).perform(
        _rewrite_chunk(Watched(lambda draws: form([Rewrite(draw.text) for draw in draws])))
    )
    assert isinstance(done, Rewrites)
    assert done.texts == DRAWS.texts


@pytest.mark.parametrize("form", [list, tuple, Guesses.of])
def test_an_attack_may_answer_with_any_sequence(form):
    done = Bench(7).perform(_guess_chunk(Watched(lambda seen: form([Guess(np.arange(3.0))] * len(seen)))))
    assert isinstance(done, Guesses)
    assert done == [Guess(np.arange(3.0))] * 10


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        (np.zeros((10, 2)), r"scores of shape \(2,\) for 3 candidates"),
        (np.full((10, 3), math.nan), "not a number.*usable=False"),
    ],
)
def test_guesses_held_as_columns_are_checked_too(scores, told):
    answer = Watched(lambda seen: Guesses(scores[: len(seen)], np.ones(len(seen), dtype=np.bool_)))
    with pytest.raises(ContractError, match=f"'watched'.*{told}"):
        Bench().perform(_guess_chunk(answer))


def test_a_plug_in_that_is_there_already_is_used_and_prepared_anew():
    first, second = Watched(), Watched()
    chunk = _guess_chunk(first)
    bench = Bench()
    bench.adopt({chunk.plugin.identity: second})
    bench.perform(chunk)
    assert (first.calls, second.calls, len(second.pools)) == ([], [10], 1)
    bench.adopt({chunk.plugin.identity: second})  # the same one: it has the pool already
    bench.perform(chunk)
    assert len(second.pools) == 1
    bench.adopt({chunk.plugin.identity: first})
    bench.perform(chunk)
    assert (first.calls, len(first.pools)) == ([10], 1)


def test_a_worker_starts_without_what_only_plug_ins_or_pages_need():
    heavy = ["typer", "rich", "torch", "transformers", "sklearn", "matplotlib", "ray"]
    script = f"import sys, tedaudit.runs.engines; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=HERE, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
