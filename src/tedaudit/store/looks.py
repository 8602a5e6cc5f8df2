"""Looks at a run: how often its results were judged, each time with other guesses behind them.

A verdict spends some of a run's error, so every state of the tables that is judged is a look, noted in
the manifest. Reading a run notes nothing: whoever reads a state that is not noted can print bounds that
hold at every look, but no verdicts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from tedaudit.store.directory import RunDirectory
from tedaudit.store.files import key_of
from tedaudit.store.guesses import GuessTable

_STUDY = "study "  # how the entry of a study begins


@dataclass(frozen=True, slots=True)
class Look:
    """A look at a run: its number, from 1, and whether the manifest has noted it."""

    number: Annotated[int, {"ge": 1}] = 1
    """How often results were judged, this time included."""
    noted: bool = True


def find_look(run: RunDirectory) -> Look:
    """Return which look the present state of a run is."""
    looks = earlier_looks(run)
    last = _find_last(looks)
    if last is not None and looks[last] == _describe_state(_complete_rows(run)):
        return Look(last + 1, noted=True)
    return Look(len(looks) + 1, noted=False)


def note_study(manifest: Mapping[str, Any], name: str) -> tuple[dict[str, Any], Look]:
    """Return a manifest in which a study of fresh trials is a look of its own, and that look.

    A study was picked by what was seen and its results are judged by themselves, with the error of the next
    look; one that is noted already keeps its number.
    """
    looks, entry = list(manifest["looks"]), _STUDY + name
    if entry not in looks:
        looks.append(entry)
    return {**manifest, "looks": looks}, Look(looks.index(entry) + 1, noted=True)


def noted_studies(run: RunDirectory) -> dict[str, Look]:
    """Return the studies that were looked at, by name, with the look that each is."""
    looks = earlier_looks(run)
    return {
        entry.removeprefix(_STUDY): Look(number, noted=True)
        for number, entry in enumerate(looks, 1)
        if entry.startswith(_STUDY)
    }


def earlier_looks(run: RunDirectory) -> list[str]:
    """Return the states that were looked at, in order.

    Earlier versions noted for each plan the numbers of rows that had been seen: as many looks.
    """
    manifest = run.manifest()
    if "looks" in manifest:
        return list(manifest["looks"])
    seen = {name: plan["looks"] for name, plan in manifest["plans"].items()}
    number, rows = max(map(len, seen.values()), default=0), _complete_rows(run)
    if number and all(count in seen.get(plan, ()) for (plan, *_), count in rows.items()):
        return [""] * (number - 1) + [_describe_state(rows)]
    return [""] * number


def note_look(run: RunDirectory, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest with the present state of the tables as its last look, and the rows of each plan."""
    rows, looks = _complete_rows(run), list(manifest["looks"])
    plans = {name: {**plan, "looks": list(plan["looks"])} for name, plan in manifest["plans"].items()}
    for (plan, *_), count in rows.items():
        if plan in plans and count not in plans[plan]["looks"]:
            plans[plan]["looks"] = sorted([*plans[plan]["looks"], count])
    state, last = _describe_state(rows), _find_last(looks)
    if last is None or looks[last] != state:
        looks.append(state)
    return {**manifest, "plans": plans, "looks": looks}


def _find_last(looks: Sequence[str]) -> int | None:
    """Return the place of the last look at the tables themselves."""
    return next((i for i in range(len(looks) - 1, -1, -1) if not looks[i].startswith(_STUDY)), None)


def _describe_state(rows: Mapping[tuple[str, ...], int]) -> str:
    return key_of({"/".join(table): count for table, count in rows.items()})[:16]


def _complete_rows(run: RunDirectory) -> dict[tuple[str, ...], int]:
    """Return the number of complete rows of every table of guesses that has any."""
    tables = {}
    for folder in run.guess_folders():
        rows = GuessTable(folder, folder.info().key).complete()
        if rows:
            tables[folder.path.parts[-4:]] = rows
    return tables
