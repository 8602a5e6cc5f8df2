"""Trials about persons: which of some authors, with several texts each, has written what was rewritten.

The secret is an author, and an adversary sees n rewrites, the same n for every candidate: if numbers of
texts differed, the number itself would name the author, and no epsilon covers that. A trial has a row for
each rewrite, up to the largest n; smaller n are its first rows. Which of an author's texts are used is tossed
for every trial, so they are seen in no order of theirs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tedaudit.errors import SpecError, did_you_mean, join_names
from tedaudit.plans.candidates import Sampling, candidate_sets, disjoint_sets, uniform_step
from tedaudit.plans.pool import Ints
from tedaudit.seeding import derive, uniforms
from tedaudit.types import Corpus, Floats, Plan

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
    """Return the texts of every author, by position; texts without an author are nobody's."""
    columns = corpus.splits["train"].columns
    if column not in columns:
        raise SpecError(
            f"Corpus '{corpus.name}' has no column '{column}' to tell authors by."
            f"{did_you_mean(column, columns)} It has: {join_names(columns) or 'no columns'}."
        )
    texts: dict[str, list[int]] = {}
    for position, value in enumerate(columns[column]):
        if name := read_author(value):
            texts.setdefault(name, []).append(position)
    return {name: np.asarray(positions, dtype=np.int32) for name, positions in texts.items()}


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
    sizes = np.asarray([len(found) // (2 if knows == "other" else 1) for found in texts.values()], dtype=int)
    fitting = [number for number in numbers if 2 * int((sizes >= number).sum()) >= len(sizes)]
    largest = max(fitting, default=min(numbers))
    released, known = [], []
    for name, found in texts.items():
        order = found[np.argsort(uniforms([derive(key, "author", name)], len(found))[0], kind="stable")]
        half = len(order) // 2 if knows == "other" else len(order)
        if half >= largest:
            released.append(np.sort(order[:half]))
            known.append(np.sort(order[half:]))
    enough = f"{(2 if knows == 'other' else 1) * largest} texts"
    notes = [f"{len(released):,} of {len(texts):,} authors have {enough} or more and take part"]
    if len(released) < len(texts):
        notes[0] += "; the others leave every n, so that all n speak of the same authors"
    nobody = len(corpus.texts) - sum(map(len, texts.values()))
    if nobody:
        notes.append(f"{nobody:,} texts have no author{'' if usable is None else ' or no rewrite'}")
    return Authors(tuple(released), tuple(known) if knows == "other" else None, largest, tuple(notes))


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
    `disjoint` trials share no author: then every text is rewritten once.
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
    return Plan(np.repeat(shown.reshape(len(sets), -1), rounds, axis=0), rows, nothing, own, rounds)


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
    return np.stack(columns, axis=1).astype(np.int32)


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
