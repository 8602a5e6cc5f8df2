"""The baseline estimator with the split of alpha of its authors' release, ldp-audit.

The release halves alpha for the two rates and passes each half to a two-sided interval, which halves it
again: alpha / 4 a tail. Its bound is the plain baseline's at half the alpha, so its one-sided error is
alpha / 2 and not alpha.
"""

from tedaudit.estimators.baseline import Baseline
from tedaudit.estimators.bound import Bound
from tedaudit.estimators.protocol import Counts, Estimator


class BaselineLdpAudit(Baseline):
    """The baseline, with alpha / 4 a tail."""

    name = "baseline-ldp-audit"
    title = "baseline with the alpha of ldp-audit"

    def bound(self, counts: Counts, alpha: float, delta: float, *, any_time: bool = False) -> Bound:
        """Return the baseline's bound at half of alpha."""
        return super().bound(counts, alpha / 2, delta, any_time=any_time)

    def alpha_for(self, error: float) -> float:
        """Return twice the error: two ends can fail, each with a quarter of alpha."""
        return 2 * error


ESTIMATOR: Estimator = BaselineLdpAudit()
