"""The exponential mechanism over public triples: utility max(0, cosine), sensitivity 1.

Item v has weight exp(epsilon u_v / 2) with u in [0, 1], which is what `inference.sampling` draws with
the clip range [0, 1]. A null triple is a vector of zeros: all its cosines are 0, so its draw is
uniform. Cosines are exact (see `vectors`), so a draw is the same in any batch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from tedaudit.errors import ModelError
from tedaudit.models.encoders.sentence import Encoder
from tedaudit.models.sampling.exponential import UNIFORMS, Clip, log_probabilities, noise_for, sample
from tedaudit.models.triples.table import WHOLE, TripleTable, load_table
from tedaudit.models.triples.vectors import load_dense_encoder
from tedaudit.plugins.values import Floats
from tedaudit.seeding import Keys, key_words

ClusterChoice = Literal["private", "whole", "nearest"]
Ints = npt.NDArray[np.int64]
OVERFLOW = -1
_STEPS = 2  # steps of a draw's noise per triple: the cluster, then the triple in it
_UTILITY = Clip(0.0, 1.0)
_CELLS = 1 << 23
_TRIPLE_SHARE: dict[ClusterChoice, float] = {"private": 0.5, "whole": 1.0, "nearest": 1.0}


@dataclass(frozen=True, slots=True)
class Slots:
    """Triples to replace: the row of each one's vector, its epsilon, and its noise (slots, 2, 4)."""

    vectors: Floats
    rows: Ints
    epsilons: Floats
    noise: Floats


def draw_noise(keys: Keys, counts: Ints) -> Floats:
    """Return the noise of every draw's slots, draw after draw; it depends only on key and position."""
    words = key_words(keys)
    noise = np.empty((int(counts.sum()), _STEPS, UNIFORMS))
    starts = np.cumsum(counts) - counts
    for count in np.unique(counts[counts > 0]).tolist():  # one long text must not widen the others
        draws = np.flatnonzero(counts == count)
        slots = (starts[draws][:, None] + np.arange(count)).ravel()
        fresh = noise_for(words[draws], _STEPS * count)
        noise[slots] = fresh.reshape(-1, _STEPS, UNIFORMS)
    return noise


def draw_triples(table: TripleTable, choice: ClusterChoice, slots: Slots, *, overflows: bool) -> Ints:
    """Return the number of the triple drawn for each slot.

    With `overflows`, a slot gets OVERFLOW if plain float64 weights would not be finite.
    """
    clusters = _CHOOSE_CLUSTER[choice](table, slots)
    epsilons = slots.epsilons * _TRIPLE_SHARE[choice]
    drawn = np.zeros(len(clusters), dtype=np.int64)
    order = np.argsort(clusters, kind="stable")
    distinct, starts = np.unique(clusters[order], return_index=True)
    for cluster, members in zip(distinct.tolist(), np.split(order, starts[1:]), strict=True):

        def score(used: Ints, cluster: int = cluster) -> Floats:
            return table.similarity(slots.vectors[used], cluster)

        part = Slots(
            vectors=slots.vectors,
            rows=slots.rows[members],
            epsilons=epsilons[members],
            noise=slots.noise[members, 1],
        )
        drawn[members] = table.members(cluster)[_pick(score, table.size(cluster), part)]
        if overflows:
            drawn[members[~_check_finite(score, part)]] = OVERFLOW
    return drawn


def log_masses(
    table: TripleTable,
    choice: ClusterChoice,
    vectors: Floats,
    number: int,
    epsilon: float,
    *,
    overflows: bool = False,
) -> Floats:
    """Return the log-probability that each vector draws this triple at this epsilon.

    With `overflows` it is -inf for a vector whose draw would fail, see `draw_triples`.
    """
    cluster = WHOLE if choice == "whole" else int(table.cluster[number])
    step = max(1, _CELLS // max(table.clusters, table.size(cluster)))
    parts = [np.zeros(0)]
    share = _TRIPLE_SHARE[choice]
    for start in range(0, len(vectors), step):
        part = vectors[start : start + step]
        utilities = table.similarity(part, cluster)
        inside = _compute_log_mass(utilities, epsilon * share)
        of_cluster = log_cluster_masses(table, choice, part, epsilon)[:, cluster]
        masses = of_cluster + inside[:, table.place(number, cluster)]
        if overflows:
            masses = np.where(np.isfinite(_sum_plainly(utilities, epsilon * share)), masses, -np.inf)
        parts.append(masses)
    return np.concatenate(parts)


def log_cluster_masses(table: TripleTable, choice: ClusterChoice, vectors: Floats, epsilon: float) -> Floats:
    """Return the log-probability that each vector draws each cluster; `epsilon` is for cluster and triple.

    Without clusters there is one column, which the number that stands for the whole table points to.
    """
    return _CLUSTER_MASSES[choice](table, vectors, epsilon * (1 - _TRIPLE_SHARE[choice]))


def log_inside_masses(
    table: TripleTable, choice: ClusterChoice, vectors: Floats, cluster: int, epsilon: float
) -> Floats:
    """Return the log-probability of each member of a cluster that was drawn, one row per vector."""
    return _compute_log_mass(table.similarity(vectors, cluster), epsilon * _TRIPLE_SHARE[choice])


def _compute_private_masses(table: TripleTable, vectors: Floats, epsilon: float) -> Floats:
    return _compute_log_mass(table.cluster_similarity(vectors), epsilon)


def _compute_whole_masses(_: TripleTable, vectors: Floats, _epsilon: float) -> Floats:
    return np.zeros((len(vectors), 1))


def _compute_nearest_masses(table: TripleTable, vectors: Floats, _epsilon: float) -> Floats:
    nearest = table.nearest(vectors)[:, None] == np.arange(table.clusters)
    return np.where(nearest, 0.0, -np.inf)


_CLUSTER_MASSES: dict[ClusterChoice, Callable[[TripleTable, Floats, float], Floats]] = {
    "private": _compute_private_masses,
    "whole": _compute_whole_masses,
    "nearest": _compute_nearest_masses,
}


def _compute_log_mass(utilities: Floats, epsilon: float) -> Floats:
    import torch

    values = log_probabilities(_UTILITY, torch.from_numpy(utilities), epsilon)
    return np.asarray(values.numpy(), dtype=np.float64)


def _draw_cluster(table: TripleTable, slots: Slots) -> Ints:
    """Draw a cluster with the share of epsilon not spent on the triple."""
    epsilons = slots.epsilons * (1 - _TRIPLE_SHARE["private"])
    part = Slots(vectors=slots.vectors, rows=slots.rows, epsilons=epsilons, noise=slots.noise[:, 0])
    return _pick(lambda used: table.cluster_similarity(slots.vectors[used]), table.clusters, part)


def _choose_whole(_: TripleTable, slots: Slots) -> Ints:
    return np.full(len(slots.rows), WHOLE, dtype=np.int64)


def _choose_nearest(table: TripleTable, slots: Slots) -> Ints:
    """Take the nearest cluster without noise: supports of different clusters are disjoint."""
    return table.nearest(slots.vectors)[slots.rows]


_CHOOSE_CLUSTER: dict[ClusterChoice, Callable[[TripleTable, Slots], Ints]] = {
    "private": _draw_cluster,
    "whole": _choose_whole,
    "nearest": _choose_nearest,
}


def _pick(score: Callable[[Ints], Floats], width: int, slots: Slots) -> Ints:
    """Return one item per slot; utilities are computed once per vector, a bounded number at a time."""
    import torch

    used, local = np.unique(slots.rows, return_inverse=True)
    picked = np.zeros(len(local), dtype=np.int64)
    step = max(1, _CELLS // width)
    for start in range(0, len(used), step):
        members = np.flatnonzero((local >= start) & (local < start + step))
        utilities, rows = score(used[start : start + step]), local[members] - start
        parts = (utilities, rows, slots.epsilons[members], slots.noise[members])
        picked[members] = sample(_UTILITY, *(torch.from_numpy(part) for part in parts)).numpy()
    return picked


def _check_finite(score: Callable[[Ints], Floats], slots: Slots) -> npt.NDArray[np.bool_]:
    """Return for each slot whether the sum of exp(epsilon u / 2), computed as written, is finite."""
    pairs, pair_of = np.unique(np.stack([slots.rows, slots.epsilons], axis=1), axis=0, return_inverse=True)
    sums = np.zeros(len(pairs))
    for i, (row, epsilon) in enumerate(pairs.tolist()):
        sums[i] = _sum_plainly(score(np.array([int(row)])), epsilon)[0]
    return np.asarray(np.isfinite(sums)[pair_of.ravel()], dtype=np.bool_)


def _sum_plainly(utilities: Floats, epsilon: float) -> Floats:
    """Return the sum of exp(epsilon u / 2) per row, computed as written; infinite if that overflows."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(epsilon / 2 * np.clip(utilities, 0.0, 1.0)).sum(axis=1), dtype=np.float64)


# --- How much likelier one text's triples can make any public triples than another's: the largest loss.

SlotPair = tuple[Sequence[int], Sequence[int]]  # rows of vectors in the slots of two texts, equally many
_RATIOS = 1 << 23  # ratios in memory at a time


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
        step = max(1, _RATIOS // inside.shape[1])
        for start in range(0, len(pairs), step):
            first, second = pairs[start : start + step].T
            gaps = inside[first] - inside[second]
            with np.errstate(invalid="ignore"):  # -inf for both: no output at all
                gap = of_cluster[first, cluster] - of_cluster[second, cluster]
            largest = np.stack([gaps.max(axis=1) + gap, -gaps.min(axis=1) - gap], axis=1)
            part = found[start : start + step]
            np.fmax(part, largest, out=part)
    return found


# --- A public table of triples together with the encoder that made its vectors.


@lru_cache(maxsize=2)
def load_matching(reference: str, encoder_name: str, dimensions: int) -> tuple[TripleTable, Encoder]:
    """Return a table and the encoder that made its vectors; raise if they do not match."""
    table = load_table(reference)
    name = encoder_name or table.about.get("encoder", "")
    if not name:
        raise ModelError(
            f"The table of triples '{reference}' does not name the encoder that made it. Set `encoder`."
        )
    if table.dimensions != dimensions:
        raise ModelError(
            f"The table of triples '{reference}' has {table.dimensions} dimensions; `dimensions` is "
            f"{dimensions}. Set it to {table.dimensions}, or build a table with {dimensions}."
        )
    encoder = load_dense_encoder(name)
    weights, expected = encoder.fingerprint()["encoder weights"], table.about.get("encoder weights")
    if expected and expected != weights:
        raise ModelError(
            f"The table of triples '{reference}' was made with another encoder than '{name}' "
            f"(weights {expected}, not {weights}). Set `encoder` to that one: {table.about.get('encoder')}."
        )
    return table, encoder
