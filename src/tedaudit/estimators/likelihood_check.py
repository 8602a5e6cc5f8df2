"""Whether likelihoods are right, told from how often the guesses that follow from them are.

Given all outputs and candidate sets, the likeliest source is the right one with its posterior probability, if
the secret was drawn uniformly, and independently of all other trials. So the posteriors that a likelihood
gives can be held against what happened. Nothing is assumed of the mechanism or of its texts.

At a loss of 10 one guess in 22,000 is wrong: no sample of a usual size tells whether such a loss is 10 or 20.
The scale of a likelihood can be checked only at an epsilon at which losses are small.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tedaudit.errors import SpecError
from tedaudit.text.plain_data import Count, PlainData

Floats = npt.NDArray[np.float64]

LIKELIHOOD = "log-likelihood"  # what an attack's card calls a score that can be checked,
TEXT_LIKELIHOOD = "text log-likelihood"  # and one that can be where its ends meet
LIKELIHOODS = (LIKELIHOOD, TEXT_LIKELIHOOD)
SCORED = ("scores", "usable", "choice")  # the columns of guesses that it is checked by
ERROR = 0.001  # the probability with which a right likelihood is refused
REDRAWS = 9_999
_MOST_LOSS = 30.0  # a larger loss weighs no more: it cannot be told from this one
_CELLS = 1 << 22  # coins in memory at a time
_FIRST = 64  # redraws that are made first: of right likelihoods they are mostly enough
_IMPOSSIBLE = 1e29  # a score this far below the best one is that of a candidate that cannot be the source
RESOLVED = 0.1  # nats between the ends of a loss that counts as known,
_NEAR = 0.05  # and of one that guesses are held against
_KEY = 0x7EDA  # of the redraws, so that whoever checks the same guesses gets the same answer


@dataclass(frozen=True, slots=True)
class Calibration:
    """Right guesses beside those that likelihoods promise, and how probable so large a gap is.

    Ties are left out. `surplus` is U: below 0 the likelihoods promise more than they know.
    """

    p: float
    """Two-sided p-value; no more than an estimate if it is large."""
    promised: float
    """Right guesses that are promised."""
    right: Count
    """Right guesses."""
    guesses: Count
    """Guesses, ties left out."""
    surplus: float
    """The statistic U: below 0, losses are overstated."""
    impossible: Count = 0
    """Outputs that their own source cannot have had: one refutes the likelihoods without any chance in it."""

    @property
    def fails(self) -> bool:
        """Whether the guesses do not fit the likelihoods."""
        return self.impossible > 0 or self.p <= ERROR

    @property
    def direction(self) -> str:
        """What is wrong with losses that do not fit."""
        return "understated: it leaks more" if self.surplus > 0 else "overstated"


@dataclass(frozen=True, slots=True)
class LikelihoodCheck(PlainData):
    """What a run's own trials say of its likelihoods, and, if they failed, what fresh ones say."""

    first: Calibration
    """By the trials of the run."""
    again: Calibration | None = None
    """By fresh trials, if those failed; None if nobody made them."""
    in_json: ClassVar[str] = "told, is_refuted as refuted, first, again"

    @property
    def is_refuted(self) -> bool:
        """Whether both failed, or an output was drawn that is impossible: no loss is to be told."""
        twice = self.first.fails and self.again is not None and self.again.fails
        return self.first.impossible > 0 or twice

    @property
    def is_doubtful(self) -> bool:
        """Whether the trials failed and nobody repeated the check: nothing is certain then."""
        return self.first.fails and self.again is None and not self.is_refuted

    def __str__(self) -> str:
        return self.told

    @property
    def told(self) -> str:
        """What is printed in the place of figures, or beside them; empty if the likelihoods are believed."""
        if not (self.is_refuted or self.is_doubtful):
            return ""
        found = self.first
        if found.impossible:
            what = f"{found.impossible:,} outputs impossible for their own source, p = 0"
        else:
            again = "" if self.again is None else f", again {self.again.p:.2g}"
            what = f"calibration, p = {found.p:.2g}{again}"
        verdict = "refuted" if self.is_refuted else "failed once, not repeated"
        return (
            f"{verdict} ({what}; promised {found.promised:,.0f} of {found.guesses:,}, were {found.right:,}): "
            f"{found.direction}"
        )


def posteriors(losses: npt.ArrayLike, candidates: int = 2) -> Floats:
    """Return how probable the likeliest source is, from its evidence: with two, the loss between them."""
    sizes = np.abs(np.asarray(losses, dtype=np.float64))
    return np.asarray(1 / (1 + (candidates - 1) * np.exp(-sizes)))


def weigh_evidence(log_likelihoods: npt.ArrayLike) -> Floats:
    """Return ln((k - 1) m / (1 - m)) for each row of scores of k candidates, m the best one's posterior.

    With two candidates it is the size of the loss; infinite if no other candidate is possible.
    """
    scores = np.asarray(log_likelihoods, dtype=np.float64)
    falling = np.sort(scores, axis=1)[:, ::-1]
    gaps = falling[:, :1] - falling[:, 1:]
    rest = np.exp(gaps[:, :1] - gaps).sum(axis=1)  # of the others, beside the likeliest of them
    evidence = gaps[:, 0] + math.log(scores.shape[1] - 1) - np.log(rest)
    return np.where(gaps[:, 0] > _IMPOSSIBLE, math.inf, np.maximum(evidence, 0.0))


def check_guesses(
    columns: Mapping[str, npt.NDArray[Any]], secret: npt.NDArray[Any], candidates: int
) -> Calibration | None:
    """Hold the guesses of a likelihood attack, in the columns `SCORED`, against its scores and the secrets.

    The p-value of guesses that fit is no more than an estimate: redraws end once it is surely above the
    error. None if there is no guess, or if scores of some candidates were not kept.
    """
    scores, usable = columns["scores"], columns["usable"]
    if scores.ndim != 2 or scores.shape[1] != candidates or not usable.any():
        return None
    right = columns["choice"] == secret[: len(usable)]
    evidence = weigh_evidence(scores[usable])
    return check_calibration(evidence, right[usable], _KEY, candidates=candidates, until=ERROR)


def check_text_guesses(
    columns: Mapping[str, npt.NDArray[Any]], ends: Floats | None, secret: npt.NDArray[Any]
) -> Calibration | None:
    """Do the same for likelihoods of texts, of two candidates, where the ends of the loss are close.

    How close they are follows from the text and its candidates, so that leaving others out favours nobody.
    """
    if ends is None:
        return None
    low, high = bound_losses(ends)
    near = (low == high) | (high - np.where(low == high, 0.0, low) <= _NEAR)
    return check_guesses({**columns, "usable": columns["usable"] & near}, secret, 2)


def bound_losses(ends: Floats) -> tuple[Floats, Floats]:
    """Return both ends of the loss of every row, first candidate against second, from those of likelihoods.

    They are NaN for a text that neither candidate can have.
    """
    lower_first, lower_second, upper_first, upper_second = ends.T
    with np.errstate(invalid="ignore"):  # infinity from infinity
        return lower_first - upper_second, upper_first - lower_second


def calibration_p(losses: npt.ArrayLike, right: npt.ArrayLike, key: int) -> float:
    """Return the p-value of an exact, two-sided test that these are the privacy losses of a fair game.

    `losses` are ln p(y|v_1) - ln p(y|v_2) of pairs of candidates, and `right` says where the likelier one was
    the source.
    """
    return check_calibration(losses, right, key).p


def check_calibration(
    losses: npt.ArrayLike, right: npt.ArrayLike, key: int, *, candidates: int = 2, until: float = 0.0
) -> Calibration:
    """Hold losses, or the evidence for the likeliest of more candidates, against who was the source.

    The statistic is U = sum of min(|L|, 30) (right - m) with m the posterior, 1 / (1 + e^-|L|) for two, ties
    left out; `right` is drawn again from m 9,999 times. A wrong sign makes U far too small, and so does a
    scale that is too large; one that is too small makes it too large. Redraws end early once the p-value is
    surely above `until`.
    """
    sizes, outcomes = np.abs(np.asarray(losses, dtype=np.float64)), np.asarray(right, dtype=np.bool_)
    if sizes.ndim != 1 or sizes.shape != outcomes.shape or np.isnan(sizes).any():
        raise SpecError("There must be as many outcomes as losses, in one dimension, and no loss may be NaN.")
    sizes, outcomes = sizes[sizes > 0], outcomes[sizes > 0]
    if not len(sizes):
        return Calibration(
            p=1.0, promised=0.0, right=0, guesses=0, surplus=0.0
        )  # nothing is claimed to be known
    weights, rates = np.minimum(sizes, _MOST_LOSS), posteriors(sizes, candidates)
    observed = float(weights @ (outcomes - rates))
    slack, enough = 1e-9 * float(weights.sum()), until * (REDRAWS + 1) / 2 - 1
    above = below = made = 0
    for redrawn in _redraw(weights, rates, key):
        higher = above + np.cumsum(redrawn >= observed - slack)
        lower = below + np.cumsum(redrawn <= observed + slack)
        settled = np.flatnonzero(np.minimum(higher, lower) > enough) if until else np.zeros(0, dtype=np.int64)
        last = int(settled[0]) if len(settled) else len(redrawn) - 1
        above, below, made = int(higher[last]), int(lower[last]), made + last + 1
        if len(settled):
            break
    p = min(1.0, 2 * (1 + min(above, below)) / (made + 1))
    impossible = int((np.isinf(sizes) & ~outcomes).sum())
    return Calibration(
        p=p,
        promised=float(rates.sum()),
        right=int(outcomes.sum()),
        guesses=len(sizes),
        surplus=observed,
        impossible=impossible,
    )


def _redraw(weights: Floats, rates: Floats, key: int) -> Iterator[Floats]:
    """Yield the statistic of outcomes that are drawn again, some at a time: few at first."""
    generator = np.random.Generator(np.random.Philox(key=key))
    most, start, rows = max(1, _CELLS // len(rates)), 0, _FIRST
    while start < REDRAWS:
        rows = min(rows, most, REDRAWS - start)
        coins = generator.random((rows, len(rates)))
        yield np.asarray(((coins < rates) - rates) @ weights)
        start, rows = start + rows, 2 * rows


def success_tails(mean: float, trials: int, successes: int) -> tuple[float, float]:
    """Return bounds on the probabilities of so few successes or fewer, and of so many or more.

    The trials are independent and need not be alike: their rates have this mean. No such sum has heavier
    tails than the binomial one, a whole success or more away from its mean (Hoeffding 1956, "On the
    distribution of the number of successes in independent trials"); nearer to it the bound is 1.
    """
    from scipy.stats import binom

    if not (0 <= mean <= 1 and 0 <= successes <= trials):
        raise SpecError(
            f"{successes} successes of {trials} trials with a mean rate of {mean}: no such trials."
        )
    expected = trials * mean
    below = float(binom.cdf(successes, trials, mean)) if successes <= expected - 1 else 1.0
    above = float(binom.sf(successes - 1, trials, mean)) if successes >= expected + 1 else 1.0
    return below, above
