"""Rows that are picked from parts in memory are those of the parts, whether written or read."""

import numpy as np
import polars as pl

from tedaudit.batches import Rewrites
from tedaudit.store import recent_parts
from tedaudit.store.ragged_columns import to_lists
from tedaudit.store.recent_parts import Part, RecentParts, pick


def make_frame(rewrites):
    units = [None if unit < 0 else unit for unit in rewrites.units.tolist()]
    return pl.DataFrame(
        {
            "output": pl.Series(rewrites.texts, dtype=pl.String),
            "error": pl.Series(rewrites.errors, dtype=pl.String),
            "units": pl.Series(units, dtype=pl.Int32),
            "tokens": to_lists(rewrites.tokens, pl.Int32),
            "latent": to_lists(rewrites.latents, pl.Float32),
        }
    )


PLAIN = Rewrites.from_texts(["a", "b", "c"], tokens=[[1], [2, 3], []], units=4)
FAILED = Rewrites.from_texts(["", "ä"], errors=["timeout", ""], tokens=[None, [9]])
WHICH, ROWS = np.array([1, 0, 0, 1, 0]), np.array([1, 2, 0, 0, 0])


def test_rows_of_several_parts_come_in_the_order_asked_for():
    for given in ((PLAIN, FAILED), (None, None)):
        frames = [make_frame(PLAIN), make_frame(FAILED)]
        parts = [Part.of(frame, rewrites) for frame, rewrites in zip(frames, given, strict=True)]
        found = pick(parts, WHICH, ROWS, ("tokens", "latent"))
        assert found == [[PLAIN, FAILED][which][row] for which, row in zip(WHICH, ROWS, strict=True)]


def test_lists_that_were_not_asked_for_are_missing():
    parts = [Part.of(make_frame(PLAIN), PLAIN), Part.of(make_frame(FAILED), FAILED)]
    found = pick(parts, WHICH, ROWS, ("text",))
    assert [rewrite.tokens for rewrite in found] == [None] * 5
    assert [rewrite.error for rewrite in found] == ["", "", "", "timeout", ""]


def test_parts_that_were_not_used_for_longest_are_forgotten_first(monkeypatch):
    part = Part.of(make_frame(PLAIN), PLAIN)
    monkeypatch.setattr(recent_parts, "_BYTES", 2 * part.size)
    recent = RecentParts()
    for number in (0, 1):
        recent.remember(number, part)
    assert recent.find(0) is part
    recent.remember(2, part)
    assert [recent.find(number) is part for number in (0, 1, 2)] == [True, False, True]
