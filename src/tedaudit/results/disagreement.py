"""Trials where two attacks disagree: what one of them sees and the other does not (complementarity)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tedaudit.errors import SpecError, join_names
from tedaudit.estimators.paired import PairedCounts, paired_counts
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.values import Plan
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.text.plain_data import PlainData


@dataclass(frozen=True, slots=True)
class DisagreeingTrial:
    """One trial that one attack got right and the other wrong."""

    row: int
    right: str  # the attack that was
    margin: float  # of that attack
    output: str
    source: str
    mistaken: str  # what the other attack named; empty if it had no answer


@dataclass(frozen=True, slots=True)
class Disagreement(PlainData):
    """Two attacks on the same trials: how often each alone was right, and examples with texts."""

    plan: str
    mechanism: str
    epsilon: Nominal
    attacks: tuple[str, str]
    counts: PairedCounts
    examples: tuple[DisagreeingTrial, ...]
    in_json: ClassVar[str] = "plan, mechanism, epsilon.name as epsilon, attacks, counts, examples"


def disagreements(
    result: AuditResult, attacks: Sequence[str] | None, only: Mapping[str, str], examples: int = 5
) -> list[Disagreement]:
    """Return where two attacks of a run disagree, for every plan, mechanism and epsilon that has both.

    Without attacks, those of the run, if there are two.
    """
    known = list(dict.fromkeys(finding.attack for finding in result))
    named = list(dict.fromkeys(attacks or known))
    if len(named) != 2 or set(named) - set(known):
        given = f", not {' and '.join(attacks)}" if attacks else ""
        raise SpecError(
            f"Name two attacks of this run that differ (-a NAME -a NAME){given}. It has: {join_names(known)}."
        )
    first, second = named
    compared = [_compare(result, *pair, examples) for pair in _pairs(result, (first, second), only)]
    if not compared:
        raise SpecError(f"No plan, mechanism and epsilon that was asked for has both {first} and {second}.")
    return compared


def _pairs(
    result: AuditResult, attacks: tuple[str, str], only: Mapping[str, str]
) -> Iterator[tuple[Finding, Finding]]:
    table = {(f.plan, f.label, f.epsilon, f.attack): f for f in result}
    for plan, label, epsilon in dict.fromkeys(finding.setting for finding in result):
        names = {"plan": plan, "mechanism": label, "epsilon": epsilon.name}
        both = [table.get((plan, label, epsilon, name)) for name in attacks]
        if both[0] and both[1] and all(names[key] == value for key, value in only.items()):
            yield both[0], both[1]


def _compare(result: AuditResult, first: Finding, second: Finding, count: int) -> Disagreement:
    plan = result.run.read_plan(first.plan)
    tables = [result.guesses(finding).read(["choice", "margin"]) for finding in (first, second)]
    rows = min(len(columns["choice"]) for columns in tables)
    right = [columns["choice"][:rows] == plan.secret[:rows] for columns in tables]
    examples = [
        example
        for winner, loser in ((0, 1), (1, 0))
        for example in _examples(result, plan, (first, second)[winner], right[winner] & ~right[loser],
                                 (tables[winner]["margin"], tables[loser]["choice"]), count)
    ]  # fmt: skip
    counts, pair = paired_counts(*right), (first.attack, second.attack)
    return Disagreement(
        plan=first.plan,
        mechanism=first.label,
        epsilon=first.epsilon,
        attacks=pair,
        counts=counts,
        examples=tuple(examples),
    )


def _examples(
    result: AuditResult, plan: Plan, winner: Finding, which: Any, other: tuple[Any, Any], count: int
) -> list[DisagreeingTrial]:
    """Return the trials with the largest margins among those that only one attack got right."""
    margin, mistaken = other
    rows = np.flatnonzero(which)
    rows = rows[np.argsort(-margin[rows], kind="stable")][:count]
    outputs = result.rewrites(winner).outputs(plan.source[rows], plan.replicate[rows])
    texts = result.run.corpus().texts
    return [
        DisagreeingTrial(
            row=int(row),
            right=winner.attack,
            margin=float(margin[row]),
            output=output,
            source=texts[plan.source[row]],
            mistaken=_named(plan, int(row), int(mistaken[row]), texts),
        )
        for row, (output, _) in zip(rows, outputs, strict=True)
    ]


def _named(plan: Plan, row: int, choice: int, texts: tuple[str, ...]) -> str:
    if choice < 0:
        return ""
    return texts[choice if plan.candidates is None else int(plan.candidates[row, choice])]
