"""A comparison: the table of differences, how to read it, and the page, which holds no text of the corpus."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tedaudit.reports.page import chart_findings, chart_plans, charts_missing, html, show_section
from tedaudit.results.comparison import Agreement, Compared, Comparison, Span
from tedaudit.results.findings import Finding
from tedaudit.results.lineups import Axis, Side
from tedaudit.results.redaction import redact_result, rename_labels, rename_plans
from tedaudit.results.section import Column, Section, Table, format_number
from tedaudit.results.telling_audit import plan_words
from tedaudit.runs.exported import write_exported
from tedaudit.runs.files import make_folders
from tedaudit.version import __version__

RIGHT = {"epsilon", "trials", "only first", "only second", "p", "tau", "mechanisms"}
DIFFERENCES = {"success": "difference of success", "epsilon": "difference of eps"}
AGREEMENT = ("plan", "epsilon", "within", "first", "second", "mechanisms", "tau")

# what tells rows apart
_KEYS = frozenset({"plan", "run", "mechanism", "attack", "epsilon", "within", "first", "second"})
_LABELS = _KEYS - {"plan", "epsilon"}
_RANKS = {
    "first": 0,
    "second": 0,
    "success of each": 1,
    "eps_emp of each": 1,
    "trials": 2,
    "only first": 3,
    "only second": 3,
    "p": 2,
}


def headings(compared: Compared) -> tuple[str, ...]:
    """Return the headings; the two members that are compared are under first and second."""
    shared = tuple(axis for axis in ("run", "mechanism", "attack") if axis in _list_shared_axes(compared))
    return (
        "plan", *shared, "epsilon", "first", "second", "success of each", "trials", "only first",
        "only second", DIFFERENCES[compared.scale], "p", "differs",
        *(() if compared.answer is None else ("answer",)), "eps_emp of each",
    )  # fmt: skip


def _list_shared_axes(compared: Compared) -> set[str]:
    """Return which of run, mechanism and attack both sides have in common."""
    return {"run": {"mechanism", "attack"}, "attack": {"run", "mechanism"}, "mechanism": {"attack"}}[
        compared.by
    ]


def format_cells(comparison: Comparison, compared: Compared) -> tuple[str, ...]:
    """Return one comparison as text, in the order of the headings."""
    first, second, counts = comparison.first, comparison.second, comparison.counts
    epsilon = comparison.epsilon.label
    named = {"run": first.run.name, "mechanism": first.finding.label, "attack": first.finding.attack}
    shared = tuple(value for axis, value in named.items() if axis in _list_shared_axes(compared))
    trials = [side.finding.bound.trials for side in (first, second)]
    rates = [side.finding.bound.success for side in (first, second)]
    if counts is not None:
        trials = [counts.trials]
        rates = [(counts.both + n) / counts.trials for n in (counts.first_only, counts.second_only)]
    return (
        comparison.plan, *shared, epsilon,
        first.member, second.member, f"{rates[0]:.4f}, {rates[1]:.4f}",
        " and ".join(f"{n:,}" for n in trials),
        "" if counts is None else f"{counts.first_only:,}",
        "" if counts is None else f"{counts.second_only:,}",
        _format_difference(comparison, compared),
        "unpaired" if comparison.p is None else f"{comparison.p:.2g}", "yes" if comparison.differs else "no",
        *(() if comparison.answer is None else (str(comparison.answer),)),
        _format_bounds(comparison),
    )  # fmt: skip


def _format_bounds(comparison: Comparison) -> str:
    """Return eps_emp of both sides, each with its error if these differ."""
    bounds = [side.finding.bound for side in (comparison.first, comparison.second)]
    if not _has_other_errors(comparison):
        return ", ".join(f"{bound.lower:.2f}" for bound in bounds)
    return ", ".join(f"{bound.lower:.2f} (error {bound.error:.2g})" for bound in bounds)


def _has_other_errors(comparison: Comparison) -> bool:
    """Return whether the bounds of both sides have different errors: those of runs with other families."""
    first, second = (side.finding.bound.error for side in (comparison.first, comparison.second))
    return not math.isclose(first, second)


def _format_difference(comparison: Comparison, compared: Compared) -> str:
    if compared.scale == "epsilon":
        return _format_span(comparison.epsilon_span, 2)
    return "different k" if comparison.success is None else _format_span(comparison.success, 4)


def explain_reference(compared: Compared) -> str:
    """Return what the others are compared with, why, and in which order the rows are."""
    first, *others = compared.references
    if first.named:
        told = f"Compared with {first.member}, as asked."
    else:
        told = f"Compared with {first.member}: no {compared.by} is in more settings ({first.settings:,})"
        told += ". Ties are broken by run, then by name, never by results."
        told += "".join(f" Where it is missing: {one.member} ({one.settings:,})." for one in others)
        told += " --against names another."
    scale = "success rates" if compared.scale == "success" else "epsilon"
    return f"{told} Rows that differ come first, then the largest differences of {scale}."


def describe_answer(compared: Compared) -> str:
    """Return whether anything is worse than the reference, in a sentence; empty if attacks are compared."""
    answer = compared.answer
    if answer is None:
        return ""
    return f"Against {compared.references[0].member}: {answer} {answer.reason}."


def _explain_answer(compared: Compared) -> str:
    """Return what the three answers mean, and who chose what they rest on."""
    if compared.answer is None:
        return ""
    plans = {
        side.finding.plan: plan_words(side.finding.plan, side.run.manifest)
        for comparison in compared.comparisons
        for side in (comparison.first, comparison.second)
    }
    names = "; ".join(f"{name}: {words}" for name, words in plans.items())
    error = f"{compared.alpha / 2:g}"
    return (
        f"Worse: an attack is right more often than on the reference, at an error of {error} for all "
        "comparisons together. No worse: the upper end of the difference is within the margin, "
        f"each wrong with probability at most {error}. Not told: neither is shown, or nothing is compared. "
        f"The margin is {compared.margin:g} (--margin sets another). Nothing is said of other attacks. "
        f"Candidates: {names}. "
    )


def _format_span(span: Span, digits: int) -> str:
    """Return a difference with its ends; without an end it has no value that can be told either."""
    low, high = f"{span.low:+.{digits}f}", f"{span.high:+.{digits}f}"
    if math.isinf(span.low) and math.isinf(span.high):
        return "unknown"
    if math.isinf(span.high):
        return f"at least {low}"
    if math.isinf(span.low):
        return f"at most {high}"
    return f"{span.value:+.{digits}f} ({low} to {high})"


def agreement_cells(agreement: Agreement) -> tuple[str, ...]:
    """Return one agreement of rankings as text."""
    epsilon = agreement.epsilon.label
    tau = "all tied" if agreement.tau is None else format_number(agreement.tau)
    sides = (agreement.within, agreement.first, agreement.second)
    return agreement.plan, epsilon, *sides, str(agreement.mechanisms), tau


def explain_comparison(compared: Compared, *, both: bool = False) -> str:
    """Return how to read the table, and what the numbers are based on; of both scales if both are shown."""
    total = len(compared.comparisons)
    answers = "is the answer" if total == 1 else f"are all {total} answers"
    paired = (
        "On one plan both sides had the same trials: p is McNemar's exact test on the trials that only one "
        "of them got right, and the interval of the difference of success rates combines the Clopper-Pearson "
        "intervals of their number and of their share. "
    )
    combined = (
        "The interval of the difference of epsilon combines the Clopper-Pearson intervals of both sides with "
        "that one. "
    )
    foreign = "A difference between runs on different texts also reflects the texts. "
    separate = "On different plans the exact intervals of both sides are combined, and there is no p. "
    endless = (
        "An attack that was never wrong sets no upper limit to its epsilon, so that a difference is "
        "'at least' or 'at most' a number; if neither side was ever wrong, it is unknown. "
    )
    taken = "; that of epsilon is taken at the success rates, with half a trial added to right and to wrong"
    of_epsilon = both or compared.scale == "epsilon"
    bounds = "eps_emp of each has the error that the rows of its run share, and is not subtracted"
    if any(map(_has_other_errors, compared.comparisons)):
        bounds += ": where these errors differ, a larger eps_emp need not mean a larger leak"
    is_endless = of_epsilon and any(comparison.epsilon_span.endless for comparison in compared.comparisons)
    is_paired = any(comparison.counts is not None for comparison in compared.comparisons)
    return (
        f"{_explain_answer(compared)}{explain_reference(compared)} A difference is the second minus the first"
        f"{taken if of_epsilon else ''}. "
        + (paired + (combined if of_epsilon else "") if is_paired else "")
        + (separate if any(comparison.counts is None for comparison in compared.comparisons) else "")
        + (endless if is_endless else "")
        + (foreign if len(compared.corpora) > 1 else "")
        + f"{bounds}. An interval is wrong with probability at most {compared.alpha:g}, and so {answers} "
        "under 'differs', together (Bonferroni). A difference describes the success of these attacks: "
        "that one mechanism leaks less to them does not prove privacy."
    )


def tell_comparison(compared: Compared) -> list[Section]:
    """Return the differences and, if mechanisms are ranked, how well rankings agree."""
    rows = tuple(format_cells(comparison, compared) for comparison in compared.comparisons)
    sections = [Section(f"Side by side: {compared.by}s", _tabulate(headings(compared), rows))]
    if compared.agreements:
        ranked = tuple(map(agreement_cells, compared.agreements))
        title = "Do they rank mechanisms alike? Kendall's tau-b of eps_emp"
        sections.append(Section(title, _tabulate(AGREEMENT, ranked)))
    return sections


def _tabulate(names: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> Table:
    """Return a table in which a narrow terminal keeps what tells rows apart, and what differs."""
    several = [len({row[place] for row in rows}) > 1 for place in range(len(names))]
    ranks = _RANKS | ({"differs": 1} if "answer" in names else {})  # the answer says more
    columns = [
        Column(
            name,
            "figures" if name in RIGHT else "label" if name in _LABELS else "words",
            ranks.get(name, 0 if is_several or name not in _KEYS else 3),
        )
        for name, is_several in zip(names, several, strict=True)
    ]
    return Table(tuple(columns), rows)


# --- The comparison as one page that works offline and contains no text of the corpus.

SCRIPTS = ("elements.js", "charts.js", "comparison.js")


def write_comparison(
    compared: Compared, path: Path, runs: Sequence[Path] = (), *, force: bool = False
) -> None:
    """Write the page; a file that was not written from one of the runs is replaced only by force."""
    content = html(page_data(compared), "comparison.html", SCRIPTS).encode()
    make_folders(path.parent, None)
    write_exported(path, content, runs, force=force)


def page_data(compared: Compared) -> dict[str, Any]:
    """Return everything that the page shows, as plain data; labels of several words become numbers."""
    shown = redact_comparison(compared)
    table, *agreement = map(show_section, tell_comparison(shown))
    return {
        **_collect_charts(compared),
        "by": shown.by, "scale": shown.scale, "alpha": shown.alpha, "version": __version__,
        "missing": charts_missing(),
        "headline": _write_headline(shown), "paragraphs": _write_paragraphs(shown),
        "reading": explain_comparison(shown, both=True),
        "runs": list(shown.runs),
        "table": table, "agreement": agreement,
        "rows": [_describe_comparison(comparison, shown) for comparison in shown.comparisons],
        "notes": list(shown.notes),
    }  # fmt: skip


def redact_comparison(compared: Compared) -> Compared:
    """Return the comparison without names that somebody may have typed a text into."""
    sides = [side for c in compared.comparisons for side in (c.first, c.second)]
    runs = rename_labels("run", [str(run["name"]) for run in compared.runs])
    labels, attacks = _rename_labels(compared)
    members = {side.member: _rename_member(side, compared.by, runs, labels, attacks) for side in sides}
    within = {**runs, **attacks}
    names = {**runs, **labels, **attacks, **members}

    def rename(side: Side) -> Side:
        old = side.finding
        finding = replace(old, label=labels[old.label], attack=attacks[old.attack])
        run = replace(side.run, name=runs[side.run.name])
        return replace(side, run=run, finding=finding, member=members[side.member])

    notes, missing = list(compared.notes), list(compared.missing)
    for old, new in names.items():
        if old != new:
            notes = [note.replace(old, new) for note in notes]
            missing = [name.replace(old, new) for name in missing]
    return replace(
        compared,
        runs=tuple({**run, "name": runs[str(run["name"])]} for run in compared.runs),
        comparisons=tuple(
            replace(c, first=rename(c.first), second=rename(c.second)) for c in compared.comparisons
        ),
        agreements=tuple(
            replace(a, within=within[a.within], first=members[a.first], second=members[a.second])
            for a in compared.agreements
        ),
        notes=tuple(notes),
        missing=tuple(missing),
        references=tuple(replace(one, member=members[one.member]) for one in compared.references),
    )


def _rename_member(
    side: Side, by: Axis, runs: dict[str, str], labels: dict[str, str], attacks: dict[str, str]
) -> str:
    """Return the name of a side on its axis, as the whole page names it."""
    if by == "run":
        return runs[side.run.name]
    if by == "attack":
        return attacks[side.finding.attack]
    plain = labels[side.finding.label]
    return plain if side.member == side.finding.label else f"{plain} ({runs[side.run.name]})"


def _rename_labels(compared: Compared) -> tuple[dict[str, str], dict[str, str]]:
    """Return the names that the page uses for mechanisms and attacks of all runs."""
    findings = [finding for run in compared.opened for finding in run.result]
    labels = rename_labels("mechanism", [finding.label for finding in findings])
    return labels, rename_labels("attack", [finding.attack for finding in findings])


def _collect_charts(compared: Compared) -> dict[str, Any]:
    """Return the findings of all runs with their plans; each plan of each run is a separate choice."""
    labels, attacks = _rename_labels(compared)
    runs = rename_labels("run", [run.name for run in compared.opened])
    shown_plans: list[dict[str, Any]] = []
    findings: list[Finding] = []
    for run in compared.opened:
        clean = redact_result(run.result, run.manifest)
        manifest = rename_plans(run.result, clean, run.manifest)
        name = runs[run.name]
        title = name if name == run.corpus["name"] else f"{name}, {run.corpus['name']}"
        shown_plans += [
            {**plan, "name": f"{run.number} {plan['name']}", "words": f"{title}: {plan['words']}"}
            for plan in chart_plans(clean, manifest)
        ]
        for original, shown in zip(run.result, clean, strict=True):
            plan = f"{run.number} {shown.plan}"
            label, attack = labels[original.label], attacks[original.attack]
            findings.append(replace(shown, plan=plan, label=label, attack=attack))
    return {"plans": shown_plans, **chart_findings(findings)}


def _describe_comparison(comparison: Comparison, compared: Compared) -> dict[str, Any]:
    shared = format_cells(comparison, compared)[: headings(compared).index("epsilon")][1:]
    epsilon = comparison.epsilon.phrase
    versus = f"{comparison.second.member} against {comparison.first.member}"
    return {
        "name": ", ".join(part for part in (versus, *shared, epsilon) if part),
        "plan": comparison.plan, "paired": comparison.counts is not None, "differs": comparison.differs,
        "success": None if comparison.success is None else comparison.success.to_dict(),
        "epsilon_difference": comparison.epsilon_span.to_dict(),
    }  # fmt: skip


def _write_headline(compared: Compared) -> str:
    answer = describe_answer(compared)
    if answer:
        return answer
    return _count_differing(compared)


def _count_differing(compared: Compared) -> str:
    differing = sum(comparison.differs for comparison in compared.comparisons)
    total = len(compared.comparisons)
    if not differing:
        return f"None of {total} comparisons shows a difference."
    return f"{differing} of {total} comparisons {'shows' if differing == 1 else 'show'} a difference."


def _write_paragraphs(compared: Compared) -> list[str]:
    runs, total = len(compared.runs), len(compared.comparisons)
    texts = " and ".join(f"{corpus['name']} ({corpus['texts']:,} texts)" for corpus in compared.corpora)
    paired = sum(comparison.counts is not None for comparison in compared.comparisons)
    corpora = "corpus" if len(compared.corpora) == 1 else "corpora"
    subject = f"{runs} run{'s' * (runs != 1)} on the {corpora} {texts}, "
    sentences = [
        f"{subject}compared by {compared.by}.",
        *([] if compared.answer is None else [_count_differing(compared)]),
        f"{paired} of {total} comparisons are paired: both sides had the same candidates, secrets and noise.",
    ]
    taus = [agreement.tau for agreement in compared.agreements if agreement.tau is not None]
    if taus:
        sentences.append(
            f"The rankings of mechanisms agree with Kendall's tau from {min(taus):.2f} to {max(taus):.2f}."
        )
    return sentences
