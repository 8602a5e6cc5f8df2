"""The first screen: what the strongest attack showed, mechanism by epsilon, as wide as a terminal is.

A cell is the largest bound of several attacks and plans, so it has the error that all rows of the run share:
picking the largest of them costs nothing more. Attacks that know more of the mechanism, or see what was drawn
and not the text alone, have tables of their own, because whoever knows less cannot do what they do. Sentences
below the tables are printed only where they are true: for a run without a zero nothing is said of zeros.
"""

import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from tedaudit.errors import escape_control
from tedaudit.estimators.loss import DELTAS, EpsilonAt, LossSample
from tedaudit.plugins.nominal import Nominal
from tedaudit.reports.writers.terminal import Clean, fit_section, make_printable, to_rich
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.results.losses import LossRow, TextLoss
from tedaudit.results.section import Section
from tedaudit.results.summary import (
    ADVERSARIES,
    NO_FINDINGS,
    NONE_CAN,
    describe_claims,
    describe_strongest,
    explain_error,
    find_adversary,
    find_best,
)
from tedaudit.results.telling_exposure import tell_exposures
from tedaudit.results.telling_losses import format_ends

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


CEILING, NOTHING, ZERO, REFUTED, AT_MOST, UNKNOWN = "*", "?", "0.00", "refuted", "<=", "unknown"
MEDIAN = "median"
_SHOWN = 0.005  # a bound below this would be printed as 0.00
SCREEN = 80  # columns of what is printed where there is no terminal
_LABEL_SHARE = 3  # the names of rows take at most a third of the width


@dataclass(frozen=True, slots=True)
class Cell:
    """A number as it is printed, and who reached it; nobody if no attack did better than guessing.

    What is told beside it stands below, a line each.
    """

    value: str
    attack: str = ""
    finding: Finding | None = None
    below: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pivot:
    """Numbers by mechanism, or by adversary, and nominal epsilon; `units` are those of mechanisms' claims."""

    title: str
    cells: Mapping[tuple[str, Nominal], Cell]
    units: Mapping[str, str]
    heading: str = "mechanism"

    @property
    def mechanisms(self) -> list[str]:
        """The mechanisms, in the order of the run."""
        return list(dict.fromkeys(label for label, _ in self.cells))

    @property
    def epsilons(self) -> list[Nominal]:
        """The nominal epsilons in order, those of mechanisms that take none last."""
        return sorted({epsilon for _, epsilon in self.cells})

    @property
    def attacks(self) -> list[str]:
        """Who reached the numbers."""
        return list(dict.fromkeys(cell.attack for cell in self.cells.values() if cell.attack))


def make_pivots(result: AuditResult) -> list[Pivot]:
    """Return the strongest attacks of everybody who knows as much, by how much they know.

    Of one mechanism they stand in one table.
    """
    labels = list(dict.fromkeys(finding.label for finding in result))
    if len(labels) == 1 and len({find_adversary(finding) for finding in result}) > 1:
        unit = _find_units(result.findings)[labels[0]]
        cells = {
            (adversary.name, epsilon): _describe(best)
            for adversary in ADVERSARIES
            for epsilon, best in find_best(result, labels[0], adversary.has).items()
        }
        of = f"{labels[0]}{f' ({unit})' if unit else ''}"
        return [
            Pivot(
                title=f"eps_emp of {of} by nominal epsilon, strongest attacks",
                cells=cells,
                units={},
                heading="adversary",
            )
        ]
    pivots = []
    for adversary in ADVERSARIES:
        found = [finding for finding in result if adversary.has(finding)]
        if found:
            attacks = list(dict.fromkeys(finding.attack for finding in found))
            best = attacks[0] if len(attacks) == 1 else f"best of {len(attacks)} attacks"
            title = f"eps_emp by nominal epsilon; adversary {adversary.knows} ({best})"
            pivots.append(Pivot(title, _collect_cells(result, adversary.has), _find_units(found)))
    return pivots


def make_loss_pivots(rows: Sequence[LossRow]) -> list[Pivot]:
    """Return the losses of texts, if they are known, and of what was drawn, at the largest usual delta.

    Each is the largest over the plans of a run.
    """
    texts = [
        (row.finding, row.text.epsilon_at[0], _show_loss(row.text, row.text.high, row.text.epsilon_at[0]))
        for row in rows
        if row.text is not None
    ]
    draws = [(row.finding, row.epsilons[0], _show_loss(row, row.sample, row.epsilons[0])) for row in rows]
    kinds = [("loss of the text", texts), ("loss of what was drawn", draws)]
    return [_make_loss_pivot(what, told) for what, told in kinds if told]


def _make_loss_pivot(what: str, told: Sequence[tuple[Finding, EpsilonAt, Cell]]) -> Pivot:
    """Return a table of losses; one that is refuted in any plan is refuted."""
    largest: dict[tuple[str, Nominal], tuple[bool, float]] = {}
    cells: dict[tuple[str, Nominal], Cell] = {}
    for finding, at, cell in told:
        key, rank = (finding.label, finding.epsilon), (cell.value == REFUTED, at.point)
        if key not in cells or rank >= largest[key]:
            largest[key], cells[key] = rank, cell
    plans = len({finding.plan_base for finding, *_ in told})
    title = f"{what} by nominal epsilon, at delta {told[0][1].delta:g}"
    title += f", the largest of {plans} plans" if plans > 1 else ""
    return Pivot(title, cells, _find_units([finding for finding, *_ in told]))


def _show_loss(row: LossRow | TextLoss, sample: LossSample, at: EpsilonAt) -> Cell:
    """Return the epsilon at a delta, with its ends, the median and the share of unknown losses below it.

    Of texts whose losses lie between two ends the median is not known.
    """
    if row.refuted:
        return Cell(REFUTED)
    is_exact = isinstance(row, LossRow) or row.exact
    below = [] if math.isinf(at.lower) else [format_ends(at, _format_loss)]
    below += [f"{MEDIAN} {_format_loss(sample.quantile(0.5))}"] if is_exact else []
    below += [f"{UNKNOWN} {sample.unknown / sample.trials:.1%}"] if sample.unknown else []
    return Cell(("" if is_exact else AT_MOST) + _format_loss(at.point), below=tuple(below))


def lay_out(pivot: Pivot, width: int, clean: Clean = escape_control) -> list["Table"]:
    """Return the tables that show a pivot in so many columns, as few as possible.

    Mechanisms are rows if all epsilons fit, otherwise columns if they fit. Attacks are named where there is
    room; if neither way fits in one table, the numbers alone are spread over several. `clean` makes names
    safe to print.
    """
    shapes = [
        _Shape(pivot=pivot, clean=clean, turned=turned, named=named)
        for named in (True, False)
        for turned in (False, True)
    ]
    if len(pivot.attacks) < 2:
        shapes = [shape for shape in shapes if not shape.named]  # the title has said it
    whole = next((shape for shape in shapes if shape.fits(shape.columns, width)), None)
    if whole is not None:
        return [whole.build(whole.columns, width)]
    plain = [shape for shape in shapes if not shape.named]
    return min((list(shape.divide(width)) for shape in plain), key=len)


def _collect_cells(
    result: AuditResult, is_meant: Callable[[Finding], bool]
) -> dict[tuple[str, Nominal], Cell]:
    labels = dict.fromkeys(finding.label for finding in result if is_meant(finding))
    return {
        (label, epsilon): _describe(best)
        for label in labels
        for epsilon, best in find_best(result, label, is_meant).items()
    }


def _describe(best: Finding | None) -> Cell:
    if best is None:
        return Cell(NOTHING)
    if not best.leaks:
        return Cell(ZERO, finding=best)
    value = f"{best.eps_emp:.2f}" if best.eps_emp >= _SHOWN else "<0.01"
    return Cell(value + (CEILING if best.bound.is_at_ceiling else ""), best.attack, best)


def _find_units(findings: Sequence[Finding]) -> dict[str, str]:
    """Return the unit of each mechanism's claims; several if they differ, empty without a claim."""
    units: dict[str, dict[str, None]] = {}
    for finding in findings:
        own = units.setdefault(finding.label, {})
        if finding.claim is not None:
            own[str(finding.claim.unit)] = None
    return {label: "per " + " or ".join(own) if own else "" for label, own in units.items()}


def _format_loss(value: float) -> str:
    if math.isinf(value):
        return "inf"
    return f"{value:,.2f}" if abs(value) < 10 else f"{value:,.1f}" if abs(value) < 100 else f"{value:,.0f}"


@dataclass(frozen=True)
class _Shape:
    """One way to show a pivot: which way round, and whether attacks are named."""

    pivot: Pivot
    clean: Clean
    turned: bool
    named: bool

    @property
    def columns(self) -> list[str] | list[Nominal]:
        return self.pivot.mechanisms if self.turned else self.pivot.epsilons

    def fits(self, columns: Sequence[str | Nominal], width: int) -> bool:
        """Return whether these columns fit beside each other, no number and no name of an attack broken."""
        from rich.console import Console

        table = self.build(columns, width)
        return Console(width=10_000).measure(table).maximum <= width

    def divide(self, width: int) -> Iterator["Table"]:
        """Yield tables of as many columns as fit, at least one."""
        left: Sequence[str | Nominal] = self.columns
        while left:
            size = next((n for n in range(len(left), 1, -1) if self.fits(left[:n], width)), 1)
            yield self.build(left[:size], width)
            left = left[size:]

    def build(self, columns: Sequence[str | Nominal], width: int) -> "Table":
        """Return a table of these columns."""
        from rich.box import SIMPLE_HEAD
        from rich.cells import cell_len
        from rich.table import Table
        from rich.text import Text

        table = Table(
            header_style="bold", box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0)
        )
        most = max(9, width // _LABEL_SHARE)
        heading = "epsilon" if self.turned else self.pivot.heading
        rows: Sequence[str | Nominal] = self.pivot.epsilons if self.turned else self.pivot.mechanisms
        table.add_column(heading, overflow="fold", max_width=most, justify="right" if self.turned else "left")
        for column in columns:
            cells = [self._show(row, column) for row in rows]
            widest = max(cell_len(line) for cell in cells for line in cell.split("\n"))  # is never broken
            table.add_column(
                Text(self._name(column)), justify="right", overflow="fold", max_width=max(widest, most // 2)
            )
        for row in rows:
            cells = [self._show(row, column) for column in columns]
            if any(cells):
                table.add_row(Text(self._name(row)), *map(Text, cells))
        return table

    def _name(self, key: str | Nominal) -> str:
        """Return the heading of a row or column; a mechanism's has the unit of its claim below."""
        if isinstance(key, Nominal):
            return key.label
        unit = self.pivot.units.get(key, "")
        return self.clean(key) + (f"\n{unit}" if unit else "")

    def _show(self, row: str | Nominal, column: str | Nominal) -> str:
        key = (column, row) if self.turned else (row, column)
        cell = self.pivot.cells.get(key)  # type: ignore[arg-type]
        if cell is None:
            return ""
        attack = [self.clean(cell.attack)] if self.named else []
        return "\n".join([cell.value, *attack, *cell.below])


def describe_screen(result: AuditResult, pivots: Sequence[Pivot]) -> list[str]:
    """Return what the tables of a first screen show, and how to read them."""
    cells = [cell for pivot in pivots for cell in pivot.cells.values()]
    found = [cell.finding for cell in cells if cell.finding is not None]
    told = [describe_strongest(result.findings), *describe_claims(result)]
    told += [_explain_numbers(result, found)] if any(finding.leaks for finding in found) else []
    return [*filter(None, told), *_explain_marks(cells, found)]


def explain_losses(pivots: Sequence[Pivot]) -> str:
    """Return how to read losses: what the numbers are, and of what the marks among them warn."""
    cells = [cell for pivot in pivots for cell in pivot.cells.values()]
    shown, below = [cell.value for cell in cells], [line for cell in cells for line in cell.below]
    told, often = "", f"1 output in {1 / DELTAS[0]:g}"
    if any(line.startswith(MEDIAN) for line in below):
        told += " Half of the outputs lose the median or more."
    if "inf" in shown:
        told += f" inf: more than {often} is impossible for the other text of its pair."
    if any(value.startswith(AT_MOST) for value in shown):
        told += f" {AT_MOST}: not all draws that give a text were added up, so this is the most."
    if any(line.startswith(UNKNOWN) for line in below):
        told += (
            f" {UNKNOWN.capitalize()}: outputs without a likelihood, such as failed rewrites. All else is as "
            "if they told nothing; they may tell more than the others."
        )
    if REFUTED in shown:
        told += " Refuted: guesses do not fit the mechanism's own probabilities; the notes tell more."
    return (
        "The loss is what an adversary that knows the mechanism learns from the text, or from what was drawn "
        "for it. The first number is an estimate, with its ends, of the least epsilon that holds at delta "
        f"{DELTAS[0]:g} on average over these pairs of texts. It is no mean: unless it is 0, at least "
        f"{often} loses more.{told} Losses have no ceiling; single pairs may lose more, drawn or not."
    )


def _explain_numbers(result: AuditResult, found: Sequence[Finding]) -> str:
    """Return what eps_emp is, at which delta, and the error of all numbers together."""
    deltas = sorted({finding.bound.delta for finding in found if finding.bound.delta > 0})
    at_delta = ""
    if deltas:
        ends = f"{deltas[0]:.2g}" if len(deltas) == 1 else f"{deltas[0]:.2g} to {deltas[-1]:.2g}"
        zero = all(finding.bound.delta > 0 for finding in found)
        at_delta = f" It is at delta {ends}{'' if zero else ' where the claim has one, otherwise at 0'}."
    plans = len({finding.plan_base for finding in result if finding.rewrites == 1})
    over = f" A number is the largest over {plans} plans." if plans > 1 else ""
    return (
        "eps_emp is a lower bound: between some two texts, some outputs are at least e^eps_emp times "
        f"likelier from one text than from the other.{at_delta}{over} {explain_error(result)}"
    )


def _explain_marks(cells: Sequence[Cell], found: Sequence[Finding]) -> list[str]:
    """Return what the marks in the tables mean, of those that are there."""
    told = []
    bounds = [finding.bound for finding in found if finding.leaks]
    ceilings = sorted({round(bound.ceiling, 2) for bound in bounds if bound.is_at_ceiling})
    if ceilings:
        ends = f"{ceilings[0]:.2f}" + (f" to {ceilings[-1]:.2f}" if len(ceilings) > 1 else "")
        told.append(
            f"{CEILING} is the ceiling ({ends}), the largest eps_emp of so many trials and candidates: the "
            "true value may be far larger."
        )
    if any(cell.value == ZERO for cell in cells) and any(finding.leaks for finding in found):
        told.append(f"{ZERO}: no attack here did provably better than guessing, {NONE_CAN}.")
    if any(cell.value == NOTHING for cell in cells):
        told.append(
            f"{NOTHING}: nothing can be concluded, since most rewrites failed or the notes say why not."
        )
    return [" ".join(told)] if told else []


def mention_no_epsilon(pivots: Sequence[Pivot]) -> str:
    """Return what the column of mechanisms without an epsilon means; empty if there is none."""
    without = [e for pivot in pivots for e in pivot.epsilons if not e.is_given]
    return f"{Nominal(without[0]).label}: the mechanism takes no epsilon." if without else ""


def print_screen(
    out: "Console",
    width: int,
    result: AuditResult,
    losses: Sequence[LossRow] = (),
    *,
    tables: bool = True,
) -> None:
    """Print the strongest attacks, losses before them, and what they show."""
    clean = partial(make_printable, encoding=out.encoding)

    def say(sentence: str, style: str = "") -> None:
        out.print(clean(sentence), style=style, width=width)

    def show(pivot: Pivot) -> None:
        say(pivot.title, "bold")
        for table in lay_out(pivot, width, clean):
            out.print(table, width=width)
        out.print()

    for section in tell_exposures(result, losses) if tables else ():
        _print_section(out, width, section, clean)
    pivots = make_pivots(replace(result, findings=tuple(f for f in result if f.rewrites == 1)))
    if losses:
        lost = make_loss_pivots([row for row in losses if row.finding.rewrites == 1])
        for pivot in lost:
            show(pivot)
        say(explain_losses(lost), "dim")
    if tables:
        for pivot in pivots:
            show(pivot)
    told = [*describe_screen(result, pivots), mention_no_epsilon(pivots) if tables else ""]
    for sentence in filter(None, told):
        say(sentence)


def _print_section(out: "Console", width: int, section: Section, clean: Clean) -> None:
    """Print a section of a report, with what columns mean as far as they have room."""
    fitting = fit_section(section, width, clean)
    out.print(to_rich(fitting, width, clean), width=width)
    for remark in fitting.remarks:
        out.print(clean(remark), width=width)
    out.print()


def write_screen(result: AuditResult) -> str:
    """Return the first screen as plain text, 80 columns wide."""
    from rich.console import Console

    if not result.findings:
        return " ".join(filter(None, [f"{result.name}: {NO_FINDINGS}", result.unfinished]))
    page = io.StringIO()
    out = Console(file=page, width=SCREEN, highlight=False, emoji=False, markup=False, no_color=True)
    if not result.finished:
        out.print(f"{result.unfinished}.\n")
    print_screen(out, SCREEN, result)
    out.print(f"Every row: to_frame(); all of it: {result.folder}", soft_wrap=True)
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines())
