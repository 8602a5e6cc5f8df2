"""The table of differences as cells of text, and how to read it."""

import math
from typing import TYPE_CHECKING

from tedaudit.reports.table import number
from tedaudit.results.comparison import Agreement, Compared, Comparison, Span

if TYPE_CHECKING:
    from rich.table import Table

RIGHT = {"epsilon", "trials", "only first", "only second", "p", "tau", "mechanisms"}
AGREEMENT = ("plan", "epsilon", "within", "first", "second", "mechanisms", "tau")


def headings(compared: Compared) -> tuple[str, ...]:
    """Return the headings; what the axis puts side by side stands under first and second."""
    shared = tuple(axis for axis in ("run", "mechanism", "attack") if axis in _shared(compared))
    return (
        "plan", *shared, "epsilon", "first", "second", "success of each", "trials", "only first",
        "only second", "difference", "p", "difference of eps", "differs",
    )  # fmt: skip


def _shared(compared: Compared) -> set[str]:
    """Return which of run, mechanism and attack both sides have in common."""
    return {"run": {"mechanism", "attack"}, "attack": {"run", "mechanism"}, "mechanism": {"attack"}}[
        compared.by
    ]


def cells(one: Comparison, compared: Compared) -> tuple[str, ...]:
    """Return one comparison as text, in the order of the headings."""
    first, second, counts = one.first, one.second, one.counts
    named = {"run": first.run.name, "mechanism": first.finding.label, "attack": first.finding.attack}
    shared = tuple(value for axis, value in named.items() if axis in _shared(compared))
    trials = [side.finding.bound.trials for side in (first, second)]
    rates = [side.finding.bound.success for side in (first, second)]
    if counts is not None:
        trials = [counts.trials]
        rates = [(counts.both + n) / counts.trials for n in (counts.first_only, counts.second_only)]
    return (
        one.plan, *shared, "any" if math.isinf(one.epsilon) else f"{one.epsilon:g}",
        first.member, second.member, f"{rates[0]:.4f}, {rates[1]:.4f}",
        " and ".join(f"{n:,}" for n in trials),
        "" if counts is None else f"{counts.first_only:,}",
        "" if counts is None else f"{counts.second_only:,}",
        "different k" if one.success is None else _span(one.success, 4),
        "unpaired" if one.p is None else f"{one.p:.2g}",
        _span(one.epsilon_emp, 2), "yes" if one.differs else "no",
    )  # fmt: skip


def _span(span: Span, digits: int) -> str:
    low, high = (f"{end:+.{digits}f}" if math.isfinite(end) else f"{end:+}" for end in (span.low, span.high))
    return f"{span.value:+.{digits}f} ({low} to {high})"


def agreement_cells(one: Agreement) -> tuple[str, ...]:
    """Return one agreement of rankings as text."""
    epsilon = "any" if math.isinf(one.epsilon) else f"{one.epsilon:g}"
    tau = "all tied" if one.tau is None else number(one.tau)
    return one.plan, epsilon, one.within, one.first, one.second, str(one.mechanisms), tau


def reading(compared: Compared) -> str:
    """Return how to read the table, with what the numbers rest on."""
    many = len(compared.comparisons)
    answers = "is the answer" if many == 1 else f"are all {many} answers"
    paired = (
        "On one plan both sides met the same trials: p is McNemar's exact test on the trials that only one "
        "of them got right, and the interval of the difference of success rates joins the Clopper-Pearson "
        "intervals of their number and of their share. The difference of epsilon is that at the success "
        "rates, with half a trial added to right and to wrong; its interval is a paired bootstrap over "
        "trials, and approximate. "
    )
    foreign = "A difference between runs on different texts is one of the texts too. "
    separate = "On different plans the exact intervals of both sides are joined, and there is no p. "
    return (
        "A difference is the second less the first. "
        + (paired if any(one.counts is not None for one in compared.comparisons) else "")
        + (separate if any(one.counts is None for one in compared.comparisons) else "")
        + (foreign if len(compared.corpora) > 1 else "")
        + f"An exact interval is wrong with probability at most {compared.alpha:g}, and so {answers} "
        "under 'differs', together (Bonferroni). A difference is one of these attacks' success: that "
        "one mechanism leaks less to them proves no privacy."
    )


def rich_tables(compared: Compared) -> list["Table"]:
    """Return the table of differences and, where mechanisms are ranked, that of agreement."""
    from rich.table import Table
    from rich.text import Text

    def table(title: str, names: tuple[str, ...], rows: list[tuple[str, ...]]) -> Table:
        made = Table(title=title, title_justify="left", header_style="bold")
        for name in names:
            made.add_column(name, justify="right" if name in RIGHT else "left", overflow="fold")
        for row in rows:
            made.add_row(*map(Text, row))  # Text: a label is no markup
        return made

    rows = [cells(one, compared) for one in compared.comparisons]
    tables = [table(f"Side by side: {compared.by}s", headings(compared), rows)]
    if compared.agreements:
        ranked = [agreement_cells(one) for one in compared.agreements]
        tables.append(table("Do they rank mechanisms alike? Kendall's tau-b of eps_emp", AGREEMENT, ranked))
    return tables
