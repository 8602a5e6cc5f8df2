"""From guesses of an attribute to a bound on epsilon, however uneven its classes are.

If a rewriter is epsilon-LDP for any two texts, so is any mixture of texts: a guesser that reads the rewrite
alone, and was fixed before, names a class at most e^epsilon times as often for records of that class as for
the others. Records keep their own probabilities, of which those of a class are averaged; their noise must be
independent. Nothing is assumed of how records came about, or of how many have which class.
"""

import math
from collections.abc import Sequence

from tedaudit.estimators.bound import check_alpha
from tedaudit.estimators.intervals import clopper_pearson


def attribute_epsilon(truth: Sequence[str], guesses: Sequence[str], alpha: float = 0.01) -> float:
    """Return a lower bound on epsilon from guesses of a class; too high with probability alpha / 2 at most.

    The largest over classes of ln(P(named | is of it) / P(named | is not)), with the lower end of one rate
    and the upper end of the other: two ends for every class share the error.

    >>> round(attribute_epsilon(["a"] * 50 + ["b"] * 50, ["a"] * 50 + ["b"] * 50), 2)
    2.08
    """
    classes = sorted(set(truth))
    if len(classes) < 2:
        return 0.0
    each = check_alpha(alpha) / (2 * len(classes))
    least = 0.0
    for name in classes:
        own = [guess == name for true, guess in zip(truth, guesses, strict=True) if true == name]
        others = [guess == name for true, guess in zip(truth, guesses, strict=True) if true != name]
        low, high = (
            clopper_pearson(sum(own), len(own), each)[0],
            clopper_pearson(sum(others), len(others), each)[1],
        )
        if low > 0:
            least = max(least, math.log(low / high))
    return least
