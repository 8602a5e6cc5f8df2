"""Print to the terminal: tables, cards, bounds, and progress with rate and time left."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from tedaudit.cli.options import TableKind
from tedaudit.errors import join_names
from tedaudit.estimators import Bound
from tedaudit.plugins.extras import install, missing_extras
from tedaudit.plugins.registry import variants
from tedaudit.plugins.settings import list_settings
from tedaudit.plugins.values import Card
from tedaudit.reports.first_screen import SCREEN, print_screen
from tedaudit.reports.page import charts_missing
from tedaudit.reports.telling_comparison import describe_answer, explain_comparison, tell_comparison
from tedaudit.reports.writers.figures import figures_missing
from tedaudit.reports.writers.terminal import fit_section, make_printable, tell_left_out, to_rich
from tedaudit.results.comparison import Compared
from tedaudit.results.disagreement import Disagreement
from tedaudit.results.findings import AuditResult
from tedaudit.results.losses import read_losses
from tedaudit.results.redaction import redact_missing
from tedaudit.results.section import Section, format_number
from tedaudit.results.summary import describe_claims, headlines
from tedaudit.results.telling_audit import explain_table, tell_plans
from tedaudit.results.words import tell_meaning
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.missing import Missing, describe_missing
from tedaudit.runs.runner import Progress
from tedaudit.runs.spec.zoo_defaults import KnownModel
from tedaudit.studies.utility.results import UtilityResult
from tedaudit.studies.utility.telling import tell as tell_utility

if TYPE_CHECKING:
    from tedaudit.paper.definition import Outcome


def console(*, error: bool = False) -> Console:
    """Return a console without markup.

    If the output is no terminal, lines are as wide as COLUMNS says, and else wide instead of folded.
    """
    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 200
    return Console(stderr=error, width=width, highlight=False, emoji=False, markup=False)


def escape_text(text: str) -> str:
    """Return a text that is safe to print on standard output."""
    return make_printable(text, sys.stdout.encoding or "utf-8")


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Progress | None]:
    """Yield a progress callback that draws a bar on standard error, or None if quiet.

    Where standard error is no terminal, it prints a line a minute.
    """
    if quiet:
        yield None
        return
    err = console(error=True)
    if not err.is_terminal:
        yield ProgressLines(lambda line: err.print(escape_text(line), soft_wrap=True))
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"), TimeRemainingColumn(),
    )  # fmt: skip
    # what is printed meanwhile goes above the bar, unless somebody else reads it
    with Progress(*columns, console=err, transient=True, redirect_stdout=sys.stdout.isatty()) as bar:
        task = bar.add_task("preparing", total=None, rate="")

        def advance(step: str, completed: int, total: int) -> None:
            speed = bar.tasks[0].speed
            rate = f"{speed:,.0f}/s" if speed else ""
            bar.update(task, completed=completed, total=total, description=step or None, rate=rate)

        yield advance


def show_section(section: Section, width: int | None = None, *, error: bool = False) -> tuple[str, ...]:
    """Print a section of a report, and how to read it; return the columns that had room.

    `width` is that of an output that is no terminal.
    """
    out = console(error=error)
    if width is not None and not out.is_terminal:
        out.width = width
    shown = fit_section(section, out.width, escape_text)
    out.print(to_rich(shown, out.width, escape_text))
    for remark in (tell_left_out(section.table, shown.table), *shown.remarks):
        if remark:
            out.print(escape_text(remark), soft_wrap=width is None, style="dim")
    return shown.table.headings


def show_page(page: Path) -> None:
    """Print where the page is."""
    console().print(f"To read in a browser: {page}", soft_wrap=True)


def mention_charts() -> None:
    """Say on standard error, before a page is written, if it will have no charts, and how to get them."""
    if charts_missing():
        console(error=True).print(charts_missing(), soft_wrap=True)


def say_redacted(run: RunDirectory) -> None:
    """Say on standard error that a run is redacted, if it is, and which of its files may be passed on."""
    if not run.files.is_redacted:
        return
    line = (
        f"Redacted: {join_names(run.files.list_shown())} in {run.root} hold no texts and may be passed on; "
        f"nothing else there may. `tedaudit report {run.root} --full` takes it back."
    )
    console(error=True).print(escape_text(line), soft_wrap=True)


def say_unfinished(run: RunDirectory, missing: Sequence[Missing]) -> None:
    """Say on standard error what a run lacks, if it lacks anything."""
    if missing and run.files.is_redacted:
        missing = [redact_missing(one, {}, {}) for one in missing]
    if missing:
        console(error=True).print(escape_text(f"{describe_missing(missing)}."), soft_wrap=True)


def show_comparison(compared: Compared, page: Path | None) -> None:
    """Print what differs, how to read it, and where the page is."""
    out = console()
    if compared.answer is not None:
        out.print(escape_text(describe_answer(compared)), style="bold", soft_wrap=True)
    for section in tell_comparison(compared):
        show_section(section)
    out.print(escape_text(explain_comparison(compared)), style="dim")
    for note in compared.notes:
        out.print(f"- {escape_text(note)}")
    if page is not None:
        show_page(page)


def show_figures(drawn: Sequence[Path]) -> None:
    """Print where the figures are, or how to get them."""
    message = f"Figures: {drawn[0].parent} ({len(drawn)} files)" if drawn else figures_missing()
    if message:
        console().print(message, soft_wrap=True)


def show_utility(result: UtilityResult, written: Sequence[Path]) -> None:
    """Print the scores, what they mean and where they are stored."""
    for section in tell_utility(result):
        show_section(section)
    out = console()
    for note in result.notes:
        out.print(f"- {escape_text(note)}", style="dim")
    out.print(f"Written: {', '.join(map(str, written))}", soft_wrap=True)
    if figures_missing():
        out.print(figures_missing(), soft_wrap=True)


def show_bound(bound: Bound) -> None:
    """Print one bound with its interval, ceiling and success rate."""
    out = console()
    counts = (
        f"{bound.correct:,} of {bound.guesses:,} right, {bound.candidates} candidates, delta {bound.delta:g}"
    )
    rows = (
        ("bound, this row alone", f"{bound.lower:.4f}", f"one-sided error {bound.error:g}"),
        ("point", format_number(bound.point), "of this attack's success"),
        ("upper end", format_number(bound.upper), "of this attack's success: no attack proves privacy"),
        ("ceiling", f"{bound.ceiling:.4f}", "had every guess been right"),
        ("success rate", f"{bound.success:.4f}", f"{bound.success_low:.4f} to {bound.success_high:.4f}"),
        ("Bayes leakage (k p)", f"{bound.leakage:.4f}", f"at least {bound.leakage_low:.4f}"),
    )
    out.print(f"{bound.method}: {counts}")
    for name, value, remark in rows:
        out.print(f"  {name:<22} {value:>10}   {remark}")
    out.print()
    meaning = tell_meaning()
    show_section(replace(meaning, reading="", sentences=()), SCREEN)
    for sentence in meaning.remarks[:2]:  # how to choose a limit stands on pages
        _say(sentence, style="dim")


def show_cards(cards: Sequence[tuple[Card, Sequence[str]]]) -> None:
    """Print cards with the parameters that each plug-in takes."""
    out = console()
    for card, parameters in cards:
        out.print(Text.assemble((card.name, "bold"), f"  {card.summary}"))
        missing = missing_extras(card.needs)
        details = [("not installed", install(missing) if missing else "")]
        details += [("paper", card.paper), ("claim", card.claim), ("takes", ", ".join(parameters))]
        details += [("made for English", ", ".join(part.split(": ")[-1] for part in card.english))]
        details += [("note", departure) for departure in card.departures]
        for name, value in details:
            if value:
                out.print(f"    {name}: {value}", soft_wrap=True)


def show_models(models: Sequence[KnownModel]) -> None:
    """Print the models that are here, then those that can be fetched, with the command that does."""
    out = console()
    if not any(model.folder for model in models):
        out.print(
            "No model is installed. The zoo has small ones for every mechanism: pip install tedaudit-zoo. "
            "Any other checkpoint can be named too: a folder, or a hub id.",
            soft_wrap=True,
        )
    for model in models:
        used = f", used by: {', '.join(model.used_by) or 'nothing by default'}"
        size = f"{model.bytes / 1e6:,.1f} MB"
        if not model.folder:
            used, size = used if model.used_by else "", f"not here, {size}"
        out.print(Text.assemble((model.name, "bold"), f"  {size}{used}"))
        for line in (
            model.summary,
            f"licence: {model.licence}" * bool(model.licence),
            model.folder or model.get,
        ):
            if line:
                out.print(f"    {escape_text(line)}", soft_wrap=True)


def show_defaults(taken: Mapping[str, str]) -> None:
    """Print on standard error which models of the zoo are used because no other is named."""
    if taken:
        uses = "; ".join(f"{user} {model}" for user, model in taken.items())
        console(error=True).print(f"Models from the zoo, since no other is named: {uses}.", soft_wrap=True)


def show_replay(trials: Sequence[Any]) -> None:
    """Print repeated trials; texts are never read as markup."""
    out = console()
    for trial in trials:
        outcome = "right" if trial.right else "unusable" if trial.choice < 0 else "wrong"
        epsilon = trial.epsilon.label
        attack = escape_text(trial.attack)
        out.print(
            Text.assemble((escape_text(trial.label), "bold"), f" at epsilon {epsilon}, {attack}: {outcome}")
        )
        listed = range(len(trial.candidates))
        if len(trial.candidates) > 10:
            best = sorted(listed, key=lambda i: -trial.scores[i])[:5]
            listed = sorted({*best, trial.secret, max(trial.choice, 0)})  # type: ignore[assignment]
            out.print(f"  ({len(trial.candidates):,} candidates; the best five, the source and the guess)")
        for i in listed:
            marks = ("source " if i == trial.secret else "") + ("guess " if i == trial.choice else "")
            line = f"  {i + 1:>4}. {trial.scores[i]:8.5f}  {escape_text(trial.candidates[i])}  "
            out.print(Text.assemble(line, (marks, "bold")))
        output = f"(failed: {trial.stored.error})" if trial.stored.error else trial.stored.text or "(empty)"
        out.print(f"  output: {escape_text(output)}")
        if not trial.same:
            repeated = trial.again.error or trial.again.text
            out.print(f"  rewriting it again gives: {escape_text(repeated)}", style="yellow")


def show_examples(disagreements: Sequence[Disagreement]) -> None:
    """Print trials in which only one of two attacks was right; texts are never read as markup."""
    for entry in disagreements:
        setting = f"{entry.mechanism} at epsilon {entry.epsilon.name}"
        if not entry.examples:
            console().print(escape_text(f"{setting}: no trial that one attack alone got right.\n"))
        for example in entry.examples:
            lines = (
                f"row {example.row} of {setting}: only {example.right} was right",
                f"  rewrite  {example.output}",
                f"  source   {example.source}",
                f"  mistaken {example.mistaken or '(no answer)'}",
            )
            console().print(Text("\n".join(map(escape_text, lines)) + "\n"))


def show_outcome(outcome: "Outcome", files: Sequence[Path]) -> None:
    """Print what an experiment found and where its files are."""
    for section in outcome.sections:
        show_section(section)
    for note in outcome.notes:
        console().print(Text(f"- {escape_text(note)}"))
    for file in files:
        console().print(Text(str(file)))


# --- What a run ends with: a table that fits a terminal and a few sentences, or the whole table.

_WIDEST = 120  # sentences are not read well in longer lines


def show_result(result: AuditResult, table: TableKind = "pivot", *, losses: bool = False) -> None:
    """Print the findings, how to read them and where they are stored; losses beside them if asked."""
    out = console()
    if result.findings and result.missing and table != "full":
        _say(f"{result.unfinished}.", style="bold")
        out.print()
    if not result.findings:
        for sentence in headlines(result):
            _say(sentence)
    elif table == "full":
        _show_rows(result)
    else:
        shown = table == "pivot"
        rows = read_losses(result) if losses and shown else []
        print_screen(out, width(), result, rows, tables=shown)
    for note in result.notes:
        if note != result.unfinished:  # which stands above
            _say(f"- {note}", style="dim")
    if table != "full" and result.findings:
        _say("Every row with its counts and verdict: --table full; all its columns: report.md.", style="dim")
    out.print(f"Everything is in {result.folder} (report.md, summary.json).", soft_wrap=True)
    page = result.run.page
    if page.is_file():
        show_page(page)


def _show_rows(result: AuditResult) -> None:
    """Print every row, a sentence for each mechanism, and what was decided."""
    out = console()
    columns = {name for section in tell_plans(result) for name in show_section(section)}
    for headline in headlines(result):
        out.print(escape_text(headline), soft_wrap=True)
    for paragraph in describe_claims(result):
        out.print(escape_text(paragraph), soft_wrap=True)
    out.print(explain_table(result, columns), style="dim")


def width() -> int:
    """Return how many columns sentences take: the terminal's, or 80 where there is none."""
    out = console()
    return min(out.width, _WIDEST if out.is_terminal else SCREEN)


def _say(sentence: str, style: str = "") -> None:
    console().print(Text(escape_text(sentence)), style=style, width=width())


# --- Prints what a plug-in can be set to.


def show_settings(plugin: type) -> None:
    """Print every setting with its type, its default and its meaning, and what each variant sets."""
    out, settings = console(), list_settings(plugin)
    if not settings:
        out.print("    It has no settings.")
        return
    table = Grid(box=None, show_header=False, padding=(0, 2, 0, 0))
    for setting in settings:
        kind = f"{setting.type}; {f'default: {setting.default}' if setting.default else 'must be given'}"
        table.add_row(Text(setting.name, "bold"), Text.assemble(f"{setting.meaning}\n", (kind, "dim")))
    out.print(Padding(table, (0, 0, 0, 4)))
    for name, values in variants(plugin).items():
        told = ", ".join(f"{key}={value}" for key, value in values.items())
        out.print(f"    variant={name}: {told}", soft_wrap=True)


# --- Progress where nobody watches a terminal: a line a minute, for the log of a batch system or of CI.

_PAUSE = 60.0  # seconds between two lines


class ProgressLines:
    """Prints what is done, how much of it and how long the rest may take; the first line after a minute."""

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._write, self._clock = write, clock
        self._begun = self._told = clock()
        self._before: int | None = None  # what was there when it began: a resumed run
        self._last = 0  # what was done when it was last asked
        self._step = "preparing"  # until a step has a name

    def __call__(self, step: str, completed: int, total: int) -> None:
        """Take what is done by now."""
        now, self._step = self._clock(), step or self._step
        if self._before is None:
            self._before = completed
        elif completed < self._last:  # a stage that counts from its own beginning
            self._before, self._begun = completed, now
        self._last = completed
        if now - self._told < _PAUSE:
            return
        self._told = now
        rate = (completed - self._before) / max(now - self._begun, 1e-9)
        line = f"{self._step}: {completed:,} of {total:,}"
        if rate > 0:
            told = f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"
            line += f", {told} a second, {_format_time((total - completed) / rate)} left"
        self._write(line)


def _format_time(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{max(1, minutes)} min"
