"""What is known of the privacy loss between two texts beyond the loss of the one output that was drawn."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class PairLoss:
    """Figures on a pair of texts and one output; NaN or None for what is unknown.

    `largest` is the largest loss that any output can have, the larger of both directions; infinite if an
    output of one text is impossible for the other. If the loss is that of Gaussian noise, `mu` is the
    distance of the two means in standard deviations: no output has a largest loss then, and epsilon follows
    from mu at every delta. `terms` are the parts of the output's loss, one for each slot, token or triple:
    they add up to the log-likelihood of the first text minus that of the second.
    """

    largest: float = math.nan
    mu: float = math.nan
    terms: npt.NDArray[np.float64] | None = None


UNKNOWN = PairLoss()
