"""Many tests with one error: which of them can reject at all, and Holm's procedure over those.

A test is in reach if its smallest possible p-value, known before any data, is small enough (Tarone
1990, "A modified Bonferroni method for discrete data"). One that is not costs the others nothing.
Holm 1979, "A simple sequentially rejective multiple test procedure", holds however tests depend
on each other.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def look_error(error: float, look: int) -> float:
    """Return the share of an error that the look of this number has, from 1: all looks have it together."""
    return error / (look * (look + 1))


def find_reach(least: Sequence[float], error: float) -> npt.NDArray[np.bool_]:
    """Return which tests are in reach, by their smallest possible p-values (Tarone 1990).

    With m the smallest number such that at most m tests have a smallest p-value below error / m, it
    is those tests. There are at most m, so each can reject at its share of the error. The choice
    depends on no data, so that a procedure over those tests alone keeps the error.
    """
    smallest = np.asarray(least, dtype=np.float64)
    for size in range(1, len(smallest) + 1):
        within = smallest < error / size
        if within.sum() <= size:
            return np.asarray(within, dtype=np.bool_)
    return np.zeros(len(smallest), dtype=np.bool_)


def holm(p_values: Sequence[float]) -> npt.NDArray[np.float64]:
    """Return adjusted p-values: a test is rejected if its own is at most the error of all together."""
    given = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(given, kind="stable")
    scaled = given[order] * np.arange(len(given), 0, -1)
    adjusted = np.empty(len(given))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return adjusted
