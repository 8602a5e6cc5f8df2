"""Tells a calibration: its answers, and the epsilons visited."""

from tedaudit.reports.section import Cell, Column, Section, Table
from tedaudit.studies.calibrate.confirm import Side
from tedaudit.studies.calibrate.result import Calibrated, EpsilonForTarget
from tedaudit.studies.calibrate.words import explain

_ANSWERS = (
    Column("mechanism", "label", 0), Column("measured by", rank=3), Column("target", "figures", 0),
    Column("epsilon from", "figures", 0), Column("epsilon to", "figures", 0), Column("answer", rank=0),
    Column("attacks", "labels", 2), Column("at the low end", rank=2), Column("at the high end", rank=2),
    Column("epsilons visited", "count", 3),
)  # fmt: skip
_POINTS = (
    Column("mechanism", "label", 0), Column("epsilon", "figures", 0), Column("trials", "count"),
    Column("measured", "figures", 0), Column("attack", "label"), Column("of"),
)  # fmt: skip


def describe_answers(calibrated: Calibrated) -> Section:
    """Return the answers as a section; what each says in words is a remark."""
    error = max((answer.error for answer in calibrated), default=0.0)
    is_loss = any(answer.target.is_loss for answer in calibrated)
    sentences = tuple(sentence for answer in calibrated for sentence in answer.sentences)
    table = Table(_ANSWERS, tuple(map(_format, calibrated)))
    return Section("Epsilon for a target", table, explain(error, is_loss=is_loss), sentences)


def describe_points(calibrated: Calibrated) -> Section:
    """Return every epsilon that was visited, with the strongest attack there."""
    seen = {
        (answer.label, point.epsilon, point.is_fresh, answer.target.by if not point.is_fresh else number): (
            answer.label, point.epsilon.label, point.reading.trials, answer.target.show(point.value),
            point.reading.attack,
            f"fresh trials for {answer.target.value:g}" if point.is_fresh else "the search",
        )
        for number, answer in enumerate(calibrated)
        for point in answer.points
    }  # fmt: skip
    rows = tuple(seen[key] for key in sorted(seen, key=lambda key: (key[0], key[1], key[2])))
    reading = (
        "Success rates, or epsilons of losses, as the trials have them, of the attack that was strongest. "
        "Those of the search may have any bias, since it stopped where it pleased; far from a target it made "
        "few trials on purpose, which notes call not finished."
    )
    return Section("Epsilons visited for a target", Table(_POINTS, rows), reading)


def _format(answer: EpsilonForTarget) -> tuple[Cell, ...]:
    return (
        answer.label, answer.target.measured, answer.target.label,
        "" if answer.low is None else answer.low.label, "" if answer.high is None else answer.high.label,
        str(answer.answer), ", ".join(answer.attacks), _format_end(answer, "low"),
        _format_end(answer, "high"), sum(not point.is_fresh for point in answer.points),
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
