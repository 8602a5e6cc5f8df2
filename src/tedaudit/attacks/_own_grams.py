"""How much likelier the raw features of an output are among a text's own rewrites than among all of them.

Each feature is a coin of its own (naive Bayes): its share among the rewrites of one text, drawn towards its
share among all rewrites, against the latter. Features that are missing from an output count too. Those that
all rewrites of a text have are kept apart from those that only some have: a mark that is always there would
else drown in what comes and goes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tedaudit.attacks._raw_grams import CHARACTERS, GRAMS, WORDS, Hashes, Rows, group_of, weight_of
from tedaudit.types import Floats

_GROUPS = (CHARACTERS, GRAMS, WORDS)
KINDS = 2 * len(_GROUPS)  # what always is there, and what is there at times, of each group
_PRIOR = 1.0  # rewrites that the share among all rewrites counts for
_PAIRS = 4096  # outputs and texts compared at a time


@dataclass(frozen=True, slots=True)
class _Table:
    """Features of one group: what the presence of each adds for each text, and what their absence says."""

    first: int
    last: int
    gains: Any  # sparse: a row per text
    losses: Floats


class OwnGrams:
    """Log-ratios of features by text, as sparse rows: columns are the features seen in own rewrites."""

    def __init__(self, source: Rows, features: tuple[Rows, Hashes], texts: int) -> None:
        rows, hashes = features
        self._number = np.bincount(source, minlength=texts)
        self._vocabulary, column = np.unique(hashes, return_inverse=True)
        self._weights = weight_of(self._vocabulary)
        totals = np.bincount(column, minlength=len(self._vocabulary))
        self._general: Floats = np.asarray((totals + 0.5) / (len(source) + 1.0), dtype=np.float64)
        groups = group_of(self._vocabulary)
        ends = [(int(np.searchsorted(groups, g)), int(np.searchsorted(groups, g, "right"))) for g in _GROUPS]
        keys, counts = np.unique(source[rows] * max(1, len(self._vocabulary)) + column, return_counts=True)
        self._tables = self._weigh(keys, counts, ends)
        self._never = {int(n): self._weigh_never(int(n), ends) for n in np.unique(self._number) if n}

    def find(self, features: tuple[Rows, Hashes], outputs: int) -> Any:
        """Return the features of outputs as sparse rows; those that no own rewrite has say nothing."""
        from scipy.sparse import csr_array

        rows, hashes = features
        if not len(self._vocabulary):
            return csr_array((outputs, 0))
        column = np.minimum(np.searchsorted(self._vocabulary, hashes), len(self._vocabulary) - 1)
        known = self._vocabulary[column] == hashes
        rows, column = rows[known], column[known]
        pointer = np.searchsorted(rows, np.arange(outputs + 1))
        return csr_array((np.ones(len(rows)), column, pointer), shape=(outputs, len(self._vocabulary)))

    def compare(self, found: Any, rows: Rows, texts: Rows) -> Floats:
        """Return the log-ratios of each pair of an output and a text, a column for each kind."""
        scores = np.zeros((len(rows), KINDS))
        for kind, table in enumerate(self._tables):
            own = found[:, table.first : table.last]
            for start in range(0, len(rows), _PAIRS):
                part = slice(start, start + _PAIRS)
                products = own[rows[part]].multiply(table.gains[texts[part]])
                scores[part, kind] = np.asarray(products.sum(axis=1)).ravel()
        return scores + self._weigh_rest(found, rows, texts)

    def compare_all(self, found: Any) -> Floats:
        """Return the log-ratios of every output with every text, one output after the other."""
        products = [found[:, table.first : table.last] @ table.gains.T for table in self._tables]
        scores = np.stack([product.toarray().ravel() for product in products], axis=-1)
        outputs, texts = found.shape[0], len(self._number)
        rows, columns = np.repeat(np.arange(outputs), texts), np.tile(np.arange(texts), outputs)
        return np.asarray(scores + self._weigh_rest(found, rows, columns))

    def _weigh(self, keys: Rows, counts: Rows, ends: list[tuple[int, int]]) -> list[_Table]:
        """Return the tables of features that texts have: always or at times, by group."""
        from scipy.sparse import csr_array

        width, texts = max(1, len(self._vocabulary)), len(self._number)
        text, column = keys // width, keys % width
        general, number, weights = self._general[column], self._number[text], self._weights[column]
        present, absent = _log_ratios(counts, number, general)
        present_never, absent_never = _log_ratios(np.zeros(len(keys)), number, general)
        gain = weights * ((present - absent) - (present_never - absent_never))
        loss = weights * (absent - absent_never)
        tables = []
        for first, last in ends:
            for is_steady in (True, False):
                inside = np.flatnonzero(
                    (column >= first) & (column < last) & ((counts == number) == is_steady)
                )
                pointer = np.searchsorted(text[inside], np.arange(texts + 1))
                cells = (gain[inside], column[inside] - first, pointer)
                losses = np.bincount(text[inside], loss[inside], minlength=texts).astype(np.float64)
                tables.append(_Table(first, last, csr_array(cells, shape=(texts, last - first)), losses))
        return tables

    def _weigh_never(self, number: int, ends: list[tuple[int, int]]) -> list[tuple[Floats, float]]:
        """Return, for texts with so many rewrites, what features say that none of these has, by group."""
        zeros = np.zeros(len(self._general))
        present, absent = _log_ratios(zeros, np.full(len(zeros), number), self._general)
        present, absent = self._weights * present, self._weights * absent
        return [((present - absent)[first:last], float(absent[first:last].sum())) for first, last in ends]

    def _weigh_rest(self, found: Any, rows: Rows, texts: Rows) -> Floats:
        """Return what is said by features that an output lacks, and by those that a text never has."""
        rest = np.stack([table.losses[texts] for table in self._tables], axis=-1)
        for number, by_group in self._never.items():
            chosen = np.flatnonzero(self._number[texts] == number)
            for group, (presence, absence) in enumerate(by_group):
                table = self._tables[2 * group + 1]
                seen = found[:, table.first : table.last] @ presence
                rest[chosen, 2 * group + 1] += absence + seen[rows[chosen]]
        return rest


def _log_ratios(counts: Any, number: Any, general: Any) -> tuple[Floats, Floats]:
    """Return the log-ratios of presence and of absence: a text's own share against the general one."""
    own = (counts + _PRIOR * general) / (number + _PRIOR)
    return np.log(own / general), np.log((1 - own) / (1 - general))
