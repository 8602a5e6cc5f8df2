"""Tries the tool on all that is known: silence where nothing is, truths, and a name for planted flaws."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

from planted.flaw import TRIALS, Flaw
from planted.flaws import BY_NAME
from planted.work import Effort, JudgedFlaw, audit_flaw, audit_null, audit_twin, list_twins
from tedaudit.estimators.intervals import binomial_tail
from tedaudit.testing.known import CLOSE, EPSILONS, ERROR, MUS, Known, measure_gaussian, measure_response

_CHANCE = 0.02  # the probability with which a tool that is right fails one of these counts


@dataclass(frozen=True, slots=True)
class Size:
    """How much is tried: audits of nulls and of what is known, flaws with their twins, and how hard each."""

    nulls: int
    null_effort: Effort
    known: int
    flaws: tuple[str, ...]
    flaw_effort: Effort


FULL = Size(1_000, Effort(300, 60), 40, tuple(BY_NAME), Effort(TRIALS, 200))


def allow(runs: int, error: float) -> int:
    """Return how many of so many runs may be wrong if each is with this probability at most."""
    return next(m for m in range(runs + 1) if m == runs or binomial_tail(m + 1, runs, error) <= _CHANCE)


@dataclass(frozen=True, slots=True)
class Tried:
    """What the tool said of all that it was tried on."""

    size: Size
    nulls: tuple[JudgedFlaw, ...]
    known: tuple[Known, ...]
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
        return tuple(f for f, judged in self.flaws if f.needs and f.needs <= TRIALS and not judged.finders)

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
            above = sum(run.bound > truth for run in runs)
            mean = sum(run.estimate for run in runs) / len(runs)
            if above > allow(len(runs), ERROR):
                said.append(f"{name} at {truth:g}: {above} of {len(runs)} bounds are above the truth")
            if abs(mean - truth) > CLOSE:
                said.append(f"{name} at {truth:g}: the mean estimate is {mean:.3f}")
        if self.missed:
            said.append(f"planted flaws that were not found: {', '.join(flaw.name for flaw in self.missed)}")
        return said

    def group_known(self) -> dict[tuple[str, float], list[Known]]:
        """Return what was measured, by mechanism and truth."""
        groups: dict[tuple[str, float], list[Known]] = {}
        for known in self.known:
            groups.setdefault((known.name, known.truth), []).append(known)
        return groups


_Task = tuple[str, Callable[[], Any]]


def try_all(
    size: Size, progress: Callable[[str, int, int], None] = lambda *_: None, processes: int = 1
) -> Tried:
    """Try the tool in so many processes; pieces of work are independent and keep little in memory."""
    tasks = list(_list_tasks(size))
    done: dict[int, Any] = {}
    for count, (place, answer) in enumerate(_perform(tasks, processes), start=1):
        done[place] = answer
        progress(tasks[place][0], count, len(tasks))
    parts: dict[str, list[Any]] = {"nulls": [], "known": [], "flaws": [], "twins": []}
    for place, (part, _) in enumerate(tasks):
        parts[part].append(done[place])
    flaws = tuple((BY_NAME[judged.name], judged) for judged in parts["flaws"])
    return Tried(size, tuple(parts["nulls"]), tuple(parts["known"]), flaws, tuple(parts["twins"]))


def _list_tasks(size: Size) -> Iterator[_Task]:
    for name in size.flaws:
        yield "flaws", partial(audit_flaw, name, size.flaw_effort)
    for name in list_twins(size.flaws):
        yield "twins", partial(audit_twin, name, size.flaw_effort)
    truths = [*((measure_response, e) for e in EPSILONS), *((measure_gaussian, mu) for mu in MUS)]
    for number, (measure, truth) in enumerate((m, t) for m, t in truths for _ in range(size.known)):
        yield "known", partial(measure, truth, seed=number)
    for number in range(size.nulls):
        yield "nulls", partial(audit_null, number, size.null_effort)


def _perform(tasks: Sequence[_Task], processes: int) -> Iterator[tuple[int, Any]]:
    """Yield the answers as they come, from this process if one is enough."""
    if processes <= 1:
        yield from ((place, work()) for place, (_, work) in enumerate(tasks))
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        places = {pool.submit(work): place for place, (_, work) in enumerate(tasks)}
        try:
            for future in as_completed(places):
                yield places.pop(future), future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
