"""The most certain guesses of a row, counted from arrays."""

import numpy as np

from tedaudit.estimators import Choices
from tedaudit.estimators.reduced import ESTIMATOR
from tedaudit.plugins.values import Plan
from tedaudit.results.row import Certain, Row

_TRIALS = 64


def _make(looks: tuple[int, ...] = ()) -> tuple[Plan, Choices, Certain]:
    """Return trials of which the last 16 are right and the most certain; the others are wrong."""
    secret = np.zeros(_TRIALS, dtype=np.int32)
    choice = np.where(np.arange(_TRIALS) < 48, 1, 0).astype(np.int32)
    usable = np.ones(_TRIALS, dtype=np.bool_)
    choices = Choices(choice, usable, np.zeros(_TRIALS, dtype=np.bool_))
    plan = Plan(np.zeros((_TRIALS, 2), dtype=np.int32), secret, secret)
    margin = np.arange(_TRIALS, dtype=np.float32)
    return plan, choices, Certain(plan, choices, margin, looks)


def _row(plan: Plan, choices: Choices, *, any_time: bool = False) -> Row:
    return Row(ESTIMATOR, ESTIMATOR.count(plan, choices, 2), None, any_time)


def test_right_guesses_are_counted_among_the_most_certain() -> None:
    """Halves of the trials, in order of the margin."""
    plan, choices, certain = _make()
    parts = certain.count(_row(plan, choices), 0.005)
    assert parts is not None
    assert [(part.size, part.right) for part in parts.parts] == [(32, 16), (16, 16)]


def test_guesses_without_an_answer_come_last() -> None:
    """However large the margin that is stored for them."""
    plan, choices, certain = _make()
    usable = np.arange(_TRIALS) < 60
    parts = Certain(plan, Choices(choices.choice, usable, ~usable), certain.margin, ()).count(
        _row(plan, choices), 0.005
    )
    assert parts is not None
    assert [(part.size, part.right) for part in parts.parts] == [(32, 12), (16, 12)]


def test_rows_that_were_looked_at_are_ranked_by_themselves() -> None:
    """A block ends at a look: its right guesses are counted among its own."""
    plan, choices, certain = _make(looks=(32,))
    parts = certain.count(_row(plan, choices, any_time=True), 0.005)
    assert parts is not None
    assert (parts.parts[0].size, parts.parts[0].right) == (32, 16)
    assert (parts.parts[1].size, parts.parts[1].right) == (16, 8)


def test_too_few_trials_have_no_parts() -> None:
    """A part that could show nothing, had it all been right, is none."""
    plan, choices, certain = _make()
    few = Choices(choices.choice[:4], choices.usable[:4], choices.failed[:4])
    first = plan.rows(0, 4)
    assert Certain(first, few, certain.margin[:4], ()).count(_row(first, few), 0.005) is None
