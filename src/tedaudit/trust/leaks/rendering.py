"""The battery's report in words: lines for a terminal of 80 columns, and a section in Markdown."""

import textwrap
from collections.abc import Callable, Sequence

from tedaudit.errors import escape_control, shorten
from tedaudit.trust.leaks.outcomes import LeakReport, Outcome

Clean = Callable[[str], str]
_WIDTH = 78
_LONGEST = 150  # characters of a text that are shown


def describe_leaks(report: LeakReport, *, redact: bool = False, clean: Clean = escape_control) -> list[str]:
    """Return the report as lines of at most 80 characters; `redact` leaves out texts and pieces of them."""
    lines = _wrap(_summarise(report))
    for number, finding in enumerate(report.findings, 1):
        lines += ["", *_wrap(f"{number}. {_headline(finding)}")]
        for detail in _list_details(finding, redact=redact):
            lines += _wrap(clean(detail), "   ")
    if report.not_run:
        lines += ["", "Not run:"]
        for part in report.not_run:
            lines += _wrap(clean(f"{part.part}: {part.reason}."), "   ")
    far = sum(not outcome.is_in_reach for outcome in report.outcomes)
    if far:
        lines += ["", *_wrap(_explain_reach(report, far))]
    return [*lines, "", *_wrap(_explain(report))]


def write_markdown(report: LeakReport, *, redact: bool = False) -> str:
    """Return the report as a section in Markdown: a table of findings and what would fix each."""
    lines = ["## Leaks", "", _summarise(report), ""]
    if report.findings:
        lines += [
            "| leak | part | pairs that follow | adjusted p | what would fix it |",
            "|---|---|---|---|---|",
        ]
        lines += [
            f"| {f.culprit}{_at(f)} | {f.part}: {f.name} | {format_strength(f)} | {f.adjusted:.2g} "
            f"| {f.fix} |"
            for f in report.findings
        ]
        lines.append("")
    for finding in () if redact else report.findings:
        if finding.example:
            lines += [f"- {finding.name}: {_cell(side)}" for side in list_examples(finding)]
    lines += [f"- not run: {part.part}: {part.reason}" for part in report.not_run]
    return "\n".join([*lines, "", _explain(report), ""])


def _summarise(report: LeakReport) -> str:
    found = len(report.findings)
    where = ", ".join(
        f"{epsilon.phrase or 'as it is'} (claim: {claim})"
        for epsilon, claim in zip(report.epsilons, report.claims, strict=True)
    )
    failed = f", {report.failed:,} of which failed" if report.failed else ""
    count = (
        "No leak was found"
        if not found
        else "1 leak was found"
        if found == 1
        else f"{found} leaks were found"
    )
    return (
        f"{report.mechanism}, {where}: {count} by {len(report.outcomes)} tests on {report.calls:,} "
        f"rewrites{failed} of {report.texts:,} texts and their twins. Error of all tests: {report.error:g}."
    )


def _headline(finding: Outcome) -> str:
    return f"{finding.culprit[0].upper()}{finding.culprit[1:]}{_at(finding)}."


def _at(finding: Outcome) -> str:
    return f" ({finding.epsilon.phrase})" if finding.epsilon.is_given else ""


def format_strength(finding: Outcome) -> str:
    """Return how many pairs follow their source, with the interval of that share."""
    low, high = finding.signs.interval
    return f"{finding.signs.followed} of {finding.signs.pairs} ({low:.0%} to {high:.0%})"


def _list_details(finding: Outcome, *, redact: bool) -> list[str]:
    signs = finding.signs
    evidence = (
        f"{finding.part}, {finding.name}: in {format_strength(finding)} pairs {finding.counted}; in "
        f"{signs.against} the reverse, in {signs.same} neither. Adjusted p {finding.adjusted:.2g}."
    )
    details = [evidence]
    if signs.clearest < signs.followed + signs.against:
        details.append(f"Of the {signs.clearest} clearest pairs {signs.right} follow their source.")
    if finding.figures:
        own, other = finding.figures["own"], finding.figures["other"]
        details.append(f"Share found in a rewrite of its own text {own:.1%}, of the other text {other:.1%}.")
    if finding.clue[0]:
        value = "" if redact or not finding.clue[1] else f" ({shorten(finding.clue[1], 40)!r})"
        details.append(f"Most telling: {finding.clue[0]}{value}.")
    if not redact:
        details += list_examples(finding)
    return [*details, f"Fix: {finding.fix}."]


def list_examples(finding: Outcome) -> list[str]:
    """Return the two texts of the smallest example, each with what became of it; nothing if there is none."""
    if finding.example is None:
        return []
    pairs = zip(finding.example.texts, finding.example.outputs, strict=True)
    verb = "after" if finding.part == "state" else "from"
    return [f"{verb} {shorten(text, _LONGEST)!r}: {shorten(output, _LONGEST)!r}" for text, output in pairs]


def _explain_reach(report: LeakReport, far: int) -> str:
    return (
        f"{far} of {len(report.outcomes)} tests are out of reach: what the claim allows would explain any "
        "number of pairs that follow, or there are too few pairs. More trials, or zero budget, test more."
    )


def _explain(report: LeakReport) -> str:
    least = min((outcome.signs.p_value for outcome in report.outcomes), default=1.0)
    silent = "" if report.findings else f" The smallest p-value was {least:.2g}, before adjustment."
    return (
        "Every test compares outputs of different texts; a leak is a difference that chance does not "
        "explain at that error. A battery that finds nothing proves nothing: it looks for these leaks, on "
        "these texts." + silent
    )


def _cell(text: str) -> str:
    return escape_control(text).replace("|", "\\|").replace("<", "&lt;").replace("`", "'")


def _wrap(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=True
    ) or [""]


def list_headings(findings: Sequence[Outcome]) -> list[str]:
    """Return one plain sentence per finding."""
    return [_headline(finding) for finding in findings]
