"""How much likelier the raw features of an output are among a text's own rewrites than among all of them.

Each feature is a coin of its own (naive Bayes): its share among the rewrites of one text, drawn towards its
share among all rewrites, against the latter. Features that are missing from an output count too. Those that
all rewrites of a text have are kept apart from those that only some have: a mark that is always there would
else drown in what comes and goes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.plugins.values import Floats

# --- Character n-grams and words of raw texts, hashed: no case is folded, no white space is lost.
#
# A text is read as its code points, so that scripts without spaces, either direction of writing, trailing
# blanks and characters of no width count as any other. A feature is a hash of 49 bits beside its kind, so
# that few of them collide. Long texts cost no more than their first and last characters.

Hashes = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]

TEXTS = 4096  # whose features are found at a time: as many as 12 bits can number

CHARACTERS, GRAMS, WORDS = range(3)  # groups of features
_LENGTHS = (1, 2, 3, 5)  # of n-grams; the shorter two are the group of characters
_KINDS = (CHARACTERS, CHARACTERS, GRAMS, GRAMS, WORDS)  # the group of each kind of feature
_WEIGHTS = (1.0, 1 / 2, 1 / 3, 1 / 5, 1 / 2)  # an n-gram shares its characters with n others
_SHIFT = np.uint64(49)  # the kind of a feature stands above its hash,
_ROW = np.uint64(52)  # and the row above both
_LOW = np.uint64((1 << 49) - 1)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_STEP = np.uint64(0x9E3779B97F4A7C15)
_START, _END = 0x110000, 0x110001  # no code points: they mark where a text begins and ends
_READ = 10_000  # characters that are read at each end of a text
_WORD = re.compile(r"\S+")


def group_of(hashes: Hashes) -> npt.NDArray[np.int64]:
    """Return the group of each feature."""
    return np.asarray(_KINDS)[(hashes >> _SHIFT).astype(np.int64)]


def weight_of(hashes: Hashes) -> npt.NDArray[np.float64]:
    """Return how much each feature counts: overlapping ones share their evidence."""
    return np.asarray(_WEIGHTS)[(hashes >> _SHIFT).astype(np.int64)]


def count_features(texts: Sequence[str]) -> int:
    """Return a number that the features of these texts do not exceed."""
    return sum(5 * (min(len(text), 2 * _READ) + 2) for text in texts)


def find_features(texts: Sequence[str], share: float = 1.0) -> tuple[Rows, Hashes]:
    """Return the distinct features of each text, in order: its row, and the feature.

    With a share below 1 only features whose hash is small are kept: the same ones in every text.
    """
    parts = [_find_some(texts[start : start + TEXTS], share) for start in range(0, len(texts), TEXTS)]
    rows = [start * TEXTS + (part >> _ROW).astype(np.int64) for start, part in enumerate(parts)]
    features = [part & np.uint64((1 << 52) - 1) for part in parts]
    return np.concatenate([np.zeros(0, np.int64), *rows]), np.concatenate([np.zeros(0, np.uint64), *features])


def _find_some(texts: Sequence[str], share: float) -> Hashes:
    """Return the distinct features of a few texts, each with its row in the upper bits, sorted."""
    rows, hashes = _hash_grams([_read_points(text) for text in texts])
    word_rows, words = _hash_words(texts)
    places = np.concatenate([rows, word_rows]).astype(np.uint64) << _ROW
    found = np.concatenate([hashes, words]) | places
    if share < 1:
        found = found[(found & _LOW) < np.uint64(int(share * float(_LOW)))]
    return np.unique(found)


def _cut(text: str) -> str:
    return text if len(text) <= 2 * _READ else text[:_READ] + text[-_READ:]


def _read_points(text: str) -> npt.NDArray[np.uint32]:
    points = np.frombuffer(_cut(text).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    return np.concatenate([[_START], points, [_END]]).astype(np.uint32)


def _hash_grams(points: Sequence[npt.NDArray[np.uint32]]) -> tuple[Rows, Hashes]:
    lengths = np.array([len(part) for part in points], dtype=np.int64)
    row = np.repeat(np.arange(len(points)), lengths)
    codes = np.concatenate([np.zeros(0, dtype=np.uint32), *points]).astype(np.uint64)
    rows, hashes = [], []
    for kind, length in enumerate(_LENGTHS):
        count = max(0, len(codes) - length + 1)
        hashed = np.zeros(count, dtype=np.uint64)
        for place in range(length):
            hashed = _mix(hashed + _STEP + codes[place : place + count])
        inside = row[:count] == row[length - 1 : length - 1 + count]
        rows.append(row[:count][inside])
        hashes.append(_mark(hashed[inside], kind))
    return np.concatenate(rows), np.concatenate(hashes)


def _hash_words(texts: Sequence[str]) -> tuple[Rows, Hashes]:
    """Return the words and the pairs of adjacent words of every text, as they stand there."""
    codes: dict[str, int] = {}
    found: list[list[int]] = [
        [codes.setdefault(word, len(codes)) for word in _WORD.findall(_cut(text))] for text in texts
    ]
    row = np.repeat(np.arange(len(texts)), [len(words) for words in found])
    numbers = np.array([number for words in found for number in words], dtype=np.int64)
    single = _hash_strings(list(codes))[numbers] if len(numbers) else np.zeros(0, dtype=np.uint64)
    inside = row[1:] == row[:-1]
    pairs = _mix(_mix(single[:-1]) + single[1:])[inside]
    rows = np.concatenate([row, row[:-1][inside] if len(row) else row])
    return rows, _mark(np.concatenate([single, pairs]), len(_LENGTHS))


def _hash_strings(strings: Sequence[str]) -> Hashes:
    """Return a hash of each string: of its code points, one after the other."""
    points = [_read_points(string) for string in strings]
    hashed = np.zeros(len(points), dtype=np.uint64)
    order = np.argsort([-len(part) for part in points], kind="stable")
    longest = len(points[order[0]]) if points else 0
    lengths = np.array([len(points[i]) for i in order])
    for place in range(longest):
        active = order[: int(np.searchsorted(-lengths, -place, side="left"))]
        codes = np.array([points[i][place] for i in active], dtype=np.uint64)
        hashed[active] = _mix(hashed[active] + _STEP + codes)
    return hashed


def _mark(hashes: Hashes, kind: int) -> Hashes:
    return (hashes & _LOW) | (np.uint64(kind) << _SHIFT)


def _mix(hashes: Hashes) -> Hashes:
    """Return the hashes with their bits spread; products wrap modulo 2**64, as they should."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * _MIX[0]
    hashes = (hashes ^ (hashes >> np.uint64(27))) * _MIX[1]
    return hashes ^ (hashes >> np.uint64(31))


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
                tables.append(
                    _Table(
                        first=first,
                        last=last,
                        gains=csr_array(cells, shape=(texts, last - first)),
                        losses=losses,
                    )
                )
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
