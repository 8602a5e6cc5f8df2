"""Rows of every kind of batch that are meant to hurt, and strategies that make more of them."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import strategies as st

from tedaudit.plugins.batches import Draws, Guesses, Observations, Rewrites
from tedaudit.plugins.values import Draw, Guess, Observation, Rewrite

NAN = math.nan
LAST = 2**128 - 1


def plain(value):
    """Return a value in a form that `==` compares as meant: arrays as lists, NaN equal to NaN."""
    if dataclasses.is_dataclass(value):
        return (type(value), [plain(getattr(value, field.name)) for field in dataclasses.fields(value)])
    if isinstance(value, np.ndarray):
        return ("array", [plain(entry) for entry in value.tolist()])
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return "nan" if isinstance(value, float) and math.isnan(value) else value


def floats(*values, dtype=np.float64):
    return np.array(values, dtype=dtype)


DRAWS = [
    Draw("one", 1.0, 0),
    Draw("two", math.inf, LAST),
    Draw("one", 0.5, 2**127 + 2**96 + 2**64 + 2**32 + 5),
    Draw("half \ud800", NAN, 1),
    Draw("", 0.0, 2**64),
]
REWRITES = [
    Rewrite("all", (1, 2, 3), floats(1, 2), 4),
    Rewrite("", None, None, None, "too-long"),
    Rewrite("\udc00 half", (), floats(NAN, 3, -1), 0),
    Rewrite("line\nbreak", (2**62, -1), None, 7),
    Rewrite("é", None, floats(), None),
]
OBSERVATIONS = [
    Observation(REWRITES[0], ("a", "b"), 0),
    Observation(REWRITES[1], ("b", "c", "\ud800"), LAST),
    Observation(REWRITES[2], ("a",), 3),
    Observation(REWRITES[3], ("c", "a"), 2**96),
    Observation(REWRITES[4], (), 4),
]
GUESSES = [
    Guess(floats(1, 2, 3), True, np.array([2, 0, 1], np.int32)),
    Guess(floats(0, NAN), False),
    Guess(floats(-math.inf), True, np.array([0], np.int32)),
    Guess(floats(), True, np.array([], np.int32)),
    Guess(floats(5, 4), True),
]
EXAMPLES = [(Draws, DRAWS), (Rewrites, REWRITES), (Observations, OBSERVATIONS), (Guesses, GUESSES)]
each_kind = pytest.mark.parametrize(
    ("kind", "rows"), EXAMPLES, ids=lambda value: getattr(value, "__name__", "")
)

texts = st.sampled_from(["", "a", "b", "ab", "\ud800", "\udc00x", "é", "line\nbreak"])
keys = st.one_of(st.sampled_from([0, 1, 2**32, 2**96, LAST]), st.integers(0, LAST))
number = st.floats(width=32)
draws = st.builds(Draw, texts, st.floats(), keys)
tokens = st.none() | st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3).map(tuple)
latents = st.none() | st.lists(number, max_size=3).map(lambda row: np.array(row, np.float32))
rewrites = st.builds(
    Rewrite, texts, tokens, latents, st.none() | st.integers(0, 9), st.sampled_from(["", "bad"])
)
observations = st.builds(Observation, rewrites, st.lists(texts, max_size=3).map(tuple), keys)
shown = st.none() | st.lists(st.integers(0, 9), max_size=3).map(lambda row: np.array(row, np.int32))
guesses = st.builds(Guess, st.lists(number, max_size=3).map(np.array), st.booleans(), shown)
any_rows = st.one_of(
    st.tuples(st.just(kind), st.lists(rows, max_size=6))
    for kind, rows in ((Draws, draws), (Rewrites, rewrites), (Observations, observations), (Guesses, guesses))
)
