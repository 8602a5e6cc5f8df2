"""Tells the tool's own test: what was planted, who found it, and what was said where nothing is."""

from tedaudit.reports.section import Column, Section, Table
from tedaudit.reports.writers.markdown import write_section
from tedaudit.trust.planted.flaw import Flaw
from tedaudit.trust.selftest.selftest import SelfTest, allow
from tedaudit.trust.selftest.work import ERROR, JudgedFlaw

_ACCUSED = tuple(map(Column, ("rewriter", "texts", "largest bound", "accused by", "leaks")))
_KNOWN = (
    Column("mechanism"), Column("truth", "figures"), Column("runs", "count"), Column("trials", "count"),
    Column("mean estimate", "figures"), Column("mean bound", "figures"),
    Column("bounds above it (allowed)", "figures"),
)  # fmt: skip
_MISSING = tuple(map(Column, ("flaw", "trials that it needs", "what finds it")))


def write_page(test: SelfTest, command: str) -> str:
    """Return the page in Markdown, with the command that made it."""
    head = ["# The tool's own test", f"`{command}`", _sum_up(test)]
    return "\n\n".join([*head, *(write_section(section).rstrip() for section in tell(test))]) + "\n"


def _sum_up(test: SelfTest) -> str:
    failures = test.failures
    outcome = "**Passed.**" if not failures else f"**Failed:** {'; '.join(failures)}."
    blind = [flaw.name for flaw, judged in test.flaws if flaw.needs is None and not judged.finders]
    gap = f" Known not to be found by any part, and not counted: {', '.join(blind)}." if blind else ""
    part = (
        "" if test.size.is_full else " A quick test: fewer trials, audits and flaws than `tedaudit selftest`."
    )
    return outcome + gap + part


def tell(test: SelfTest) -> tuple[Section, ...]:
    """Return what was said where nothing is, where the truth is known, and of planted flaws."""
    missing = [flaw for flaw, judged in test.flaws if not judged.finders]
    parts = _tell_nulls(test), _tell_known(test), _tell_flaws(test)
    return parts if not missing else (*parts, _tell_missing(missing))


def _tell_nulls(test: SelfTest) -> Section:
    alarms, runs, effort = test.false_alarms, len(test.nulls), test.size.null_effort
    scripts = ", ".join(sorted({judged.texts for judged in test.nulls}))
    names = ", ".join(sorted({judged.name for judged in test.nulls}))
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


def _tell_known(test: SelfTest) -> Section:
    rows = []
    for (name, truth), runs in test.group_known().items():
        mean = sum(run.point for run in runs) / len(runs)
        bound = sum(run.lower for run in runs) / len(runs)
        above = sum(run.lower > truth for run in runs)
        rows.append((name, f"{truth:g}", len(runs), runs[0].trials, f"{mean:.3f}", f"{bound:.3f}",
                     f"{above} ({allow(len(runs), ERROR)})"))  # fmt: skip
    note = "The truth is epsilon for randomised response, and mu, read under GDP, for the Gaussian latent."
    return Section("Where the truth is known", Table(_KNOWN, tuple(rows)), note)


def _tell_flaws(test: SelfTest) -> Section:
    found = sum(bool(judged.finders) for _, judged in test.flaws)
    twins = (
        f" Of {len(test.twins)} repaired twins {len(test.twin_alarms)} were accused." if test.twins else ""
    )
    said = (
        f"{found} of {len(test.flaws)} were found by an attack or the battery, with "
        f"{test.size.flaw_effort.trials:,} trials of each attack on demo texts, and a battery of "
        f"{test.size.flaw_effort.battery} trials.{twins} A number is the bound of an attack that refuted "
        "the claim, marked + if its surest guesses did; the column leaks has what the battery named, and "
        "the column lint the rules that gave a warning or an error for the source, without a sample. "
        "Numbers in the first column belong to flaws in public releases."
    )
    attacks = list(dict.fromkeys(seen.attack for _, judged in test.flaws for seen in judged.attacks))
    headings = ("", "flaw", "kind", "claim", *attacks, "leaks", "lint", "what is wrong")
    rows = tuple(_format(flaw, judged, attacks) for flaw, judged in test.flaws)
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
