"""What a run must hold and does not, in words: one answer for every command that reads it, and every gate.

The manifest notes each table when it is asked for (`tables`: how many rows), and each study of fresh trials.
Corpus and plans stand in it anyway, and files beside the tables in their own list. So a run that was stopped,
one that goes on, a copy of half of its folder and a table that was deleted are told alike.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tedaudit.errors import RunDirectoryError
from tedaudit.plugins.nominal import Nominal
from tedaudit.runs.directory import REPEATS, RunDirectory
from tedaudit.runs.files import count_rows
from tedaudit.runs.guesses import GuessTable
from tedaudit.runs.looks import STUDIES, Tables, noted_studies
from tedaudit.runs.rewrites import RewriteTable
from tedaudit.runs.table_folder import TableFolder
from tedaudit.trials.judge import number_rows

_MOST = 6  # things that a sentence names
Kind = Literal["guesses", "rewrites", "own_rewrites", "studies", "plan", "corpus", "file"]
_KINDS: dict[str, Kind] = {"guesses": "guesses", "rewrites": "rewrites", "own_rewrites": "own_rewrites"}


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that must be there and is not, or not all of it."""

    kind: Kind
    name: str = ""  # of a plan, a split, a study or a file
    label: str = ""
    epsilons: tuple[Nominal, ...] = ()
    attacks: tuple[str, ...] = ()
    there: int = 0
    asked: int = 0
    seen: int = 0  # rows that were there when the run was last judged

    def __str__(self) -> str:
        given = [epsilon.label for epsilon in self.epsilons if epsilon.is_given]
        at = self.label + (f" at epsilon {_join(given)}" if given else "")
        of = f" of {at}" if self.label else ""
        told = {
            "guesses": f"guesses of {_join(self.attacks)} on {at}, plan {self.name}",
            "rewrites": f"rewrites{of}",
            "own_rewrites": f"rewrites{of} for adversaries",
            "studies": f"fresh trials{of} (study {self.name})",
            "plan": f"plan {self.name}",
            "corpus": f"the corpus ({self.name})",
            "file": f"{self.name}, and with it what it told",
        }[self.kind]
        if self.asked:
            told += f": {f'{self.there:,}' if self.there else 'none'} of {self.asked:,}"
        return told + (f", where {self.seen:,} were" if self.seen > self.there else "")


def describe_missing(missing: Sequence[Missing]) -> str:
    """Return what is missing in a sentence, and what to do about it; nothing if nothing is."""
    if not missing:
        return ""
    named = "; ".join(map(str, missing[:_MOST]))
    if len(missing) > _MOST:
        named += f"; and more ({len(missing) - _MOST}), which `tedaudit report RUN --check` names"
    return (
        f"The run is not finished, or has lost something: {named}. Restore it, or run the same command "
        "again, which makes just what is missing"
    )


def find_missing(run: RunDirectory, *, thorough: bool = False) -> tuple[Missing, ...]:
    """Return what a run lacks, tables of one kind together; if `thorough`, each rewrite is looked for."""
    tables: Tables = run.manifest()["tables"]
    found = [*_find_basics(run, tables), *_find_tables(run, tables)]
    if thorough:
        counted = [one for one in found if one.kind == "rewrites"]
        found = [one for one in found if one not in counted] + _look_for_rewrites(run, tables, counted)
    found += _find_studies(run, tables)
    return (*_join_attacks(found), *(Missing("file", name) for name in run.files.list_gone()))


def note_asked(run: RunDirectory, asked: Mapping[str, int]) -> Tables:
    """Return the tables that a run must hold from now on, if so many rows of these are asked for.

    Of what earlier commands asked for, only tables that were never begun are given up.
    """
    known: Tables = run.manifest()["tables"] if run.exists() else {}
    kept = {
        name: told for name, told in known.items() if told["seen"] or TableFolder(run.root / name).has_parts()
    }
    none = {"asked": 0, "seen": 0}
    for name, rows in asked.items():
        told = kept.get(name, none)
        kept[name] = {**told, "asked": max(rows, told["asked"])}
    return kept


def _find_basics(run: RunDirectory, tables: Tables) -> Iterator[Missing]:
    """Yield what is gone of the corpus, and plans that are gone or shorter than what they were asked for."""
    manifest = run.manifest()
    files = {f"{split}.parquet": f"its split {split}" for split in manifest["corpus"]["splits"]}
    files |= {REPEATS: "which authors share texts"} if manifest["corpus"].get("has_repeats") else {}
    for name, told in files.items():
        if not (run.root / "corpus" / name).is_file():
            yield Missing("corpus", told)
    for plan in manifest["plans"]:
        asked = max((told["asked"] for name, told in tables.items() if _is_of(name, plan)), default=1)
        there = run.count_plan(plan)
        if there < asked:
            yield Missing("plan", plan, there=there, asked=asked)


def _is_of(name: str, plan: str) -> bool:
    return name.startswith(f"guesses/{plan}/")


def _find_tables(run: RunDirectory, tables: Tables) -> Iterator[Missing]:
    """Yield the tables that have fewer rows than were asked for; what is damaged is told by who reads it."""
    for name, told in tables.items():
        folder, (kind, *place) = TableFolder(run.root / name, run.root), name.split("/")
        if kind == STUDIES:
            continue
        is_guesses = kind == "guesses"
        plan, label, epsilon, attack = place if is_guesses else ("", *place, "")
        try:
            there = _count_there(folder, is_guesses=is_guesses)
        except RunDirectoryError:
            continue
        if there < told["asked"]:
            attacks = (attack,) if is_guesses else ()
            output = label, (Nominal.of(epsilon),)
            yield Missing(_KINDS[kind], plan, *output, attacks, there, told["asked"], told["seen"])


def _count_there(folder: TableFolder, *, is_guesses: bool) -> int:
    if not folder.exists():
        return 0
    if is_guesses:
        return GuessTable(folder, folder.info().key).complete()
    return sum(map(count_rows, folder.path.glob("part-*")))


def _look_for_rewrites(run: RunDirectory, tables: Tables, counted: Sequence[Missing]) -> list[Missing]:
    """Return the rewrites that rows of plans need and do not find, and tables that are gone."""
    wanted: dict[tuple[str, str], list[NDArray[np.int64]]] = {}
    for name, told in tables.items():
        kind, *place = name.split("/")
        about = run.manifest()["plans"].get(place[0], {"of": ""}) if kind == "guesses" else {"of": ""}
        plan = None if "of" in about else run.plan(place[0], about["key"])  # of single rewrites
        if plan is not None:
            rows = plan.rows(0, min(told["asked"], len(plan)))
            wanted.setdefault((place[1], place[2]), []).append(number_rows(rows.source, rows.replicate))
    gone = {(one.label, one.epsilons[0].name): one for one in counted}
    found = []
    for (label, epsilon), numbers in wanted.items():
        distinct, folder = np.unique(np.concatenate(numbers)), run.rewrites_folder(label, Nominal.of(epsilon))
        lacking = len(distinct)
        if folder.exists():
            table = RewriteTable(folder, folder.info().key)
            lacking = int(table.missing(distinct >> 32, distinct & 0xFFFFFFFF).sum())
        known = gone.pop(
            (label, epsilon), Missing(kind="rewrites", name="", label=label, epsilons=(Nominal.of(epsilon),))
        )
        if lacking:
            found.append(replace(known, there=len(distinct) - lacking, asked=len(distinct)))
    return [*found, *gone.values()]


def _find_studies(run: RunDirectory, tables: Tables) -> Iterator[Missing]:
    """Yield the studies of fresh trials that are not all there."""
    noted = {tuple(name.split("/")[1:]) for name in tables if name.startswith(f"{STUDIES}/")}
    named = {name for name, *_ in noted}
    noted |= {(name,) for name in noted_studies(run) if name not in named and not run.studies(name)}
    for name, *place in sorted(noted):
        study = RunDirectory(run.root / STUDIES / "/".join((name, *place)))
        if not study.manifest_path.is_file() or find_missing(study):
            label, epsilon = place or ("", "")
            yield Missing(
                kind=STUDIES, name=name, label=label, epsilons=(Nominal.of(epsilon),) if label else ()
            )


def _join_attacks(found: Iterable[Missing]) -> Iterator[Missing]:
    """Yield the same with attacks and epsilons together, as far as nothing else differs."""
    attacks: dict[Missing, list[str]] = {}
    for one in found:
        attacks.setdefault(replace(one, attacks=()), []).extend(one.attacks)
    epsilons: dict[Missing, list[Nominal]] = {}
    for one, named in attacks.items():
        epsilons.setdefault(replace(one, attacks=tuple(named), epsilons=()), []).extend(one.epsilons)
    for one, given in epsilons.items():
        yield replace(one, epsilons=tuple(sorted(given)))


def _join(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
