"""Whether settings rank mechanisms alike, and how much of it the trials can tell."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from tedaudit.estimators.paired import rank_agreement
from tedaudit.estimators.ranking import Ends, Measure, Orders, TauSpread, compare_orders, redraw_tau
from tedaudit.plugins.nominal import Nominal
from tedaudit.results.findings import Finding
from tedaudit.results.row import Row
from tedaudit.results.section import Cell, Column, Section, Table
from tedaudit.seeding import derive

_ALPHA = 0.01  # of all intervals of one comparison together
_COLUMNS = (
    Column("settings", rank=0), Column("epsilon", "number", 0), Column("tau", "number", 0),
    Column("redrawn: mean", "number", 2), Column("95% range", rank=2),
    Column("pairs in the same order", "number"), Column("in the other", "number"),
    Column("not told apart", "number"),
)  # fmt: skip


class Ranking:
    """Two settings' rankings of the same mechanisms, under one attack at one epsilon."""

    def __init__(
        self, title: str, epsilon: Nominal, first: Sequence[Finding], second: Sequence[Finding]
    ) -> None:
        self.title, self.epsilon = title, epsilon
        sides = first, second
        self.tau = rank_agreement(*([f.bound.lower for f in side] for side in sides))
        share = _ALPHA / (4 * len(first))  # two ends in each of two settings
        self.orders: Orders = compare_orders(*([_find_ends(f, share) for f in side] for side in sides))
        random = np.random.default_rng(derive(0, "redrawn rankings", title, str(float(epsilon))))
        measured = [[(f.counts, _measure(f)) for f in side] for side in sides]
        self.redrawn: TauSpread | None = redraw_tau(measured[0], measured[1], random)

    @property
    def row(self) -> tuple[Cell, ...]:
        """Its row in a table."""
        redrawn: tuple[Cell, Cell] = (None, None)
        if self.redrawn is not None:
            redrawn = self.redrawn.mean, f"{self.redrawn.low:.2f} to {self.redrawn.high:.2f}"
        orders = self.orders
        return self.title, self.epsilon, self.tau, *redrawn, orders.same, orders.opposite, orders.untold


def list_rankings(by_setting: Mapping[str, Sequence[Finding]]) -> Iterator[Ranking]:
    """Yield the rankings of mechanisms under every two settings, per attack, if it is named, and epsilon."""
    for (first, before), (second, after) in combinations(by_setting.items(), 2):
        indexed = [{(f.attack, f.epsilon, f.label): f for f in findings} for findings in (before, after)]
        for attack, epsilon in sorted({(a, e) for a, e, _ in indexed[0] if e.is_given}):
            keys = [key for key in indexed[0] if key[:2] == (attack, epsilon) and key in indexed[1]]
            if len(keys) > 1:
                sides = [[side[key] for key in keys] for side in indexed]
                yield Ranking(", ".join(filter(None, (f"{first} and {second}", attack))), epsilon, *sides)


def tabulate_rankings(rankings: Sequence[Ranking], name: str) -> Section:
    """Return rankings as a section."""
    title = f"{name}: Kendall's tau of the ranking of mechanisms"
    return Section(title, Table(_COLUMNS, tuple(ranking.row for ranking in rankings)))


def describe_rankings(rankings: Sequence[Ranking], name: str) -> list[str]:
    """Return in words how stable the ranking is, and how much of that can be told."""
    known = [ranking.tau for ranking in rankings if ranking.tau is not None]
    if not known:
        return []
    orders = [ranking.orders for ranking in rankings]
    same, opposite = sum(o.same for o in orders), sum(o.opposite for o in orders)
    values = f"{name}: mean tau {np.mean(known):.2f} over {len(known)} pairs of settings and epsilon"
    told = (
        f"{name}: of {sum(o.pairs for o in orders)} pairs of mechanisms {same} are told apart in both "
        f"settings and in the same order, {opposite} in the other; of the rest these trials cannot tell "
        f"(error of a row {_ALPHA})"
    )
    notes = [f"{values}, least {min(known):.2f}", told]
    redrawn = [ranking.redrawn for ranking in rankings if ranking.redrawn is not None]
    if redrawn:
        notes.append(
            f"{name}: with every count drawn again from its binomial, mean tau "
            f"{np.mean([r.mean for r in redrawn]):.2f}, and the lowest 95% range begins at "
            f"{min(r.low for r in redrawn):.2f} (approximate, and rather too low: settings are taken to be "
            "independent, and noise is added to noise)"
        )
    return notes


def _find_ends(finding: Finding, error: float) -> Ends:
    """Return the interval of the attack's epsilon, with this error at each end."""
    row = _get_row(finding)
    bound = row.bound_at(row.estimator.alpha_for(error))
    return bound.lower, bound.upper


def _measure(finding: Finding) -> Measure:
    """Return what makes a TeDA bound of counts as it was made of the finding's own."""
    row = _get_row(finding)
    alpha = row.estimator.alpha_for(finding.bound.error)
    return lambda counts: replace(row, counts=counts).bound_at(alpha).lower


def _get_row(finding: Finding) -> Row:
    assert finding.row is not None  # noqa: S101 - findings that are read from a run have one
    return finding.row
