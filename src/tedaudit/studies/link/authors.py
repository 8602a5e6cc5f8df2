"""A person, not a text: whose rewrites these are, if the adversary sees n of them.

Everyone is seen in the same number n of rewrites, chosen by coin: if the numbers differed, the number itself
would name its author, which no rewriter can hide. The numbers are nested (the first n of one random order),
and whoever has too few texts for the largest n is left out of every n.

The adversary knows texts of everyone who takes part: the originals of what was released (`same`), or other
texts of the same authors (`other`: each author's texts are split once by coin, half known and half released).
Which rewrite belongs to which text is hidden. A candidate's score for one rewrite is the log-mean over the
texts known of it if scores are log-likelihoods, else the largest of them, less what it usually has: some
candidates score high with anything (they are known by many texts, or by a word that the rewriter puts
everywhere), and added up that would drown everything else. What is usual is learnt from records by which
nobody is seen, so that a guess reads the rewrites of one author alone. The scores of n rewrites are added.

Given the texts, n rewrites lose at most n times what one loses. So the bounds of one text hold for the
author: among all candidates, and in disjoint pairs. They are bounds for n texts together.

Several rewrites of one record are the same thing: the record takes the author's place, and its one original
is known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from tedaudit.errors import CorpusError
from tedaudit.estimators import Choices
from tedaudit.estimators.exposure import FEWEST_TRIALS, GRID, known_from, nested_grid
from tedaudit.estimators.intervals import mean_rate_interval
from tedaudit.estimators.likelihood_check import LIKELIHOODS
from tedaudit.plugins.batches import Guesses
from tedaudit.plugins.protocols import Prepares
from tedaudit.plugins.values import Array, Floats, Plan
from tedaudit.results.row import Row
from tedaudit.seeding import derive, uniforms
from tedaudit.studies.link.inference import Share
from tedaudit.studies.link.ranks import Progress, Ranks, join_ranks, order_evidence, place_own, score_pool
from tedaudit.studies.link.table import Release
from tedaudit.studies.link.trials import count_pairs, draw_pairs, make_row
from tedaudit.text.plain_data import PlainData
from tedaudit.trials.authors import score_persons
from tedaudit.trials.judge import TIE_PRECISION, judge, tie_keys

Kind = Literal["author", "release"]
"""Who is named: the author of several texts, or the record that was rewritten several times."""
Knows = Literal["same", "other"]
EVERYONE, PAIRED = "all candidates", "pairs of candidates"
Ints = npt.NDArray[np.int64]
_MOST_SPARE = 2000  # records from which it is learnt what is usual


@dataclass(frozen=True, slots=True)
class People:
    """Who takes part, the records by which each is seen, and the texts that are known of each."""

    kind: Kind
    knows: Knows
    names: tuple[str, ...] = field(repr=False)
    grid: tuple[int, ...]  # in how many rewrites somebody is seen
    rows: Ints = field(repr=False)  # of the release: by person, and then in the order in which they are seen
    starts: Ints = field(repr=False)  # where each person's begin in `rows`, and where the last one's end
    known: tuple[str, ...] = field(repr=False)  # distinct texts
    known_of: Ints = field(repr=False)  # positions in `known`, by person
    known_starts: Ints = field(repr=False)  # where each person's begin in `known_of`
    spare: Ints = field(repr=False)  # records by which nobody is seen, chosen by coin if they are many
    spare_of: Ints = field(repr=False)  # whose they are; -1 if of nobody who takes part
    pairs: Plan = field(repr=False)  # disjoint, of places in `names`
    seed: int
    left_out: int = 0  # who has too few texts
    copies: int = 0  # of whom two rewrites or more are equal
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    @property
    def largest(self) -> int:
        """The largest number of rewrites."""
        return self.grid[-1]

    @property
    def spread(self) -> tuple[int, int]:
        """The smallest and the largest number of all rewrites of somebody."""
        numbers = np.diff(self.starts)
        return int(numbers.min()), int(numbers.max())


@dataclass(frozen=True, slots=True)
class Exposed:
    """How many people one attack named; by the number of rewrites that it saw of each."""

    attack: str
    ranks: Mapping[int, Ranks] = field(repr=False)  # where each person stands among all of them
    named: Mapping[int, Share]
    originals: Mapping[int, int]  # how many the same attack named from originals; empty if it knew them
    every: int  # how many it named from all of their rewrites: a count, as numbers differ
    every_original: int | None
    rows: Mapping[tuple[str, int], Row]  # by how the trials were made, and the number of rewrites

    def known_from(self, design: str, alpha: float) -> int | None:
        """Return the smallest n from which on success is shown to be above .95; None if it is not shown.

        Of too few trials nothing is said.
        """
        if not self.has_enough(design):
            return None
        right = {number: row.counts.correct for (made, number), row in self.rows.items() if made == design}
        return known_from(right, self.trials(design), alpha)

    def trials(self, design: str) -> int:
        """Return how many trials there are of a design, which is the same for every n."""
        return next(row.counts.trials for (made, _), row in self.rows.items() if made == design)

    def has_enough(self, design: str) -> bool:
        """Return whether there are enough trials to say from which n on somebody is known."""
        return self.trials(design) >= FEWEST_TRIALS


@dataclass(frozen=True, slots=True)
class PersonEvidence(PlainData):
    """Somebody by the attack that ranks them highest, at the largest n: evidence, and no risk."""

    name: str
    attack: str
    rank: float
    margin: float
    rewrites: int
    in_json: ClassVar[str] = "*"


@dataclass(frozen=True, slots=True)
class Exposure:
    """What all attacks found about people who are seen in several rewrites."""

    people: People
    attacks: tuple[Exposed, ...]

    @property
    def strongest(self) -> Exposed:
        """The attack that named most people, at the largest n."""
        return max(self.attacks, key=lambda found: found.named[self.people.largest].right)

    def rank_evidence(self, count: int | None = None) -> list[PersonEvidence]:
        """Return people, those whose rewrites lead to them most surely first; all without a count."""
        largest = self.people.largest
        found = [one.ranks[largest] for one in self.attacks]
        order, best = order_evidence(found)
        return [
            PersonEvidence(
                name=self.people.names[i],
                attack=self.attacks[best[i]].attack,
                rank=float(found[best[i]].rank[i]),
                margin=float(found[best[i]].margin[i]),
                rewrites=largest,
            )
            for i in order[:count].tolist()
        ]


# --- Who takes part, and in which rewrites each is seen.


def gather_authors(release: Release, knows: Knows, largest: int, seed: int) -> People:
    """Return the authors of a release; a text that an author has twice is seen once, by its first record.

    `largest` is the largest number of rewrites; 0 for the largest of the grid that at least half of the
    authors reach.
    """
    numbers: dict[str, int] = {}
    owner = np.array(
        [-1 if name is None else numbers.setdefault(name, len(numbers)) for name in release.authors]
    )
    _, first = np.unique(owner * len(release.pool) + release.position, return_index=True)
    kept = np.sort(first[owner[first] >= 0])
    notes = []
    nameless, again = int((owner < 0).sum()), int((owner >= 0).sum()) - len(kept)
    if nameless:
        notes.append(f"{_count(nameless, 'record')} without an author: left out of what is said about people")
    if again:
        notes.append(
            f"{_count(again, 'record')} with a text that the same author has in an earlier one: left out of "
            "what is said about people"
        )
    shared = int((np.bincount(release.position[kept], minlength=1) > 1).sum())
    if shared:
        notes.append(
            f"{_count(shared, 'text')} of two authors or more: whoever shares a text is a candidate for it"
        )
    people = _gather(release, (list(numbers), owner, kept), ("author", knows), largest, seed)
    return replace(people, notes=tuple(notes))


def gather_releases(release: Release, largest: int, seed: int) -> People | None:
    """Return the records that were rewritten several times; None if fewer than two were."""
    numbers: dict[str, int] = {}
    owner = np.array([numbers.setdefault(name, len(numbers)) for name in release.ids])
    if (np.bincount(owner) > 1).sum() < 2:
        return None
    everything = list(numbers), owner, np.arange(len(owner))
    return _gather(release, everything, ("release", "same"), largest, seed)


def _gather(
    release: Release, owned: tuple[list[str], Array, Array], game: tuple[Kind, Knows], largest: int, seed: int
) -> People:
    """Put the records of everyone into a random order, and split them if other texts are known."""
    kind, knows = game
    names, owner, kept = owned
    coins = uniforms([derive(seed, "link people", kind)], len(release))[0]
    order = kept[np.lexsort((coins[kept], owner[kept]))]
    whose = owner[order]
    total = np.bincount(whose, minlength=len(names))
    place = np.arange(len(order)) - (np.cumsum(total) - total)[whose]
    held_back = total // 2 if knows == "other" else np.zeros_like(total)
    reach = np.where((knows == "same") | (held_back > 0), total - held_back, 0)
    largest = largest or _choose_largest(reach, total, kind)
    joins = reach >= largest
    _refuse_few(names, total, joins, kind, knows, largest)
    is_seen = joins[whose] & (place >= held_back[whose])
    is_known = joins[whose] & (place < held_back[whose] if knows == "other" else True)
    number = np.cumsum(joins) - 1  # of those who take part
    texts, known_of = np.unique(release.position[order[is_known]], return_inverse=True)
    number = np.where(joins, number, -1)
    is_spare = np.ones(len(release), dtype=np.bool_)
    is_spare[order[is_seen & (place - held_back[whose] < largest)]] = False
    spare = np.argsort(np.where(is_spare, coins, 2.0), kind="stable")[: min(int(is_spare.sum()), _MOST_SPARE)]
    known = np.unique(number[whose[is_known]] * len(texts) + known_of)  # a text is known once of each
    rows, starts = order[is_seen], _starts(number[whose[is_seen]])
    return People(
        kind=kind,
        knows=knows,
        names=tuple(np.array(names, dtype=object)[joins].tolist()),
        grid=nested_grid(largest),
        rows=rows,
        starts=starts,
        known=tuple(release.pool[i] for i in texts.tolist()),
        known_of=known % len(texts),
        known_starts=_starts(known // len(texts))[:-1],
        spare=spare,
        spare_of=np.where(owner[spare] < 0, -1, number[owner[spare]]),
        pairs=draw_pairs(int(joins.sum()), seed, f"link people {kind}"),
        seed=seed,
        left_out=int((~joins).sum()),
        copies=_count_copies(release, rows, starts, largest),
    )


def _starts(whose: Array) -> Ints:
    """Return where each begins in a sorted column, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(np.bincount(whose))]).astype(np.int64)


def _choose_largest(reach: Array, total: Array, kind: Kind) -> int:
    """Return the largest number of the grid that at least half reach; of records, half of the repeated."""
    asked = total > (1 if kind == "release" else 0)
    fit = [number for number in GRID if 2 * (reach[asked] >= number).sum() >= asked.sum()]
    return max(fit, default=1)


def _refuse_few(
    names: Sequence[str], total: Array, joins: Array, kind: Kind, knows: Knows, largest: int
) -> None:
    if joins.sum() >= 2:
        return
    who, needed = ("records", largest) if kind == "release" else ("authors", largest)
    known = " (half of an author's texts are known and not released)" if knows == "other" else ""
    most = int(total.max()) if len(names) else 0
    raise CorpusError(
        f"{joins.sum():,} of {len(names):,} {who} can be seen in {needed:,} rewrites{known}; naming needs 2, "
        f"and a few hundred to show anything. The most texts that one has: {most:,}. Name a smaller number "
        "with --author-texts (texts)" + (", or --knows same." if knows == "other" else ".")
    )


def _count_copies(release: Release, rows: Ints, starts: Ints, largest: int) -> int:
    """Return of how many two of the rewrites that are seen are equal."""
    return sum(
        len({release.rewrites[row] for row in rows[start : start + largest].tolist()}) < largest
        for start in starts[:-1].tolist()
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


# --- What an attack finds.


@dataclass(frozen=True, slots=True)
class _Seen:
    """Where people stand after each number of rewrites, all of them last, and the scores in their pair."""

    ranks: tuple[Ranks, ...]
    duels: Floats  # own score and that of whom one is paired with; by number of rewrites and person


def expose(
    name: str, attack: Any, people: People, release: Release, alpha: float, progress: Progress
) -> Exposed:
    """Let an attack name people by their rewrites, and by the originals of these if it knows other texts."""
    if isinstance(attack, Prepares):
        attack.prepare(people.known)
    ask = partial(follow, name, attack, people)
    spare = people.spare.tolist()
    step = "naming authors" if people.kind == "author" else "adding up the rewrites of a record"
    seen = ask(
        [release.rewrites[row] for row in people.rows.tolist()],
        [release.rewrites[row] for row in spare],
        partial(progress, f"{name}: {step}"),
    )
    unrewritten: dict[int, int] = {}
    every = None
    if people.knows == "other":
        texts = [release.originals[row] for row in people.rows.tolist()]
        others = [release.originals[row] for row in spare]
        found = ask(texts, others, partial(progress, f"{name}: naming authors by originals")).ranks
        *by_number, every = (int(ranks.found.sum()) for ranks in found)
        unrewritten = dict(zip(people.grid, by_number, strict=True))
    named, rows = {}, {}
    for i, number in enumerate(people.grid):
        right = int(seen.ranks[i].found.sum())
        named[number] = Share(right, len(people), *mean_rate_interval(right, len(people), alpha))
        rows[EVERYONE, number] = make_row(right, len(people))
        rows[PAIRED, number] = judge_pairs(name, people, seen.duels[i], alpha / 2)
    ranks = dict(zip(people.grid, seen.ranks, strict=False))
    return Exposed(
        attack=name,
        ranks=ranks,
        named=named,
        originals=unrewritten,
        every=int(seen.ranks[-1].found.sum()),
        every_original=every,
        rows=rows,
    )


def follow(
    name: str, attack: Any, people: People, texts: Sequence[str], spare: Sequence[str], progress: Any
) -> _Seen:
    """Add up scores, text by text; only the scores of some texts and the sums of one person are in memory."""
    size, stages = len(people), len(people.grid) + 1
    partner = _find_partners(people.pairs, size)
    keys = tie_keys(people.seed, f"link people {people.kind}", name, range(len(texts)))
    coins = uniforms(keys[people.starts[:-1]], stages)
    placed: list[list[tuple[Array, ...]]] = [[] for _ in range(stages)]
    duels = np.zeros((stages, size, 2))
    is_likelihood = attack.card.score in LIKELIHOODS
    progress(0, len(texts))
    usual = np.zeros(size) if is_likelihood else learn_usual(name, attack, people, spare)
    person, total = 0, np.zeros(size)
    for rows, scores, usable in score_pool(name, attack, texts, people.known, keys, progress):
        reduced = reduce_scores(scores, people, is_likelihood=is_likelihood) - usual
        reduced[~usable] = 0  # an unusable answer speaks for nobody
        for row, own in enumerate(reduced, rows.start):
            total += own
            number, is_last = row + 1 - people.starts[person], row + 1 == people.starts[person + 1]
            reached = [people.grid.index(number)] if number in people.grid else []
            for stage in [*reached, *([stages - 1] if is_last else [])]:
                sums = np.round(total, TIE_PRECISION)
                duels[stage, person] = sums[person], sums[partner[person]]
                placed[stage].append(
                    place_own(sums[None], _ALL_USABLE, np.array([person]), coins[person : person + 1, stage])
                )
            if is_last:
                person, total = person + 1, np.zeros(size)
    return _Seen(tuple(map(join_ranks, placed)), duels)


_ALL_USABLE = np.ones(1, dtype=np.bool_)


def reduce_scores(scores: Floats, people: People, *, is_likelihood: bool) -> Floats:
    """Return scores of people from those of the texts that are known of them."""
    return score_persons(scores[:, people.known_of], people.known_starts, averages=is_likelihood)


def learn_usual(name: str, attack: Any, people: People, texts: Sequence[str]) -> Floats:
    """Return the mean score of everyone for texts that are not theirs; 0 if there are none."""
    total, number = np.zeros(len(people)), np.zeros(len(people))
    keys = tie_keys(people.seed, f"link usual {people.kind}", name, range(len(texts)))
    for rows, scores, usable in score_pool(name, attack, texts, people.known, keys, _show_nothing):
        is_other = (people.spare_of[rows, None] != np.arange(len(people))) & usable[:, None]
        total += np.where(is_other, reduce_scores(scores, people, is_likelihood=False), 0).sum(axis=0)
        number += is_other.sum(axis=0)
    return np.asarray(total / np.maximum(number, 1))


def _show_nothing(done: int, total: int) -> None:
    """Take progress that is too short to be watched."""


def _find_partners(plan: Plan, size: int) -> Ints:
    """Return with whom each is paired; whoever is left over, with themselves."""
    partner = np.arange(size)
    assert plan.candidates is not None  # noqa: S101 - pairs were given
    first, second = plan.candidates.T
    partner[first], partner[second] = second, first
    return partner


def judge_pairs(name: str, people: People, duels: Floats, error: float) -> Row:
    """Return the row of disjoint pairs: the rewrites of the one whom the coin names are shown."""
    plan = people.pairs
    own, other = duels[plan.source].T
    scores = np.where(plan.secret[:, None] == np.arange(2), own[:, None], other[:, None])
    keys = tie_keys(people.seed, f"link pairs of people {people.kind}", name, range(len(plan)))
    usable = np.ones(len(plan), dtype=np.bool_)
    judged = judge(Guesses(scores, usable), ~usable, plan, keys)
    return count_pairs(plan, Choices(judged.choice, judged.usable, judged.failed), judged.margin, error)
