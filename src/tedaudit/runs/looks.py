"""Looks at a run: how often its results were judged, each time with other guesses behind them.

A verdict spends some of a run's error, so every state of the tables that is judged is a look, noted in
the manifest. Reading a run notes nothing: whoever reads a state that is not noted can print bounds that
hold at every look, but no verdicts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.files import key_of
from tedaudit.runs.guesses import GuessTable

_STUDY = "study "  # how the entry of a study begins
STUDIES: Final = "studies"
"""The folder of the runs of fresh trials, and how their entries in `tables` begin."""
Tables = dict[str, dict[str, int]]  # what must be there, by folder: rows asked for, and rows that were judged


@dataclass(frozen=True, slots=True)
class Look:
    """A look at a run: its number, from 1, and whether the manifest has noted it."""

    number: Annotated[int, {"ge": 1}] = 1
    """How often results were judged, this time included."""
    noted: bool = True
    lost: bool = False
    """Whether guesses that were judged are gone: what is left was not chosen beforehand."""


def find_look(run: RunDirectory) -> Look:
    """Return which look the present state of a run is."""
    looks, rows = earlier_looks(run), _complete_rows(run)
    last = _find_last(looks)
    if _has_lost(run, rows):
        return Look(len(looks) + 1, noted=False, lost=True)
    if last is not None and looks[last] == _describe_state(rows, run.manifest().get("remade", {})):
        return Look(last + 1, noted=True)
    return Look(len(looks) + 1, noted=False)


def _has_lost(run: RunDirectory, rows: Mapping[tuple[str, ...], int]) -> bool:
    """Return whether guesses that were judged are gone, or a plan without which they say nothing."""
    planned = {name: run.count_plan(name) for name in run.manifest()["plans"]}
    for name, told in run.manifest()["tables"].items():
        kind, *place = name.split("/")
        if kind == "guesses" and min(rows.get(tuple(place), 0), planned.get(place[0], 0)) < told["seen"]:
            return True
    return False


def note_study(run: RunDirectory, name: str) -> tuple[dict[str, Any], Look]:
    """Return a manifest in which a study of fresh trials is a look of its own, and that look.

    A study was picked by what was seen and its results are judged by themselves, with the error of the next
    look; one that is noted already keeps its number.
    """
    manifest = run.manifest()
    looks, entry = list(manifest["looks"]), _STUDY + name
    if entry not in looks:
        looks.append(entry)
    made = ["/".join(study.root.parts[-4:]) for study in run.studies(name)]
    return {**note_made(manifest, *made), "looks": looks}, Look(looks.index(entry) + 1, noted=True)


def note_made(manifest: Mapping[str, Any], *studies: str) -> dict[str, Any]:
    """Return a manifest that says which runs of fresh trials must be there from now on, by folder."""
    return {**manifest, "tables": manifest["tables"] | {name: {"asked": 1, "seen": 1} for name in studies}}


def noted_studies(run: RunDirectory) -> dict[str, Look]:
    """Return the studies that were looked at, by name, with the look that each is."""
    looks = earlier_looks(run)
    return {
        entry.removeprefix(_STUDY): Look(number, noted=True)
        for number, entry in enumerate(looks, 1)
        if entry.startswith(_STUDY)
    }


def earlier_looks(run: RunDirectory) -> list[str]:
    """Return the states that were looked at, in order."""
    return list(run.manifest()["looks"])


def note_look(run: RunDirectory, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest with the present state of the tables as its last look, and the rows of each plan.

    If guesses that were judged are gone, it is as it was.
    """
    rows, looks = _complete_rows(run), list(manifest["looks"])
    if _has_lost(run, rows):
        return dict(manifest)
    plans = {name: {**plan, "looks": list(plan["looks"])} for name, plan in manifest["plans"].items()}
    for (plan, *_), count in rows.items():
        if plan in plans and count not in plans[plan]["looks"]:
            plans[plan]["looks"] = sorted([*plans[plan]["looks"], count])
    state, last = _describe_state(rows, manifest.get("remade", {})), _find_last(looks)
    if last is None or looks[last] != state:
        looks.append(state)
    judged = {"/".join(("guesses", *table)): count for table, count in rows.items()}
    behind = {"/".join(place[1:3]) for place in rows}
    tables = {
        name: {
            **told,
            "seen": told["asked"] if _get_output(name) in behind else judged.get(name, told["seen"]),
        }
        for name, told in manifest["tables"].items()
    }
    return {**manifest, "plans": plans, "looks": looks, "tables": tables}


def _get_output(name: str) -> str:
    """Return mechanism and epsilon of a table of rewrites; nothing for other tables."""
    kind, _, output = name.partition("/")
    return output if kind in ("rewrites", "own_rewrites") else ""


def _find_last(looks: Sequence[str]) -> int | None:
    """Return the place of the last look at the tables themselves."""
    return next((i for i in range(len(looks) - 1, -1, -1) if not looks[i].startswith(_STUDY)), None)


def _describe_state(rows: Mapping[tuple[str, ...], int], remade: Mapping[str, int]) -> str:
    told: dict[str, Any] = {"/".join(table): count for table, count in rows.items()}
    return key_of(told | ({"remade": remade} if remade else {}))[:16]


def _complete_rows(run: RunDirectory) -> dict[tuple[str, ...], int]:
    """Return the number of complete rows of every table of guesses that has any."""
    tables = {}
    for folder in run.guess_folders():
        rows = GuessTable(folder, folder.info().key).complete()
        if rows:
            tables[folder.path.parts[-4:]] = rows
    return tables
