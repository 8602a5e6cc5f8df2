"""How often a run will call something outside of tedaudit: a user's function, or a server.

A function may be slow and a server may cost money, so this is said before the first call. The numbers
are upper limits of what is left to do, if no call has to be tried again: no question is asked twice, and
most attacks do not guess on failed rewrites.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.abilities import CallsOut, HasLatent, HasLikelihood
from tedaudit.execution.jobs import Job
from tedaudit.execution.own_rewrites import list_replicates
from tedaudit.execution.preparation import PreparedAudit
from tedaudit.execution.repeats import CALLS
from tedaudit.nominal import Nominal
from tedaudit.store.guesses import GuessTable
from tedaudit.store.rewrites import RewriteTable
from tedaudit.types import Callee

_REPEATED, _TRIED = "to see whether it repeats itself", "by attacks that try it"


@dataclass
class CallCounts:
    """Calls to each callee: those for rows of a table, and others by what they are for."""

    _rows: Counter[str] = field(default_factory=Counter)
    _others: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, callee: Callee, rows: int, others: Mapping[str, int] | None = None) -> None:
        """Count the calls for some rows, and for other purposes."""
        what = f"{callee.unit} {callee.name}"
        self._rows[what] += rows * callee.per_row
        purposes = self._others.setdefault(what, Counter())
        for purpose, number in (others or {}).items():
            purposes[purpose] += number * callee.per_row

    def describe(self, *, resumed: bool) -> str:
        """Return all counts as one line; nothing if there is nothing to call."""
        parts = []
        for what, rows in self._rows.items():
            others = [f"{number:,} {purpose}" for purpose, number in self._others[what].items() if number]
            shares = f" ({', '.join([f'{rows:,} for the run', *others])})" if others else ""
            total = rows + self._others[what].total()
            if total:
                parts.append(f"up to {total:,} {what}{shares}")
        return f"This run {'still ' * resumed}needs {' and '.join(parts)}." if parts else ""


def find_callee(plugin: Any, candidates: int = 0) -> Callee | None:
    """Return what a plug-in calls outside of tedaudit, if it says so."""
    return plugin.callee(candidates) if isinstance(plugin, CallsOut) else None


def describe_calls(audit: PreparedAudit) -> str:
    """Return how often an audit will call functions and servers, as one line; "" if it calls none."""
    counts = CallCounts()
    for label in dict.fromkeys(job.label for job in audit.jobs):
        jobs = [job for job in audit.jobs if job.label == label]
        mechanism = audit.plugins[jobs[0].reference.identity]
        callee = find_callee(mechanism)
        if callee is not None:
            rewrites, repeats = _count_rewrites(jobs)
            tries = _count_tries(jobs, mechanism) + _count_own(jobs)
            counts.add(callee, rewrites, {_REPEATED: repeats, _TRIED: tries})
        for job in jobs:
            for attack, prepared in job.attacks.items():
                plugin = audit.plugins[prepared.reference.identity]
                asked = find_callee(plugin, job.candidates)
                if asked is not None:
                    counts.add(asked, sum(rows for _, name, rows in _gaps(job) if name == attack))
    return counts.describe(resumed=audit.store.exists())


def _count_rewrites(jobs: Sequence[Job]) -> tuple[int, int]:
    """Return how many rewrites a mechanism has to make, and how many are then made again as a check.

    Plans share the rewrites of the same text and replicate, so a later job may have none left to make.
    """
    made: dict[Nominal, npt.NDArray[np.int64]] = {}
    repeats = 0
    for job in jobs:
        before = sum(map(len, made.values()))
        for epsilon in job.epsilons:
            definition = job.rewrites_at(epsilon)
            table = RewriteTable(definition.folder, definition.check())
            source, replicate = job.plan.source, job.plan.replicate
            lacking = ((source.astype(np.int64) << 32) | replicate)[table.missing(source, replicate)]
            made[epsilon] = np.union1d(made.get(epsilon, lacking), lacking)
        is_checked = job.is_seeded is not None and sum(map(len, made.values())) > before
        repeats += min(CALLS, len(job.plan)) if is_checked else 0
    return sum(map(len, made.values())), repeats


def _count_tries(jobs: Sequence[Job], mechanism: Any) -> int:
    """Return how often attacks that have something left to guess may try a mechanism."""
    practising: dict[tuple[Nominal, str], int] = {}
    total = 0
    for job in jobs:
        for epsilon, attack, rows in _gaps(job):
            prepared = job.attacks[attack]
            if rows:
                practising[epsilon, attack] = prepared.own_rewrites
            if prepared.knows_mechanism and isinstance(mechanism, HasLikelihood | HasLatent):
                total += rows * job.candidates  # it may ask about every candidate
    return total + sum(practising.values())


def _count_own(jobs: Sequence[Job]) -> int:
    """Return how many rewrites for adversaries a mechanism has to make: plans and attacks share them."""
    lacking: set[tuple[Nominal, int, int]] = set()
    for job in jobs:
        text, replicate = list_replicates(job.own_numbers)
        for epsilon, definition in job.own_tables():
            missing = RewriteTable(definition.folder, definition.check()).missing(text, replicate)
            pairs = zip(text[missing].tolist(), replicate[missing].tolist(), strict=True)
            lacking.update((epsilon, *pair) for pair in pairs)
    return len(lacking)


def _gaps(job: Job) -> Iterator[tuple[Nominal, str, int]]:
    """Yield how many rows each attack has left to guess at each epsilon."""
    for epsilon in job.epsilons:
        for attack in job.attacks:
            definition = job.guesses_at(epsilon, attack)
            table = GuessTable(definition.folder, definition.check())
            yield epsilon, attack, sum(map(len, table.gaps(len(job.plan), max(1, len(job.plan)))))
