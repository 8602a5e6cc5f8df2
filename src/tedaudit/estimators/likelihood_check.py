"""Whether likelihoods are right, told from how often the guesses that follow from them are.

Given all outputs and candidate sets, the likeliest source is the right one with its posterior probability, if
the secret was drawn uniformly, and independently of all other trials. So the posteriors that a likelihood
gives can be held against what happened. Nothing is assumed of the mechanism or of its texts.

At a loss of 10 one guess in 22,000 is wrong: no sample of a usual size tells whether such a loss is 10 or 20.
The scale of a likelihood can be checked only at an epsilon at which losses are small.
"""

import numpy as np
import numpy.typing as npt

from tedaudit.errors import SpecError

Floats = npt.NDArray[np.float64]

ERROR = 0.001  # the probability with which a right likelihood is refused
REDRAWS = 9_999
_MOST_LOSS = 30.0  # a larger loss weighs no more: it cannot be told from this one
_CELLS = 1 << 22  # coins in memory at a time


def posteriors(losses: npt.ArrayLike) -> Floats:
    """Return how probable the likelier of two sources is, from the privacy losses between them."""
    return np.asarray(1 / (1 + np.exp(-np.abs(np.asarray(losses, dtype=np.float64)))))


def calibration_p(losses: npt.ArrayLike, right: npt.ArrayLike, key: int) -> float:
    """Return the p-value of an exact, two-sided test that these are the privacy losses of a fair game.

    `losses` are ln p(y|v_1) - ln p(y|v_2) of pairs of candidates, and `right` says where the likelier one was
    the source. The statistic is U = sum of min(|L|, 30) (right - m) with m = 1 / (1 + e^-|L|), ties left out;
    `right` is drawn again from m 9,999 times. A wrong sign makes U far too small, and so does a scale that is
    too large; one that is too small makes it too large.
    """
    sizes, outcomes = np.abs(np.asarray(losses, dtype=np.float64)), np.asarray(right, dtype=np.bool_)
    if sizes.ndim != 1 or sizes.shape != outcomes.shape or np.isnan(sizes).any():
        raise SpecError("There must be as many outcomes as losses, in one dimension, and no loss may be NaN.")
    sizes, outcomes = sizes[sizes > 0], outcomes[sizes > 0]
    if not len(sizes):
        return 1.0  # nothing is claimed to be known
    weights, rates = np.minimum(sizes, _MOST_LOSS), posteriors(sizes)
    observed = float(weights @ (outcomes - rates))
    generator, slack = np.random.Generator(np.random.Philox(key=key)), 1e-9 * float(weights.sum())
    above = below = 0
    rows = max(1, _CELLS // len(sizes))
    for start in range(0, REDRAWS, rows):
        coins = generator.random((min(rows, REDRAWS - start), len(sizes)))
        redrawn = ((coins < rates) - rates) @ weights
        above += int((redrawn >= observed - slack).sum())
        below += int((redrawn <= observed + slack).sum())
    return min(1.0, 2 * (1 + min(above, below)) / (REDRAWS + 1))


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
