"""From how many rewrites on somebody is known: success against n, the number of rewrites that are seen.

The numbers n are nested and fixed beforehand: whoever is seen in two rewrites is seen in the first of them.
"""

from collections.abc import Mapping

from tedaudit.estimators.bound import check_alpha, check_counts
from tedaudit.estimators.intervals import binomial_tail

GRID = (1, 2, 4, 8, 16)
"""How many rewrites an adversary sees."""
KNOWN = 0.95
"""The success from which on somebody counts as known."""
FEWEST_TRIALS = 300
"""Below this, too few trials to say from how many rewrites on somebody is known."""


def nested_grid(largest: int) -> tuple[int, ...]:
    """Return the numbers of rewrites up to the largest, which is the last of them.

    >>> nested_grid(10)
    (1, 2, 4, 8, 10)
    """
    return (*(number for number in GRID if number < largest), largest)


def known_from(
    right: Mapping[int, int], trials: int, alpha: float = 0.01, level: float = KNOWN
) -> int | None:
    """Return the smallest n from which on success is shown to be above a level, at all larger ones too.

    `right` has the number of right guesses for each n, of the same number of trials. "Success is at most the
    level" is tested from the largest n down, each time with the whole error alpha / 2, until it is not
    rejected: whatever is wrong of the answer needs the first true one of these hypotheses to be rejected.
    None if the largest n does not show it.

    >>> known_from({1: 250, 2: 299, 4: 300}, 300)
    2
    """
    error, found = check_alpha(alpha) / 2, None
    for number in sorted(right, reverse=True):
        correct, _ = check_counts("right", right[number], trials)
        if binomial_tail(correct, trials, level) > error:
            break
        found = number
    return found
