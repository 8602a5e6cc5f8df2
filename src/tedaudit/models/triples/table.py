"""A table of public triples: one folder with the triples' text, their vectors and their clusters.

`triples.txt.xz` has one triple per line; `triples.safetensors` has `vectors` (n x d, float16 or
float32), `cluster` (an integer per triple) and `centroids` (k x d), and names in its metadata the
encoder that computed the vectors. The triples must be public: never take them from the texts to be protected.
"""

import hashlib
import lzma
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tedaudit.errors import ModelError
from tedaudit.models.encoders.exact import cosines
from tedaudit.models.places import resolve
from tedaudit.models.triples.extraction import Triple
from tedaudit.models.triples.vectors import normalise_to_grid, round_to_grid
from tedaudit.plugins.extras import require
from tedaudit.plugins.values import Array, Floats
from tedaudit.text.unpacking import TooLargeError, unpack

TEXTS, ARRAYS = "triples.txt.xz", "triples.safetensors"
WHOLE = -1  # in place of a cluster's number: all triples
_CHUNK = 1 << 16  # rows widened to float64 at a time


class TripleTable:
    """Triples by number, with vectors, sorted by cluster for lookup."""

    def __init__(self, raw: bytes, arrays: Mapping[str, Array], about: Mapping[str, str]) -> None:
        self._raw, self.about = raw, dict(about)
        self._ends = np.flatnonzero(np.frombuffer(raw, dtype=np.uint8) == ord("\n"))
        self._vectors, self.cluster = arrays["vectors"], arrays["cluster"]
        self._centroids = normalise_to_grid(arrays["centroids"])
        self._order = np.argsort(self.cluster, kind="stable")
        counts = np.bincount(self.cluster, minlength=len(self._centroids))
        self._starts = np.concatenate([[0], np.cumsum(counts)])

    def __len__(self) -> int:
        return len(self._vectors)

    @property
    def clusters(self) -> int:
        """The number of clusters."""
        return len(self._centroids)

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return int(self._vectors.shape[1])

    def text(self, number: int) -> str:
        """Return a triple as the table has it."""
        start = self._ends[number - 1] + 1 if number else 0
        return self._raw[start : self._ends[number]].decode("utf-8")

    def size(self, cluster: int) -> int:
        """Return how many triples a cluster has."""
        return len(self) if cluster == WHOLE else int(self._starts[cluster + 1] - self._starts[cluster])

    def members(self, cluster: int) -> npt.NDArray[np.int64]:
        """Return the numbers of a cluster's triples, in order."""
        if cluster == WHOLE:
            return np.arange(len(self))
        return np.asarray(self._order[self._starts[cluster] : self._starts[cluster + 1]], dtype=np.int64)

    def place(self, number: int, cluster: int) -> int:
        """Return the position of a triple among the members of its cluster."""
        return number if cluster == WHOLE else int(np.searchsorted(self.members(cluster), number))

    def similarity(self, vectors: Floats, cluster: int) -> Floats:
        """Return the cosine of each vector with each member of a cluster."""
        out = np.empty((len(vectors), self.size(cluster)))
        members = self.members(cluster)
        for start in range(0, len(members), _CHUNK):
            chunk = slice(start, start + _CHUNK)
            rows = self._vectors[chunk] if cluster == WHOLE else self._vectors[members[chunk]]
            out[:, chunk] = cosines(vectors, round_to_grid(rows))
        return out

    def cluster_similarity(self, vectors: Floats) -> Floats:
        """Return the cosine of each vector with each cluster's centroid."""
        return cosines(vectors, self._centroids)

    def nearest(self, vectors: Floats) -> npt.NDArray[np.int64]:
        """Return the cluster nearest to each vector; the first one in a tie."""
        return nearest(vectors, self._centroids)

    @cached_property
    def checksum(self) -> str:
        """A hash of everything that draws depend on."""
        digest = hashlib.sha256(self._raw)
        for part in (self._vectors, self.cluster, self._centroids):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()[:16]


def nearest(vectors: Floats, centroids: Floats) -> npt.NDArray[np.int64]:
    """Return the nearest centroid of each vector, a bounded number of cosines at a time."""
    step = max(1, (1 << 24) // len(centroids))
    parts = [cosines(vectors[i : i + step], centroids).argmax(axis=1) for i in range(0, len(vectors), step)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


@lru_cache(maxsize=2)
def load_table(reference: str) -> TripleTable:
    """Return the table in a folder or of `zoo:NAME`; the last two stay loaded."""
    folder = Path(resolve(reference))
    require(f"The table '{reference}'", "safetensors")
    from safetensors import safe_open

    try:
        raw = unpack((folder / TEXTS).read_bytes(), "xz")
        with safe_open(str(folder / ARRAYS), framework="numpy") as file:
            arrays = {key: file.get_tensor(key) for key in ("vectors", "cluster", "centroids")}
            about = file.metadata() or {}
    except Exception as error:  # safetensors and lzma have their own exceptions
        reason = f" ({error})" if isinstance(error, TooLargeError) else ""
        raise ModelError(
            f"The table of triples '{reference}' could not be read: {type(error).__name__}{reason}. It must "
            f"be a folder with {TEXTS} and {ARRAYS}; `tedaudit corpus triples` builds one from public texts."
        ) from error
    _check_parts(reference, raw, arrays)
    return TripleTable(raw, arrays, about)


def save_table(
    folder: Path, triples: Sequence[Triple], arrays: Mapping[str, Array], about: Mapping[str, str]
) -> None:
    """Write a table to an existing folder: for tables that fit in memory."""
    with lzma.open(folder / TEXTS, "wt", encoding="utf-8", newline="\n") as file:
        file.writelines(triple.text + "\n" for triple in triples)
    save_arrays(folder, arrays, about)


def save_arrays(folder: Path, arrays: Mapping[str, Array], about: Mapping[str, str]) -> None:
    """Write the vectors, clusters and centroids of a table."""
    from safetensors.numpy import save_file

    contiguous = {key: np.ascontiguousarray(value) for key, value in arrays.items()}
    save_file(contiguous, str(folder / ARRAYS), metadata=dict(about))


def _check_parts(reference: str, raw: bytes, arrays: Mapping[str, Array]) -> None:
    """Refuse a table whose parts do not fit together."""
    lines, cluster = raw.count(b"\n"), arrays["cluster"]
    rows, centroids = len(arrays["vectors"]), len(arrays["centroids"])
    problem = ""
    if not lines or not lines == rows == len(cluster):
        problem = f"{lines} lines, {rows} vectors and {len(cluster)} cluster numbers"
    elif arrays["vectors"].shape[1:] != arrays["centroids"].shape[1:]:
        problem = f"vectors of shape {arrays['vectors'].shape} and centroids of {arrays['centroids'].shape}"
    elif cluster.min() < 0 or cluster.max() >= centroids:
        problem = f"cluster numbers from {cluster.min()} to {cluster.max()} for {centroids} centroids"
    elif len(np.unique(cluster)) < centroids:
        problem = f"{centroids - len(np.unique(cluster))} clusters without a triple"
    if problem:
        raise ModelError(f"The table of triples '{reference}' is damaged: it has {problem}. Build it again.")


# --- Near-duplicates among the triples of one text, grouped by the character 3-grams that they share.

Representative = Literal["longest", "first"]
_BLOCK = 256  # rows compared with all others at a time


def choose_representatives(
    triples: Sequence[Triple], similarity: float, representative: Representative, *, keep_single: bool
) -> list[Triple]:
    """Return one triple per group, in the order of the text.

    Two triples match if the Jaccard index of their 3-grams is at least `similarity`. Centres are
    taken by number of matches; a group is a centre and those of its matches that are still free.
    """
    distinct = list(dict.fromkeys(triples))
    matches = _find_matches(distinct, similarity)
    chosen, free = [], np.ones(len(distinct), dtype=bool)
    for centre in sorted(range(len(distinct)), key=lambda i: -len(matches[i])):
        if free[centre] and (keep_single or len(matches[centre]) > 1):
            group = matches[centre][free[matches[centre]]]
            free[group] = False
            chosen.append(group[_choose_one([distinct[i] for i in group], representative)])
    return [distinct[i] for i in sorted(chosen)]


def choose_as_released(
    triples: Sequence[Triple], similarity: float, representative: Representative, *, keep_single: bool
) -> list[Triple]:
    """Return what the release of DP-ST keeps (sjmeis/DPST 4367fda, DPST.py 191-240), but for two things.

    A group is all matches of a centre without the centre, also those that another group has. A triple that
    is in a group is no centre any more, and one that represents two groups is returned once. Underscores
    become spaces after equal triples were left out, so that such a triple may stay twice and match itself.
    The release approximates the Jaccard index, and represents a group by what GPT-2 finds most fluent.
    """
    spaced: list[Triple] = []
    seen: set[Triple] = set()
    for triple in triples:
        if triple not in seen:
            spaced.append(Triple(*(part.replace("_", " ") for part in triple)))
            seen.add(spaced[-1])
    rows = enumerate(_find_matches(spaced, similarity))
    others = {spaced[i]: [spaced[j] for j in row if j != i] for i, row in rows}
    chosen, covered = set[Triple](), set[Triple]()
    for centre in sorted(others, key=lambda triple: -len(others[triple])):
        group = others[centre] or [centre] * keep_single
        if group and centre not in covered:
            covered.update(group)
            chosen.add(group[_choose_one(group, representative)])
    return [triple for triple in spaced if triple in chosen]


def _choose_one(group: Sequence[Triple], representative: Representative) -> int:
    """Return the place of the triple that stands for a group."""
    return int(np.argmax([len(triple.text) for triple in group])) if representative == "longest" else 0


def _find_matches(triples: Sequence[Triple], similarity: float) -> list[npt.NDArray[np.intp]]:
    """Return for each triple the numbers of those that match it, including itself."""
    grams = _mark_grams(triples)
    sizes = np.asarray(grams.sum(axis=1)).ravel()
    matches: list[npt.NDArray[np.intp]] = []
    for start in range(0, len(triples), _BLOCK):
        shared = (grams[start : start + _BLOCK] @ grams.T).toarray()
        union = sizes[start : start + _BLOCK, None] + sizes[None, :] - shared
        matches.extend(np.flatnonzero(row) for row in shared >= similarity * union)
    return matches


def _mark_grams(triples: Sequence[Triple]) -> Any:
    """Return which 3-grams each triple has, as a sparse matrix of zeros and ones."""
    from scipy.sparse import csr_array

    index: dict[str, int] = {}
    columns: list[int] = []
    ends = [0]
    for triple in triples:
        text = triple.text
        text_grams = {text[i : i + 3] for i in range(len(text) - 2)}
        columns.extend(index.setdefault(gram, len(index)) for gram in text_grams)
        ends.append(len(columns))
    shape = (len(triples), max(1, len(index)))
    return csr_array((np.ones(len(columns), dtype=np.int32), columns, ends), shape=shape)
