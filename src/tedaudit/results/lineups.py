"""Reads runs for a comparison, and puts their findings side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from tedaudit.errors import SpecError, join_names
from tedaudit.estimators.paired import Scale
from tedaudit.plugins.nominal import Nominal, distinct_epsilons
from tedaudit.plugins.values import Plan
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.results.reading import read_result
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.files import difference
from tedaudit.text.plain_data import PlainData

Axis = Literal["run", "mechanism", "attack"]


@dataclass(frozen=True)
class OpenedRun:
    """A run with its findings; tables are read when they are asked for."""

    number: int
    name: str
    store: RunDirectory
    result: AuditResult

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest."""
        return self.store.manifest()

    @property
    def corpus(self) -> dict[str, Any]:
        """What was audited: name, number of texts and fingerprint."""
        return {key: self.manifest["corpus"][key] for key in ("name", "texts", "fingerprint")}

    @property
    def texts(self) -> str:
        """What was audited, in words."""
        return f"{self.corpus['name']}, {self.corpus['texts']:,} texts"

    @property
    def version(self) -> str:
        """The version of tedaudit that wrote it."""
        return str(self.manifest.get("machine", {}).get("versions", {}).get("tedaudit", ""))

    def plan(self, name: str) -> Plan:
        """Return a plan that findings were read from."""
        return self.store.read_plan(name)

    def outcomes(self, finding: Finding) -> npt.NDArray[np.bool_]:
        """Return of every complete trial whether the guess was right."""
        choice = self.result.guesses(finding).choices().choice
        return np.asarray(choice == self.plan(finding.plan).secret[: len(choice)], dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Side(PlainData):
    """One finding with the run that it is from, and how it is called beside the others."""

    run: OpenedRun
    finding: Finding
    member: str
    in_json: ClassVar[str] = (
        "run.name as run, finding.plan, finding.label as mechanism, finding.attack, finding.epsilon, claim, "
        "finding.bound.correct, finding.bound.trials, finding.bound.success, finding.bound.candidates, "
        "finding.eps_emp, finding.bound.error, finding.bound.ceiling"
    )

    @property
    def plan(self) -> str:
        """The plan, as it is called for mechanisms of any kind."""
        return self.finding.plan_base

    @property
    def is_every_text_a_candidate(self) -> bool:
        """Whether there are no candidates that are harder to tell apart."""
        return self.run.manifest["plans"][self.finding.plan]["strategy"] is None

    @property
    def scale(self) -> Scale:
        """How a success rate becomes epsilon here."""
        return Scale(self.finding.bound.candidates, self.finding.bound.delta)

    @property
    def any_time(self) -> bool:
        """Whether the number of trials was not fixed beforehand."""
        return self.finding.bound.any_time

    @property
    def claim(self) -> str | None:
        """What is promised, in words; None if nothing is."""
        return None if self.finding.claim is None else str(self.finding.claim)


@dataclass(frozen=True, slots=True)
class LineUp:
    """Findings that differ in one thing only, at one epsilon."""

    plan: str
    epsilon: Nominal
    within: str  # what they share beside the mechanism: the attack, or the run
    sides: tuple[Side, ...]


def open_runs(runs: Sequence[RunDirectory]) -> list[OpenedRun]:
    """Return the runs, or say why they cannot be compared."""
    results = [read_result(run) for run in runs]
    places = [run.root.resolve() for run in runs]
    for run, place in zip(runs, places, strict=True):
        if places.count(place) > 1:
            raise SpecError(f"'{run.root}' is named twice; a run does not differ from itself.")
    names = [result.name for result in results]
    titles = [
        name if names.count(name) == 1 else str(run.root) for name, run in zip(names, runs, strict=True)
    ]
    opened = [OpenedRun(i, *parts) for i, parts in enumerate(zip(titles, runs, results, strict=True))]
    for run, result in zip(runs, results, strict=True):
        if not result.findings:
            raise SpecError(
                f"'{run.root}' has nothing to compare: no block of guesses is complete. "
                f"{result.unfinished or 'Run its command again to go on with it'}."
            )
    return opened


def difference_of_plans(first: Side, second: Side) -> str:
    """Return how the plans of two findings differ, or an empty string if they had the same trials."""
    texts = [side.run.corpus for side in (first, second)]
    if texts[0]["fingerprint"] != texts[1]["fingerprint"]:
        names = [f"{side.run.name}: {side.run.texts}" for side in (first, second)]
        return f"the texts differ ({'; '.join(names)})"
    infos = [side.run.manifest["plans"][side.finding.plan] for side in (first, second)]
    if infos[0]["key"] != infos[1]["key"]:
        changes = difference(infos[0].get("determinants", {}), infos[1].get("determinants", {}))
        return f"the plans differ ({changes})" if changes else "the plans differ"
    plans = [side.run.plan(side.finding.plan) for side in (first, second)]
    rows = min(map(len, plans))
    same = all(
        np.array_equal(getattr(plans[0].rows(0, rows), part), getattr(plans[1].rows(0, rows), part))
        for part in ("secret", "candidates", "replicate")
        if plans[0].candidates is not None or part != "candidates"
    )
    return "" if same else "the plans have one key but hold other trials"


def line_ups(opened: Sequence[OpenedRun], axis: Axis) -> list[LineUp]:
    """Return what can be put side by side along an axis, or say that nothing can."""
    if axis == "run" and len(opened) < 2:
        raise SpecError("--by run needs two runs or more; with one, use --by attack or --by mechanism.")
    groups: dict[tuple[str, str, str, str], list[Side]] = {}
    lone = _lone_plans(opened)
    for side in list_sides(opened, axis):
        plan = lone or side.plan
        within = side.run.name if axis == "attack" else side.finding.attack
        label = "" if axis == "mechanism" else side.finding.label
        texts = "" if axis == "run" else side.run.corpus["fingerprint"]  # only runs are compared across them
        groups.setdefault((plan, within, label, texts), []).append(side)
    lined_up = [
        group
        for (plan, within, _, _), sides in groups.items()
        for group in _split_by_epsilon(plan, within, sides)
        if len({side.member for side in group.sides}) > 1
    ]
    if not lined_up:
        raise SpecError(_explain_nothing(opened, axis))
    return lined_up


def list_sides(opened: Sequence[OpenedRun], axis: Axis) -> Iterator[Side]:
    """Yield the findings that can be compared, each with its name on the axis."""
    labels = [label for run in opened for label in {finding.label for finding in run.result}]
    for run in opened:
        for finding in run.result:
            if not finding.one_guess_per_trial:
                continue  # a trial is neither right nor wrong as a whole; the notes say so
            member = {"run": run.name, "attack": finding.attack, "mechanism": finding.label}[axis]
            if axis == "mechanism" and labels.count(finding.label) > 1:
                member = f"{finding.label} ({run.name})"
            yield Side(run, finding, member)


def _lone_plans(opened: Sequence[OpenedRun]) -> str:
    """Return a common name if every run has one plan only, but not the same: they are compared anyway."""
    plans = [{f.plan_base for f in run.result if f.one_guess_per_trial} for run in opened]
    names = sorted(set().union(*plans))
    return " / ".join(names) if len(names) > 1 and all(len(own) == 1 for own in plans) else ""


def _split_by_epsilon(plan: str, within: str, sides: Sequence[Side]) -> Iterator[LineUp]:
    """Yield a line-up per epsilon; a mechanism that takes none stands in every one."""
    for epsilon in distinct_epsilons(side.finding.epsilon for side in sides):
        members = tuple(side for side in sides if side.finding.epsilon.covers(epsilon))
        yield LineUp(plan=plan, epsilon=epsilon, within=within, sides=members)


def put_first(group: LineUp, member: str) -> LineUp:
    """Return the line-up with this member first."""
    return replace(group, sides=tuple(sorted(group.sides, key=lambda side: side.member != member)))


def _explain_nothing(opened: Sequence[OpenedRun], axis: Axis) -> str:
    has = "; ".join(
        f"'{run.store.root}' has the mechanisms {join_names({f.label for f in run.result})}, the attacks "
        f"{join_names({f.attack for f in run.result})} and the plans "
        f"{join_names({f.plan for f in run.result})}"
        for run in opened
    )
    ways = {
        "run": "Runs are compared if mechanism, epsilon, attack and plan are the same: use --by mechanism "
        "to put different mechanisms side by side.",
        "attack": "Name a second run, add an attack to this one, or use --by mechanism.",
        "mechanism": "Name a run of another mechanism, or use --by attack.",
    }
    if len({run.corpus["fingerprint"] for run in opened}) > 1:
        texts = "; ".join(f"{run.name}: {run.texts}" for run in opened)
        ways["mechanism"] = ways["attack"] = (
            f"They audited different texts ({texts}): mechanisms and attacks are compared on one corpus only."
        )
        ways["run"] = (
            f"Runs on different texts ({texts}) are compared if mechanism, epsilon, attack and plan "
            "are the same."
        )
    return (
        f"There are no two {axis}s to put side by side: {has}. {ways[axis]} Plans whose trials "
        "have several guesses, as the baseline estimator's have, are not compared."
    )
