"""What a run ends with: a table that fits a terminal and a few sentences, or the whole table."""

from collections.abc import Sequence

from rich.text import Text

from tedaudit.cli.console import console, escape_text, show_page
from tedaudit.cli.options import TableKind
from tedaudit.reports.first_screen import describe_screen, explain_losses, mention_no_epsilon
from tedaudit.reports.headline import headlines
from tedaudit.reports.pivot import Pivot, lay_out, make_loss_pivot, make_pivots
from tedaudit.reports.summary import describe_claims
from tedaudit.reports.table import explain_table, rich_tables
from tedaudit.results.findings import AuditResult
from tedaudit.results.losses import read_losses

_WIDTH = 80  # of what is printed where there is no terminal
_WIDEST = 120  # sentences are not read well in longer lines


def show_result(result: AuditResult, table: TableKind = "pivot", *, losses: bool = False) -> None:
    """Print the findings, how to read them and where they are stored; losses beside them if asked."""
    out = console()
    if not result.findings:
        out.print("No attack has finished a block yet: there is nothing to estimate from.")
    elif table == "full":
        _show_rows(result)
    else:
        _show_pivots(result, losses=losses, tables=table == "pivot")
    for note in result.notes:
        _say(f"- {note}", style="dim")
    if table != "full" and result.findings:
        _say("Every row with its counts, interval and verdict: --table full, or report.md.", style="dim")
    out.print(f"Everything is in {result.folder} (report.md, summary.json).", soft_wrap=True)
    page = result.run.page
    if page.is_file():
        show_page(page)


def _show_rows(result: AuditResult) -> None:
    """Print every row, a sentence for each mechanism, and what was decided."""
    out = console()
    for table in rich_tables(result, out.width):
        out.print(table)
    for headline in headlines(result):
        out.print(escape_text(headline.text), soft_wrap=True)
    for paragraph in describe_claims(result):
        out.print(escape_text(paragraph), soft_wrap=True)
    out.print(explain_table(result), style="dim")


def _show_pivots(result: AuditResult, *, losses: bool, tables: bool) -> None:
    """Print the strongest attacks, losses before them, and what they show."""
    pivots = make_pivots(result)
    rows = read_losses(result) if losses and tables else []
    if rows:
        lost = make_loss_pivot(rows)
        _print_tables([lost])
        _say(explain_losses(lost), style="dim")
    if tables:
        _print_tables(pivots)
    for sentence in [*describe_screen(result, pivots), mention_no_epsilon(pivots) if tables else ""]:
        if sentence:
            _say(sentence)


def _print_tables(pivots: Sequence[Pivot]) -> None:
    out = console()
    for pivot in pivots:
        out.print(Text(escape_text(pivot.title), style="bold"), width=width())
        for table in lay_out(pivot, width()):
            out.print(table, width=width())
        out.print()


def width() -> int:
    """Return how many columns there are: the terminal's, or 80 where there is none."""
    out = console()
    return min(out.width, _WIDEST) if out.is_terminal else _WIDTH


def _say(sentence: str, style: str = "") -> None:
    console().print(Text(escape_text(sentence)), style=style, width=width())
