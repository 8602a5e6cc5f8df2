"""The error that a score has because the test set is small: the test texts are drawn again, many times.

All classifiers of a task are scored on the same redrawn test sets, so that a difference of two scores has an
error of its own, in which the texts that are hard for both cancel. A bootstrap, and so approximate.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
DRAWS = 1000


def redraw_tests(size: int, seed: int, draws: int = DRAWS) -> npt.NDArray[np.int64]:
    """Return how often each test text is in each redrawn test set, with a row per redrawn set."""
    random = np.random.default_rng(seed)
    return np.asarray(random.multinomial(size, np.full(size, 1 / size), size=draws), dtype=np.int64)


def resample_f1(truth: Sequence[str], predicted: Sequence[str], weights: npt.NDArray[np.int64]) -> Floats:
    """Return macro F1 on every redrawn test set, over the classes of the whole one."""
    actual, named = np.asarray(truth), np.asarray(predicted)
    scores = np.zeros(len(weights))
    classes = sorted(set(truth))
    for label in classes:
        right, either = (actual == label) & (named == label), (actual == label).astype(int) + (named == label)
        hits, all_named = weights @ right, weights @ either
        scores += 2 * hits / np.maximum(all_named, 1)  # no hits if nothing is named: 0, as sklearn has it
    return np.asarray(scores / len(classes), dtype=np.float64)
