"""Pieces of model work that can travel: plain files in (JSON lines, npz), plain files out.

A chunk names its plug-in by a reference and carries everything else that the work needs, so that
it can run in this process, in another one or on another machine with the same result.
"""

import json
import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from tedaudit.batches import Draws, Guesses, Observations, OwnRewrites, PairLosses, Ragged, Rewrites
from tedaudit.errors import PluginError, RunDirectoryError
from tedaudit.nominal import NO_EPSILON, Nominal
from tedaudit.paths import describe_os_error
from tedaudit.registry import Reference
from tedaudit.seeding import key_numbers, key_words
from tedaudit.types import Draw, Observation, Rewrite


@dataclass(frozen=True)
class RewriteChunk:
    """Draws for one mechanism: by text, so that it can do the noise-free work once, or shuffled.

    `repeats` says that all of it has been done before, and is done again to be compared; `own` that it is
    done for an adversary by code that must be told so (`CallsUserCode`).
    """

    plugin: Reference
    draws: Draws
    repeats: bool = False
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


def write_chunk(path: Path, chunk: Chunk) -> None:
    """Write a chunk as JSON lines, with an npz file beside it if there are latents."""
    if isinstance(chunk, RewriteChunk):
        _write_lines(path, [_rewriting_header(chunk.plugin, own=chunk.own), *map(asdict, chunk.draws)])
        return
    seen = chunk.observations
    header: dict[str, Any] = {"work": "guess", "plugin": _pack(chunk.plugin), "pool": list(seen.pool)}
    header |= {"tie_keys": key_numbers(key_words(seen.tie_keys)), "candidates": _positions(seen.candidates)}
    header["mechanism"] = None if chunk.mechanism is None else _pack(chunk.mechanism)
    header["epsilon"] = chunk.epsilon.json
    header["practice"] = list(chunk.practice)
    header["own"] = None if chunk.own is None else _pack_own(chunk.own, seen.pool)
    _write_lines(path, [header, *_separate_latents(path, seen.outputs)])


def read_chunk(path: Path) -> Chunk:
    """Return the chunk in a file."""
    with _damage_named(path):
        return _read_chunk(path)


def _read_chunk(path: Path) -> Chunk:
    header, *rows = _read_lines(path)
    plugin = Reference(**header["plugin"])
    if header["work"] == "rewrite":
        return RewriteChunk(plugin, Draws.of([Draw(**row) for row in rows]), own=header.get("own", False))
    candidates = _from_positions(header["candidates"])
    outputs, keys = _join_latents(path, rows), key_words(header["tie_keys"])
    seen = Observations(outputs, tuple(header["pool"]), candidates, keys)
    mechanism = None if header["mechanism"] is None else Reference(**header["mechanism"])
    own = None if header.get("own") is None else _unpack_own(header["own"], seen.pool)
    epsilon, practice = Nominal.of(header["epsilon"]), tuple(header["practice"])
    return GuessChunk(plugin, seen, mechanism, epsilon, practice, own)


def first_line_for(chunk: RewriteChunk) -> str:
    """Return the first line of a file of rewriting like this."""
    return json.dumps(_rewriting_header(chunk.plugin, own=chunk.own))


def _rewriting_header(plugin: Reference, *, own: bool) -> dict[str, Any]:
    return {"work": "rewrite", "plugin": _pack(plugin), **({"own": True} if own else {})}


def _pack_own(own: OwnRewrites, pool: Sequence[str]) -> dict[str, Any]:
    """Return own rewrites as plain values; their texts are in the pool of the candidates."""
    place = {text: i for i, text in enumerate(pool)}
    return {
        "text": [place[own.pool[i]] for i in own.text.tolist()],
        "rewrites": [asdict(replace(row, latent=None)) for row in own.rewrites],
    }


def _unpack_own(packed: dict[str, Any], pool: Sequence[str]) -> OwnRewrites:
    rewrites = Rewrites.of([Rewrite(**row) for row in packed["rewrites"]])
    return OwnRewrites(pool, np.asarray(packed["text"], dtype=np.int32), rewrites)


def first_line(path: Path) -> str:
    """Return how a chunk's file begins: what is to be done, and by which plug-in."""
    with path.open(encoding="ascii") as lines:
        return lines.readline().rstrip("\n")


def write_result(path: Path, result: Rewrites | Guesses) -> None:
    """Write the outcome of a chunk."""
    if isinstance(result, Rewrites):
        _write_lines(path, _separate_latents(path, result))
        return
    columns = {"usable": result.usable, **_pack_rows("scores", result.scores)}
    if result.shown is not None:
        columns |= _pack_rows("shown", result.shown)
    if result.losses is not None:
        told = result.losses
        columns |= {"largest": told.largest, "mu": told.mu, **_pack_rows("terms", told.terms)}
    _write_arrays(path, columns)


def read_result(path: Path, chunk: Chunk) -> Rewrites | Guesses:
    """Return the outcome of a chunk; one that is damaged or of another chunk is named."""
    with _damage_named(path):
        if isinstance(chunk, RewriteChunk):
            result: Rewrites | Guesses = _join_latents(path, _read_lines(path))
        else:
            stored = _read_arrays(path)
            shown = _unpack_rows("shown", stored) if "shown" in stored or "shown_values" in stored else None
            losses = None
            if "largest" in stored:
                losses = PairLosses(stored["largest"], stored["mu"], _unpack_rows("terms", stored))
            result = Guesses(_unpack_rows("scores", stored), stored["usable"], shown, losses)
    if len(result) != len(chunk):
        raise RunDirectoryError(
            f"'{path}' has {len(result):,} results for {len(chunk):,} items. Delete it and do the work again "
            "(python -m tedaudit.worker)."
        )
    return result


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """Name a file that cannot be read as what it should be, and what to do."""
    try:
        yield
    except OSError as error:
        raise RunDirectoryError(f"'{path}' cannot be read ({describe_os_error(error)}).") from error
    except (ValueError, KeyError, TypeError, IndexError, RecursionError, zipfile.BadZipFile) as error:
        raise RunDirectoryError(
            f"'{path}' is damaged ({type(error).__name__}). Delete it and run the same command again."
        ) from error


def _pack(plugin: Reference) -> dict[str, Any]:
    """Return a reference as plain values; an object of this process has none."""
    if plugin.live is not None or any(callable(value) for value in plugin.params.values()):
        raise PluginError(
            f"'{plugin.name}' is an object of this process and cannot travel to another one; "
            "name it as py:package.module:name instead."
        )
    return {"kind": plugin.kind, "name": plugin.name, "params": dict(plugin.params)}


def _positions(candidates: Any) -> list[list[int]] | None:
    """Return the positions of candidates as lists, or None if they are the whole pool."""
    if isinstance(candidates, Ragged):
        rows = [candidates.row(i) for i in range(len(candidates))]
        return [[] if row is None else row.tolist() for row in rows]
    return None if candidates is None else candidates.tolist()


def _from_positions(rows: list[list[int]] | None) -> Any:
    if rows is None:
        return None
    if len({len(row) for row in rows}) > 1:
        return Ragged.of(rows, np.int32)
    return np.asarray(rows, dtype=np.int32).reshape(len(rows), len(rows[0]) if rows else 0)


def _pack_rows(name: str, rows: Any) -> dict[str, Any]:
    """Return a matrix or a ragged column as arrays for a file."""
    if not isinstance(rows, Ragged):
        return {name: rows}
    missing = np.zeros(len(rows), dtype=np.bool_) if rows.missing is None else rows.missing
    return {f"{name}_values": rows.values, f"{name}_offsets": rows.offsets, f"{name}_missing": missing}


def _unpack_rows(name: str, stored: Any) -> Any:
    if name in stored:
        return stored[name]
    missing = stored[f"{name}_missing"]
    return Ragged(stored[f"{name}_values"], stored[f"{name}_offsets"], missing if missing.any() else None)


def _separate_latents(path: Path, rewrites: Rewrites) -> list[dict[str, Any]]:
    """Write latents beside the file, and return the rest of every rewrite as plain values."""
    beside = Path(f"{path}.npz")
    beside.unlink(missing_ok=True)  # latents of another chunk must not be taken for those of this one
    rows = list(rewrites)
    latents = {f"latent{i}": row.latent for i, row in enumerate(rows) if row.latent is not None}
    if latents:
        _write_arrays(beside, latents)
    return [asdict(replace(row, latent=None)) for row in rows]


def _join_latents(path: Path, rows: Sequence[dict[str, Any]]) -> Rewrites:
    beside = Path(f"{path}.npz")
    latents: dict[str, Any] = {}
    if beside.exists():
        latents = _read_arrays(beside)
    return Rewrites.of(
        [
            Rewrite(
                row["text"],
                None if row["tokens"] is None else tuple(row["tokens"]),
                latents.get(f"latent{i}"),
                row["units"],
                row["error"],
            )
            for i, row in enumerate(rows)
        ]
    )


def _write_lines(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    # ascii: unpaired surrogates survive, and so does any line separator inside a text
    with _create(path) as file:
        file.writelines(f"{json.dumps(row)}\n".encode("ascii") for row in rows)


def _write_arrays(path: Path, arrays: dict[str, Any]) -> None:
    with _create(path) as file:
        np.savez(file, **arrays)


def _read_arrays(path: Path) -> dict[str, Any]:
    """Return the arrays in a file; they are stored as they are, so that nothing can grow when it is read."""
    with zipfile.ZipFile(path) as archive:
        if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
            raise ValueError("compressed")
    with np.load(path) as stored:
        return dict(stored)


def _create(path: Path) -> IO[bytes]:
    """Open a new file that only its owner may read: it holds texts. What was there is replaced."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _read_lines(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="ascii") as lines:
        return [json.loads(line) for line in lines]
