"""Rewrites as columns of a file, and back: gathered out of several files in the order that is asked for."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from tedaudit.errors import RunDirectoryError
from tedaudit.plugins.batches import Ragged, Rewrites
from tedaudit.runs.files import parse_frame
from tedaudit.runs.table_folder import from_lists, to_lists
from tedaudit.text.characters import replace_surrogates
from tedaudit.trials.judge import number_rows

OPTIONAL = ("units", "tokens", "latent")  # parts of a rewrite that are read if they are asked for
_ALWAYS = ("text", "replicate", "output", "error")


def frame_rewrites(text: npt.ArrayLike, replicate: npt.ArrayLike, rewrites: Rewrites) -> pl.DataFrame:
    """Return rewrites of texts of the pool as a table holds them."""
    texts = rewrites.texts
    if not all(map(str.isascii, texts)):
        texts = list(map(replace_surrogates, texts))
    return pl.DataFrame(
        {
            "text": np.asarray(text, dtype=np.int32),
            "replicate": np.asarray(replicate, dtype=np.int32),
            "output": pl.Series(texts, dtype=pl.String),
            "error": _to_errors(rewrites.errors),
            "units": _to_units(rewrites.units),
            "tokens": to_lists(rewrites.tokens, pl.Int32),
            "latent": to_lists(rewrites.latents, pl.Float32),
        }
    )


def _to_errors(errors: Sequence[str]) -> pl.Series:
    """Return a column of error codes; most rewrites have none."""
    if errors and not any(errors):
        return pl.Series([""], dtype=pl.String).new_from_index(0, len(errors))
    return pl.Series(errors, dtype=pl.String)


def _to_units(units: npt.NDArray[np.int64]) -> pl.Series:
    """Return a column of what rewrites cost, null if it is not known."""
    cost = pl.Series(units).cast(pl.Int32)
    return cost if (units >= 0).all() else pl.select(pl.when(cost >= 0).then(cost)).to_series()


def gather_rewrites(
    parts: Iterable[tuple[Path, bytes]],
    key: str,
    places: tuple[npt.NDArray[Any], npt.NDArray[Any]],
    columns: Sequence[str] = OPTIONAL,
) -> Rewrites:
    """Return the rewrites of these texts and replicates, in their order, out of the files that they are in.

    Of units, tokens and latents only what `columns` names is read.
    """
    wanted = number_rows(*places)
    if not len(wanted):
        return Rewrites.of([])
    read = [*_ALWAYS, *(name for name in OPTIONAL if name in columns)]
    frames, keys, ordered = [], [], np.sort(wanted)
    for path, raw in parts:
        frame = parse_frame(path, raw, key, read).select(read)
        held = number_rows(frame["text"].to_numpy(), frame["replicate"].to_numpy())
        inside = ordered[np.minimum(np.searchsorted(ordered, held), len(ordered) - 1)] == held
        frames.append(frame if inside.all() else frame.filter(pl.Series(inside)))
        keys.append(held[inside])
    known = np.concatenate([number_rows([], []), *keys])
    order = np.argsort(known, kind="stable")
    at = np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)
    if not len(known) or (known[order][at] != wanted).any():
        raise RunDirectoryError("Rewrites that should be there are not. Run the same command again.")
    return _as_rewrites(_join(frames)[order[at]])


def _join(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the rows of all parts; one in which every list is missing has a type of its own."""
    return pl.concat(frames, how="vertical_relaxed") if len(frames) > 1 else frames[0]


def _as_rewrites(frame: pl.DataFrame) -> Rewrites:
    there, error = frame.columns, frame["error"]
    latents = Ragged.absent(len(frame), np.float32)
    if "latent" in there:
        latents = from_lists(frame["latent"], pl.Float32, np.float32)
    return Rewrites.from_texts(
        frame["output"].to_list(),
        errors=error.to_list() if (error != "").any() else None,
        units=frame["units"].fill_null(-1).cast(pl.Int64).to_numpy() if "units" in there else None,
        tokens=from_lists(frame["tokens"], pl.Int64, np.int64) if "tokens" in there else None,
        latents=latents,
    )
