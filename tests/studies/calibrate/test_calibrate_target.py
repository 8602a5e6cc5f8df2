"""Targets: what they are compared with, and what a number of trials can tell of them."""

import math

import numpy as np
import pytest

from tedaudit.errors import SpecError
from tedaudit.estimators import clopper_pearson
from tedaudit.estimators.loss import LossSample
from tedaudit.studies.calibrate.rounds import SearchSettings
from tedaudit.studies.calibrate.search import CLEAR, Grid
from tedaudit.studies.calibrate.target import Target, attempt_error, find_reach, parse_target


def test_an_eps_emp_is_the_success_rate_that_it_stands_for():
    assert parse_target("eps_emp", 2.0, 2).level == pytest.approx(math.exp(2) / (math.exp(2) + 1))
    assert parse_target("eps_emp", 2.0, 16).level == pytest.approx(math.exp(2) / (math.exp(2) + 15))
    assert parse_target("success", 0.8, 2).level == 0.8
    loss = parse_target("loss@0.01", 3, 2)
    assert (loss.level, loss.delta, loss.by, loss.is_loss) == (3.0, 0.01, "loss@0.01", True)


@pytest.mark.parametrize(
    ("by", "value", "k", "reason"),
    [
        ("eps_emp", 0, 2, "above 0"),
        ("eps_emp", math.inf, 2, "above 0"),
        ("success", 0.5, 2, "blind guessing"),
        ("success", 1.0, 2, "below 1"),
        ("loss", 2, 2, "loss@0.01"),
        ("loss@2", 2, 2, "between 0 and 1"),
        ("loss@x", 2, 2, "between 0 and 1"),
        ("loss@0.01", 2, 4, "two candidates"),
        ("eps_emp@0.1", 2, 2, "it is measured by"),
        ("epsilon", 2, 2, "it is measured by"),
    ],
)
def test_a_target_that_is_none_is_refused(by, value, k, reason):
    with pytest.raises(SpecError, match=reason):
        parse_target(by, value, k)


def test_all_attempts_at_both_ends_share_the_error():
    assert attempt_error(0.01, 1) == 0.0025
    assert 2 * sum(attempt_error(0.01, j) for j in range(1, 10_000)) == pytest.approx(0.01, rel=1e-3)


def test_a_target_above_the_ceiling_is_told_with_the_trials_that_reach_it():
    target = parse_target("eps_emp", 6.0, 2)
    reach = find_reach(target, 1000, 0.01)
    assert reach.too_high
    assert not reach.is_given
    enough = reach.trials_needed
    assert clopper_pearson(enough, enough, 0.005)[0] > target.level
    fewer = int(enough * 0.99)
    assert clopper_pearson(fewer, fewer, 0.005)[0] <= target.level
    assert find_reach(target, enough, 0.01).is_given


def test_a_target_next_to_chance_is_told_too():
    reach = find_reach(parse_target("eps_emp", 0.02, 2), 1000, 0.01)
    assert reach.too_near_chance
    assert find_reach(parse_target("eps_emp", 0.02, 2), reach.trials_needed, 0.01).is_given


def test_a_loss_needs_the_trials_that_give_its_delta_an_upper_end():
    target = parse_target("loss@0.001", 2.0, 2)
    reach = find_reach(target, 1000, 0.01)
    assert reach.too_near_chance
    assert 5_000 < reach.trials_needed < 20_000
    assert find_reach(target, reach.trials_needed, 0.01).is_given


def test_a_search_for_a_loss_makes_as_many_trials_as_tell_anything():
    losses = SearchSettings((parse_target("loss@0.01", 2.0, 2),), Grid.between(0.1, 10), 4000, 0.01, {})
    rates = SearchSettings((parse_target("eps_emp", 2.0, 2),), Grid.between(0.1, 10), 4000, 0.01, {})
    assert [rates.count_search(number) for number in range(3)] == [250, 1000, 1000]
    first, second = losses.count_search(0), losses.count_search(1)
    assert LossSample(np.zeros(first), CLEAR).epsilon_upper(0.01) == 0
    assert LossSample(np.zeros(first - 1), CLEAR).epsilon_upper(0.01) == math.inf
    assert second == 2 * first


def test_values_far_above_a_target_have_a_place_on_its_scale():
    target = parse_target("success", 0.9, 2)
    assert target.straighten(0.9) == pytest.approx(math.log(9))
    assert target.straighten(1.0) < 6
    assert parse_target("loss@0.01", 2, 2).straighten(math.inf) == 9


def test_a_target_is_called_what_it_was_given_as():
    assert Target("eps_emp", 99.0).phrase == "the target of 99 (success above 0.9999)"
    assert Target("eps_emp", 12.75).label == "12.75 (success above 0.9999)"
    assert Target("eps_emp", 2.125).label == "2.125 (success 0.8933)"
