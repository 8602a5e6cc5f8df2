"""Pieces of model work that can travel: plain files in (JSON lines, npz), plain files out.

A chunk names its plug-in by a reference and carries everything else that the work needs, so that
it can run in this process, in another one or on another machine with the same result.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.errors import PluginError
from tedaudit.registry import Reference
from tedaudit.types import Draw, Guess, Observation, Rewrite


@dataclass(frozen=True)
class RewriteChunk:
    """Draws for one mechanism, sorted by text so that it can do the noise-free work once."""

    plugin: Reference
    draws: Sequence[Draw]

    def __len__(self) -> int:
        return len(self.draws)


@dataclass(frozen=True)
class GuessChunk:
    """Outputs for one attack; candidates are positions in the pool, or None for all of it.

    `mechanism` and `epsilon` say what made the outputs, for attacks that use it; `practice` holds texts
    for those that try it themselves.
    """

    plugin: Reference
    pool: Sequence[str]
    outputs: Sequence[Rewrite]
    candidates: npt.NDArray[np.int32] | None
    tie_keys: Sequence[int]
    mechanism: Reference | None = None
    epsilon: float = math.inf
    practice: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.outputs)

    def observations(self, start: int, stop: int) -> list[Observation]:
        """Return what the attack sees of a run of rows."""
        pool = self.pool
        return [
            Observation(
                self.outputs[row],
                pool if self.candidates is None else tuple(pool[i] for i in self.candidates[row]),
                self.tie_keys[row],
            )
            for row in range(start, min(stop, len(self)))
        ]


Chunk = RewriteChunk | GuessChunk


def write_chunk(path: Path, chunk: Chunk) -> None:
    """Write a chunk as JSON lines, with an npz file beside it where there are arrays."""
    plugin = _travelling(chunk.plugin)
    if isinstance(chunk, RewriteChunk):
        _write_lines(path, [{"work": "rewrite", "plugin": plugin}, *map(asdict, chunk.draws)])
        return
    positions = None if chunk.candidates is None else chunk.candidates.tolist()
    header: dict[str, Any] = {"work": "guess", "plugin": plugin, "pool": list(chunk.pool)}
    header |= {"tie_keys": list(chunk.tie_keys), "candidates": positions}
    header["mechanism"] = None if chunk.mechanism is None else _travelling(chunk.mechanism)
    header["epsilon"] = None if math.isinf(chunk.epsilon) else chunk.epsilon
    header["practice"] = list(chunk.practice)
    _write_lines(path, [header, *_without_latents(path, chunk.outputs)])


def read_chunk(path: Path) -> Chunk:
    """Return the chunk in a file."""
    header, *rows = _read_lines(path)
    plugin = Reference(**header["plugin"])
    if header["work"] == "rewrite":
        return RewriteChunk(plugin, [Draw(**row) for row in rows])
    positions = header["candidates"]
    candidates = None if positions is None else np.asarray(positions, dtype=np.int32)
    mechanism = None if header["mechanism"] is None else Reference(**header["mechanism"])
    epsilon = math.inf if header["epsilon"] is None else float(header["epsilon"])
    outputs = _with_latents(path, rows)
    return GuessChunk(
        plugin, tuple(header["pool"]), outputs, candidates, header["tie_keys"], mechanism, epsilon,
        tuple(header["practice"]),
    )  # fmt: skip


def described(plugin: Reference) -> str:
    """Return the first line of a file of rewriting by this plug-in."""
    return json.dumps({"work": "rewrite", "plugin": _travelling(plugin)})


def first_line(path: Path) -> str:
    """Return how a chunk's file begins: what is to be done, and by which plug-in."""
    with path.open(encoding="ascii") as lines:
        return lines.readline().rstrip("\n")


def write_result(path: Path, result: Sequence[Rewrite] | Sequence[Guess]) -> None:
    """Write the outcome of a chunk."""
    if result and isinstance(result[0], Guess):
        scores = {f"scores{i}": np.asarray(g.scores) for i, g in enumerate(result) if isinstance(g, Guess)}
        shown = {
            f"shown{i}": np.asarray(g.shown)
            for i, g in enumerate(result)
            if isinstance(g, Guess) and g.shown is not None
        }
        usable = np.array([g.usable for g in result if isinstance(g, Guess)])
        with path.open("wb") as file:
            np.savez(file, usable=usable, **scores, **shown)  # type: ignore[arg-type]
        return
    _write_lines(path, _without_latents(path, [r for r in result if isinstance(r, Rewrite)]))


def read_result(path: Path, chunk: Chunk) -> list[Rewrite] | list[Guess]:
    """Return the outcome of a chunk."""
    if isinstance(chunk, RewriteChunk):
        return _with_latents(path, _read_lines(path))
    if not len(chunk):
        return []
    with np.load(path) as stored:
        usable = stored["usable"].tolist()
        return [Guess(stored[f"scores{i}"], usable[i], stored.get(f"shown{i}")) for i in range(len(usable))]


def _travelling(plugin: Reference) -> dict[str, Any]:
    """Return a reference as plain values; an object of this process has none."""
    if plugin.live is not None or any(callable(value) for value in plugin.params.values()):
        raise PluginError(
            f"'{plugin.name}' is an object of this process and cannot travel to another one; "
            "name it as py:package.module:name instead."
        )
    return {"kind": plugin.kind, "name": plugin.name, "params": dict(plugin.params)}


def _without_latents(path: Path, rewrites: Sequence[Rewrite]) -> list[dict[str, Any]]:
    latents = {f"latent{i}": r.latent for i, r in enumerate(rewrites) if r.latent is not None}
    beside = Path(f"{path}.npz")
    beside.unlink(missing_ok=True)  # another chunk's latents must not be taken for this one's
    if latents:
        with beside.open("wb") as file:
            np.savez(file, **latents)  # type: ignore[arg-type]
    return [asdict(replace(rewrite, latent=None)) for rewrite in rewrites]


def _with_latents(path: Path, rows: Sequence[dict[str, Any]]) -> list[Rewrite]:
    beside = Path(f"{path}.npz")
    latents: dict[str, Any] = {}
    if beside.exists():
        with np.load(beside) as stored:
            latents = dict(stored)
    return [
        Rewrite(
            row["text"],
            None if row["tokens"] is None else tuple(row["tokens"]),
            latents.get(f"latent{i}"),
            row["units"],
            row["error"],
        )
        for i, row in enumerate(rows)
    ]


def _write_lines(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    # ascii: unpaired surrogates survive, and so does any line separator inside a text
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="ascii")


def _read_lines(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="ascii") as lines:
        return [json.loads(line) for line in lines]
