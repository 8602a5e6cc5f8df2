"""Inner products that are exact: held against sums of whole numbers."""

import numpy as np
import pytest

from tedaudit.models.encoders.exact import FINEST, cosines, round_to_grid


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_products_of_rounded_unit_vectors_are_those_of_whole_numbers(kind):
    rows = np.random.default_rng(0).normal(size=(7, 768))
    rows[0] = np.eye(768)[5]
    vectors = round_to_grid((rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(kind))
    assert vectors.dtype == kind
    whole = [[int(number) for number in row] for row in vectors.astype(np.float64) * 2.0**FINEST]
    exact = [[sum(a * b for a, b in zip(one, other, strict=True)) for other in whole] for one in whole]
    assert [[int(value) for value in row] for row in cosines(vectors, vectors) * 4.0**FINEST] == exact
