"""How often a run will call something outside of tedaudit: a user's function, or a server.

A function may be slow and a server may cost money, so this is said before the first call. The numbers
are upper limits of what is left to do, if no call has to be tried again: no question is asked twice, and
most attacks do not guess on failed rewrites.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tedaudit.plugins.protocols import HasLatent, HasLikelihood, find_callee
from tedaudit.plugins.values import Callee
from tedaudit.runs.preparation import PreparedAudit
from tedaudit.runs.schedule import Schedule, count_left, open_schedules

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


def describe_calls(audit: PreparedAudit) -> str:
    """Return how often an audit will call functions and servers, as one line; "" if it calls none."""
    counts, schedules = CallCounts(), open_schedules(audit)
    for label in dict.fromkeys(job.label for job in audit.jobs):
        own = [schedule for schedule in schedules if schedule.job.label == label]
        mechanism = audit.plugins[own[0].job.reference.identity]
        callee = find_callee(mechanism)
        if callee is not None:
            left = count_left(own)
            tries = _count_tries(own, mechanism) + left.practice + left.own
            counts.add(callee, left.rewrites, {_REPEATED: left.repeats, _TRIED: tries})
        for schedule in own:
            for _, attack, rows in schedule.count_gaps():
                plugin = audit.plugins[schedule.job.attacks[attack].reference.identity]
                asked = find_callee(plugin, schedule.job.candidates)
                if asked is not None:
                    counts.add(asked, rows)
    return counts.describe(resumed=audit.store.exists())


def _count_tries(schedules: Sequence[Schedule], mechanism: Any) -> int:
    """Return how often attacks that know likelihoods may ask a mechanism about candidates."""
    if not isinstance(mechanism, HasLikelihood | HasLatent):
        return 0
    return sum(
        rows * schedule.job.candidates
        for schedule in schedules
        for _, attack, rows in schedule.count_gaps()
        if schedule.job.attacks[attack].knows_mechanism
    )
