"""The battery's report in words: lines for a terminal of 80 columns, and a section in Markdown."""

import textwrap
from collections.abc import Callable

from tedaudit.errors import escape_control, shorten
from tedaudit.trust.leaks.outcomes import Cause, LeakReport, LeakTest

Clean = Callable[[str], str]
_WIDTH = 78
_LONGEST = 150  # characters of a text that are shown
_MOST_PIECES = 6  # that came back and are named


def describe_leaks(report: LeakReport, *, redact: bool = False, clean: Clean = escape_control) -> list[str]:
    """Return the report as lines of at most 80 characters; `redact` leaves out texts and pieces of them."""
    lines = _wrap(_summarise(report))
    shown: dict[tuple[str, str], int] = {}
    for number, cause in enumerate(report.causes, 1):
        lines += ["", *_wrap(f"{number}. {_headline(cause.finding)}")]
        example = cause.finding.example
        before = shown.setdefault(example.texts, number) if example else number
        for detail in _list_details(cause, redact=redact, before=before if before != number else 0):
            lines += _wrap(clean(detail), "   ")
    if report.not_run:
        lines += ["", "Not run:"]
        for reason, parts in _group_reasons(report).items():
            lines += _wrap(clean(f"{', '.join(parts)}: {reason}."), "   ")
    far = sum(not outcome.is_in_reach for outcome in report.outcomes)
    if far:
        lines += ["", *_wrap(_explain_reach(report, far))]
    return [*lines, "", *_wrap(_explain(report))]


def _group_reasons(report: LeakReport) -> dict[str, list[str]]:
    """Return the parts that were not run by the reason."""
    reasons: dict[str, list[str]] = {}
    for part in report.not_run:
        reasons.setdefault(part.reason, []).append(part.part)
    return reasons


def write_markdown(report: LeakReport, *, redact: bool = False) -> str:
    """Return the report as a section in Markdown: a table of leaks and what would fix each."""
    lines = ["## Leaks", "", _summarise(report), ""]
    if report.causes:
        lines += [
            "| leak | shows in | pairs that follow | adjusted p | what would fix it |",
            "|---|---|---|---|---|",
        ]
        for cause in report.causes:
            f = cause.finding
            tests = ", ".join(dict.fromkeys(f"{o.part}: {o.name}" for o in (f, *cause.others)))
            lines.append(
                f"| {f.culprit}{_at(f)} | {tests} | {format_strength(f)} | {f.adjusted:.2g} | {f.fix} |"
            )
        lines.append("")
    for cause in () if redact else report.causes:
        lines += [f"- {cause.finding.name}: {_cell(side)}" for side in list_examples(cause.finding)]
    lines += [f"- not run: {part.part}: {part.reason}" for part in report.not_run]
    return "\n".join([*lines, "", _explain(report), ""])


def _summarise(report: LeakReport) -> str:
    found = len(report.causes)
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
    twins = ", and twins of them" if any(outcome.part == "twins" for outcome in report.outcomes) else ""
    return (
        f"{report.mechanism}, {where}: {count} by {len(report.outcomes)} tests on {report.calls:,} "
        f"rewrites{failed}; {report.texts:,} texts to draw from{twins}. Error of all tests: {report.error:g}."
    )


def _headline(finding: LeakTest) -> str:
    return f"{finding.culprit[0].upper()}{finding.culprit[1:]}{_at(finding)}."


def _at(finding: LeakTest) -> str:
    return f" ({finding.epsilon.phrase})" if finding.epsilon.is_given else ""


def format_strength(finding: LeakTest) -> str:
    """Return how many pairs follow their source, with the interval of that share."""
    low, high = finding.signs.interval
    return f"{finding.signs.followed} of {finding.signs.pairs} ({low:.0%} to {high:.0%})"


def _list_details(cause: Cause, *, redact: bool, before: int) -> list[str]:
    """Return what is said of a leak; `before` is the number of one that has shown the same example."""
    finding = cause.finding
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
        details.append(f"A trait that tells them apart: {finding.clue[0]}{value}.")
    if not redact:
        details += list_examples(finding, before=before)
    if cause.others:
        details.append(f"It also shows in: {'; '.join(map(name_test, cause.others))}.")
    return [*details, f"Fix: {finding.fix}."]


def name_test(finding: LeakTest) -> str:
    """Return a test of a leak in a few words: what it is called, how many pairs follow, and where."""
    signs, told = finding.signs, ", told apart" if finding.clue[0] and finding.part == "twins" else ""
    return f"{finding.name} ({finding.part}{told}, {signs.followed} of {signs.pairs}){_at(finding)}"


def list_examples(finding: LeakTest, *, before: int = 0) -> list[str]:
    """Return the two texts of the smallest example, each with what became of it and what of it came back.

    Nothing if there is none. `before` is the number of a leak that has shown the same texts.
    """
    example = finding.example
    if example is None:
        return []
    verb = "after" if finding.part == "state" else "from"
    back = [
        f" (came back: {', '.join(map(repr, pieces[:_MOST_PIECES]))})" if pieces else ""
        for pieces in example.back
    ]
    if before:
        places = zip(("first", "second"), back, strict=True)
        told = "".join(f"; of the {place} text{pieces}" for place, pieces in places if pieces)
        return [f"For an example see {before}{told}."]
    sides = zip(example.texts, example.outputs, back, strict=True)
    return [
        f"{verb} {shorten(text, _LONGEST)!r}: {shorten(output, _LONGEST)!r}{pieces}"
        for text, output, pieces in sides
    ]


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
