"""Draws, rewrites and observations by the batch: columns inside, sequences of small objects outside.

A plug-in may iterate over a batch as over a list; whoever has many rows reads the columns. Every batch
has `of` (a list becomes a batch), slices and index arrays that give a batch, `join`, and equality with
any sequence of the same objects.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from tedaudit.plugins.batches import columns
from tedaudit.plugins.batches.columns import Column, Mask, Positions, Ragged, as_ragged
from tedaudit.plugins.batches.sequences import Batch, check_positions, join_pools, number_texts, same_texts
from tedaudit.plugins.values import Array, Draw, Floats, Observation, Rewrite
from tedaudit.seeding import KeyWords, LateKeys, key_numbers, key_words

_PARTS = ("text", "tokens", "latent", "error")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Draws(Batch[Draw]):
    """Rewriting requests. `text` is each row's position in the pool, `keys` the four words of its key."""

    pool: Sequence[str]
    text: npt.NDArray[np.int32]
    epsilons: Floats
    keys: KeyWords
    _kind = Draw

    def __post_init__(self) -> None:
        text = columns.cast("text", self.text, np.int32)
        epsilons = columns.cast("epsilons", self.epsilons, np.float64)
        self._hold(text=text, epsilons=epsilons, keys=key_words(self.keys))
        check_positions(text, self.pool)

    def __len__(self) -> int:
        return len(self.text)

    @property
    def texts(self) -> list[str]:
        """The text of each row."""
        return [self.pool[i] for i in self.text.tolist()]

    @classmethod
    def _gather(cls, rows: list[Draw]) -> Self:
        pool, text = number_texts([row.text for row in rows])
        return cls(
            pool=pool,
            text=text,
            epsilons=np.array([row.epsilon for row in rows]),
            keys=key_words([row.key for row in rows]),
        )

    @classmethod
    def _concatenate(cls, parts: Sequence[Self]) -> Self:
        pool, starts = join_pools([part.pool for part in parts])
        text = np.concatenate([part.text + start for part, start in zip(parts, starts, strict=True)])
        epsilons = np.concatenate([part.epsilons for part in parts])
        return cls(
            pool=pool, text=text, epsilons=epsilons, keys=np.concatenate([part.keys for part in parts])
        )

    def _row(self, i: int) -> Draw:
        return Draw(self.pool[int(self.text[i])], float(self.epsilons[i]), key_numbers(self.keys[i])[0])

    def _equals(self, other: Self) -> bool:
        return (
            self.texts == other.texts
            and np.array_equal(self.epsilons, other.epsilons, equal_nan=True)
            and np.array_equal(self.keys, other.keys)
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rewrites(Batch[Rewrite]):
    """What a mechanism released. `units` is -1 for None; a latent has one dimension, whatever it had."""

    texts: list[str]
    errors: list[str]
    units: npt.NDArray[np.int64]
    tokens: Ragged
    latents: Ragged
    _kind = Rewrite

    def __post_init__(self) -> None:
        tokens = as_ragged(columns.compact("tokens", self.tokens, np.int64, whole=False))
        units, latents = columns.cast("units", self.units, np.int64), as_ragged(self.latents)
        texts, errors = list(self.texts), list(self.errors)
        self._hold(texts=texts, errors=errors, units=units, tokens=tokens, latents=latents)

    @classmethod
    def from_texts(
        cls,
        texts: Sequence[str],
        *,
        errors: Sequence[str] | None = None,
        tokens: Array | Ragged | Sequence[Sequence[int] | Array | None] | None = None,
        latents: Array | Ragged | None = None,
        units: int | Array | None = None,
    ) -> Self:
        """Return rewrites with these texts; what is not given is None in every row, and no row has failed."""
        n = len(texts)
        cost = -1 if units is None else units
        return cls(
            texts=list(texts),
            errors=[""] * n if errors is None else list(errors),
            units=np.asarray(cost) if np.ndim(cost) else np.full(n, cost),
            tokens=as_ragged(tokens, n, np.int64),
            latents=as_ragged(latents, n),
        )

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def failed(self) -> Mask:
        """Which rows have an error code."""
        if not any(self.errors):
            return np.zeros(len(self.errors), dtype=np.bool_)
        return np.array([error != "" for error in self.errors], dtype=np.bool_)

    def reveal(self, sees: Sequence[str]) -> "Rewrites":
        """Return only the named parts, what an attack may see; what a row cost is none of them."""
        unknown = [part for part in sees if part not in _PARTS]
        if unknown:
            raise ValueError(f"A rewrite has no part '{unknown[0]}'. Its parts are: {', '.join(_PARTS)}.")
        return Rewrites.from_texts(
            self.texts if "text" in sees else [""] * len(self),
            errors=self.errors if "error" in sees else None,
            tokens=self.tokens if "tokens" in sees else None,
            latents=self.latents if "latent" in sees else None,
        )

    @classmethod
    def _gather(cls, rows: list[Rewrite]) -> Self:
        return cls(
            texts=[row.text for row in rows],
            errors=[row.error for row in rows],
            units=np.array([-1 if row.units is None else row.units for row in rows]),
            tokens=Ragged.of([row.tokens for row in rows], np.int64),
            latents=Ragged.of([None if row.latent is None else np.ravel(row.latent) for row in rows]),
        )

    @classmethod
    def _concatenate(cls, parts: Sequence[Self]) -> Self:
        return cls(
            texts=[text for part in parts for text in part.texts],
            errors=[error for part in parts for error in part.errors],
            units=np.concatenate([part.units for part in parts]),
            tokens=Ragged.join([part.tokens for part in parts]),
            latents=Ragged.join([part.latents for part in parts]),
        )

    def _row(self, i: int) -> Rewrite:
        tokens, units = self.tokens.row(i), int(self.units[i])
        return Rewrite(
            text=self.texts[i],
            tokens=None if tokens is None else tuple(tokens.tolist()),
            latent=self.latents.row(i),
            units=None if units == -1 else units,
            error=self.errors[i],
        )

    def _equals(self, other: Self) -> bool:
        return (
            (self.texts, self.errors) == (other.texts, other.errors)
            and np.array_equal(self.units, other.units)
            and self.tokens.equals(other.tokens)
            and self.latents.equals(other.latents)
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Observations(Batch[Observation]):
    """What an attack sees: outputs, candidates as positions in the pool (None for all of it), tie keys."""

    outputs: Rewrites
    pool: Sequence[str]
    candidates: Column | None
    tie_keys: KeyWords | LateKeys
    _kind = Observation

    def __post_init__(self) -> None:
        candidates = self.candidates
        if candidates is not None:
            candidates = columns.compact("candidates", candidates, np.int32)
            check_positions(as_ragged(candidates).values, self.pool)
        keys = self.tie_keys if isinstance(self.tie_keys, LateKeys) else key_words(self.tie_keys)
        self._hold(outputs=self.outputs, candidates=candidates, tie_keys=keys)

    def __len__(self) -> int:
        return len(self.outputs)

    @property
    def counts(self) -> Positions:
        """The number of candidates of each row."""
        if self.candidates is None:
            return np.full(len(self), len(self.pool), dtype=np.int64)
        return as_ragged(self.candidates).lengths

    def positions(self) -> Ragged:
        """Return the candidates of every row as positions in the pool, also if they are all of it."""
        return as_ragged(_positions(self))

    @classmethod
    def _gather(cls, rows: list[Observation]) -> Self:
        outputs, keys = Rewrites.of([row.output for row in rows]), key_words([row.tie_key for row in rows])
        shared = rows[0].candidates if rows else ()
        if all(row.candidates is shared for row in rows):
            return cls(outputs=outputs, pool=shared, candidates=None, tie_keys=keys)
        pool, positions = number_texts([text for row in rows for text in row.candidates])
        lengths = np.array([len(row.candidates) for row in rows])
        return cls(
            outputs=outputs,
            pool=pool,
            candidates=Ragged(positions, columns.compute_offsets(lengths)),
            tie_keys=keys,
        )

    @classmethod
    def _concatenate(cls, parts: Sequence[Self]) -> Self:
        pool, starts = join_pools([part.pool for part in parts])
        candidates = None
        if any(part.candidates is not None or not same_texts(part.pool, pool) for part in parts):
            moved = [columns.add(_positions(part), start) for part, start in zip(parts, starts, strict=True)]
            candidates = columns.join(moved)
        outputs = Rewrites.join(part.outputs for part in parts)
        return cls(
            outputs=outputs,
            pool=pool,
            candidates=candidates,
            tie_keys=np.concatenate([part.tie_keys for part in parts]),
        )

    def _row(self, i: int) -> Observation:
        candidates = self.pool
        if self.candidates is not None:
            candidates = tuple(self.pool[j] for j in columns.get_row(self.candidates, i).tolist())
        return Observation(self.outputs[i], candidates, key_numbers(key_words(self.tie_keys[i : i + 1]))[0])

    def _equals(self, other: Self) -> bool:
        if not (self.outputs == other.outputs and np.array_equal(self.tie_keys, other.tie_keys)):
            return False
        if self.candidates is None and other.candidates is None:
            return not len(self) or same_texts(self.pool, other.pool)
        _, numbers = number_texts([*self.pool, *other.pool])
        mine, theirs = as_ragged(_positions(self)), as_ragged(_positions(other))
        return np.array_equal(mine.offsets, theirs.offsets) and np.array_equal(
            numbers[: len(self.pool)][mine.values], numbers[len(self.pool) :][theirs.values]
        )


def _positions(seen: Observations) -> Column:
    """Return the candidates as positions, also if they are the whole pool."""
    if seen.candidates is not None:
        return seen.candidates
    return np.broadcast_to(np.arange(len(seen.pool), dtype=np.int32), (len(seen), len(seen.pool)))
