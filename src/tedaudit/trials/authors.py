"""Trials about persons: which of some authors, with several texts each, has written what was rewritten.

The secret is an author, and an adversary sees n rewrites, the same n for every candidate: if numbers of
texts differed, the number itself would name the author, and no epsilon covers that. A trial has a row for
each rewrite, up to the largest n; smaller n are its first rows. Which of an author's texts are used is tossed
for every trial, so they are seen in no order of theirs.

A text may have several authors, and nothing tells them apart by it. So candidates who share texts are given
the same ones as often as can be: if independent coins chose, an adversary that knows what was chosen of each
would tell two authors of the very same texts apart by the coins. What is chosen never depends on the secret.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tedaudit.errors import SpecError, did_you_mean, join_names
from tedaudit.plugins.values import Corpus, Floats, Plan
from tedaudit.seeding import derive, uniforms
from tedaudit.trials.candidates import (
    Sampling,
    candidate_sets,
    disjoint_sets,
    pick_by_weight,
    uniform_step,
)
from tedaudit.trials.pool import Ints

Knowledge = Literal["same", "other"]
_IMPOSSIBLE = 1e30  # stands for an infinite score, so that sums and differences stay numbers


@dataclass(frozen=True, slots=True)
class Authors:
    """Who takes part: the positions of the texts that are rewritten, and of those an adversary knows.

    `notes` tell who does not take part, and why.
    """

    released: tuple[Ints, ...]
    known: tuple[Ints, ...] | None  # None: the very texts that are rewritten
    largest: int
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.released)


def read_authors(corpus: Corpus, column: str) -> dict[str, Ints]:
    """Return the texts of every author, by position; texts without an author are nobody's.

    A text that several authors have is every one's, and an author has it once.
    """
    split = corpus.splits["train"]
    columns = split.columns
    if column not in columns:
        raise SpecError(
            f"Corpus '{corpus.name}' has no column '{column}' to tell authors by."
            f"{did_you_mean(column, columns)} It has: {join_names(columns) or 'no columns'}."
        )
    texts: dict[str, set[int]] = {}
    for position, value in split.values(column):
        if name := read_author(value):
            texts.setdefault(name, set()).add(position)
    return {name: np.asarray(sorted(positions), dtype=np.int32) for name, positions in texts.items()}


def count_authors_of(texts: Iterable[Ints], size: int) -> npt.NDArray[np.int64]:
    """Return of how many authors each text of the pool is, given the texts of every author."""
    return np.bincount(np.concatenate([np.zeros(0, dtype=np.int32), *texts]), minlength=size)


def read_author(value: Any) -> str:
    """Return the author that a cell of a table names; nothing if it names nobody."""
    is_missing = value is None or (isinstance(value, float) and math.isnan(value))
    return "" if is_missing else str(value).strip()


def choose_authors(
    corpus: Corpus,
    column: str,
    knows: Knowledge,
    numbers: Sequence[int],
    key: int,
    usable: npt.NDArray[np.bool_] | None = None,
) -> Authors:
    """Return who takes part: all authors with enough texts for the largest number of rewrites.

    If other texts are known, each author's texts are split once, by coin, into halves. The largest number is
    the largest of several for which at least half of the authors have enough, or the only one.
    """
    texts = read_authors(corpus, column)
    if usable is not None:
        texts = {name: found[usable[found]] for name, found in texts.items() if usable[found].any()}
    released, known = _split_texts(texts, knows, len(corpus.texts), key)
    sizes = np.asarray([min(map(len, parts)) for parts in zip(released, known, strict=True)], dtype=int)
    fitting = [number for number in numbers if 2 * int((sizes >= number).sum()) >= len(sizes)]
    largest = max(fitting, default=min(numbers))
    joins = np.flatnonzero(sizes >= largest).tolist()
    needed = (2 if knows == "other" else 1) * largest
    notes = [f"{len(joins):,} of {len(texts):,} authors have {needed} texts or more and take part"]
    if len(joins) < len(texts):
        notes[0] += "; the others leave every n, so that all n speak of the same authors"
    lopsided = sum(len(found) >= needed for found in texts.values()) - len(joins)
    if lopsided:
        notes.append(
            f"{lopsided:,} of those who leave have {needed} texts or more, but share many: a text that is "
            "known of one author is known of all who share it"
        )
    authors = count_authors_of(texts.values(), len(corpus.texts))
    nobody = int((authors == 0).sum())
    if nobody:
        notes.append(f"{nobody:,} texts have no author{'' if usable is None else ' or too few rewrites'}")
    taking = tuple(released[i] for i in joins), tuple(known[i] for i in joins)
    shared = int((count_authors_of((*taking[0], *(taking[1] if knows == "other" else ())), 1) > 1).sum())
    if shared:
        notes.append(
            f"{shared:,} texts are of two of these authors or more: candidates who share texts are given the "
            "same ones as often as can be, so that these tell nobody apart"
        )
    return Authors(
        released=taking[0], known=taking[1] if knows == "other" else None, largest=largest, notes=tuple(notes)
    )


def _split_texts(
    texts: Mapping[str, Ints], knows: Knowledge, size: int, key: int
) -> tuple[list[Ints], list[Ints]]:
    """Return which texts of every author are rewritten, and which are known: all, or halves by coin.

    A text is on the same side for all who share it. If it were known of one author and rewritten for another,
    whoever recognises it would name the one who cannot have it.
    """
    released, known = [], []
    sides = np.zeros(size, dtype=np.int8)  # 1: rewritten, 2: known
    for name, found in texts.items():
        order = found[np.argsort(uniforms([derive(key, "author", name)], len(found))[0], kind="stable")]
        if knows == "other":
            free, settled = order[sides[order] == 0], int((sides[order] == 1).sum())
            sides[free] = 2
            sides[free[: max(0, len(order) // 2 - settled)]] = 1
        released.append(np.sort(order[sides[order] < 2]))
        known.append(np.sort(order[sides[order] != 1]))
    return released, known


def refuse_few(authors: Authors, k: int, column: str) -> None:
    """Refuse more candidates than there are authors who take part."""
    if len(authors) < k:
        raise SpecError(
            f"k is {k}, but only {len(authors)} authors ('{column}') have enough texts for {authors.largest} "
            "rewrites. Ask for fewer texts an author (`texts`, --texts), or name another column."
        )


def make_author_plan(
    authors: Authors, k: int, trials: range, key: int, *, hidden: bool = False, disjoint: bool = False
) -> Plan:
    """Return the rows of some trials, as many in each as the largest number of rewrites.

    The candidates of a row are a text of each author, if it is public which rewrite belongs to which text. If
    that is `hidden`, or other texts are known, they are all that is known of each author in this trial.
    `disjoint` trials share no author: then every text is rewritten once for each of its authors at most.
    """
    sampling, rounds = Sampling(k, temperature=0.0), authors.largest
    if disjoint:
        everybody = np.ones(len(authors), dtype=np.bool_)
        sets = disjoint_sets(len(authors), sampling, everybody, key, trials.stop)[trials.start :]
    else:
        sets = candidate_sets(len(authors), sampling, trials, key)
    start = trials.start
    secret = np.minimum((_toss(derive(key, "secret"), sets, start) * k).astype(np.int32), k - 1)
    shown = _choose_texts(authors.released, sets, rounds, start, derive(key, "texts"))
    own = np.take_along_axis(shown, secret[:, None, None], axis=1).reshape(-1)
    rows, nothing = np.repeat(secret, rounds), np.zeros(len(own), dtype=np.int32)
    if authors.known is None and not hidden:
        return Plan(np.ascontiguousarray(shown.transpose(0, 2, 1)).reshape(-1, k), rows, nothing)
    if authors.known is not None:
        shown = _choose_texts(authors.known, sets, rounds, start, derive(key, "known"))
    return Plan(
        candidates=np.repeat(shown.reshape(len(sets), -1), rounds, axis=0),
        secret=rows,
        replicate=nothing,
        released=own,
        known=rounds,
    )


def _choose_texts(texts: Sequence[Ints], sets: Ints, number: int, start: int, key: int) -> Ints:
    """Return so many different texts, by coin, of every candidate of every trial."""
    sizes, starts = np.asarray([len(own) for own in texts]), np.cumsum([0, *map(len, texts)])[:-1]
    pool, columns = np.concatenate(texts), []
    for place in range(sets.shape[1]):
        author, chosen = sets[:, place], np.zeros((len(sets), 0), dtype=np.int32)
        for step in range(number):
            coin = _toss(derive(key, place, step), sets, start)
            chosen = np.column_stack([chosen, uniform_step(sizes[author], chosen, coin)])
        columns.append(pool[starts[author][:, None] + chosen])
    return _share_texts(np.stack(columns, axis=1).astype(np.int32), texts, sets, start, derive(key, "shared"))


def _share_texts(shown: Ints, texts: Sequence[Ints], sets: Ints, start: int, key: int) -> Ints:
    """Return the chosen texts with those of candidates who share some chosen together.

    Each candidate follows the earlier one with whom they have most texts in common.
    """
    several = count_authors_of(texts, 1) > 1
    shared = [own[several[own]] for own in texts]
    shares = np.asarray([len(own) > 0 for own in shared])
    trials = np.flatnonzero(shares[sets].sum(axis=1) > 1).tolist()

    @cache
    def count_common(first: int, second: int) -> int:
        return len(np.intersect1d(shared[first], shared[second], assume_unique=True))

    for place in range(1, sets.shape[1]) if trials else ():
        steps = range(shown.shape[2])
        coins = np.asarray([[_toss(derive(key, place, i, of), sets, start) for of in (0, 1)] for i in steps])
        for trial in trials:
            *others, author = sets[trial, : place + 1].tolist()
            common = [count_common(other, author) for other in others]
            first = common.index(max(common))
            if common[first]:
                given = texts[author], texts[others[first]], shown[trial, first]
                shown[trial, place] = _follow(*given, coins[:, :, trial])
    return shown


def _follow(own: Ints, other: Ints, given: Ints, coins: Floats) -> list[int]:
    """Return texts of one author, each by itself a uniform choice, that are those given of another.

    They are the same as often as two uniform choices can be.
    """
    chosen: list[int] = []
    for text, (stay, pick) in zip(given.tolist(), coins, strict=True):
        if text in own and stay * len(own) < len(other):
            chosen.append(text)
        else:
            spare = max(0.0, 1 - len(own) / len(other))  # of a shared text: what staying does not give it
            chosen.append(int(own[pick_by_weight(np.where(np.isin(own, other), spare, 1.0), pick)]))
        own, other = own[own != chosen[-1]], other[other != text]
    return chosen


def _toss(key: int, sets: Ints, start: int) -> Floats:
    """Return a coin for each trial from a trial on."""
    coins: Floats = uniforms([key], max(1, len(sets)), start)[0][: len(sets)]
    return coins


def score_persons(scores: Floats, starts: npt.ArrayLike, *, averages: bool) -> Floats:
    """Return scores of persons from those of the texts that are known of each, which begin at `starts`.

    Log-likelihoods are averaged (`averages`), since any of the texts may have been rewritten; of other scores
    the largest counts.
    """
    first, finite = np.asarray(starts), np.clip(scores, -_IMPOSSIBLE, _IMPOSSIBLE)
    if not averages:
        return np.asarray(np.maximum.reduceat(finite, first, axis=1), dtype=np.float64)
    known = np.diff([*first.tolist(), finite.shape[1]])
    return np.asarray(np.logaddexp.reduceat(finite, first, axis=1) - np.log(known))


def repeat_trials(plan: Plan, times: int) -> Plan:
    """Return a plan in which every row comes so many times in turn: as many releases of its text."""
    return plan.pick(np.repeat(np.arange(len(plan)), times))  # type: ignore[arg-type]


def take_trials(plan: Plan, rounds: int) -> Plan:
    """Return one row for each trial of so many: its first one, with a text for each candidate."""
    first = plan.pick(range(0, len(plan), rounds))
    return replace(
        first, candidates=None if first.candidates is None else first.candidates[:, :: plan.known], known=1
    )
