"""Plug-ins at work: built once, given batches, and held to what they must return."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from tedaudit.errors import ContractError, TedauditError
from tedaudit.models.calling import retry
from tedaudit.plugins.batches import Draws, Guesses, Observations, OwnRewrites, Ragged, Rewrites
from tedaudit.plugins.nominal import NO_EPSILON, Nominal
from tedaudit.plugins.protocols import (
    CallsUserCode,
    KnowsMechanism,
    Practises,
    Prepares,
    Resamples,
    tosses_coins,
)
from tedaudit.plugins.registry import Reference, build
from tedaudit.plugins.values import Draw, Guess, Observation, Rewrite
from tedaudit.seeding import key_words

BATCH = 4096  # draws or trials per call of a plug-in
_NUMBERS = "biuf"  # kinds of arrays: whole numbers and fractions
_PARTS = "Tokens must be whole numbers, units a whole number, a latent an array of numbers; each may be None."


@dataclass(frozen=True)
class RewriteChunk:
    """Draws for one mechanism: by text, so that it can do the noise-free work once, or shuffled.

    `own` says that it is done for an adversary by code that must be told so (`CallsUserCode`).
    """

    plugin: Reference
    draws: Draws
    own: bool = False

    def __len__(self) -> int:
        return len(self.draws)

    def batch(self, start: int, stop: int) -> Sequence[Draw]:
        """Return what the mechanism is given of a run of rows."""
        return self.draws[start:stop]


@dataclass(frozen=True)
class GuessChunk:
    """Outputs with their candidates, for one attack.

    `mechanism` and `epsilon` say what made the outputs, for attacks that use it; `practice` holds texts
    for those that try it themselves, and `own` rewrites of the candidates for those that ask for them.
    """

    plugin: Reference
    observations: Observations
    mechanism: Reference | None = None
    epsilon: Nominal = NO_EPSILON
    practice: Sequence[str] = ()
    own: OwnRewrites | None = None

    def __len__(self) -> int:
        return len(self.observations)

    def batch(self, start: int, stop: int) -> Sequence[Observation]:
        """Return what the attack sees of a run of rows."""
        return self.observations[start:stop]


Chunk = RewriteChunk | GuessChunk


class Bench:
    """Plug-ins that are built once and used for many chunks."""

    def __init__(self, batch_size: int = BATCH) -> None:
        self._batch_size = batch_size
        self._plugins: dict[str, Any] = {}
        self._prepared: dict[str, Sequence[str]] = {}
        self._practising: dict[str, Sequence[str]] = {}
        self._learnt: dict[str, OwnRewrites] = {}
        self._met: dict[str, tuple[Any, Any]] = {}  # mechanisms, and each as attacks meet it

    def adopt(self, plugins: Mapping[str, Any]) -> None:
        """Use plug-ins that are built already, by the identity of their reference."""
        for identity, plugin in plugins.items():
            if self._plugins.get(identity) is not plugin:
                self._plugins[identity] = plugin
                self._prepared.pop(identity, None)
                self._practising.pop(identity, None)
                self._learnt.pop(identity, None)

    @overload
    def perform(self, chunk: RewriteChunk) -> Rewrites: ...

    @overload
    def perform(self, chunk: GuessChunk) -> Guesses: ...

    def perform(self, chunk: Chunk) -> Rewrites | Guesses:
        """Return one rewrite per draw or one guess per observation, checked."""
        return self._rewrite(chunk) if isinstance(chunk, RewriteChunk) else self._guess(chunk)

    def _rewrite(self, chunk: RewriteChunk) -> Rewrites:
        name, batches = chunk.plugin.name, []
        for start in range(0, len(chunk), self._batch_size):
            mechanism = self._for_adversary(chunk.plugin) if chunk.own else self.plugin(chunk.plugin)
            draws = chunk.batch(start, start + self._batch_size)
            with _blame(name):
                rewrites = retry(partial(mechanism.rewrite, draws), name)
            _check_answers(name, rewrites, len(draws), Rewrite, Rewrites)
            batches.append(_gather_rewrites(name, rewrites))
        return Rewrites.join(batches)

    def make_latents(self, reference: Reference, draws: Draws) -> Ragged:
        """Return the latent of each draw, made again by its mechanism, checked."""
        with _blame(reference.name):
            made = retry(partial(self.plugin(reference).latents, draws), reference.name)
        if not isinstance(made, Ragged) or len(made) != len(draws) or made.values.dtype != np.float32:
            raise ContractError(
                f"'{reference.name}' was asked for the latents of {len(draws)} draws; it must return a "
                "tedaudit.plugins.batches.Ragged of float32 with a row for each of them."
            )
        return made

    def _guess(self, chunk: GuessChunk) -> Guesses:
        if not len(chunk):
            return Guesses.of([])
        attack, name = self.plugin(chunk.plugin), chunk.plugin.name
        self._ready(attack, chunk)
        if tosses_coins(attack):
            whole = chunk.observations
            chunk = replace(chunk, observations=replace(whole, tie_keys=key_words(whole.tie_keys)))
        batches, counts = [], chunk.observations.counts
        for start in range(0, len(chunk), self._batch_size):
            seen = chunk.batch(start, start + self._batch_size)
            with _blame(name):
                guesses = attack.guess(seen)
            _check_answers(name, guesses, len(seen), Guess, Guesses)
            _check_scores(name, guesses, counts[start : start + self._batch_size])
            batches.append(_gather_guesses(name, guesses))
        return Guesses.join(batches)

    def _ready(self, attack: Any, chunk: GuessChunk) -> None:
        """Give an attack the pool, practice texts, own rewrites and the mechanism, as far as it uses them."""
        identity, pool = chunk.plugin.identity, chunk.observations.pool
        if isinstance(attack, Prepares) and not _same(self._prepared.get(identity), pool):
            attack.prepare(pool)
            self._prepared[identity] = pool
        if isinstance(attack, Practises) and not _same(self._practising.get(identity), chunk.practice):
            attack.practise_on(chunk.practice or pool)
            self._practising[identity] = chunk.practice
        if (
            isinstance(attack, Resamples)
            and chunk.own is not None
            and self._learnt.get(identity) != chunk.own
        ):
            with _blame(chunk.plugin.name):
                attack.learn(chunk.own)
            self._learnt[identity] = chunk.own
        if isinstance(attack, KnowsMechanism) and chunk.mechanism is not None:
            with _blame(chunk.plugin.name):
                attack.meet(self._for_adversary(chunk.mechanism), chunk.epsilon)

    def _for_adversary(self, reference: Reference) -> Any:
        """Return the mechanism as attacks meet it, the same one every time."""
        mechanism = self.plugin(reference)
        known, own = self._met.get(reference.identity, (None, None))
        if known is not mechanism:
            own = mechanism.for_adversary() if isinstance(mechanism, CallsUserCode) else mechanism
            self._met[reference.identity] = mechanism, own
        return own

    def plugin(self, reference: Reference) -> Any:
        """Return a plug-in, built if it is new."""
        if reference.identity not in self._plugins:
            self._plugins[reference.identity] = build(reference)
        return self._plugins[reference.identity]


def _same(texts: Sequence[str] | None, others: Sequence[str]) -> bool:
    """Return whether these are the same texts: chunks that come from files bring a copy each."""
    return texts is others or texts == others


@contextmanager
def _blame(name: str) -> Iterator[None]:
    """Say which plug-in it was that raised."""
    try:
        yield
    except TedauditError:
        raise
    except Exception as error:
        raise ContractError(
            f"'{name}' raised {type(error).__name__}: {error}. A plug-in must answer every input; see "
            "`tedaudit.testing`. Set TEDAUDIT_DEBUG=1 to see where it happened."
        ) from error


def _check_answers(name: str, returned: Any, wanted: int, kind: type, batch: type) -> None:
    """Refuse anything but one answer per item."""
    is_sequence = isinstance(returned, Sequence) and not isinstance(returned, str | bytes)
    if not is_sequence or len(returned) != wanted:
        got = f"{len(returned)} in a {type(returned).__name__}" if hasattr(returned, "__len__") else returned
        raise ContractError(f"'{name}' was given {wanted} items and returned {got!r}; it must return a "
                            f"sequence with one {kind.__name__} per item, in order.")  # fmt: skip
    if isinstance(returned, batch):
        return
    for item in returned:
        if not isinstance(item, kind):
            raise ContractError(f"'{name}' returned a {type(item).__name__} instead of a {kind.__name__}.")


def _check_scores(name: str, guesses: Sequence[Guess], counts: npt.NDArray[np.int64]) -> None:
    """Refuse scores that are not one number per candidate."""
    if isinstance(guesses, Guesses) and isinstance(guesses.scores, np.ndarray):
        columns = guesses.scores.shape[1]
        shown = guesses.shown
        is_shown_whole = shown is None or (
            isinstance(shown, np.ndarray) and shown.shape == guesses.scores.shape
        )
        if is_shown_whole and (counts == columns).all():
            if np.isnan(guesses.scores[guesses.usable]).any():
                raise _not_a_number(name)
            return
    for guess, count in zip(guesses, counts.tolist(), strict=True):
        scores = np.asarray(guess.scores)
        if guess.shown is not None and np.shape(guess.shown) != (count,):
            raise ContractError(
                f"'{name}' says of {np.size(guess.shown)} candidates where they were shown, and there are "
                f"{count}; `shown` must have one place per candidate."
            )
        if scores.shape != (count,):
            raise ContractError(
                f"'{name}' returned scores of shape {scores.shape} for {count} candidates; "
                "it must return one number per candidate."
            )
        if scores.dtype.kind not in _NUMBERS or (guess.usable and np.isnan(scores).any()):
            raise _not_a_number(name)


def _gather_rewrites(name: str, rewrites: Sequence[Rewrite]) -> Rewrites:
    """Return the rewrites as a batch; refuse parts that no column can hold."""
    try:
        batch = Rewrites.of(rewrites)
    except (TypeError, ValueError) as error:
        raise ContractError(
            f"'{name}' returned a rewrite with a part of a wrong type ({error}). {_PARTS}"
        ) from error
    if batch.latents.values.dtype.kind not in _NUMBERS:
        raise ContractError(f"'{name}' returned a latent that does not hold numbers. {_PARTS}")
    return batch


def _gather_guesses(name: str, guesses: Sequence[Guess]) -> Guesses:
    """Return the guesses as a batch; refuse places that no column can hold."""
    try:
        return Guesses.of(guesses)
    except (TypeError, ValueError) as error:
        raise ContractError(
            f"'{name}' returned a guess with a part of a wrong type ({error}). Scores must be numbers, and "
            "`shown` a whole number per candidate, or None."
        ) from error


def _not_a_number(name: str) -> ContractError:
    return ContractError(
        f"'{name}' returned a score that is not a number. Mark the guess as unusable (usable=False), "
        "or fix the attack."
    )
