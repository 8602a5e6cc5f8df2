"""Reads the privacy losses of a run from the guesses of its likelihood attack; no model is loaded.

With two candidates the margin of that attack is |ln p(y|v) - ln p(y|w)|, and the loss is negative if the
other text was named. It has no ceiling: it says what an adversary that knows the mechanism could learn, where
a success rate of 1 says only that there were too few trials.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from tedaudit.estimators import reduced_form
from tedaudit.estimators.likelihood_check import LIKELIHOOD, RESOLVED, TEXT_LIKELIHOOD, bound_losses
from tedaudit.estimators.loss import DELTAS, EpsilonAt, LossSample, Supremum, find_supremum
from tedaudit.estimators.multiplicity import look_error
from tedaudit.estimators.slack import Slack, find_slack
from tedaudit.plugins.batches import Ragged
from tedaudit.plugins.values import Floats
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.runs.pieces import Pieces
from tedaudit.text.plain_data import NULL, Count, PlainData, Unbounded, pick
from tedaudit.text.words import CLASSES

MARGINS = ("choice", "margin", "usable")  # the columns of guesses that losses are read from
_ROUNDING = 1e-3  # of stored scores, and of two ways to compute one
_LOGIT = 1e-4  # by epsilon: ten times what an error of 1e-5 in the logits of twenty draws can make of it
_IMPOSSIBLE = 1e29  # a margin from which on the other text cannot have had the output
_QUANTILES = (0.5, 0.9, 0.99)
_FIGURES = (
    "impossible", "mean", *map(str, _QUANTILES), "largest", "worst_row", "supremum", "point", "lower",
    "upper", "upper_known",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class EpsilonOf(EpsilonAt):
    """The least epsilon that holds at a delta, on average over the pairs of the plan."""

    trials_for_upper: int
    """Trials that a finite upper end needs."""


@dataclass(frozen=True)
class TextLoss(PlainData):
    """The losses of published texts: what whoever knows the mechanism and reads the text alone learns.

    Of a text that can be drawn in more ways than were added up, the loss lies between two ends.
    """

    finding: Finding
    """Of the attack that reads the text."""
    low: LossSample
    """The lower ends of the losses."""
    high: LossSample
    """The upper ends, the same where losses are known."""
    draw: LossSample | None = None
    """The losses of what was drawn, if they are believed: on average a text loses no more."""
    outside: Count = 0
    """Trials in which a text is less probable than the draw that was written as it, which cannot be."""
    in_json: ClassVar[str] = (
        "finding.attack, refuted, exact, width, resolved, high.trials, high.unknown, outside, epsilon_at"
    )

    @property
    def refuted(self) -> str:
        """What stands in the place of the figures if the probabilities of texts are wrong; or nothing."""
        if self.outside:
            return f"refuted ({self.outside:,} texts less probable than a draw that is written as them)"
        return self.finding.refuted

    @property
    def exact(self) -> bool:
        """Whether every loss is known."""
        return bool((self._widths == 0).all())

    @property
    def width(self) -> Unbounded:
        """Median distance between the ends of a loss; null if infinite."""
        return float(np.median(self._widths))

    @property
    def resolved(self) -> float:
        """Share of trials whose loss is known to a tenth of a nat."""
        return float((self._widths <= RESOLVED).mean())

    @cached_property
    def _widths(self) -> Floats:
        low, high = self.low.losses, self.high.losses
        with np.errstate(invalid="ignore"):  # infinity from infinity
            return np.where(low == high, 0.0, high - low)

    @cached_property
    def epsilon_at(self) -> list[EpsilonAt]:
        """Epsilon at the usual deltas: a loss between two ends counts as the upper one, in the point too.

        On average a text loses no more than what was drawn, so neither does the point.
        """
        return list(map(self._find_epsilon, DELTAS))

    def upper(self, delta: float, error: float) -> float:
        """Return the upper end of epsilon at a delta: the smaller one of texts and of what was drawn."""
        return min(sample.epsilon_upper(delta) for sample in self._share(error))

    def _share(self, error: float) -> list[LossSample]:
        """Return the losses of texts and of what was drawn, each with its share of an error."""
        samples = [self.high] if self.draw is None else [self.high, self.draw]
        return [replace(one, error=error / len(samples)) for one in samples]

    def _find_epsilon(self, delta: float) -> EpsilonAt:
        told = [sample.epsilon_at(delta) for sample in self._share(self.high.error)]
        upper, known = min(at.upper for at in told), min(at.upper_known for at in told)
        point = min(*(at.point for at in told), known)
        return EpsilonAt(
            delta=delta,
            point=point,
            lower=min(self.low.epsilon_lower(delta), point),
            upper=upper,
            upper_known=known,
        )


@dataclass(frozen=True)
class LossRow(PlainData):
    """The losses of one plan, mechanism and epsilon."""

    finding: Finding
    """Of the attack that knows the mechanism."""
    sample: LossSample
    """The losses of its trials."""
    rows: npt.NDArray[np.int64]
    """The rows of the plan whose loss is known."""
    supremum: Supremum | None = None
    """The most that any output can lose between the two texts of a pair of these trials; None if unknown."""
    confirmed: float | None = None
    """What an output loses for sure, by two computations; None if none was made."""
    text: TextLoss | None = None
    """What the text alone loses; None if no attack knows its probability."""
    in_json: ClassVar[str] = (
        "finding.plan, finding.label as mechanism, finding.epsilon, finding.claim, sample.trials, "
        "sample.unknown, sample.error, finding.likelihood, impossible, sample.mean, quantiles, largest, "
        "worst as worst_row, slack, supremum, epsilon_at, text"
    )

    @property
    def refuted(self) -> str:
        """What stands in the place of every figure here if the trials refute the likelihoods; or nothing."""
        return self.finding.refuted

    @property
    def doubt(self) -> str:
        """What is said beside the figures if the trials failed the likelihoods once; or nothing."""
        check = self.finding.likelihood
        return str(check) if check is not None and check.is_doubtful else ""

    @property
    def believed_text(self) -> TextLoss | None:
        """What the text alone loses, if its probabilities are known and nothing speaks against them."""
        return None if self.text is None or self.text.refuted else self.text

    @property
    def impossible(self) -> Annotated[int, NULL]:
        """Outputs that the other text cannot have had; null if refuted."""
        return int((self.sample.losses == np.inf).sum())

    @cached_property
    def epsilons(self) -> tuple[EpsilonAt, ...]:
        """Epsilon at the usual deltas, with both ends."""
        return tuple(map(self.sample.epsilon_at, DELTAS))

    @property
    def epsilon_at(self) -> list[EpsilonOf]:
        """Epsilon at the usual deltas, and the trials that its upper end needs."""
        needed = self.sample.trials_for_upper
        ends = [(at, (at.point, at.lower, at.upper, at.upper_known)) for at in self.epsilons]
        return [EpsilonOf(at.delta, *told, needed(at.delta)) for at, told in ends]

    @property
    def quantiles(self) -> dict[str, Unbounded]:
        """Loss by share of trials; null if infinite or refuted."""
        return {str(share): self.sample.quantile(share) for share in _QUANTILES}

    @property
    def median(self) -> Unbounded:
        """Median loss; null if infinite or refuted."""
        return self.sample.quantile(0.5)

    @property
    def largest(self) -> Unbounded:
        """Largest loss that occurred; null if infinite or refuted."""
        return self.sample.quantile(1.0)

    @property
    def worst(self) -> Annotated[int, NULL]:
        """The row of the plan with the largest loss; null if refuted."""
        return int(self.rows[np.argmax(self.sample.losses)])

    @cached_property
    def slack(self) -> Slack | None:
        """How loose the claim is at most; None without a finite claim, or if likelihoods are refuted."""
        claim = self.finding.claim
        if claim is None or self.refuted:
            return None
        return find_slack(claim.total, claim.total_delta, self.sample, self.supremum, self.confirmed)

    def to_dict(self) -> dict[str, Any]:
        """Return the row safe for JSON; infinite numbers become None, and so does all that is refuted."""
        told = pick(self)
        return _blank(told, _FIGURES) | {"likelihood": told["likelihood"]} if self.refuted else told


def read_losses(result: AuditResult) -> tuple[LossRow, ...]:
    """Return the losses of every setting that has them: two candidates, and a likelihood of the release.

    Ends have the error of a row; if trials were added after a look, that of the look, so that whoever stops
    when the numbers please is no better off.
    """
    rows = []
    confirmed = {(loss.plan, loss.label, loss.epsilon): loss.lost for loss in result.certain}
    for finding in result:
        if finding.score != LIKELIHOOD or finding.bound.candidates != 2 or not finding.one_guess_per_trial:
            continue
        losses, numbers = read_margins(result, finding)
        if not finding.complete or not len(losses):
            continue
        error = result.alpha / 2
        if finding.bound.any_time:
            error = look_error(error, result.family.look.number)
        sample = LossSample(losses, error, finding.bound.trials - len(losses))
        told = result.guesses(finding).read_largest()
        supremum = None if told is None else find_supremum(told[0][numbers], told[1][numbers])
        row = LossRow(
            finding=finding,
            sample=sample,
            rows=numbers,
            supremum=supremum,
            confirmed=confirmed.get(finding.setting),
        )
        rows.append(replace(row, text=_read_text(result, row)))
    return tuple(rows)


def _read_text(result: AuditResult, row: LossRow) -> TextLoss | None:
    """Return the losses of the texts of a setting; None if their probabilities are not known."""
    for finding in result:
        if finding.score != TEXT_LIKELIHOOD or finding.setting != row.finding.setting:
            continue
        ends = result.guesses(finding).read_ends()
        if ends is None or not finding.complete:
            continue
        first = result.run.read_plan(finding.plan).secret[: len(ends)] == 0
        least, most = bound_losses(ends)
        known = ~np.isnan(least + most) | np.isinf(least)  # neither candidate can have the others
        signed = np.where(first, least, -most) + 0.0, np.where(first, most, -least) + 0.0  # no negative zero
        unknown = finding.bound.trials - int(known.sum())
        low, high = (LossSample(values[known], row.sample.error, unknown) for values in signed)
        outside = 0 if row.refuted else _count_outside(result, finding, row.finding, ends)
        return TextLoss(
            finding=finding, low=low, high=high, draw=None if row.refuted else row.sample, outside=outside
        )
    return None


def _count_outside(result: AuditResult, of_text: Finding, of_draw: Finding, ends: Floats) -> int:
    """Return the trials in which a text is less probable than its draw, for any candidate.

    An error in a logit is magnified by epsilon.
    """
    usable = result.guesses(of_text).read(("usable",))["usable"]
    draws = result.guesses(of_draw).read(("scores", "usable"))
    slack = _ROUNDING + _LOGIT * (float(of_text.epsilon) if of_text.epsilon.is_given else 1.0)
    outside = (np.maximum(ends[:, 2:], -_IMPOSSIBLE) < draws["scores"] - slack).any(axis=1)
    return int((usable & draws["usable"] & outside).sum())


def find_contradictions(result: AuditResult, rows: Sequence[LossRow]) -> tuple[str, ...]:
    """Return what cannot be, but for chance, if the likelihoods are right: all of it shares the run's error.

    At a delta an attack shows no more than the loss of what it sees, the text or what was drawn, and a text
    loses no more than what was drawn. Rows that are refuted say so themselves.
    """
    found = []
    believed = [row for row in rows if not row.refuted]
    pairs = [
        (row, f)
        for row in believed
        for f in result
        if f.setting == row.finding.setting
        and not f.unfit and f.one_guess_per_trial and not f.bound.any_time
    ]  # fmt: skip
    texts = [(row, text) for row in believed if (text := row.believed_text) is not None]
    share = result.alpha / max(1, (len(pairs) + len(texts)) * len(DELTAS))  # half for each side
    for row, finding in pairs:
        sample = LossSample(row.sample.losses, share / 2, row.sample.unknown)
        by_text = None if finding.sees_draw else row.believed_text
        for delta in DELTAS:
            bound = reduced_form(finding.bound.correct, finding.bound.trials, 2, share, delta)
            upper = sample.epsilon_upper(delta) if by_text is None else by_text.upper(delta, share / 2)
            if bound.lower > upper:
                found.append(
                    f"{_name(finding)}, delta {delta:g}: {finding.attack} shows "
                    f"{bound.lower:.2f}, above the {upper:.2f} that the likelihoods "
                    f"{'' if by_text is None else 'of texts '}allow; they are wrong"
                )
    for row, text in texts:
        low = LossSample(text.low.losses, share / 2, text.low.unknown)
        sample = LossSample(row.sample.losses, share / 2, row.sample.unknown)
        for delta in DELTAS:
            lower, upper = low.epsilon_lower(delta), sample.epsilon_upper(delta)
            if lower > upper:
                found.append(
                    f"{_name(row.finding)}, delta {delta:g}: texts lose {lower:.2f} or more, above the "
                    f"{upper:.2f} that what was drawn allows; likelihoods are wrong"
                )
    return tuple(found)


def _name(finding: Finding) -> str:
    """Return the mechanism, with its epsilon if it takes one."""
    return f"{finding.label} at {finding.epsilon.phrase}" if finding.epsilon.is_given else finding.label


def read_margins(result: AuditResult, finding: Finding) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the losses of the trials that have one, and the rows of these trials."""
    columns = result.guesses(finding).read(MARGINS)
    return sign_margins(columns, result.run.read_plan(finding.plan).secret)


def sign_margins(
    columns: Mapping[str, npt.NDArray[Any]], secret: npt.NDArray[Any]
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the losses of the first rows of a plan, as far as they have one, and which rows these are."""
    choice, margin = columns["choice"], columns["margin"].astype(np.float64)
    signed = np.where(choice == secret[: len(choice)], margin, -margin) + 0.0  # no negative zero
    signed = np.where(np.abs(signed) > _IMPOSSIBLE, np.copysign(np.inf, signed), signed)
    rows = np.flatnonzero(columns["usable"])
    return signed[rows], rows


def _blank(told: Any, names: Collection[str]) -> Any:
    """Return figures with None in the place of some, however deep they lie."""
    if isinstance(told, dict):
        return {name: None if name in names else _blank(value, names) for name, value in told.items()}
    return [_blank(item, names) for item in told] if isinstance(told, list) else told


# --- Which parts of an output carry the loss: slots of a text by the word that stood there, tokens by step.
#
# The terms of a trial add up to its loss. Some are negative: there the other text was the likelier source.
# Trials whose output the other text cannot have had have no terms, and are counted.

BEYOND = "beyond the end"
_CLEAR = 3.0  # standard errors by which a loss must be above 0 to be shared out


@dataclass(frozen=True, slots=True)
class LossPart:
    """Terms that have something in common: their number, their mean, and their share of the whole loss."""

    name: str
    terms: int
    mean: float
    share: float | None  # of the sum of all terms; None if that sum is not clearly above 0


@dataclass(frozen=True)
class LossParts(PlainData):
    """The loss of one plan, mechanism and epsilon by step and, if pieces of the text are known, by class."""

    row: LossRow
    trials: int  # that have terms
    whole: float | None  # the sum of all terms, if it is clearly above 0
    steps: Floats  # the mean term of each step, over the trials that have it
    counts: Floats  # how many trials have it
    classes: tuple[LossPart, ...] = ()
    in_json: ClassVar[str] = (
        "row.finding.plan, row.finding.label as mechanism, row.finding.epsilon, trials, steps, classes"
    )

    @property
    def spans(self) -> tuple[LossPart, ...]:
        """The steps in spans that double: the first, the second, the third and fourth, and so on."""
        sums, parts, start = self.steps * self.counts, list[LossPart](), 0
        while start < len(sums):
            stop = min(len(sums), max(1, 2 * start))
            total, count = float(sums[start:stop].sum()), int(self.counts[start:stop].sum())
            name = f"{start + 1}" if stop == start + 1 else f"{start + 1} to {stop}"
            parts.append(
                LossPart(
                    name=name,
                    terms=count,
                    mean=total / count if count else 0.0,
                    share=_share(total, self.whole),
                )
            )
            start = stop
        return tuple(parts)


def find_parts(result: AuditResult, row: LossRow, pieces: Pieces | None = None) -> LossParts | None:
    """Return the parts of the losses of a row; None if no trial has terms.

    `pieces` says what the terms belong to, one after the other, for every text that was a source.
    """
    told = result.guesses(row.finding).read_terms()
    terms = Ragged.absent(0) if told is None else told.take(row.rows)
    lengths = terms.lengths
    if not lengths.any():
        return None
    secret = result.run.read_plan(row.finding.plan).secret[row.rows]
    signs = np.repeat(np.where(secret == 0, 1.0, -1.0), lengths)
    values = terms.values * signs
    steps = np.arange(len(values)) - np.repeat(terms.offsets[:-1], lengths)
    counts = np.bincount(steps).astype(np.float64)
    means = np.bincount(steps, weights=values) / counts
    sums = np.add.reduceat(values, terms.offsets[:-1][lengths > 0])
    whole = float(sums.sum())
    clear = whole if whole > _CLEAR * float(sums.std()) * np.sqrt(len(sums)) else None
    source = result.run.read_plan(row.finding.plan).source[row.rows].tolist()
    is_known = pieces is not None and all(map(pieces.__contains__, source))
    classes = _sort(source, pieces, (values, lengths.tolist()), clear) if is_known and pieces else ()
    return LossParts(row=row, trials=len(sums), whole=clear, steps=means, counts=counts, classes=classes)


def _sort(
    sources: Sequence[int], pieces: Pieces, terms: tuple[Floats, list[int]], whole: float | None
) -> tuple[LossPart, ...]:
    """Return the terms, given with the number of each trial's, by the class of the word in their place."""
    names, (values, lengths) = [*CLASSES, BEYOND], terms
    numbers, known = list[int](), dict[tuple[int, int], list[int]]()
    for source, length in zip(sources, lengths, strict=True):
        if (source, length) not in known:
            found = list(pieces[source][:length])
            known[source, length] = [names.index(name) for name in found + [BEYOND] * (length - len(found))]
        numbers += known[source, length]
    sums = np.bincount(numbers, weights=values, minlength=len(names))
    counts = np.bincount(numbers, minlength=len(names))
    return tuple(
        LossPart(name=name, terms=int(count), mean=float(total / count), share=_share(float(total), whole))
        for name, total, count in zip(names, sums, counts, strict=True)
        if count
    )


def _share(part: float, whole: float | None) -> float | None:
    return None if whole is None else part / whole
