"""The tool's own test: silence where nothing is, truth where it is known, and a name for planted flaws."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

from tedaudit.estimators.intervals import binomial_tail
from tedaudit.execution.runner import Progress
from tedaudit.text.plain_data import pick, to_data
from tedaudit.trust.planted.flaw import Flaw
from tedaudit.trust.planted.flaws import FLAWS
from tedaudit.trust.selftest.work import (
    ERROR,
    Effort,
    JudgedFlaw,
    Measured,
    audit_flaw,
    audit_null,
    audit_twin,
    list_twins,
    measure_gaussian,
    measure_response,
)

_CHANCE = 0.02  # the probability with which a tool that is right fails one of these counts
_CLOSE = 0.2  # how far the mean estimate may lie from the truth
EPSILONS = (0.5, 1.0, 2.0)
MUS = (1.0, 2.0)
QUICK_FLAWS = (
    "stop-words-kept", "case-copied", "word-count-kept", "raw-without-triple", "fixed-seed", "overflow",
    "one-text-in-10", "names-kept",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Size:
    """How much of the test is done."""

    nulls: int
    null_effort: Effort
    known: int
    known_effort: Effort
    flaws: tuple[str, ...]
    flaw_effort: Effort
    twins: bool

    @property
    def is_full(self) -> bool:
        """Whether every planted flaw is tried."""
        return len(self.flaws) == len(FLAWS)


FULL = Size(
    1_000, Effort(300, 60), 40, Effort(2_000, 0), tuple(flaw.name for flaw in FLAWS), Effort(2_000, 200),
    twins=True,
)  # fmt: skip
QUICK = Size(10, Effort(100, 50), 4, Effort(500, 0), QUICK_FLAWS, Effort(800, 60), twins=False)


def allow(runs: int, error: float) -> int:
    """Return how many of so many runs may be wrong if each is with this probability at most."""
    return next(m for m in range(runs + 1) if m == runs or binomial_tail(m + 1, runs, error) <= _CHANCE)


@dataclass(frozen=True, slots=True)
class SelfTest:
    """What came out of the tool's own test."""

    size: Size
    nulls: tuple[JudgedFlaw, ...]
    known: tuple[Measured, ...]
    flaws: tuple[tuple[Flaw, JudgedFlaw], ...]
    twins: tuple[JudgedFlaw, ...]

    @property
    def false_alarms(self) -> tuple[JudgedFlaw, ...]:
        """The nulls of which anything was said."""
        return tuple(judged for judged in self.nulls if judged.says_anything)

    @property
    def twin_alarms(self) -> tuple[JudgedFlaw, ...]:
        """The repaired twins whose claim was said to be broken; a bound above 0 is no alarm."""
        return tuple(judged for judged in self.twins if judged.finders)

    @property
    def missed(self) -> tuple[Flaw, ...]:
        """The flaws that should have been found in so many trials, and were not."""
        trials = FULL.flaw_effort.trials  # a quick test has flaws that fewer trials show
        return tuple(f for f, judged in self.flaws if f.needs and f.needs <= trials and not judged.finders)

    @property
    def failures(self) -> list[str]:
        """What the tool got wrong, in sentences; nothing if it passed."""
        said = []
        if len(self.false_alarms) > allow(len(self.nulls), 2 * ERROR):
            said.append(
                f"{len(self.false_alarms)} of {len(self.nulls)} rewriters that reveal nothing were accused"
            )
        if len(self.twin_alarms) > allow(len(self.twins), 2 * ERROR):
            said.append(f"{len(self.twin_alarms)} of {len(self.twins)} repaired rewriters were accused")
        for (name, truth), runs in self.group_known().items():
            above = sum(run.lower > truth for run in runs)
            mean = sum(run.point for run in runs) / len(runs)
            if above > allow(len(runs), ERROR):
                said.append(f"{name} at {truth:g}: {above} of {len(runs)} bounds are above the truth")
            if abs(mean - truth) > _CLOSE:
                said.append(f"{name} at {truth:g}: the mean estimate is {mean:.3f}")
        if self.missed:
            said.append(f"planted flaws that were not found: {', '.join(flaw.name for flaw in self.missed)}")
        return said

    def group_known(self) -> dict[tuple[str, float], list[Measured]]:
        """Return what was measured, by mechanism and truth."""
        groups: dict[tuple[str, float], list[Measured]] = {}
        for measured in self.known:
            groups.setdefault((measured.name, measured.truth), []).append(measured)
        return groups

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        told = "name, kind, number, wrong, claim, needs, why"
        return {
            "passed": not self.failures, "failures": self.failures, "full": self.size.is_full,
            "nulls": {
                "audits": len(self.nulls), "trials": self.size.null_effort.trials,
                "accused": to_data(self.false_alarms), "allowed": allow(len(self.nulls), 2 * ERROR),
            },
            "known": to_data(self.known),
            "flaws": [
                pick(flaw, told) | {"claim": str(flaw.claim)} | pick(judged) | pick(judged, "finders")
                for flaw, judged in self.flaws
            ],
            "twins": {"audits": len(self.twins), "accused": to_data(self.twin_alarms)},
        }  # fmt: skip


_Task = tuple[str, int, Callable[[], Any]]


def run_selftest(size: Size, progress: Progress | None = None, *, processes: int = 1) -> SelfTest:
    """Do the test in so many processes; pieces of work are independent and keep little in memory."""
    tasks = list(_list_tasks(size))
    done: dict[tuple[str, int], Any] = {}
    for number, (part, place, answer) in enumerate(_perform(tasks, processes), start=1):
        done[part, place] = answer
        if progress is not None:
            progress(part, number, len(tasks))
    by_part = {part: tuple(done[key] for key in sorted(done) if key[0] == part) for part, _ in done}
    flaws = {flaw.name: flaw for flaw in FLAWS}
    found = tuple((flaws[judged.name], judged) for judged in by_part.get("planted flaws", ()))
    return SelfTest(
        size, by_part.get("nulls", ()), by_part.get("known epsilons", ()), found, by_part.get("twins", ())
    )


def _list_tasks(size: Size) -> Iterator[_Task]:
    for number, name in enumerate(size.flaws):
        yield "planted flaws", number, partial(audit_flaw, name, size.flaw_effort)
    for number, name in enumerate(list_twins(size.flaws) if size.twins else ()):
        yield "twins", number, partial(audit_twin, name, size.flaw_effort)
    truths = [*((measure_response, e) for e in EPSILONS), *((measure_gaussian, mu) for mu in MUS)]
    for number, (measure, truth) in enumerate((m, t) for m, t in truths for _ in range(size.known)):
        yield "known epsilons", number, partial(measure, truth, number, size.known_effort)
    for number in range(size.nulls):
        yield "nulls", number, partial(audit_null, number, size.null_effort)


def _perform(tasks: Sequence[_Task], processes: int) -> Iterator[tuple[str, int, Any]]:
    """Yield the answers as they come, from this process if one is enough."""
    if processes <= 1:
        for part, place, work in tasks:
            yield part, place, work()
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        places: dict[Future[Any], tuple[str, int]] = {
            pool.submit(work): (part, place) for part, place, work in tasks
        }
        try:
            for future in as_completed(places):
                yield (*places.pop(future), future.result())
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
