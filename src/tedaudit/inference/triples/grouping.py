"""Near-duplicates among the triples of one text, grouped by the character 3-grams that they share."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tedaudit.inference.triples.triple import Triple

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
            sizes = [len(distinct[i].text) if representative == "longest" else 0 for i in group]
            chosen.append(int(group[np.argmax(sizes)]))
    return [distinct[i] for i in sorted(chosen)]


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
