"""How much likelier one text's triples can make any public triples than another's: the largest loss."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tedaudit.inference.triples.drawing import ClusterChoice, log_cluster_masses, log_inside_masses
from tedaudit.inference.triples.table import WHOLE, TripleTable
from tedaudit.types import Floats

SlotPair = tuple[Sequence[int], Sequence[int]]  # rows of vectors in the slots of two texts, equally many
_CELLS = 1 << 23  # ratios in memory at a time


def largest_losses(
    table: TripleTable, choice: ClusterChoice, vectors: Floats, pairs: Sequence[SlotPair], epsilon: float
) -> Floats:
    """Return for each two texts the largest loss that any triples can have, the larger of both directions.

    Slots are drawn independently and share the budget evenly, so that the largest losses of slots add up.
    """
    sums = np.zeros((len(pairs), 2))
    counts = np.array([len(first) for first, _ in pairs])
    for count in np.unique(counts).tolist():
        texts = np.flatnonzero(counts == count)
        rows = np.array([list(zip(*pairs[i], strict=True)) for i in texts.tolist()]).reshape(-1, 2)
        distinct, which = np.unique(rows, axis=0, return_inverse=True)
        ratios = largest_ratios(table, choice, vectors, distinct, epsilon / count)
        sums[texts] = ratios[which.ravel()].reshape(len(texts), count, 2).sum(axis=1)
    return np.asarray(sums.max(axis=1), dtype=np.float64)


def largest_ratios(
    table: TripleTable, choice: ClusterChoice, vectors: Floats, pairs: npt.NDArray[np.int64], epsilon: float
) -> Floats:
    """Return for each pair of rows the largest ln(p / p') over all public triples, and ln(p' / p).

    It is infinite if clusters are chosen without noise and differ: no triple can come from both.
    """
    found = np.full((len(pairs), 2), -np.inf)
    of_cluster = log_cluster_masses(table, choice, vectors, epsilon)
    for cluster in [WHOLE] if choice == "whole" else range(table.clusters):
        if not table.size(cluster):
            continue
        inside = log_inside_masses(table, choice, vectors, cluster, epsilon)
        step = max(1, _CELLS // inside.shape[1])
        for start in range(0, len(pairs), step):
            first, second = pairs[start : start + step].T
            gaps = inside[first] - inside[second]
            with np.errstate(invalid="ignore"):  # -inf for both: no output at all
                gap = of_cluster[first, cluster] - of_cluster[second, cluster]
            largest = np.stack([gaps.max(axis=1) + gap, -gaps.min(axis=1) - gap], axis=1)
            part = found[start : start + step]
            np.fmax(part, largest, out=part)
    return found
