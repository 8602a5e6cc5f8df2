"""Ragged columns: rows of any length in one array."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batch_examples import floats
from tedaudit.plugins.batches.columns import Ragged

ROWS = [[1, 2], None, [], [3], [4, 5, 6], None]


def rows_of(ragged):
    return [None if (row := ragged.row(i)) is None else row.tolist() for i in range(len(ragged))]


def test_ragged_rows_are_views_or_missing():
    ragged = Ragged.of(ROWS, np.int64)
    assert rows_of(ragged) == ROWS
    assert len(ragged) == 6
    assert repr(ragged) == "<Ragged of 6 rows with 6 values>"
    assert ragged.lengths.tolist() == [2, 0, 0, 1, 3, 0]
    assert ragged.row(-2).tolist() == [4, 5, 6]
    assert np.shares_memory(ragged.row(0), ragged.values)
    assert ragged.matrix() is None
    for wrong in (6, -7):
        with pytest.raises(IndexError):
            ragged.row(wrong)


@given(st.lists(st.none() | st.lists(st.integers(0, 9), max_size=3), max_size=6), st.data())
def test_ragged_rows_are_taken_as_from_a_list(rows, data):
    ragged = Ragged.of(rows, np.int64)
    chosen = data.draw(st.lists(st.integers(-len(rows), len(rows) - 1), max_size=8)) if rows else []
    assert rows_of(ragged.take(np.array(chosen, int))) == [rows[i] for i in chosen]
    cut = data.draw(st.slices(len(rows)))
    assert rows_of(ragged.take(cut)) == rows[cut]
    assert rows_of(Ragged.join([ragged, ragged.take(cut)])) == rows + rows[cut]


def test_rows_of_one_length_are_a_matrix_and_back():
    matrix = np.arange(6, dtype=np.float32).reshape(3, 2)
    ragged = Ragged.from_matrix(matrix)
    assert rows_of(ragged) == matrix.tolist()
    assert ragged.missing is None
    assert ragged.matrix().tolist() == matrix.tolist()
    assert np.shares_memory(ragged.matrix(), matrix)
    assert np.shares_memory(ragged.take(slice(1, 3)).values, matrix)
    assert ragged.take([2, 0]).matrix().tolist() == [[4, 5], [0, 1]]
    assert Ragged.of([[], []], float).matrix().shape == (2, 0)
    assert Ragged.from_matrix(np.zeros((0, 3))).matrix().shape == (0, 0)
    assert Ragged.of([[1], None], int).matrix() is None
    assert Ragged.of([[1], [2, 3]], int).matrix() is None
    with pytest.raises(ValueError, match="2 dimensions"):
        Ragged.from_matrix(floats(1))


@pytest.mark.parametrize("row", [np.zeros((2, 1)), np.zeros((0, 2)), np.float64(1), 3])
def test_a_ragged_row_of_another_shape_is_refused(row):
    with pytest.raises(ValueError, match="Every row of a ragged column must have one dimension"):
        Ragged.of([[1.0], row], np.float64)


def test_nobody_missing_is_the_same_as_no_column_of_missing_rows():
    assert Ragged(floats(1), np.array([0, 1]), np.array([False])).missing is None
    assert Ragged.of([[1], []], int).missing is None


@pytest.mark.parametrize(
    ("values", "offsets", "missing"),
    [
        (floats(1, 2), [0, 1], None),
        (floats(1, 2), [1, 2], None),
        (floats(1, 2), [], None),
        (floats(1, 2), [0, 2, 1, 2], None),
        (floats(1, 2)[:, None], [0, 2], None),
        (floats(1, 2), [0, 2], [True]),
        (floats(1, 2), [0, 2], [False, False]),
    ],
)
def test_ragged_columns_that_make_no_sense_are_refused(values, offsets, missing):
    with pytest.raises(ValueError, match="must"):
        Ragged(values, np.array(offsets, np.int64), None if missing is None else np.array(missing))
