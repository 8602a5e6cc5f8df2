"""Runs a plug-in as the worker does, alone and in batches; part of the contract suite.

Detects access to forbidden state, and answers that depend on more than their own item.
"""

import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from tedaudit.errors import ContractError, join_names
from tedaudit.plugins.batches import Observations
from tedaudit.plugins.registry import Reference
from tedaudit.plugins.values import Draw, Floats, Guess, Observation, Plan, Rewrite
from tedaudit.runs.bench import Bench, Chunk, GuessChunk, RewriteChunk
from tedaudit.seeding import derive, uniforms

SEEN_PARTS = ("output", "candidates", "tie_key")
PRECISION = 5  # decimals: an audit rounds scores to these before it looks for ties
Answer = Rewrite | Guess
Form = Literal["objects", "columns"]  # a batch as a list of small objects, or as columns
Ask = Callable[[str, Sequence[int], int, Form], Sequence[Any]]  # on what, which rows, batch size, form


@dataclass(frozen=True)
class FormedRewriteChunk(RewriteChunk):
    """Draws that a mechanism is given in one form or the other."""

    form: Form = "objects"

    def batch(self, start: int, stop: int) -> Sequence[Draw]:
        """Return what the mechanism is given of a run of rows."""
        draws = self.draws[start:stop]
        return draws if self.form == "columns" else list(draws)


@dataclass(frozen=True)
class WatchedGuessChunk(GuessChunk):
    """Observations that note if they are asked for anything but their parts."""

    form: Form = "objects"
    read: list[str] = field(default_factory=list)
    unused: Reference | None = None  # the mechanism before it made these outputs

    def batch(self, start: int, stop: int) -> Sequence[Observation]:
        """Return what the attack sees of a run of rows, watched."""
        seen = self.observations[start:stop]
        if self.form == "columns":
            return _watch_columns(seen, self.read)
        return [_watch(observation, self.read) for observation in seen]

    def rows(self, rows: Sequence[int]) -> "WatchedGuessChunk":
        """Return some of the observations, in this order."""
        return replace(self, observations=self.observations[list(rows)])


def _watch(observation: Observation, read: list[str]) -> Observation:
    """Return an observation that notes what else is read of it."""

    class Watched(Observation):
        __slots__ = ()

        def __getattribute__(self, name: str) -> Any:
            if name not in SEEN_PARTS and not name.startswith("__"):
                read.append(name)
            return super().__getattribute__(name)

    return Watched(observation.output, observation.candidates, observation.tie_key)


def _watch_columns(seen: Observations, read: list[str]) -> Observations:
    """Return observations that note if they are asked for anything that observations do not have."""

    class Watched(Observations):
        __slots__ = ()

        def __getattribute__(self, name: str) -> Any:
            if not hasattr(Observations, name):
                read.append(name)
            return super().__getattribute__(name)

    return Watched(seen.outputs, seen.pool, seen.candidates, seen.tie_keys)


class Subject:
    """A plug-in under test; each size of batch keeps its bench, so that a pool is prepared once."""

    def __init__(self, name: str, *, may_use_globals: bool = False) -> None:
        self.name, self._may_use_globals = name, may_use_globals
        self._benches: dict[int, Bench] = {}

    def perform(self, what: str, chunk: Chunk, size: int) -> Sequence[Any]:
        """Do a chunk in batches; an error also says what the plug-in was given."""
        bench = self._benches.setdefault(size, Bench(size))
        try:
            if self._may_use_globals:
                return bench.perform(chunk)
            with global_generators_left_alone(self.name):
                return bench.perform(chunk)
        except ContractError as error:
            raise ContractError(f"On {what}: {error}") from error

    def guess(self, what: str, chunk: WatchedGuessChunk, size: int, secret: int) -> Sequence[Any]:
        """Do a chunk while made-up secrets lie in this frame and on the heap, where true ones would."""
        seen = chunk.observations
        everybody, count = range(len(seen.pool)), len(chunk)
        candidates = np.asarray(seen.candidates) if seen.candidates is not None else None
        rows = [everybody] * count if candidates is None else candidates.tolist()
        draws = [Draw(seen.pool[row[secret]], 1.0, derive(secret, i)) for i, row in enumerate(rows)]
        plan = Plan(candidates, np.full(count, secret, np.int32), np.zeros(count, np.int32))
        try:
            return self.perform(what, chunk, size)
        finally:
            del draws, plan
            if chunk.read:
                raise ContractError(
                    f"'{self.name}' asks an observation for `{join_names(set(chunk.read))}`. An attack sees "
                    f"{join_names(SEEN_PARTS)}, and nothing else: there is no secret in it."
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
                "`tedaudit.uniforms` or `tedaudit.normals`, or seed a generator of your own with it."
            )


def _generators() -> dict[str, object]:
    """Return the state of every global generator that is loaded."""
    kind, words, *rest = np.random.get_state(legacy=True)  # noqa: NPY002 - looked at, not used
    numpy = (kind, np.asarray(words).tobytes(), rest)
    states: dict[str, object] = {"random": random.getstate(), "numpy": numpy}
    torch = sys.modules.get("torch")
    if torch is not None:
        states["torch"] = torch.random.get_rng_state().numpy().tobytes()
    return states


def check_consistency(
    ask: Ask, check: Callable[[int, Any], None], descriptions: Sequence[str], name: str, chance: str
) -> list[Any]:
    """Return the answers to single items, which must not change in a batch; `chance`: where noise is from."""
    everything, count = range(len(descriptions)), len(descriptions)
    alone = [answer for row in everything for answer in ask(descriptions[row], [row], 1, "objects")]
    for row in everything:
        check(row, alone[row])
    whole = ask(f"a batch of {count}", everything, count, "objects")
    sevens = ask("batches of 7", everything, 7, "objects")
    order = np.argsort(uniforms([derive(0, "order")], count)[0]).tolist()
    shuffled = ask("a shuffled batch", order, count, "objects")
    columns = ask("a batch held as columns", everything, count, "columns")
    if not chance:
        return alone
    repeated = ask(f"a batch of {count}", everything, count, "objects")
    changed = differences(whole, repeated)
    if changed:
        raise ContractError(
            f"'{name}' gives another answer to {descriptions[changed[0]]} when the same batch comes again. "
            f"Whatever chance it needs must come from {chance} alone."
        )
    unshuffled = [shuffled[order.index(row)] for row in everything]
    forms = {
        "a whole batch": whole, "batches of 7": sevens, "a shuffled batch": unshuffled,
        "a batch held as columns": columns,
    }  # fmt: skip
    for how, answers in forms.items():
        _compare_with_alone(alone, answers, how, descriptions, name)
    return alone


def _compare_with_alone(
    alone: Sequence[Any], answers: Sequence[Any], how: str, descriptions: Sequence[str], name: str
) -> None:
    """Refuse answers that are not those to single items."""
    changed = differences(alone, answers)
    if not changed:
        return
    if all(any(alike(answer, other) for other in answers) for answer in alone):
        raise ContractError(
            f"'{name}' does not keep the order: in {how}, the answer to {descriptions[changed[0]]} stands in "
            "another's place. Answer number i belongs to item number i."
        )
    raise ContractError(
        f"'{name}' gives another answer to {descriptions[changed[0]]} in {how} than alone. An answer may "
        "depend on its own item only, never on what else is in the batch or on its place there."
    )


def differences(answers: Sequence[Answer], others: Sequence[Answer], slack: float = 1e-9) -> list[int]:
    """Return the places at which two lists of answers are not alike."""
    pairs = zip(answers, others, strict=True)
    return [i for i, (answer, other) in enumerate(pairs) if not alike(answer, other, slack)]


def alike(answer: Answer, other: Answer, slack: float = 1e-9) -> bool:
    """Return whether two answers are the same, numbers as far as an audit tells them apart."""
    (exact, numbers), (other_exact, other_numbers) = _parts(answer), _parts(other)
    if exact != other_exact or numbers.shape != other_numbers.shape:
        return False
    close = np.abs(numbers - other_numbers) <= slack
    return bool((close | (np.round(numbers, PRECISION) == np.round(other_numbers, PRECISION))).all())


def _parts(answer: Answer) -> tuple[tuple[Any, ...], Floats]:
    if isinstance(answer, Guess):
        return (answer.usable,), np.asarray(answer.scores, dtype=np.float64)
    latent = np.zeros(0) if answer.latent is None else np.asarray(answer.latent, dtype=np.float64)
    return (answer.text, answer.tokens, answer.units, answer.error), latent.ravel()


# --- The texts on which plug-ins are tried: ordinary ones, and some that are meant to hurt.

ORDINARY = (
    "Could you book a quiet table for four on Friday evening?",
    "My sister's flight from Lisbon was delayed by three hours, and nobody told her why.",
    "Please send the March invoice to the Rotterdam office.",
    "Turn the heating down when everyone has left.",
    "It rained all week",
    "The second film was far better than the first!",
    "Is there a night bus to the airport, and what does it cost?",
    "Three of my molars hurt since Tuesday; the dentist is away.",
)
ODD: Mapping[str, str] = {
    "the empty text": "",
    "white space alone": " \t\n ",
    "punctuation alone": "?! ... -- (;",
    "emoji": "\U0001f600 \U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1eb\U0001f1f7",
    "control characters": "left\x00over\x07 \x1b[31mred\x1b[0m \u202edetrever",
    "a text of 3,000 words": "the clerk counted parcels " * 750,
}
