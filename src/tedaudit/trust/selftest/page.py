"""The tool's own test as a page: what was planted, who found it, and what was said where nothing is."""

from collections.abc import Iterator

from tedaudit.reports.writers.markdown import markdown_table
from tedaudit.trust.planted.flaw import Flaw
from tedaudit.trust.selftest.selftest import SelfTest, allow
from tedaudit.trust.selftest.work import ERROR, JudgedFlaw


def write_page(test: SelfTest, command: str) -> str:
    """Return the page in Markdown, with the command that made it."""
    parts = [
        "# The tool's own test", f"`{command}`", _sum_up(test),
        "## Where nothing is", _describe_nulls(test),
        "## Where the truth is known", _describe_known(test),
        "## Planted flaws", _describe_flaws(test), _list_flaws(test),
        *_describe_missing(test),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _sum_up(test: SelfTest) -> str:
    failures = test.failures
    outcome = "**Passed.**" if not failures else f"**Failed:** {'; '.join(failures)}."
    blind = [flaw.name for flaw, judged in test.flaws if flaw.needs is None and not judged.finders]
    gap = f" Known to be found by no part, and not counted: {', '.join(blind)}." if blind else ""
    part = (
        "" if test.size.is_full else " A quick test: fewer trials, audits and flaws than `tedaudit selftest`."
    )
    return outcome + gap + part


def _describe_nulls(test: SelfTest) -> str:
    alarms, runs, effort = test.false_alarms, len(test.nulls), test.size.null_effort
    scripts = ", ".join(sorted({judged.texts for judged in test.nulls}))
    names = ", ".join(sorted({judged.name for judged in test.nulls}))
    said = (
        f"{runs:,} audits of rewriters that reveal nothing ({names}), with a claim of 0, {effort.trials:,} "
        f"trials each, all default attacks, and the battery ({effort.battery} trials), each at an error of "
        f"{ERROR:g}; texts: {scripts}. Anything said (violated, a finding, or a largest bound above 0): "
        f"**{len(alarms)}**, allowed {allow(runs, 2 * ERROR)}."
    )
    rows = [[a.name, a.texts, f"{a.largest:.3f}", ", ".join(a.finders), ", ".join(a.leaks)] for a in alarms]
    table = markdown_table(["rewriter", "texts", "largest bound", "accused by", "leaks"], rows)
    return "\n\n".join([said, *([table] if rows else [])])


def _describe_known(test: SelfTest) -> str:
    rows = []
    for (name, truth), runs in test.group_known().items():
        mean = sum(run.point for run in runs) / len(runs)
        bound = sum(run.lower for run in runs) / len(runs)
        above = sum(run.lower > truth for run in runs)
        rows.append([name, f"{truth:g}", str(len(runs)), f"{runs[0].trials:,}", f"{mean:.3f}", f"{bound:.3f}",
                     f"{above} ({allow(len(runs), ERROR)})"])  # fmt: skip
    headings = [
        "mechanism",
        "truth",
        "runs",
        "trials",
        "mean estimate",
        "mean bound",
        "bounds above it (allowed)",
    ]
    note = "The truth is epsilon for randomised response, and mu, read under GDP, for the Gaussian latent."
    return f"{note}\n\n{markdown_table(headings, rows, right=headings[1:])}"


def _describe_flaws(test: SelfTest) -> str:
    found = sum(bool(judged.finders) for _, judged in test.flaws)
    twins = (
        f" Of {len(test.twins)} repaired twins {len(test.twin_alarms)} were accused." if test.twins else ""
    )
    return (
        f"{found} of {len(test.flaws)} were found by an attack or the battery, with "
        f"{test.size.flaw_effort.trials:,} trials of each attack on demo texts, and a battery of "
        f"{test.size.flaw_effort.battery} trials.{twins} A number is the bound of an attack that refuted the "
        "claim, marked + if its most certain guesses did; under leaks stands what the battery named, under "
        "lint which rules had a warning or an error about the source, without a sample. Numbers in the first "
        "column are those of flaws in public releases."
    )


def _list_flaws(test: SelfTest) -> str:
    attacks = list(dict.fromkeys(seen.attack for _, judged in test.flaws for seen in judged.attacks))
    rows = [list(_cells(flaw, judged, attacks)) for flaw, judged in test.flaws]
    return markdown_table(["", "flaw", "kind", "claim", *attacks, "leaks", "lint", "what is wrong"], rows)


def _cells(flaw: Flaw, judged: JudgedFlaw, attacks: list[str]) -> Iterator[str]:
    seen = {seen.attack: seen for seen in judged.attacks}
    yield from (flaw.number, flaw.name, flaw.kind, f"{flaw.claim.total:g}")
    for attack in attacks:
        one = seen.get(attack)
        yield "" if one is None or not one.found else f"{one.bound:.2f}{'+' if one.by_certain else ''}"
    shown = ", ".join(judged.leaks[:3])
    yield shown + (f" and {len(judged.leaks) - 3} more" if len(judged.leaks) > 3 else "")
    yield ", ".join(judged.lint)
    yield flaw.wrong


def _describe_missing(test: SelfTest) -> Iterator[str]:
    missing = [flaw for flaw, judged in test.flaws if not judged.finders]
    if not missing:
        return
    yield "## Not found in these trials"
    rows = [
        [f.name, "no number" if f.needs is None else f"{f.needs:,}", f.why or "should be found"]
        for f in missing
    ]
    yield markdown_table(["flaw", "trials that it needs", "what finds it"], rows)
