"""From guesses of an attribute to a bound on epsilon and a gain, however uneven its classes are.

If a rewriter is epsilon-LDP for any two texts, so is any mixture of texts: a guesser that reads the rewrite
alone, and was fixed before, names a class at most e^epsilon times as often for records of that class as for
the others. Two bounds follow, which suppose different things.

`attribute_epsilon` takes the records as they are: they keep their own probabilities, of which those of a
class are averaged, and their noise must be independent. Nothing is assumed of how records came about, or of
how many have which class. It is the bound of a table that somebody brings.

`population_epsilon` supposes that records are drawn alike from a population, whose prior is estimated from
the same records. So does `gain_interval`, which speaks of the guesser and not of epsilon.
"""

import math
from collections.abc import Sequence
from itertools import accumulate

from tedaudit.errors import SpecError
from tedaudit.estimators.bound import check_alpha, check_share
from tedaudit.estimators.intervals import clopper_pearson, mean_rate_interval
from tedaudit.estimators.paired import paired_counts, paired_interval

_NOBODY = None  # a class that no record has


def attribute_epsilon(truth: Sequence[str], guesses: Sequence[str], alpha: float = 0.01) -> float:
    """Return a lower bound on epsilon from guesses of a class; too high with probability alpha / 2 at most.

    The largest over classes of ln(P(named | is of it) / P(named | is not)), with the lower end of one rate
    and the upper end of the other: two ends for every class share the error.

    >>> round(attribute_epsilon(["a"] * 50 + ["b"] * 50, ["a"] * 50 + ["b"] * 50), 2)
    1.94
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
            mean_rate_interval(sum(own), len(own), each)[0],
            mean_rate_interval(sum(others), len(others), each)[1],
        )
        if low > 0:
            least = max(least, math.log(low / high))
    return least


# --- Records that are drawn from a population: what a prior allows, and the gain over a blind guess.


def success_under_prior(epsilon: float, prior: Sequence[float]) -> float:
    """Return how often the best guesser of a class is right, whatever the epsilon-LDP rewriter.

    The largest over m of Pi_m e^epsilon / (e^epsilon + m - 1), Pi_m being what the m most frequent classes
    have: randomised response among those m, and anything for the others. The linear program over all
    rewriters has the same optimum.

    >>> [round(success_under_prior(epsilon, [0.7, 0.2, 0.1]), 3) for epsilon in (1, 3)]
    [0.7, 0.909]
    """
    if not epsilon >= 0:
        raise SpecError(f"epsilon is {epsilon!r}; it must be 0 or larger (infinity is allowed).")
    return max(
        total / (1 + (m - 1) * math.exp(-epsilon))
        for m, total in enumerate(_add_largest(check_prior(prior)), 1)
    )


def epsilon_under_prior(success: float, prior: Sequence[float]) -> float:
    """Return the smallest epsilon at which a guesser can be right so often: 0 if blind guessing can.

    The inverse of `success_under_prior`: the least over m of ln((m - 1) p / (Pi_m - p)).
    """
    return _least_epsilon(check_share("success", success), _add_largest(check_prior(prior)))


def population_epsilon(
    truth: Sequence[str], guesses: Sequence[str], alpha: float = 0.01, values: int | None = None
) -> float:
    """Return a lower bound on epsilon if records are drawn alike, too high with at most alpha / 2.

    Half of that error is for the success rate, the other half is shared by the upper ends of how frequent
    each class is. `values` is how many classes there can be: those that occur, unless it is said. A prior
    that is read off other records and taken for known would give false alarms more often than stated: .10
    at an error of .05 if there are as many of them.

    >>> population_epsilon(["a"] * 60 + ["b"] * 40, ["a"] * 100)
    0.0
    """
    frequent = [truth.count(name) for name in sorted(set(truth))]
    half, number = check_alpha(alpha) / 2, max(values or 0, len(frequent))
    ends = [clopper_pearson(count, len(truth), half / number)[1] for count in frequent]
    right = sum(guess == true for true, guess in zip(truth, guesses, strict=True))
    most = [min(1.0, total) for total in _add_largest(ends)]
    return _least_epsilon(clopper_pearson(right, len(truth), half)[0], most)


def gain_interval(
    truth: Sequence[str], guesses: Sequence[str], alpha: float = 0.01, blind: str | None = None
) -> tuple[float, float]:
    """Return how much more often guesses are right than the best blind one, an end wrong with alpha / 2.

    Records must be drawn alike. The lower end is the least over classes of what guesses gain over always
    naming that class. One of them is the most frequent in truth, and to overstate the gain the end of that
    one must be wrong: so no class has to share the error. `blind` is the class that was thought to be the
    most frequent before these records were seen, for the upper end; without it the one that is so among
    them is taken, and all classes share the error of that end.

    >>> low, high = gain_interval(["a"] * 60 + ["b"] * 40, ["a"] * 60 + ["b"] * 40)
    >>> round(low, 2), round(high, 2)
    (0.18, 0.58)
    """
    classes = sorted(set(truth))
    right = [guess == true for true, guess in zip(truth, guesses, strict=True)]

    def compare(name: str | None, error: float) -> tuple[float, float]:
        return paired_interval(paired_counts([true == name for true in truth], right), error)

    low = min(compare(name, check_alpha(alpha))[0] for name in (*classes, _NOBODY))
    if blind is not None:
        return low, compare(blind, alpha)[1]
    return low, compare(max(classes, key=truth.count), alpha / len(classes))[1]


def check_prior(prior: Sequence[float]) -> list[float]:
    """Return how frequent classes are as plain floats, or say what is wrong with them."""
    shares = [check_share("a share of the prior", share) for share in prior]
    if len(shares) < 2 or not math.isclose(sum(shares), 1, abs_tol=1e-9):
        raise SpecError(
            f"The prior has {len(shares)} shares that add up to {sum(shares):g}; it needs one for each "
            "class, two or more, that add up to 1, as in [0.7, 0.2, 0.1]."
        )
    return shares


def _add_largest(shares: Sequence[float]) -> list[float]:
    """Return what the m largest add up to, for every m."""
    return list(accumulate(sorted(shares, reverse=True)))


def _least_epsilon(success: float, most: Sequence[float]) -> float:
    """Return the least epsilon for a success rate if the m most frequent classes have at most `most`."""
    if success <= most[0]:
        return 0.0
    return min(
        (
            math.log((m - 1) * success / (total - success))
            for m, total in enumerate(most, 1)
            if total > success
        ),
        default=math.inf,
    )
