"""Tells what leaks: what one battery found in words, and what those of a run found as a table."""

from collections.abc import Sequence

from tedaudit.errors import shorten
from tedaudit.leaks.outcomes import Cause, LeakReport, LeakTest
from tedaudit.leaks.run_leaks import RunLeaks
from tedaudit.results.section import Cell, Column, Section, Table

_LONGEST = 150  # characters of a text that are shown
_MOST_PIECES = 6  # that came back and are named


def tell(report: LeakReport, *, redact: bool = False) -> tuple[Section, ...]:
    """Return a summary, each leak, what was not run and how to read it; titles are sentences.

    `redact` leaves out texts and pieces of them.
    """
    sections, shown = [Section(_summarise(report))], dict[tuple[str, str], int]()
    for number, cause in enumerate(report.causes, 1):
        example = cause.finding.example
        before = shown.setdefault(example.texts, number) if example else number
        details = _list_details(cause, redact=redact, before=before if before != number else 0)
        sections.append(Section(f"{number}. {_headline(cause.finding)}", sentences=tuple(details)))
    for slow in report.timings:
        told = f"Timing: {slow.culprit}; in {format_strength(slow)} {slow.unit} {slow.counted}"
        sections.append(Section(f"{told}. That is no leak of outputs, and depends on this machine."))
    if report.not_run:
        reasons: dict[str, list[str]] = {}
        for part in report.not_run:
            reasons.setdefault(part.reason, []).append(part.part)
        left_out = tuple(f"{', '.join(parts)}: {reason}." for reason, parts in reasons.items())
        sections.append(Section("Not run:", sentences=left_out))
    far = sum(not outcome.is_in_reach for outcome in report.outcomes)
    if far:
        sections.append(Section(_explain_reach(report, far)))
    return (*sections, Section(_explain(report)))


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
        f"rewrites{failed}; {report.texts:,} texts to draw from{twins}. Error of all tests together: "
        f"{report.error:g}."
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
        f"{finding.part}, {finding.name}: in {format_strength(finding)} {finding.unit} {finding.counted}; in "
        f"{signs.against} the reverse, in {signs.same} neither. Adjusted p {finding.adjusted:.2g}."
    )
    details = [evidence]
    if signs.clearest < signs.followed + signs.against:
        details.append(f"Of the {signs.clearest} clearest {finding.unit} {signs.right} follow their source.")
    if finding.figures:
        own, other = finding.figures["own"], finding.figures["other"]
        details.append(f"Share found in a rewrite of its own text {own:.1%}, of the other text {other:.1%}.")
    if finding.clue[0]:
        value = "" if redact or not finding.clue[1] else f" ({shorten(finding.clue[1], 40)!r})"
        details.append(f"What tells them apart: {finding.clue[0]}{value}.")
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
        "".join(f" ({what}: {', '.join(map(repr, some[:_MOST_PIECES]))})" for what, some in told if some)
        for told in (
            (("came back", pieces), ("what differs", traits))
            for pieces, traits in zip(example.back, example.differs, strict=True)
        )
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
        f"{far} of {len(report.outcomes)} tests are out of reach: the claim would allow whatever they "
        "could find, or there are too few pairs. More trials, or zero budget, test more."
    )


def _explain(report: LeakReport) -> str:
    least = min((outcome.signs.p_value for outcome in report.outcomes), default=1.0)
    silent = "" if report.findings else f" The smallest p-value was {least:.2g}, before adjustment."
    return (
        "Every test compares outputs of different texts; a leak is a difference that chance does not "
        "explain at that error. Finding nothing proves nothing: the battery looks only for these leaks, "
        "on these texts." + silent
    )


# --- The section of a run's report.

_COLUMNS = (
    Column("mechanism", "label", 0), Column("epsilon", "figures", 0), Column("leak", rank=0),
    Column("pairs or guesses that follow", "figures"), Column("adjusted p", "p"), Column("what would fix it"),
    Column("one text and its rewrite", "text", 2), Column("the other and its rewrite", "text", 2),
)  # fmt: skip


def tell_run(leaks: RunLeaks) -> tuple[Section]:
    """Return what leaks as a section: a row for each leak, and one for a mechanism without any."""
    number = len(leaks.reports)
    rows = [row for report in leaks.reports for row in _list_rows(report, number)]
    reading = (
        "Leaks by name, found in rewrites that were made for these tests. Every test compares outputs of "
        "different texts: a pair follows if its outputs fit its texts better as they are than exchanged, a "
        "guess of a coin if it is right; by chance at most half of them do. (The interval is at 99%.) What "
        "is found at an epsilon near 0 is hidden by no noise; at the run's epsilons it is more than the "
        "claim allows. The "
        f"probability that any of it is chance is at most {leaks.error:g}, apart from the error of "
        "verdicts. Finding nothing proves nothing: only these leaks were looked for, on these texts."
    )
    told = tuple(
        f"Not run for {report.mechanism}: {part.part}: {part.reason}."
        for report in leaks.reports
        for part in report.not_run
    )
    return (Section("Leaks", Table(_COLUMNS, tuple(rows)), reading, told),)


def _list_rows(report: LeakReport, number: int) -> Sequence[tuple[Cell, ...]]:
    if not report.findings:
        tests = f"{len(report.outcomes)} tests on {report.calls:,} rewrites"
        where = ", ".join(epsilon.label for epsilon in report.epsilons)
        return [(report.mechanism, where, f"nothing was found by {tests}", *[""] * (len(_COLUMNS) - 3))]
    return [(report.mechanism, *_list_cells(cause, number)) for cause in report.causes]


def _list_cells(cause: Cause, number: int) -> list[Cell]:
    finding = cause.finding
    clue = f"; what tells them apart: {finding.clue[0]}" if finding.clue[0] else ""
    others = f"; also shows in: {'; '.join(map(name_test, cause.others))}" if cause.others else ""
    return [
        finding.epsilon.label, f"{finding.culprit} ({finding.part}, {finding.name}{clue}){others}",
        format_strength(finding), min(1.0, number * finding.adjusted), finding.fix,
        *(list_examples(finding) or ["", ""]),
    ]  # fmt: skip
