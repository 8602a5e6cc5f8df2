"""How often a run will call something outside of tedaudit: a user's function, or a server.

A function may be slow and a server may cost money, so this is said before the first call. The numbers
are upper limits of what is left to do: no question is asked twice, and failed rewrites are not guessed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tedaudit.abilities import CallsOut, HasLatent, HasLikelihood
from tedaudit.execution.jobs import Job
from tedaudit.execution.preparation import PreparedAudit
from tedaudit.nominal import Nominal
from tedaudit.store.guesses import GuessTable
from tedaudit.store.rewrites import RewriteTable
from tedaudit.types import Callee


@dataclass
class CallCounts:
    """Calls to each callee: those of the run itself, and those that attacks make to try a mechanism."""

    _counts: dict[str, list[int]] = field(default_factory=dict)

    def add(self, callee: Callee | None, rows: int, by_attacks: int = 0) -> None:
        """Count the calls for some rows, and those of attacks."""
        if callee is not None:
            counts = self._counts.setdefault(f"{callee.unit} {callee.name}", [0, 0])
            counts[0] += rows * callee.per_row
            counts[1] += by_attacks * callee.per_row

    def describe(self, *, resumed: bool) -> str:
        """Return all counts as one line; nothing if there is nothing to call."""
        parts = []
        for what, (own, by_attacks) in self._counts.items():
            shares = f" ({own:,} for the run, {by_attacks:,} by attacks that try it)" if by_attacks else ""
            if own + by_attacks:
                parts.append(f"up to {own + by_attacks:,} {what}{shares}")
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
            counts.add(callee, _count_rewrites(jobs), _count_tries(jobs, mechanism))
        for job in jobs:
            for attack, prepared in job.attacks.items():
                plugin = audit.plugins[prepared.reference.identity]
                asked = find_callee(plugin, job.candidates)
                if asked is not None:
                    counts.add(asked, sum(rows for _, name, rows in _gaps(job) if name == attack))
    return counts.describe(resumed=audit.store.exists())


def _count_rewrites(jobs: Sequence[Job]) -> int:
    """Return how many rewrites a mechanism has to make; plans share those of the same text and replicate."""
    total = 0
    for epsilon in jobs[0].epsilons:
        definition = jobs[0].rewrites_at(epsilon)
        table = RewriteTable(definition.folder, definition.check())
        lacking = []
        for job in jobs:
            source, replicate = job.plan.source, job.plan.replicate
            lacking.append(((source.astype(np.int64) << 32) | replicate)[table.missing(source, replicate)])
        total += len(np.unique(np.concatenate(lacking)))
    return total


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


def _gaps(job: Job) -> Iterator[tuple[Nominal, str, int]]:
    """Yield how many rows each attack has left to guess at each epsilon."""
    for epsilon in job.epsilons:
        for attack in job.attacks:
            definition = job.guesses_at(epsilon, attack)
            table = GuessTable(definition.folder, definition.check())
            yield epsilon, attack, sum(map(len, table.gaps(len(job.plan), max(1, len(job.plan)))))
