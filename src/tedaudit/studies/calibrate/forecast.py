"""What a calibration takes at least, before it is begun."""

from collections.abc import Sequence

from tedaudit.results.section import Column, Section, Table
from tedaudit.runs.spec.model import AuditSpec
from tedaudit.studies.calibrate.calibrator import check_spec, match_attacks, read_targets
from tedaudit.studies.calibrate.rounds import SearchSettings
from tedaudit.studies.calibrate.search import Grid, epsilon_at
from tedaudit.studies.calibrate.target import find_reach

_TITLE = "What this calibration takes"
_ENDS = 2  # of every target


def foresee_calibration(
    spec: AuditSpec, asked: tuple[str, Sequence[float]], searched: tuple[float, float]
) -> Section:
    """Return what a calibration takes at least, as a table with a row for each mechanism."""
    check_spec(spec)
    targets = read_targets(spec, *asked)
    attacks = match_attacks(spec, targets[0])
    reached = [target for target in targets if find_reach(target, spec.trials, spec.alpha).is_given]
    if not reached:
        return Section(_TITLE, sentences=("Nothing: no target is in reach of so many trials.",))
    settings = SearchSettings(
        targets=targets, grid=Grid.between(*searched), trials=spec.trials, error=spec.alpha, attacks=attacks
    )
    sweep, trials = [epsilon_at(place) for place in settings.grid.sweep()], settings.count_search(0)
    swept, fresh = len(sweep) * trials, _ENDS * len(reached) * spec.trials
    rows = tuple((mechanism.title, len(sweep), swept, fresh) for mechanism in spec.mechanisms)
    columns = (
        Column("mechanism", "label", 0), Column("epsilons of the sweep", "count", 3),
        Column("rewrites of the sweep", "count", 2), Column("fresh rewrites", "count"),
    )  # fmt: skip
    least = (
        f"At least: a sweep of all epsilons with {trials:,} trials each, then {spec.trials:,} fresh trials "
        "at both ends of every target in reach. Looking closer around a target, and an end that fresh trials "
        "do not confirm, add to it."
    )
    return Section(_TITLE, Table(columns, rows), sentences=(least,))
