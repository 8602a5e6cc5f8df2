"""What trials at one epsilon say: ends that hold by enumeration, also for the strongest of many attacks."""

import math
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from tedaudit.estimators import clopper_pearson
from tedaudit.estimators.loss import LossSample
from tedaudit.estimators.readings import LossReading, Strongest, SuccessReading

TRIALS = 40


@cache
def ends(correct, error):
    return SuccessReading(correct, TRIALS).ends(error)


def test_a_success_rate_has_the_ends_of_clopper_and_pearson_and_can_be_forecast():
    reading = SuccessReading(30, 40)
    assert reading.value == 0.75
    assert reading.ends(0.005) == clopper_pearson(30, 40, 0.01)
    assert reading.grow(4000) == SuccessReading(3000, 4000)


@pytest.mark.parametrize("rate", [0.3, 0.62, 0.9])
def test_all_attacks_below_needs_no_share_of_the_error(rate):
    """Two attacks, one of them at the level: that both upper ends lie below it has the error of one."""
    error = 0.05
    law = binom.pmf(np.arange(TRIALS + 1), TRIALS, rate)
    for other in (0.05, rate):
        second = binom.pmf(np.arange(TRIALS + 1), TRIALS, other)
        wrong = sum(
            law[a] * second[b]
            for a, b in product(range(TRIALS + 1), repeat=2)
            if max(ends(a, error)[1], ends(b, error)[1]) < rate
        )
        assert wrong <= error
    strongest = Strongest({"a": SuccessReading(20, 40), "b": SuccessReading(31, 40)})
    assert strongest.upper(error) == ends(31, error)[1]
    assert (strongest.attack, strongest.value, strongest.trials) == ("b", 31 / 40, 40)


def test_an_attack_above_has_the_whole_error_if_it_was_named_beforehand_and_a_share_if_not():
    rate, error = 0.6, 0.05
    law = binom.pmf(np.arange(TRIALS + 1), TRIALS, rate)
    above = {
        share: sum(law[a] for a in range(TRIALS + 1) if ends(a, share)[0] > rate) for share in (0.05, 0.025)
    }
    assert above[0.05] <= error
    assert 1 - (1 - above[0.025]) ** 2 <= error
    strongest = Strongest({"a": SuccessReading(20, 40), "b": SuccessReading(31, 40)})
    assert strongest.lower(error, "a") == ends(20, error)[0]
    assert strongest.lower_of_any(error) == ends(31, error / 2)[0]


def test_losses_have_the_ends_of_order_statistics():
    losses = np.linspace(-1, 6, 2000)
    reading, sample = LossReading(losses, 10, 0.05), LossSample(losses, 0.005, 10)
    expected = sample.epsilon_at(0.05)
    assert (reading.value, reading.trials) == (expected.point, 2010)
    assert reading.ends(0.005) == (expected.lower, expected.upper)


def test_more_losses_of_the_same_kind_are_a_forecast_with_closer_ends():
    reading = LossReading(np.linspace(-1, 6, 501), 0, 0.05)
    grown = reading.grow(5010)
    assert grown.trials == 5010
    assert grown.value == pytest.approx(reading.value, abs=0.05)
    assert grown.ends(0.01)[1] < reading.ends(0.01)[1]
    assert LossReading(np.zeros(90), 10, 0.05).grow(1000).unknown == 100


def test_without_a_known_loss_nothing_is_known():
    nothing = LossReading(np.zeros(0), 30, 0.05)
    assert (nothing.ends(0.01), nothing.trials) == ((0.0, math.inf), 30)
    assert math.isnan(nothing.value)  # not infinite: nobody knows
    assert nothing.grow(60).trials == 60
