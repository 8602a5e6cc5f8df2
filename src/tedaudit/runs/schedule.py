"""What one mechanism and plan have left to do: steps whose files must be there and are not.

Whoever runs an audit, forecasts it or counts its calls asks here. Nothing is written.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.values import Plan
from tedaudit.runs.guesses import parse_rows
from tedaudit.runs.history import Piece, Positions, Rewriting
from tedaudit.runs.jobs import Job, Stretch
from tedaudit.runs.listing import Listing
from tedaudit.runs.preparation import PreparedAudit
from tedaudit.runs.rewrites import name_part
from tedaudit.runs.steps import GuessStep, Learning, RewriteStep, Table
from tedaudit.seeding import derive, uniforms
from tedaudit.trials.judge import OWN, Wanted

CALLS = 8  # draws that a function is asked for twice, to see whether it repeats itself
_CELLS = 4_000_000  # scores held at a time
_ROWS = 1 << 18  # of a step that guesses, at most


class Schedule:
    """The steps of a job."""

    def __init__(self, job: Job, audit: PreparedAudit, rewriting: Rewriting, listing: Listing) -> None:
        self.job, self._audit, self._rewriting, self._listing = job, audit, rewriting, listing
        self._tables = {
            epsilon: Table(f"rewrites/{job.label}/{epsilon.name}", job.rewrites_at(epsilon).key)
            for epsilon in job.epsilons
        }
        self._own_tables = {
            epsilon: Table(f"own_rewrites/{job.label}/{epsilon.name}", definition.key)
            for epsilon, definition in job.own_tables()
        }
        self._guess_tables = {
            (epsilon, attack): Table(
                f"guesses/{job.plan_name}/{job.label}/{epsilon.name}/{attack}",
                job.guesses_at(epsilon, attack).key,
            )
            for epsilon in job.epsilons
            for attack in job.attacks
        }

    # --- rewriting

    @property
    def waves(self) -> list[range]:
        """The rows of each wave of this plan, in order."""
        own = (self.job.label, self.job.plan_name)
        return [
            range(wave.start, wave.stop)
            for wave in self._audit.history
            if (wave.label, wave.plan) == own and not wave.own
        ]

    def list_rewriting(self, rows: range) -> list[RewriteStep]:
        """Return what is left to rewrite of what some rows need."""
        pieces = self._rewriting.find(self.job.plan.rows(rows.start, rows.stop))
        return list(filter(None, (self._make_rewriting(piece, self._tables) for piece in pieces)))

    def list_own(self) -> list[RewriteStep]:
        """Return what is left to rewrite for adversaries."""
        pieces = self._rewriting.own if self._own_tables else ()
        return list(filter(None, (self._make_rewriting(piece, self._own_tables) for piece in pieces)))

    def _make_rewriting(self, piece: Piece, tables: Mapping[Nominal, Table]) -> RewriteStep | None:
        """Return the step that makes the files of a piece which are not there; None if all are."""
        job, is_own, file = self.job, tables is self._own_tables, name_part(piece.number)
        missing = {e: table for e, table in tables.items() if f"{table.folder}/{file}" not in self._listing}
        if not missing:
            return None
        wanted = _spread(piece, list(missing))
        if job.shuffled:
            order = self._shuffle_own(wanted) if is_own else self._shuffle(piece, list(missing))
            wanted = wanted.rows(order)
        else:
            wanted = wanted.sort()
        return RewriteStep(
            mechanism=job.reference,
            wanted=wanted,
            tables=tuple(missing.items()),
            number=piece.number,
            seed=self._audit.spec.seed,
            is_own=is_own,
            must_tell=is_own and job.is_seeded is not None,
            is_numbered=job.is_numbered,
            keeps_latents=not (is_own or job.makes_latents),
        )

    def _shuffle(self, piece: Piece, epsilons: Sequence[Nominal]) -> Positions:
        """Return audited draws in the order of coins of their rows: code may remember its calls."""
        coins = []
        for epsilon in epsilons:
            key = derive(self._audit.spec.seed, "order", piece.plan, epsilon.name)
            start = int(piece.rows.min())
            coins.append(uniforms([key], int(piece.rows.max()) - start + 1, start)[0][piece.rows - start])
        return np.argsort(np.concatenate(coins), kind="stable")

    def _shuffle_own(self, own: Wanted) -> Positions:
        """Return own draws in an order that tells nothing of their texts."""
        columns = (own.text.tolist(), own.replicate.tolist(), own.epsilon.astype(str).tolist())
        keys = [derive(self._audit.spec.seed, OWN, "order", *row) for row in zip(*columns, strict=True)]
        return np.argsort(uniforms(keys, 1)[:, 0], kind="stable")

    # --- guessing

    def list_guessing(self, rows: range) -> list[GuessStep]:
        """Return what is left to guess on a wave, by attacks that learn from no own rewrites."""
        return [
            step
            for epsilon in self.job.epsilons
            for attack in sorted(self.job.attacks)
            if attack not in self.job.stretches
            for step in self._find_guessing(epsilon, attack, rows, None)
        ]

    def list_learning(self, rows: range) -> list[GuessStep]:
        """Return what is left to guess on some rows by attacks that learn from own rewrites.

        What is learnt is learnt for one attack and epsilon: all of its rows come before those of another.
        """
        steps: list[GuessStep] = []
        for epsilon in self.job.epsilons:
            for attack, stretches in sorted(self.job.stretches.items()):
                start = 0
                for stretch in stretches:
                    some = range(max(start, rows.start), min(stretch.stop, rows.stop))
                    steps += self._find_guessing(epsilon, attack, some, stretch)
                    start = stretch.stop
        return steps

    def count_gaps(self) -> Iterator[tuple[Nominal, str, int]]:
        """Yield how many rows each attack has left to guess at each epsilon."""
        for epsilon, attack in self._guess_tables:
            rows = range(len(self.job.plan))
            yield epsilon, attack, sum(map(len, self._find_gaps(epsilon, attack, rows)))

    def _find_guessing(
        self, epsilon: Nominal, attack: str, rows: range, stretch: Stretch | None
    ) -> Iterator[GuessStep]:
        """Yield the steps of an attack on some rows: each on the rows of a grid that it has yet to guess."""
        job = self.job
        is_bulky = job.bulky and "latent" in job.attacks[attack].card.sees
        most = self._audit.spec.block_size if is_bulky or attack in job.asking else _ROWS
        size = max(1, min(most, _CELLS // job.candidates))
        for start in range(rows.start, rows.stop, size):
            for gap in self._find_gaps(epsilon, attack, range(start, min(start + size, rows.stop))):
                yield self.make_guessing(epsilon, attack, gap, stretch)

    def make_guessing(self, epsilon: Nominal, attack: str, rows: range, stretch: Stretch | None) -> GuessStep:
        """Return the step of an attack on some rows, all of one stretch if it learns from own rewrites."""
        job, prepared, table = self.job, self.job.attacks[attack], self._tables[epsilon]
        plan = job.plan.rows(rows.start, rows.stop)
        files = tuple(f"{table.folder}/{name_part(piece.number)}" for piece in self._rewriting.find(plan))
        return GuessStep(
            title=attack,
            attack=prepared,
            mechanism=job.reference,
            epsilon=epsilon,
            plan_name=job.plan_name,
            plan=plan,
            start=rows.start,
            candidates=job.candidates,
            table=self._guess_tables[epsilon, attack],
            rewrites=table,
            files=files,
            seed=self._audit.spec.seed,
            practises=prepared.own_rewrites > 0,
            learning=None if stretch is None else self._find_learning(epsilon, stretch),
            makes_latents=job.makes_latents and "latent" in prepared.card.sees,
        )

    def _find_learning(self, epsilon: Nominal, stretch: Stretch) -> Learning:
        table = self._own_tables[epsilon]
        needed = [p.number for p in self._rewriting.own if (p.replicate < stretch.numbers[p.text]).any()]
        return Learning(stretch.numbers, table, tuple(f"{table.folder}/{name_part(n)}" for n in needed))

    def _find_gaps(self, epsilon: Nominal, attack: str, rows: range) -> Iterator[range]:
        """Yield the runs of these rows that no listed file of an attack holds."""
        end = rows.start
        for part in self._parts[epsilon, attack]:
            if part.stop > end and part.start < rows.stop:
                if part.start > end:
                    yield range(end, part.start)
                end = part.stop
        if end < rows.stop:
            yield range(end, rows.stop)

    @cached_property
    def _parts(self) -> dict[tuple[Nominal, str], list[range]]:
        """The rows in each file of guesses when this was first asked for."""
        found: dict[str, list[range]] = {}
        for name in self._listing:
            folder, _, file = name.rpartition("/")
            if folder.startswith("guesses/"):
                found.setdefault(folder, []).append(parse_rows(file))
        return {
            place: sorted(found.get(table.folder, ()), key=lambda rows: rows.start)
            for place, table in self._guess_tables.items()
        }

    def find_outdated(self, rows: range) -> list[str]:
        """Return the files of guesses on some rows that were made from others than are listed now."""
        outdated = []
        for (epsilon, attack), parts in self._parts.items():
            for part in parts:
                if part.start >= rows.stop or part.stop <= rows.start:
                    continue
                step = self.make_guessing(epsilon, attack, part, self.job.stretch_of(attack, part.start))
                if not self._listing.is_made_from(step.file, step.sources):
                    self._listing.refuse_others(step.sources)
                    outdated.append(step.file)
        return outdated

    def look_again(self) -> None:
        """Look again which files of guesses are there."""
        self.__dict__.pop("_parts", None)

    # --- counts

    @cached_property
    def pieces(self) -> list[Piece]:
        """The pieces that the rows of this plan are in."""
        return self._rewriting.find(self.job.plan)

    def list_lacking(self) -> dict[tuple[Nominal, int], int]:
        """Return how many rewrites each lacking file has, by epsilon and number; plans share them."""
        return self._find_lacking(self.pieces, self._tables)

    def list_own_lacking(self) -> dict[tuple[Nominal, int], int]:
        """Return the same of rewrites for adversaries."""
        return self._find_lacking(self._rewriting.own, self._own_tables)

    def _find_lacking(
        self, pieces: Iterable[Piece], tables: Mapping[Nominal, Table]
    ) -> dict[tuple[Nominal, int], int]:
        return {
            (epsilon, piece.number): len(piece.text)
            for piece in pieces
            for epsilon, table in tables.items()
            if f"{table.folder}/{name_part(piece.number)}" not in self._listing
        }


def open_schedules(audit: PreparedAudit, listing: Listing | None = None) -> list[Schedule]:
    """Return what each job of an audit has left to do."""
    known = listing or Listing(audit.store.root)
    plans = {job.plan_name: job.plan for job in audit.jobs}

    def read_plan(name: str) -> Plan:
        return plans[name] if name in plans else audit.store.read_plan(name)

    rewriting: dict[str, Rewriting] = {}
    for job in audit.jobs:
        if job.label not in rewriting:
            waves = (wave for wave in audit.history if wave.label == job.label)
            rewriting[job.label] = Rewriting(waves, read_plan, len(audit.corpus.texts))
    return [Schedule(job, audit, rewriting[job.label], known) for job in audit.jobs]


@dataclass
class Left:
    """How many rewrites of a mechanism and guesses are left to make, by what they are for."""

    rewrites: int
    own: int  # for adversaries
    repeats: int  # of code of users, to see whether it repeats itself
    practice: int  # by attacks that try the mechanism themselves


def count_left(schedules: Sequence[Schedule]) -> Left:
    """Return what is left to rewrite of one mechanism; its plans share rewrites."""
    lacking, own = dict[tuple[Nominal, int], int](), dict[tuple[Nominal, int], int]()
    practising: dict[tuple[Nominal, str], int] = {}
    repeats = 0
    for schedule in schedules:
        job, before = schedule.job, len(lacking)
        lacking |= schedule.list_lacking()
        own |= schedule.list_own_lacking()
        if job.is_seeded is not None and len(lacking) > before:
            repeats += min(CALLS, len(job.plan))
        for epsilon, attack, rows in schedule.count_gaps():
            if rows:
                practising[epsilon, attack] = job.attacks[attack].own_rewrites
    return Left(
        rewrites=sum(lacking.values()),
        own=sum(own.values()),
        repeats=repeats,
        practice=sum(practising.values()),
    )


def count_steps(schedules: Sequence[Schedule]) -> tuple[int, int]:
    """Return how many rewrites and guesses several jobs make in all, and how many of them are left."""
    total = left = 0
    for label in dict.fromkeys(schedule.job.label for schedule in schedules):
        some = [schedule for schedule in schedules if schedule.job.label == label]
        sizes = {piece.number: len(piece.text) for schedule in some for piece in schedule.pieces}
        own = max(int(schedule.job.own_numbers.sum()) for schedule in some)
        guesses = sum(len(schedule.job.plan) * len(schedule.job.attacks) for schedule in some)
        total += len(some[0].job.epsilons) * (sum(sizes.values()) + own + guesses)
        lacking = count_left(some)
        left += lacking.rewrites + lacking.own
        left += sum(rows for schedule in some for _, _, rows in schedule.count_gaps())
    return total, left


def _spread(piece: Piece, epsilons: Sequence[Nominal]) -> Wanted:
    """Return the draws of a piece at each of some epsilons, one epsilon after the other."""
    times = len(epsilons)
    return Wanted(
        np.tile(piece.text, times),
        np.tile(piece.replicate, times),
        np.repeat(np.array(epsilons, dtype=np.float64), len(piece.text)),
    )
