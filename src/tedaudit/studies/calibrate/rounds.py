"""Searches and confirmations of many mechanisms and targets, round by round, so that they share their trials.

Where trials come from is not known here: a run directory makes them (`runs`), and tests draw them from a
curve that they know.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from tedaudit.estimators.readings import Strongest
from tedaudit.plugins.nominal import Nominal
from tedaudit.studies.calibrate.confirm import Confirmation
from tedaudit.studies.calibrate.result import Answer, EpsilonForTarget, Fall, Point, list_points
from tedaudit.studies.calibrate.search import CLEAR, Grid, Search, Shape, epsilon_at
from tedaudit.studies.calibrate.target import Target, find_reach

Wanted = Mapping[str, Sequence[Nominal]]  # epsilons by mechanism
Seen = Mapping[str, Mapping[Nominal, Strongest]]
_FEWEST = (200, 500)  # trials of the first round of a search, and of the later ones
_SHARES = (16, 4)  # of the fresh trials at an end: that part of them


class TrialSource(Protocol):
    """Makes trials, or reads those that are there."""

    def explore(self, target: Target, wanted: Wanted, trials: int) -> Seen:
        """Return what the first so many trials of the search say at these epsilons."""
        ...

    def confirm(self, target: Target, wanted: Wanted, trials: int) -> Seen:
        """Return what fresh trials say, which have no secret in common with those of the search."""
        ...


@dataclass(frozen=True)
class SearchSettings:
    """What a calibration is asked for."""

    targets: tuple[Target, ...]
    grid: Grid
    trials: int
    error: float
    attacks: Mapping[str, tuple[str, ...]]  # by mechanism: those that fit it

    def count_search(self, number: int) -> int:
        """Return the trials of a round of the search, from 0: few at first, and enough to tell anything."""
        step = min(number, 1)
        least = (step + 1) * max(target.least_trials(CLEAR) for target in self.targets)
        return min(self.trials, max(_FEWEST[step], self.trials // _SHARES[step], least))

    @property
    def limits(self) -> tuple[Nominal, Nominal]:
        """The least and the largest epsilon."""
        return epsilon_at(self.grid.low), epsilon_at(self.grid.high)


def find_epsilons(settings: SearchSettings, source: TrialSource) -> tuple[EpsilonForTarget, ...]:
    """Return the answer for every mechanism and target."""
    cells = [_Cell(label, target, settings) for target in settings.targets for label in settings.attacks]
    open_cells = [cell for cell in cells if cell.reach.is_given]
    _search(open_cells, settings, source)
    for target in settings.targets:
        _confirm([cell for cell in open_cells if cell.target is target], settings, source)
    return tuple(cell.answer() for cell in cells)


class _Cell:
    """One mechanism and one target on its way to an answer."""

    def __init__(self, label: str, target: Target, settings: SearchSettings) -> None:
        self.label, self.target, self._settings = label, target, settings
        self.reach = find_reach(target, settings.trials, settings.error)
        self.search = Search(target=target, grid=settings.grid, error=settings.error, trials=settings.trials)
        self.shape: Shape = "crossing"
        self.confirmation: Confirmation | None = None
        self.fresh: dict[Nominal, Strongest] = {}

    def propose(self) -> None:
        """Fix the ends: from here on the search adds nothing."""
        self.shape, ends = self.search.propose()
        self.confirmation = Confirmation(
            target=self.target, grid=self._settings.grid, error=self._settings.error, ends=ends
        )

    def answer(self) -> EpsilonForTarget:
        """Return what was found."""
        made = self.confirmation
        low, high = (
            (None, None) if made is None else (made.find_confirmed("low"), made.find_confirmed("high"))
        )
        explored = {epsilon_at(place): seen for place, seen in self.search.points.items()}
        falls = tuple(
            Fall(*(Point(epsilon_at(place), self.search.points[place]) for place in pair))
            for pair in self.search.list_falls()
        )
        return EpsilonForTarget(
            label=self.label,
            target=self.target,
            answer=self._name_answer(low, high),
            low=low,
            high=high,
            error=self._settings.error,
            trials=self._settings.trials,
            attacks=self._settings.attacks[self.label],
            limits=self._settings.limits,
            points=list_points(explored, self.fresh),
            attempts=() if made is None else tuple(made.attempts),
            falls=falls,
            reach=self.reach,
        )

    def _name_answer(self, low: Nominal | None, high: Nominal | None) -> Answer:
        if not self.reach.is_given:
            return Answer.TOO_HIGH if self.reach.too_high else Answer.TOO_NEAR_CHANCE
        if self.shape == "all below" and low is not None:
            return Answer.BELOW
        if self.shape == "all above" and high is not None:
            return Answer.ABOVE
        return Answer.INTERVAL if low is not None and high is not None else Answer.UNDECIDED


def _search(cells: Sequence[_Cell], settings: SearchSettings, source: TrialSource) -> None:
    """Look at epsilons until no search wants another; searches for other targets share the points."""
    going, number = list(cells), 0
    while going:
        trials = settings.count_search(number)
        wanted = [(cell, cell.search.list_wanted()) for cell in going]
        going = [cell for cell, places in wanted if places]
        _look(wanted, partial(source.explore, trials=trials), _keep_explored)
        number += 1
    for cell in cells:
        cell.propose()


def _confirm(cells: Sequence[_Cell], settings: SearchSettings, source: TrialSource) -> None:
    """Make fresh trials at the ends of one target until none is left to confirm."""
    while True:
        wanted = [(cell, cell.confirmation.list_wanted()) for cell in cells if cell.confirmation is not None]
        if not any(places for _, places in wanted):
            return
        _look(wanted, partial(source.confirm, trials=settings.trials), _keep_fresh)


def _look(
    wanted: Sequence[tuple[_Cell, list[int]]],
    look: Callable[[Target, Wanted], Seen],
    keep: Callable[[_Cell, Mapping[int, Strongest]], None],
) -> None:
    """Look at all places that are wanted in one go, and give each cell its own."""
    asked = [(cell, places) for cell, places in wanted if places]
    epsilons: dict[str, dict[Nominal, None]] = {}
    for cell, places in asked:
        epsilons.setdefault(cell.label, {}).update(dict.fromkeys(map(epsilon_at, places)))
    if not asked:
        return
    seen = look(asked[0][0].target, {label: sorted(own) for label, own in epsilons.items()})
    for cell, places in asked:
        keep(cell, {place: seen[cell.label][epsilon_at(place)] for place in places})


def _keep_explored(cell: _Cell, seen: Mapping[int, Strongest]) -> None:
    cell.search.take(seen)


def _keep_fresh(cell: _Cell, seen: Mapping[int, Strongest]) -> None:
    assert cell.confirmation is not None  # noqa: S101 - fresh trials are asked for by it
    cell.fresh |= {epsilon_at(place): reading for place, reading in seen.items()}
    cell.confirmation.take(seen)
