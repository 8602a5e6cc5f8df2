"""Outcomes of paired trials with their probabilities, so that a coverage is summed and not simulated."""

import numpy as np
from scipy.special import gammaln, xlogy
from scipy.stats import binom

from tedaudit.estimators.paired import PairedCounts


def all_tables(trials):
    """Every way in which trials can fall into (both, first only, second only, neither)."""
    for both in range(trials + 1):
        for first in range(trials + 1 - both):
            for second in range(trials + 1 - both - first):
                yield PairedCounts(both, first, second, trials - both - first - second)


def join(first, second, both):
    """Return the rates of the four outcomes from the success rate of each side and of both."""
    return tuple(max(rate, 0.0) for rate in (both, first - both, second - both, 1 - first - second + both))


def _depend(first, second, *, independent=True):
    """Yield the rates with sides as alike and as unlike as can be, and with sides that do not depend."""
    yield join(first, second, min(first, second))
    yield join(first, second, max(0.0, first + second - 1))
    if independent:
        yield join(first, second, first * second)


# At success rates of one half, sides that do not depend have millions of likely outcomes.
RATES = (
    *_depend(0.97, 0.9999),
    *_depend(0.9999, 0.97),
    *_depend(0.9999, 0.9999),
    *_depend(0.999, 0.97),
    *_depend(0.5, 0.5, independent=False),
    join(0.5, 0.5, 0.497),
)


def name_rates(rates):
    """Return the rates as the name of a test."""
    return "-".join(f"{rate:.4g}" for rate in rates)


def likely_tables(trials, rates, unlikely=1e-3):
    """Return outcomes that together have all but `unlikely` of the probability, and their probabilities."""
    spans = [
        np.arange(binom.ppf(unlikely / 8, trials, rate), binom.isf(unlikely / 8, trials, rate) + 1)
        for rate in rates
    ]
    *free, last = sorted(range(4), key=lambda cell: len(spans[cell]))
    grid = np.meshgrid(*(spans[cell] for cell in free), indexing="ij")
    rows = np.zeros((grid[0].size, 4), dtype=np.int64)
    rows[:, free] = np.stack([values.ravel() for values in grid], axis=1)
    rows[:, last] = trials - rows.sum(axis=1)
    rows = rows[rows[:, last] >= 0]
    log = gammaln(trials + 1) - gammaln(rows + 1).sum(axis=1) + xlogy(rows, rates).sum(axis=1)
    return [PairedCounts(*row) for row in rows.tolist()], np.exp(log)
