"""What an epsilon means for somebody who guesses, and how to choose a limit for a gate."""

import math

from tedaudit.estimators import success_from_epsilon
from tedaudit.results.section import Column, Section, Table

LOSSES = (0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0)
_READING = (
    "The true loss is the mechanism's epsilon for a whole text. If it were the number on the left, no attack "
    "that is shown two candidates could be right more often than the second column says, on average (delta "
    "0; a coin is right 50 times in 100). The third column says how many times likelier an output can be "
    "from one text than from another."
)
_ONE_WAY = (
    "Read the table from left to right only. It does not say how often an attack of a run was right: eps_emp "
    "is a lower bound on the true loss, and an attack's surest guesses alone may prove it."
)
_LIMIT = (
    "To choose a limit for a gate, decide how often somebody with two candidates may be right at most, and "
    "take the loss of that row as --fail-above (fail_above in Python). The gate fails if a run shows more "
    "than the limit. If it passes, these attacks did not show more; another attack may. With --dry-run, "
    "tedaudit run says beforehand whether there are enough trials to test the limit."
)


def tell_meaning() -> Section:
    """Return how often an attack could be right at most if the true loss were so large."""
    columns = (
        Column("if the true loss were", "figures", 0), Column("right at most, times in 100", "figures", 0),
        Column("times likelier at most", "figures"),
    )  # fmt: skip
    rows = tuple((f"{loss:g}", format_most(loss), format_factor(loss)) for loss in LOSSES)
    return Section("What a number means", Table(columns, rows), _READING, (_ONE_WAY, _LIMIT))


def format_most(loss: float) -> str:
    """Return how many guesses of 100 can be right at most between two candidates, never as 100."""
    most = 100 * success_from_epsilon(loss)
    digits = max(1, 1 - math.floor(math.log10(100 - most)))
    return f"{most:.{digits}f}"


def format_factor(epsilon: float) -> str:
    """Return e^epsilon in few digits."""
    factor = math.exp(min(epsilon, 700))
    return f"{factor:,.0f}" if factor >= 10 else f"{factor:.1f}"
