"""Prints docs/results/selftest.md: what was planted, who found it, and what was said where nothing is.

PYTHONPATH=src:tests python -m planted.write > docs/results/selftest.md
"""

import argparse
import os
import sys
from dataclasses import replace

from planted.flaw import Flaw
from planted.flaws import BY_NAME
from planted.trying import FULL, Tried, allow, try_all
from planted.work import JudgedFlaw
from tedaudit.reports.writers.markdown import write_section
from tedaudit.results.section import Column, Section, Table
from tedaudit.testing.known import ERROR

_ACCUSED = tuple(map(Column, ("rewriter", "texts", "largest bound", "accused by", "leaks")))
_KNOWN = (
    Column("mechanism"), Column("truth", "figures"), Column("runs", "count"), Column("trials", "count"),
    Column("mean estimate", "figures"), Column("mean bound", "figures"),
    Column("bounds above it (allowed)", "figures"),
)  # fmt: skip
_MISSING = tuple(map(Column, ("flaw", "trials that it needs", "what finds it")))


def write_page(tried: Tried, command: str) -> str:
    """Return the page in Markdown, with the command that made it."""
    head = ["# The tool's own test", f"`{command}`", _sum_up(tried)]
    return "\n\n".join([*head, *(write_section(section).rstrip() for section in tell(tried))]) + "\n"


def _sum_up(tried: Tried) -> str:
    failures = tried.failures
    outcome = "**Passed.**" if not failures else f"**Failed:** {'; '.join(failures)}."
    blind = [flaw.name for flaw, judged in tried.flaws if flaw.needs is None and not judged.finders]
    gap = f" Known not to be found by any part, and not counted: {', '.join(blind)}." if blind else ""
    return outcome + gap


def tell(tried: Tried) -> tuple[Section, ...]:
    """Return what was said where nothing is, where the truth is known, and of planted flaws."""
    missing = [flaw for flaw, judged in tried.flaws if not judged.finders]
    parts = (
        (tried.nulls, _tell_nulls(tried)), (tried.known, _tell_known(tried)),
        (tried.flaws, _tell_flaws(tried)), (missing, _tell_missing(missing)),
    )  # fmt: skip
    return tuple(section for tried_on, section in parts if tried_on)


def _tell_nulls(tried: Tried) -> Section:
    alarms, runs, effort = tried.false_alarms, len(tried.nulls), tried.size.null_effort
    scripts = ", ".join(sorted({judged.texts for judged in tried.nulls}))
    names = ", ".join(sorted({judged.name for judged in tried.nulls}))
    said = (
        f"{runs:,} audits of rewriters that reveal nothing ({names}), with a claim of 0, {effort.trials:,} "
        f"trials each, all default attacks, and the battery ({effort.battery} trials), each at an error of "
        f"{ERROR:g}; texts: {scripts}. Alarms (violated, a finding, or a largest bound above 0): "
        f"{len(alarms)}, allowed {allow(runs, 2 * ERROR)}."
    )
    rows = tuple(
        (a.name, a.texts, f"{a.largest:.3f}", ", ".join(a.finders), ", ".join(a.leaks)) for a in alarms
    )
    return Section("Where there is nothing to find", Table(_ACCUSED, rows) if rows else Table(), said)


def _tell_known(tried: Tried) -> Section:
    rows = []
    for (name, truth), runs in tried.group_known().items():
        mean = sum(run.estimate for run in runs) / len(runs)
        bound = sum(run.bound for run in runs) / len(runs)
        above = sum(run.bound > truth for run in runs)
        rows.append((name, f"{truth:g}", len(runs), runs[0].trials, f"{mean:.3f}", f"{bound:.3f}",
                     f"{above} ({allow(len(runs), ERROR)})"))  # fmt: skip
    note = "The truth is epsilon for randomised response, and mu, read under GDP, for Gaussian noise."
    return Section("Where the truth is known", Table(_KNOWN, tuple(rows)), note)


def _tell_flaws(tried: Tried) -> Section:
    found = sum(bool(judged.finders) for _, judged in tried.flaws)
    said = (
        f"{found} of {len(tried.flaws)} were found by an attack or the battery, with "
        f"{tried.size.flaw_effort.trials:,} trials of each attack on demo texts, and a battery of "
        f"{tried.size.flaw_effort.battery} trials. Of {len(tried.twins)} repaired "
        f"twins {len(tried.twin_alarms)} were accused. A number is the bound of an attack that refuted "
        "the claim, marked + if its surest guesses did; the column leaks has what the battery named, and "
        "the column lint the rules that gave a warning or an error for the source, without a sample. "
        "Numbers in the first column belong to flaws in public releases."
    )
    attacks = list(dict.fromkeys(seen.attack for _, judged in tried.flaws for seen in judged.attacks))
    headings = ("", "flaw", "kind", "claim", *attacks, "leaks", "lint", "what is wrong")
    rows = tuple(_format(flaw, judged, attacks) for flaw, judged in tried.flaws)
    return Section("Planted flaws", Table(tuple(map(Column, headings)), rows), said)


def _format(flaw: Flaw, judged: JudgedFlaw, attacks: list[str]) -> tuple[str, ...]:
    seen = {
        one.attack: f"{one.bound:.2f}{'+' if one.by_certain else ''}" for one in judged.attacks if one.found
    }
    more = f" and {len(judged.leaks) - 3} more" if len(judged.leaks) > 3 else ""
    return (
        flaw.number, flaw.name, flaw.kind, f"{flaw.claim.total:g}", *(seen.get(one, "") for one in attacks),
        ", ".join(judged.leaks[:3]) + more, ", ".join(judged.lint), flaw.wrong,
    )  # fmt: skip


def _tell_missing(missing: list[Flaw]) -> Section:
    rows = tuple(
        (f.name, "no number" if f.needs is None else f"{f.needs:,}", f.why or "should be found")
        for f in missing
    )
    return Section("Not found in these trials", Table(_MISSING, rows))


def main() -> None:
    """Try everything, or only some flaws, and print the page; end with 1 if the tool is wrong."""
    parser = argparse.ArgumentParser("python -m planted.write", description=main.__doc__)
    parser.add_argument(
        "--flaw", action="append", choices=BY_NAME, metavar="NAME", help="only this one and its twin; repeat"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="one for each core")
    given = parser.parse_args()
    size = replace(FULL, nulls=0, known=0, flaws=tuple(given.flaw)) if given.flaw else FULL
    tried = try_all(size, _tell_progress, given.processes)
    words = ["PYTHONPATH=src:tests python -m planted.write", *(f"--flaw {name}" for name in given.flaw or ())]
    sys.stdout.write(write_page(tried, " ".join(words)))
    sys.exit(bool(tried.failures))


def _tell_progress(part: str, done: int, total: int) -> None:
    sys.stderr.write(f"\r{done} of {total}: {part}    ")


if __name__ == "__main__":
    main()
