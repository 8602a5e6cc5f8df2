"""Tells a calibration: its answers, the epsilons visited, and the curve."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tedaudit.errors import join_names
from tedaudit.reports.writers.figures import (
    GREY,
    STYLES,
    add_legend,
    draw_panels,
    figures_missing,
    finish_panel,
    save_figure,
)
from tedaudit.results.section import Cell, Column, Section, Table
from tedaudit.runs.directory import RunDirectory
from tedaudit.studies.calibrate.confirm import Side
from tedaudit.studies.calibrate.result import Answer, Calibrated, EpsilonForTarget
from tedaudit.studies.calibrate.target import Target

_ANSWERS = (
    Column("mechanism", "label", 0), Column("measured by", rank=3), Column("target", "figures", 0),
    Column("epsilon from", "figures", 0), Column("epsilon to", "figures", 0), Column("answer", rank=0),
    Column("attacks", "labels", 2), Column("at the low end", rank=2), Column("eps_emp at low end", "bound"),
    Column("at the high end", rank=2), Column("eps_emp at high end", "bound"),
    Column("epsilons visited", "count", 3),
)  # fmt: skip
_POINTS = (
    Column("mechanism", "label", 0), Column("epsilon", "figures", 0), Column("trials", "count"),
    Column("measured", "figures", 0), Column("attack", "label"), Column("eps_emp", "bound"), Column("of"),
)  # fmt: skip
_LIMITS_OF_ATTACKS = (
    "This holds for these attacks on these texts: another attack may find more. With several attacks the "
    "strongest counts: at the low end all of them are below the target, at the high end at least one is "
    "above it."
)
_LIMITS_OF_LOSSES = (
    "This holds for these texts, and only as far as the mechanism's likelihoods are right; they were not "
    "checked here."
)


def tell(calibrated: Calibrated) -> tuple[Section, Section]:
    """Return the answers, and every epsilon that was visited."""
    return _tell_answers(calibrated), _tell_points(calibrated)


def _tell_answers(calibrated: Calibrated) -> Section:
    """Return the answers as a section; what each says in words is a remark."""
    error = max((answer.error for answer in calibrated), default=0.0)
    is_loss = any(answer.target.is_loss for answer in calibrated)
    sentences = (*_summarise(calibrated), *(told for answer in calibrated for told in answer.sentences))
    table = Table(_ANSWERS, tuple(map(_format, calibrated)))
    return Section("Epsilon for a target", table, _explain(error, is_loss=is_loss), sentences, leads=True)


def _summarise(calibrated: Calibrated) -> Iterator[str]:
    """Yield the answers for several mechanisms or targets in a sentence, where there are several."""
    if len(calibrated) < 2:
        return
    placed: dict[Target, list[str]] = {}
    for answer in calibrated:
        placed.setdefault(answer.target, []).append(f"{answer.label} {_place(answer)}")
    first = calibrated.answers[0]
    attacks = dict.fromkeys(attack for answer in calibrated for attack in answer.attacks)
    told = "; ".join(f"for {target.phrase}: {', '.join(places)}" for target, places in placed.items())
    yield (
        f"Nominal epsilon {told} (error {first.error:g} for each, {first.trials:,} fresh trials at each end, "
        f"attacks {join_names(attacks)})."
    )


def _place(answer: EpsilonForTarget) -> str:
    """Return between which epsilons a target is reached, in a few words."""
    if answer.low is not None and answer.high is not None:
        return f"{answer.low.label} to {answer.high.label}"
    least, most = answer.limits
    told = {Answer.ABOVE: f"already above at {least.label}", Answer.BELOW: f"still below at {most.label}",
            Answer.UNDECIDED: "undecided"}  # fmt: skip
    return told.get(answer.answer, "out of reach")


def _explain(error: float, *, is_loss: bool) -> str:
    """Return what every table of answers is to be read with; it quotes nothing."""
    limits = _LIMITS_OF_LOSSES if is_loss else _LIMITS_OF_ATTACKS
    other = "epsilon at a delta of the losses" if is_loss else "success over all guesses"
    return (
        "The search may look at any epsilon; what is said about the two ends comes from fresh trials with "
        f"new secrets, and is wrong with a probability of at most {error:g} per row. {limits} It is an "
        "average over the pairs of texts that the plan draws, and does not hold for every pair. No claim "
        "is tested here. eps_emp is another number: a lower bound on epsilon, at the delta of the claim, the "
        "larger of what all guesses and what the surest ones of the fresh trials prove. The target is the "
        f"{other}, so eps_emp may be above its epsilon even at the low end. That any eps_emp here is too "
        f"large has a probability of at most {error / 2:g} for all fresh trials of a target together. All "
        "else that a report of this run shows is of the trials of the search."
    )


def _tell_points(calibrated: Calibrated) -> Section:
    """Return every epsilon that was visited, with the strongest attack there."""
    seen = {
        (answer.label, point.epsilon, point.is_fresh, answer.target.by if not point.is_fresh else number): (
            answer.label, point.epsilon.label, point.reading.trials, answer.target.show(point.value),
            point.reading.attack, None if point.proven is None else point.proven.eps_emp,
            f"fresh trials for {answer.target.label}" if point.is_fresh else "the search",
        )
        for number, answer in enumerate(calibrated)
        for point in answer.points
    }  # fmt: skip
    rows = tuple(seen[key] for key in sorted(seen, key=lambda key: (key[0], key[1], key[2])))
    reading = (
        "Success rates, or epsilons of losses, as measured in these trials, of the strongest attack. "
        "Those of the search may be biased, since it chose where to stop; far from a target it makes few "
        "trials on purpose. eps_emp is what fresh trials prove, by their strongest attack."
    )
    return Section("Epsilons visited for a target", Table(_POINTS, rows), reading)


def _format(answer: EpsilonForTarget) -> tuple[Cell, ...]:
    return (
        answer.label, answer.target.measured, answer.target.label,
        "" if answer.low is None else answer.low.label, "" if answer.high is None else answer.high.label,
        str(answer.answer), answer.attacks, _format_end(answer, "low"), answer.eps_emp_low,
        _format_end(answer, "high"), answer.eps_emp_high, sum(not point.is_fresh for point in answer.points),
    )  # fmt: skip


def _format_end(answer: EpsilonForTarget, side: Side) -> str:
    """Return what the last fresh trials at an end measured, with the end of the interval that counts."""
    made = [attempt for attempt in answer.attempts if attempt.side == side]
    if not made:
        return ""
    word = "at most" if side == "low" else "at least"
    show = answer.target.show
    again = f", attempt {made[-1].number}" if len(made) > 1 else ""
    verdict = "" if made[-1].confirmed else ", not confirmed"
    return f"{show(made[-1].value)} ({word} {show(made[-1].end)}{again}{verdict})"


# --- The curve: what was measured against nominal epsilon, with the target and the interval.

_ACROSS = 3  # panels beside each other
_ERROR = 0.005  # of each end of a bar


def write_curves(calibrated: Calibrated, run: RunDirectory, name: str) -> list[Path]:
    """Draw the curves of all mechanisms into a run and return the files; none without matplotlib."""
    return [] if figures_missing() else save_figure(draw_curves(calibrated), run.figure(name), run)


def draw_curves(calibrated: Calibrated) -> Any:
    """Return a figure with one panel per mechanism: points, targets, and intervals shaded."""
    labels = list(dict.fromkeys(answer.label for answer in calibrated))
    with draw_panels(len(labels), (3.4, 2.8), (1.0, 0.6), across=_ACROSS, share=True) as (drawn, panels):
        for panel, label in zip(panels, labels, strict=True):
            _draw_panel(panel, label, [answer for answer in calibrated if answer.label == label])
        for first in panels[::_ACROSS]:
            first.set_ylabel(_name_axis(calibrated.answers[0]))
        add_legend(drawn, panels[:1], "lower center", ncols=4, fontsize=8)
    return drawn


def _name_axis(answer: EpsilonForTarget) -> str:
    target = answer.target
    return f"$\\epsilon$ at $\\delta$ = {target.delta:g}" if target.is_loss else "success rate"


def _draw_panel(axes: Any, label: str, answers: Sequence[EpsilonForTarget]) -> None:
    for number, answer in enumerate(answers):
        colour, _ = STYLES[number % len(STYLES)]
        axes.axhline(answer.target.level, color=colour, linestyle="--", linewidth=1)
        if answer.low is not None and answer.high is not None:
            axes.axvspan(answer.low, answer.high, color=colour, alpha=0.25, linewidth=0)
    _draw_points(axes, answers, fresh=False)
    _draw_points(axes, answers, fresh=True)
    axes.set_xscale("log")
    if answers[0].target.is_loss:
        axes.set_yscale("symlog", linthresh=0.1)
        axes.set_ylim(bottom=-0.02)
    axes.set_xlabel(r"nominal $\epsilon$, per the mechanism's own unit")
    finish_panel(axes, label)


def _draw_points(axes: Any, answers: Sequence[EpsilonForTarget], *, fresh: bool) -> None:
    """Draw the points of the search, or those of fresh trials, with the ends of an interval for each."""
    seen = {
        (point.epsilon, 0 if not fresh else number): point
        for number, answer in enumerate(answers)
        for point in answer.points
        if point.is_fresh == fresh
    }
    points = [seen[key] for key in sorted(seen)]
    if not points:
        return
    top = max(4 * answer.target.level for answer in answers) + 1  # an infinite end is cut off above
    values = [min(point.value, top) for point in points]
    ends = [(point.reading.lower_of_any(_ERROR), min(point.reading.upper(_ERROR), top)) for point in points]
    bars = [
        [max(0.0, value - low) for value, (low, _) in zip(values, ends, strict=True)],
        [max(0.0, high - value) for value, (_, high) in zip(values, ends, strict=True)],
    ]
    axes.errorbar(
        [float(point.epsilon) for point in points], values, yerr=bars, color="#000000" if fresh else GREY,
        marker="D" if fresh else "o", markersize=4 if fresh else 3, linewidth=0 if fresh else 1,
        elinewidth=0.8, capsize=2 if fresh else 0, label="fresh trials" if fresh else "search",
    )  # fmt: skip
