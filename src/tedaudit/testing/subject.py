"""Runs a plug-in as the worker does, alone and in company; part of the contract suite (`testing.py`).

Notices it when the plug-in reaches for what it must not touch, and when an answer depends on more
than its own item.
"""

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tedaudit.errors import ContractError, listed
from tedaudit.execution.chunks import Chunk, GuessChunk
from tedaudit.execution.work import Bench
from tedaudit.seeding import derive, uniforms
from tedaudit.types import Draw, Floats, Guess, Observation, Plan, Rewrite

SEEN_PARTS = ("output", "candidates", "tie_key")
PRECISION = 5  # decimals: an audit rounds scores to these before it looks for ties
Answer = Rewrite | Guess
Ask = Callable[[str, Sequence[int], int], list[Any]]  # on what, which rows, in batches of how many


@dataclass(frozen=True)
class WatchedChunk(GuessChunk):
    """Observations that note it when they are asked for anything but their three parts."""

    read: list[str] = field(default_factory=list)

    def observations(self, start: int, stop: int) -> list[Observation]:
        """Return what the attack sees of a run of rows, watched."""
        read = self.read

        class Watched(Observation):
            __slots__ = ()

            def __getattribute__(self, name: str) -> Any:
                if name not in SEEN_PARTS and not name.startswith("__"):
                    read.append(name)
                return super().__getattribute__(name)

        return [Watched(o.output, o.candidates, o.tie_key) for o in super().observations(start, stop)]

    def rows(self, rows: Sequence[int]) -> "WatchedChunk":
        """Return some of the observations, in this order."""
        some = None if self.candidates is None else self.candidates[list(rows)]
        outputs, keys = [self.outputs[row] for row in rows], [self.tie_keys[row] for row in rows]
        return replace(self, outputs=outputs, candidates=some, tie_keys=keys)


class Subject:
    """A plug-in under test; each size of batch keeps its bench, so that a pool is prepared once."""

    def __init__(self, name: str, *, may_use_globals: bool = False) -> None:
        self.name, self._may_use_globals = name, may_use_globals
        self._benches: dict[int, Bench] = {}

    def perform(self, what: str, chunk: Chunk, size: int) -> list[Any]:
        """Do a chunk in batches; whatever is wrong is said together with what the plug-in was given."""
        bench = self._benches.setdefault(size, Bench(size))
        try:
            if self._may_use_globals:
                return list(bench.perform(chunk))
            with global_generators_left_alone(self.name):
                return list(bench.perform(chunk))
        except ContractError as error:
            raise ContractError(f"On {what}: {error}") from error

    def guess(self, what: str, chunk: WatchedChunk, size: int, secret: int) -> list[Any]:
        """Do a chunk while made-up secrets lie in this frame and on the heap, where true ones would."""
        everybody = range(len(chunk.pool))
        rows = [everybody] * len(chunk) if chunk.candidates is None else chunk.candidates.tolist()
        draws = [Draw(chunk.pool[row[secret]], 1.0, derive(secret, i)) for i, row in enumerate(rows)]
        plan = Plan(chunk.candidates, np.full(len(chunk), secret, np.int32), np.zeros(len(chunk), np.int32))
        try:
            return self.perform(what, chunk, size)
        finally:
            del draws, plan
            if chunk.read:
                raise ContractError(
                    f"'{self.name}' asks an observation for `{listed(set(chunk.read))}`. An attack sees "
                    f"{listed(SEEN_PARTS)}, and nothing else: there is no secret in it."
                )


@contextmanager
def global_generators_left_alone(name: str) -> Iterator[None]:
    """Refuse a plug-in that draws from a generator that others use too, or seeds it."""
    before, loaded = _generators(), len(sys.modules)
    yield
    if len(sys.modules) > loaded:  # some libraries draw from `random` when they are first imported
        return
    for generator, state in _generators().items():
        if before[generator] != state:
            raise ContractError(
                f"'{name}' used or set the global generator of {generator}: its results depend on what ran "
                "before, and it changes those of others. Take noise from the key, with "
                "`tedaudit.seeding.uniforms` or `normals`, or seed a generator of your own with it."
            )


def _generators() -> dict[str, object]:
    """Return the state of every global generator that is loaded."""
    kind, words, *rest = np.random.get_state(legacy=True)  # noqa: NPY002 - looked at, not used
    numpy = (kind, np.asarray(words).tobytes(), rest)
    found: dict[str, object] = {"random": random.getstate(), "numpy": numpy}
    torch = sys.modules.get("torch")
    if torch is not None:
        found["torch"] = torch.random.get_rng_state().numpy().tobytes()
    return found


def consistent(
    ask: Ask, check: Callable[[int, Any], None], whats: Sequence[str], name: str, chance: str
) -> list[Any]:
    """Return the answers to single items, which must not change in company; `chance`: where noise is from."""
    everything = range(len(whats))
    alone = [answer for row in everything for answer in ask(whats[row], [row], 1)]
    for row in everything:
        check(row, alone[row])
    whole = ask(f"a batch of {len(whats)}", everything, len(whats))
    sevens = ask("batches of 7", everything, 7)
    order = np.argsort(uniforms([derive(0, "order")], len(whats))[0]).tolist()
    mixed = ask("a shuffled batch", order, len(whats))
    if not chance:
        return alone
    again = ask(f"a batch of {len(whats)}", everything, len(whats))
    changed = differences(whole, again)
    if changed:
        raise ContractError(
            f"'{name}' gives another answer to {whats[changed[0]]} when the same batch comes again. "
            f"Whatever chance it needs must come from {chance} alone."
        )
    mixed = [mixed[order.index(row)] for row in everything]
    for how, answers in (("a whole batch", whole), ("batches of 7", sevens), ("a shuffled batch", mixed)):
        changed = differences(alone, answers)
        if not changed:
            continue
        if all(any(alike(one, other) for other in answers) for one in alone):
            raise ContractError(
                f"'{name}' does not keep the order: in {how}, the answer to {whats[changed[0]]} stands in "
                "another's place. Answer number i belongs to item number i."
            )
        raise ContractError(
            f"'{name}' gives another answer to {whats[changed[0]]} in {how} than alone. An answer may depend "
            "on its own item only, never on what else is in the batch or on its place there."
        )
    return alone


def differences(some: Sequence[Answer], others: Sequence[Answer], slack: float = 1e-9) -> list[int]:
    """Return where two lists of answers are not alike."""
    return [
        i for i, (one, other) in enumerate(zip(some, others, strict=True)) if not alike(one, other, slack)
    ]


def alike(one: Answer, other: Answer, slack: float = 1e-9) -> bool:
    """Return whether two answers are the same, numbers as far as an audit tells them apart."""
    (exact, numbers), (others_exact, others) = _parts(one), _parts(other)
    if exact != others_exact or numbers.shape != others.shape:
        return False
    close = np.abs(numbers - others) <= slack
    return bool((close | (np.round(numbers, PRECISION) == np.round(others, PRECISION))).all())


def _parts(answer: Answer) -> tuple[tuple[Any, ...], Floats]:
    if isinstance(answer, Guess):
        return (answer.usable,), np.asarray(answer.scores, dtype=np.float64)
    latent = np.zeros(0) if answer.latent is None else np.asarray(answer.latent, dtype=np.float64)
    return (answer.text, answer.tokens, answer.units, answer.error), latent
