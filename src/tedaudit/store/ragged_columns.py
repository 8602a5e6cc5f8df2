"""Ragged columns as lists in a table, and back."""

from typing import Any

import numpy as np
import polars as pl

from tedaudit.batches import Ragged


def to_lists(column: Ragged, dtype: Any) -> pl.Series:
    """Return a column of lists for a ragged one; a missing row is null."""
    matrix = column.matrix()
    if matrix is not None and matrix.size:
        if dtype == pl.Int32 and -(2**31) <= matrix.min() <= matrix.max() < 2**31:
            matrix = matrix.astype(np.int32)  # far faster than a cast of lists
        return pl.Series(matrix).cast(pl.List(dtype))
    if len(column) and column.missing is not None and column.missing.all():
        return pl.Series([None], dtype=pl.List(dtype)).new_from_index(0, len(column))
    of_value = np.repeat(np.arange(len(column)), column.lengths)
    values = pl.DataFrame({"row": of_value, "value": pl.Series(column.values).cast(dtype)})
    lists = values.group_by("row", maintain_order=True).agg("value")
    rows = pl.DataFrame({"row": np.arange(len(column))})
    missing = column.missing if column.missing is not None else np.zeros(len(column), dtype=np.bool_)
    filled = pl.col("value").fill_null(pl.lit([], dtype=pl.List(dtype)))
    joined = rows.join(lists, on="row", how="left", maintain_order="left")
    return joined.select(pl.when(pl.Series(missing)).then(None).otherwise(filled)).to_series()


def from_lists(column: pl.Series, dtype: Any, numbers: Any) -> Ragged:
    """Return a column of lists as a ragged one; most mechanisms show no tokens or no latents at all."""
    if column.null_count() == len(column):
        return Ragged.absent(len(column), numbers)
    missing = column.is_null().to_numpy()
    lengths = column.list.len().fill_null(0).cast(pl.Int64).to_numpy()
    values = column.drop_nulls().explode().drop_nulls().cast(dtype).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Ragged(np.asarray(values, dtype=numbers), offsets, missing if missing.any() else None)
