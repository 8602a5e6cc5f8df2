"""What a job still lacks, as the tables of its run tell; and the only writer of their parts.

Whoever does an audit, forecasts it, counts its calls or hands its work to another machine asks here.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from math import ceil

import numpy as np
import numpy.typing as npt

from tedaudit.batches import OwnRewrites
from tedaudit.execution.repeats import CALLS
from tedaudit.execution.units import (
    NO_DRAWS,
    Guessing,
    OwnTable,
    Rewriting,
    SealedPart,
    Stored,
    Unit,
    shuffle_own,
)
from tedaudit.nominal import Nominal
from tedaudit.plans.trials import Wanted, number_rows
from tedaudit.preparing.jobs import Job, Stretch, list_replicates
from tedaudit.preparing.preparation import PreparedAudit
from tedaudit.store import rewrites
from tedaudit.store.guesses import GuessTable
from tedaudit.store.rewrites import RewriteTable
from tedaudit.store.table_folder import TableDefinition

Rows = npt.NDArray[np.bool_]
_CELLS = 4_000_000  # scores held at a time
_SPAN = 1 << 18  # rows of a unit, at most,
_DRAWS = 1 << 22  # rewrites of it at all epsilons,
_BYTES = 100 * 1024 * 1024  # and what those of one epsilon take in memory


class Backlog:
    """The tables of a job, what is not in them yet, and where what is in them lies."""

    def __init__(self, job: Job, *, claim: bool = False) -> None:
        """Open the tables; `claim` describes those that are new, as a run does before it writes."""

        def key(table: TableDefinition) -> str:
            return table.claim() if claim else table.check()

        def open_rewrites(table: TableDefinition) -> RewriteTable:
            return RewriteTable(table.folder, key(table))

        self.job = job
        self.rewrites = {epsilon: open_rewrites(job.rewrites_at(epsilon)) for epsilon in job.epsilons}
        tables = {(e, attack): job.guesses_at(e, attack) for e in job.epsilons for attack in job.attacks}
        self.guesses = {place: GuessTable(table.folder, key(table)) for place, table in tables.items()}
        self.own = {epsilon: open_rewrites(table) for epsilon, table in job.own_tables()}
        self._parts: dict[Nominal, npt.NDArray[np.int32]] = {}  # which part holds the rewrite of each row
        self._without: dict[Nominal, set[int]] = {}  # parts that have left out their latents
        self._numbers = {epsilon: table.next_number for epsilon, table in self.rewrites.items()}
        self._own_numbers = {epsilon: table.next_number for epsilon, table in self.own.items()}
        self._own_placed: dict[tuple[Nominal, int], int] = {}  # rows of the parts that were placed
        self._learning: tuple[Nominal, Stretch, OwnRewrites] | None = None  # what was last given to an attack
        self._is_learning = claim  # only a run gives own rewrites to attacks

    # --- what is missing

    def find_parts(self, epsilon: Nominal) -> npt.NDArray[np.int32]:
        """Return for each row of the plan the number of the part that holds its rewrite; -1 for none."""
        if epsilon not in self._parts:
            plan = self.job.plan
            self._parts[epsilon] = self.rewrites[epsilon].locate(plan.source, plan.replicate)
        return self._parts[epsilon]

    def find_missing(self, epsilon: Nominal) -> Rows:
        """Return which rows of the plan are to be rewritten at an epsilon: the first time, or again."""
        return (self.find_parts(epsilon) < 0) | self.find_again(epsilon)

    def find_again(self, epsilon: Nominal) -> Rows:
        """Return which rows are rewritten again: a latent was not kept that an attack has yet to see."""
        job, again = self.job, np.zeros(len(self.job.plan), dtype=np.bool_)
        for attack in job.attacks if job.bulky else ():
            if job.sees_latents(attack):
                for rows in self.find_gaps(epsilon, attack):
                    again[rows.start : rows.stop] = True
        return again & self._lacks_latent(epsilon, self.find_parts(epsilon))

    def _lacks_latent(self, epsilon: Nominal, parts: npt.NDArray[np.int32]) -> Rows:
        if not self.job.bulky:
            return np.zeros(len(parts), dtype=np.bool_)
        return np.isin(parts, list(self._find_without(epsilon)))

    def _find_without(self, epsilon: Nominal) -> set[int]:
        """Return the parts of a table that have left out their latents."""
        if epsilon not in self._without:
            self._without[epsilon] = self.rewrites[epsilon].find_left_out()
        return self._without[epsilon]

    def find_gaps(
        self, epsilon: Nominal, attack: str, size: int = 0, rows: range | None = None
    ) -> Iterator[range]:
        """Yield the runs of rows that an attack has yet to guess, at most `size` at a time if it is given."""
        rows = range(len(self.job.plan)) if rows is None else rows
        return self.guesses[epsilon, attack].gaps(rows, size or max(1, len(rows)))

    def count_gaps(self) -> Iterator[tuple[Nominal, str, int]]:
        """Yield how many rows each attack has left to guess at each epsilon."""
        for epsilon, attack in self.guesses:
            yield epsilon, attack, sum(map(len, self.find_gaps(epsilon, attack)))

    def list_own(self) -> Wanted:
        """Return the rewrites for adversaries that are missing, by epsilon and then by text."""
        text, replicate = list_replicates(self.job.own_numbers)
        parts = [(NO_DRAWS.text, NO_DRAWS.replicate, NO_DRAWS.epsilon)]
        for epsilon, table in self.own.items():
            lacking = np.flatnonzero(table.missing(text, replicate))
            epsilons = np.full(len(lacking), float(epsilon))
            parts.append((text[lacking].astype(np.int32), replicate[lacking].astype(np.int32), epsilons))
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return Wanted(columns[0], columns[1], columns[2])

    @property
    def own_left(self) -> int:
        """How many rewrites for adversaries are missing."""
        return self._own_missing - sum(self._own_placed.values())

    @cached_property
    def _own_missing(self) -> int:
        """How many of them the tables lacked when they were opened."""
        return len(self.list_own())

    def count_done(self) -> int:
        """Return how many rewrites, own ones included, and guesses are there."""
        rewrites = sum(int((self.find_parts(epsilon) >= 0).sum()) for epsilon in self.rewrites)
        gaps = sum(rows for _, _, rows in self.count_gaps())
        own = int(self.job.own_numbers.sum()) * len(self.own) - self.own_left
        return rewrites + own + len(self.job.plan) * len(self.guesses) - gaps

    # --- units

    def units(
        self, audit: PreparedAudit, attacks: Sequence[str], workers: int = 1
    ) -> Iterator[tuple[range, Unit | None]]:
        """Yield rows of the plan in their order, with the unit of what is left to do for them, if anything.

        Own rewrites of a text are made with its first audited ones; those of texts that have none come after
        the first unit, in units without rows. Code of others gets all of them there: it may have to be told
        which are which, and what it remembers of them should not stand beside an audited draw of the same
        text.
        """
        own = OwnDraws(self.list_own(), len(self.job.own_numbers))
        later = self._find_sources(range(len(self.job.plan) if len(own) else 0))
        for rows in spans(self.job, audit, workers):
            along = own.take(self._find_sources(rows)) if len(own) else NO_DRAWS
            yield rows, self.make_unit(audit, rows, attacks, own=along)
            for alone in own.take_others(later, audit.spec.block_size) if rows.start == 0 else ():
                some = shuffle_own(alone, audit.spec.seed) if self.job.shuffled else alone
                yield range(0), self.make_unit(audit, range(0), (), own=some)

    def _find_sources(self, rows: range) -> npt.NDArray[np.int32]:
        """Return the texts that audited rewrites are missing of in some rows; none for code of others."""
        where = slice(rows.start, rows.start if self.job.shuffled else rows.stop)
        lacking = [self.find_parts(epsilon)[where] < 0 for epsilon in self.job.epsilons]
        return np.unique(self.job.plan.source[where][np.logical_or.reduce(lacking)])

    def make_unit(
        self,
        audit: PreparedAudit,
        rows: range,
        attacks: Sequence[str],
        epsilons: Sequence[Nominal] | None = None,
        own: Wanted = NO_DRAWS,
    ) -> Unit | None:
        """Return what is left to do for some rows, and of some own rewrites; None if that is nothing."""
        job, block = self.job, audit.spec.block_size
        epsilons = job.epsilons if epsilons is None else epsilons
        guessing = [
            guess
            for epsilon in epsilons
            for attack in sorted(attacks)
            for guess in self._find_guessing(audit, rows, epsilon, attack)
        ]
        rewriting = [
            self._find_rewriting(rows, epsilon, [guess for guess in guessing if guess.epsilon == epsilon])
            for epsilon in epsilons
        ]
        wanted = np.logical_or.reduce([some.lacking | some.again for some in rewriting])
        if not (guessing or len(own) or wanted.any()):
            return None
        rewriting = [self._reserve(some, ceil(int(wanted.sum()) / block)) for some in rewriting]
        own_tables = []
        if len(own):
            pieces = ceil(len(rows) / block) or 1
            for epsilon, table in self.own.items():
                own_tables.append(OwnTable(epsilon, table.key, self._own_numbers[epsilon]))
                self._own_numbers[epsilon] += pieces
        return Unit(
            job.reference, job.plan_name, len(job.plan), job.plan.rows(rows.start, rows.stop), rows.start,
            audit.corpus.texts, audit.spec.seed, block, tuple(rewriting), tuple(guessing), own,
            tuple(own_tables), int(job.own_numbers.sum()), candidates=job.candidates,
            is_shuffled=job.shuffled, must_tell=job.is_seeded is not None, is_numbered=job.is_numbered,
            keeps_latents=job.keeps_latents,
            latent_bytes=rewrites.KEPT_BYTES,
        )  # fmt: skip

    def make_rest(self, audit: PreparedAudit, unit: Unit) -> Unit | None:
        """Return what is left to do of a unit after some of its parts were placed."""
        own = unit.own
        is_left = np.zeros(len(own), dtype=np.bool_)
        for epsilon, definition in self.job.own_tables() if len(own) else ():
            table = RewriteTable(definition.folder, self.own[epsilon].key)
            here = own.epsilon == float(epsilon)
            is_left[here] = table.missing(own.text[here], own.replicate[here])
        attacks = sorted({guessing.attack for guessing in unit.guessing})
        epsilons = [rewriting.epsilon for rewriting in unit.rewriting]
        rows = range(unit.start, unit.stop)
        return self.make_unit(audit, rows, attacks, epsilons, own.rows(np.flatnonzero(is_left)))

    def _find_guessing(
        self, audit: PreparedAudit, rows: range, epsilon: Nominal, attack: str
    ) -> Iterator[Guessing]:
        """Yield what an attack has to guess of some rows, for each stretch if it learns from own rewrites."""
        job = self.job
        size = max(1, min(audit.spec.block_size, _CELLS // job.candidates))
        gaps = self.find_gaps(epsilon, attack, size, rows)
        runs = [part for gap in gaps for part in job.split_by_stretch(attack, gap)]
        prepared, table = job.attacks[attack], self.guesses[epsilon, attack]
        stretches = {id(stretch): stretch for run in runs if (stretch := job.stretch_of(attack, run.start))}
        for stretch in stretches.values() if attack in job.stretches else (None,):
            some = tuple((r.start, r.stop) for r in runs if job.stretch_of(attack, r.start) is stretch)
            if some:
                yield Guessing(
                    attack, prepared.reference, tuple(prepared.card.sees), epsilon, some, table.key,
                    prepared.knows_mechanism, job.practice.texts if prepared.own_rewrites else (),
                    self._fetch_own(audit, attack, epsilon, stretch),
                    prepared.is_likelihood,
                )  # fmt: skip

    def _find_rewriting(self, rows: range, epsilon: Nominal, guessing: Sequence[Guessing]) -> Rewriting:
        parts, table = self.find_parts(epsilon)[rows.start : rows.stop], self.rewrites[epsilon]
        again = np.zeros(len(rows), dtype=np.bool_)
        for guess in guessing:
            if "latent" in guess.sees:
                for start, stop in guess.runs:
                    again[start - rows.start : stop - rows.start] = True
        again &= self._lacks_latent(epsilon, parts)
        needed = np.unique(parts[parts >= 0]).tolist() if guessing else []
        stored = tuple(Stored(str(table.path_of(number).absolute())) for number in needed)
        return Rewriting(epsilon, table.key, 0, parts < 0, again, stored)

    def _reserve(self, rewriting: Rewriting, pieces: int) -> Rewriting:
        """Give the parts of a unit numbers that no other has."""
        if not rewriting.lacking.any():
            return rewriting
        number = self._numbers[rewriting.epsilon]
        self._numbers[rewriting.epsilon] += pieces
        return replace(rewriting, number=number)

    def _fetch_own(
        self, audit: PreparedAudit, attack: str, epsilon: Nominal, stretch: Stretch | None
    ) -> OwnRewrites | None:
        """Return the own rewrites that an attack is given, if any; the last ones are kept."""
        if stretch is None or not self._is_learning:
            return None
        if self._learning is None or self._learning[0] != epsilon or self._learning[1] is not stretch:
            table = RewriteTable(self.job.own_rewrites_at(epsilon).folder, self.own[epsilon].key)
            sees = self.job.attacks[attack].card.sees
            self._learning = epsilon, stretch, stretch.fetch(table, audit.corpus.texts, sees)
        return self._learning[2]

    # --- what is there now

    def place(self, unit: Unit, part: SealedPart) -> None:
        """Write a part of a unit into its table."""
        if part.attack:
            rows = range(part.at, part.at + part.size)
            self.guesses[part.epsilon, part.attack].place(rows, part.content)
        elif part.own:
            self.own[part.epsilon].place(part.at, part.content)
            self._own_placed[part.epsilon, part.at] = part.size
        else:
            self.rewrites[part.epsilon].place(part.at, part.content)
            self.find_parts(part.epsilon)[unit.start + part.rows] = part.at
            if part.left_out:
                self._find_without(part.epsilon).add(part.at)


def spans(job: Job, audit: PreparedAudit, workers: int = 1) -> Iterator[range]:
    """Yield the rows of a plan in units: a block, so that there is something to see soon, then ever more.

    What a mechanism does for all draws of a text, whatever their noise, it does once in a unit. So units are
    large; but the rewrites of one must fit into memory, and several workers need something to do each until
    the end. A unit is one block if that was set, if there are latents, or if draws are shuffled.
    """
    block, texts, rows = audit.spec.block_size, audit.corpus.texts, len(job.plan)
    each = 256 + 2 * sum(map(len, texts)) // len(texts)  # tokens, and a text like its source
    room = min(_SPAN, _BYTES // each, _DRAWS // len(job.epsilons))
    is_small = audit.spec.block > 0 or job.bulky or job.shuffled
    largest = block if is_small else max(block, room // block * block)
    least = ceil(rows / (6 * workers) / block) * block
    start, size = 0, block
    while start < rows:
        stop = min(start + size, rows)
        yield range(start, stop)
        start, size = stop, min(3 * stop, largest)
        if workers > 1:
            share = (rows - start) / (1.5 * workers)
            size = max(block, min(size, max(least, ceil(share / block) * block)))


def open_backlogs(jobs: Iterable[Job]) -> list[Backlog]:
    """Return what each of several jobs lacks; nothing is written."""
    return [Backlog(job) for job in jobs]


def count_rewrites(backlogs: Sequence[Backlog]) -> tuple[int, int]:
    """Return how many rewrites a mechanism has to make, and how many are then made again as a check.

    Plans share the rewrites of the same text and replicate, so a later job may have none left to make. Every
    plan makes those again whose latent an attack has yet to see and no table has kept.
    """
    made: dict[Nominal, npt.NDArray[np.int64]] = {}
    again = repeats = 0
    for backlog in backlogs:
        job, before = backlog.job, sum(map(len, made.values()))
        source, replicate = job.plan.source, job.plan.replicate
        for epsilon in backlog.rewrites:
            lacking = number_rows(source, replicate)[backlog.find_parts(epsilon) < 0]
            made[epsilon] = np.union1d(made.get(epsilon, lacking), lacking)
            again += int(backlog.find_again(epsilon).sum())
        is_checked = job.is_seeded is not None and sum(map(len, made.values())) > before
        repeats += min(CALLS, len(job.plan)) if is_checked else 0
    return sum(map(len, made.values())) + again, repeats


def count_own(backlogs: Sequence[Backlog]) -> int:
    """Return how many rewrites for adversaries a mechanism has to make: plans and attacks share them."""
    lacking = set[tuple[int, int, float]]()
    for backlog in backlogs:
        own = backlog.list_own()
        lacking.update(zip(own.text.tolist(), own.replicate.tolist(), own.epsilon.tolist(), strict=True))
    return len(lacking)


def count_practice(backlogs: Sequence[Backlog]) -> int:
    """Return how many rewrites are made by attacks that have something left to guess and practise first."""
    practising: dict[tuple[Nominal, str], int] = {}
    for backlog in backlogs:
        for epsilon, attack, rows in backlog.count_gaps():
            if rows:
                practising[epsilon, attack] = backlog.job.attacks[attack].own_rewrites
    return sum(practising.values())


class OwnDraws:
    """The own rewrites that a job lacks: taken along with audited draws of the same text, or alone."""

    def __init__(self, wanted: Wanted, pool: int) -> None:
        self._wanted = wanted.sort()
        self._starts = np.searchsorted(self._wanted.text, np.arange(pool + 1))
        self._is_taken = np.zeros(pool, dtype=np.bool_)
        self._left = len(self._wanted)

    def __len__(self) -> int:
        """How many have not been taken yet."""
        return self._left

    def take(self, texts: npt.NDArray[np.integer]) -> Wanted:
        """Return what is missing of some texts; it is not missing any more."""
        if not self._left:
            texts = texts[:0]
        distinct = np.unique(texts)
        chosen = distinct[~self._is_taken[distinct]]
        self._is_taken[chosen] = True
        counts = self._starts[chosen + 1] - self._starts[chosen]
        ends = np.cumsum(counts)
        rows = np.arange(counts.sum()) + np.repeat(self._starts[chosen] - (ends - counts), counts)
        self._left -= len(rows)
        return self._wanted.rows(rows)

    def take_others(self, later: npt.NDArray[np.integer], size: int) -> Iterator[Wanted]:
        """Yield what is missing of all texts but those whose turn comes later, about so many at a time."""
        counts = np.where(self._is_taken, 0, np.diff(self._starts))
        counts[later] = 0
        texts = np.flatnonzero(counts)
        pieces = np.cumsum(counts[texts]) // size
        for some in np.split(texts, np.flatnonzero(np.diff(pieces)) + 1):
            if len(some):
                yield self.take(some)
