"""Which lambda gives which neighbours: how often a drawn candidate is among the furthest or nearest."""

from collections.abc import Sequence

import numpy as np

from tedaudit.experiments.outcome import Table
from tedaudit.inference.encoders import load_encoder
from tedaudit.plans.candidates import Sampling, candidate_sets
from tedaudit.plans.pool import Pool
from tedaudit.seeding import derive

LAMBDAS = (-1e5, -1e4, -1e3, -1e2, 0.0, 1e2, 1e3, 1e4, 1e5)
_TOPS = (1, 10)
_ROWS = 256  # trials whose similarities are in memory at a time


def agreement(texts: Sequence[str], encoder: str, trials: int, lambdas: Sequence[float] = LAMBDAS) -> Table:
    """Return the share of second candidates among the m furthest and m nearest texts of the first."""
    loaded = load_encoder(encoder)
    loaded.fit(texts)
    pool = Pool(loaded.encode(texts))
    rows = []
    for temperature in lambdas:
        sampling = Sampling(2, temperature=temperature)
        sets = candidate_sets(pool, sampling, range(trials), derive(0, "agreement"))
        counts = sum(
            _count_neighbours(pool, sets[start : start + _ROWS]) for start in range(0, trials, _ROWS)
        )
        rows.append((temperature, *(float(count) / trials for count in np.atleast_1d(counts))))
    headings = ("lambda", *(f"among {m} {what}" for what in ("furthest", "nearest") for m in _TOPS))
    return Table("how often the candidate drawn is among the neighbours", headings, tuple(rows))


def _count_neighbours(pool: Pool, sets: np.ndarray) -> np.ndarray:
    """Return, for a few trials, how many candidates are in each group of neighbours; ties count as inside."""
    similarity = pool.similarity(sets[:, :1])
    rows = np.arange(len(sets))
    own = similarity[rows, sets[:, 1]][:, None]
    similarity[rows, sets[:, 0]] = np.nan  # a text is not its own neighbour
    further = (similarity < own - 1e-9).sum(axis=1)
    nearer = (similarity > own + 1e-9).sum(axis=1)
    return np.array([(count < m).sum() for count in (further, nearer) for m in _TOPS])
