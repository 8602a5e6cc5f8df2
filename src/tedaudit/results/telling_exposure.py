"""What several rewrites of one author, or of one text, give away together, by their number."""

from collections.abc import Mapping, Sequence

from tedaudit.estimators.exposure import FEWEST_TRIALS, KNOWN
from tedaudit.estimators.loss import DELTAS
from tedaudit.plugins.nominal import Nominal
from tedaudit.results.exposure import Exposure, ExposurePoint, read_exposures
from tedaudit.results.findings import AuditResult
from tedaudit.results.losses import LossRow
from tedaudit.results.section import Cell, Column, Section, Table
from tedaudit.results.telling_losses import format_epsilon
from tedaudit.runs.spec.model import ORIGINALS

_COLUMNS = (
    Column("mechanism", "label", 0), Column("epsilon", "figures", 0), Column("attack", "label", 1),
    Column("n", "count", 0), Column("right", "count", 0), Column("eps_emp", "bound", 0),
    Column(
        "a rewrite", "bound", 2,
        "what at least one of the n has lost, eps_emp / n. It may fall or rise with n though each loses as "
        "much: it is known of all of them together.",
    ),
    Column("claim", "loss", 2, "n times what is promised for a text."),
    Column(
        "loss", "figures", 1,
        f"what whoever knows the mechanism and sees what was drawn learns of all n: the least epsilon that "
        f"holds at delta {DELTAS[0]:g} on average over these pairs, with its ends.",
    ),
    Column(
        "known from", "words", 1,
        f"the smallest n at which, as at all larger ones, success is shown to be above {KNOWN:.0%}; below "
        f"{FEWEST_TRIALS} trials there are too few to say.",
    ),
)  # fmt: skip
Lost = Mapping[tuple[str, str, Nominal], str]


def tell_exposures(result: AuditResult, losses: Sequence[LossRow] = ()) -> tuple[Section, ...]:
    """Return a section for each plan in which several rewrites are seen, with the strongest attacks.

    Attacks on the text alone come first: what was drawn has its loss beside them.
    """
    curves = read_exposures(result)
    believed = [row for row in losses if not row.refuted]
    lost = {row.finding.setting: format_epsilon(row.epsilons[0], row.sample) for row in believed}
    plans = dict.fromkeys(curve.last.series for curve in curves)
    return tuple(_tell_plan([curve for curve in curves if curve.last.series == plan], lost) for plan in plans)


def _tell_plan(curves: Sequence[Exposure], lost: Lost) -> Section:
    best: dict[tuple[str, Nominal], Exposure] = {}
    for curve in curves:
        key = curve.label, curve.epsilon
        if key not in best or _rank(curve) > _rank(best[key]):
            best[key] = curve
    rows = [_list_cells(curve, point, lost) for curve in best.values() for point in curve.points]
    what = "authors" if curves[0].is_author else "releases of one text"
    sentences = tuple(filter(None, map(_tell_known, best.values())))
    table = Table(_COLUMNS, tuple(rows)).leave_empty_out()
    return Section(f"Several rewrites: {what}", table, _explain(curves[0]), sentences)


def _rank(curve: Exposure) -> tuple[bool, tuple[float, float]]:
    return not curve.last.sees_draw, curve.last.order


def _list_cells(curve: Exposure, point: ExposurePoint, lost: Lost) -> tuple[Cell, ...]:
    finding = point.finding
    return (
        curve.label, curve.epsilon.label, curve.attack, point.rewrites, finding.bound.correct,
        point.eps_emp, point.per_rewrite, point.claimed, lost.get(finding.setting),
        _write_known(curve) if finding is curve.last else "",
    )  # fmt: skip


def _write_known(curve: Exposure) -> str:
    if not curve.enough:
        return "too few trials"
    return "not shown" if curve.known_from is None else f"n = {curve.known_from}"


def _tell_known(curve: Exposure) -> str:
    """Return from how many rewrites on a secret is known, in a sentence; empty if that is not shown."""
    if curve.known_from is None:
        return ""
    at = f" at {curve.epsilon.phrase}" if curve.epsilon.is_given else ""
    n = f"{curve.known_from} rewrites" if curve.known_from > 1 else "one rewrite"
    others = "one other" if curve.candidates == 2 else f"{curve.candidates - 1:,} others"
    who = "an author" if curve.is_author else "a text"
    often = f"in more than {KNOWN:.0%} of trials ({curve.attack})"
    return f"{curve.label}{at}: from {n} on, {who} is told from {others} {often}."


def _explain(curve: Exposure) -> str:
    """Return how to read the table; what is said of one kind of secret is not said of the other."""
    secret, seen = "text", "n rewrites of one text, each with fresh noise"
    if curve.is_author:
        secret, seen = "author", "n rewrites of different texts of one author, as many of every candidate"
    trials = curve.last.bound.trials
    told = [
        f"The adversary sees {seen}, in {trials:,} trials; blind, 1 in {curve.candidates:,} is right.",
        "eps_emp is a bound for all n together: some outcome of n rewrites is at least e^eps_emp times",
        f"likelier from one {secret} than from another.",
    ]
    if curve.is_author:
        told.append("It speaks of these authors; whether style or topic tells them apart is not known.")
    if curve.known_texts == "other":
        told += [
            "Other texts of the candidates are known, none that was rewritten: a bound holds, but that an",
            f"attack fails shows nothing. '{ORIGINALS}': the same attack on texts that were not rewritten.",
        ]
    told.append(f"That n in 'known from' is too small has a probability of at most {curve.error:.2g} each.")
    return " ".join(told)
