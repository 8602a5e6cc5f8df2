"""Targets: what they are compared with, and what a number of trials can tell of them."""

import math

import numpy as np
import pytest

from tedaudit.errors import SpecError
from tedaudit.estimators import clopper_pearson
from tedaudit.estimators.loss import LossSample
from tedaudit.studies.calibrate.rounds import SearchSettings
from tedaudit.studies.calibrate.search import CLEAR, Grid
from tedaudit.studies.calibrate.target import Target, attempt_error, find_reach, parse_target, parse_targets


def test_a_success_is_a_rate_below_1_and_the_epsilon_that_it_stands_for_from_1_on():
    assert parse_target("success", 2.0, 2).level == pytest.approx(math.exp(2) / (math.exp(2) + 1))
    assert parse_target("success", 2.0, 16).level == pytest.approx(math.exp(2) / (math.exp(2) + 15))
    assert parse_target("success", 1, 2).level == pytest.approx(math.exp(1) / (math.exp(1) + 1))
    assert parse_target("success", 0.8, 2).level == 0.8
    assert parse_target("success", 0.8, 2).epsilon == pytest.approx(math.log(4))
    loss = parse_target("loss@0.01", 3, 2)
    assert (loss.level, loss.delta, loss.by, loss.is_loss) == (3.0, 0.01, "loss@0.01", True)


@pytest.mark.parametrize(
    ("by", "value", "k", "reason"),
    [
        ("success", 0, 2, "above 0"),
        ("success", math.inf, 2, "above 0"),
        ("success", 0.5, 2, r"blind guessing \(0\.5\).* epsilon 0\.5 is a success rate of 0\.6225"),
        ("eps_emp", 2, 2, r"lower bound.*--by success with --target 0\.8808 or --target 2,"),
        ("eps_emp", 0.5, 2, r"--by success with --target 0\.6225\. "),
        ("eps_emp", 20, 2, r"--by success with --target 20,"),
        ("loss", 2, 2, "loss@0.01"),
        ("loss@2", 2, 2, "between 0 and 1"),
        ("loss@x", 2, 2, "between 0 and 1"),
        ("loss@0.01", 2, 4, "two candidates"),
        ("success@0.1", 2, 2, "it is measured by"),
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
    target = parse_target("success", 6.0, 2)
    reach = find_reach(target, 1000, 0.01)
    assert reach.too_high
    assert not reach.is_given
    enough = reach.trials_needed
    assert clopper_pearson(enough, enough, 0.005)[0] > target.level
    fewer = int(enough * 0.99)
    assert clopper_pearson(fewer, fewer, 0.005)[0] <= target.level
    assert find_reach(target, enough, 0.01).is_given


def test_a_target_next_to_chance_is_told_too():
    reach = find_reach(parse_target("success", 0.505, 2), 1000, 0.01)
    assert reach.too_near_chance
    assert find_reach(parse_target("success", 0.505, 2), reach.trials_needed, 0.01).is_given


def test_a_loss_needs_the_trials_that_give_its_delta_an_upper_end():
    target = parse_target("loss@0.001", 2.0, 2)
    reach = find_reach(target, 1000, 0.01)
    assert reach.too_near_chance
    assert 5_000 < reach.trials_needed < 20_000
    assert find_reach(target, reach.trials_needed, 0.01).is_given


def test_a_search_for_a_loss_makes_as_many_trials_as_tell_anything():
    losses = SearchSettings((parse_target("loss@0.01", 2.0, 2),), Grid.between(0.1, 10), 4000, 0.01, {})
    rates = SearchSettings((parse_target("success", 2.0, 2),), Grid.between(0.1, 10), 4000, 0.01, {})
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


def test_a_target_is_called_by_its_success_and_the_epsilon_that_it_stands_for():
    assert Target(99.0).phrase == "the target of success above 0.9999 (epsilon 99)"
    assert Target(12.75).label == "success above 0.9999 (epsilon 12.75)"
    assert Target(2.125).label == "success 0.8933 (epsilon 2.125)"
    assert Target(0.75).label == "success 0.75 (epsilon 1.1)"
    told = Target(2.0).to_dict()
    assert told == {
        "by": "success",
        "target": 2.0,
        "target_success": Target(2.0).level,
        "target_epsilon": 2.0,
    }
    assert Target(3.0, 2, 0.01).to_dict()["target_success"] is None


def test_several_targets_are_all_rates_or_all_epsilons():
    """A row such as 0.9, 1, 1.1 would otherwise have a success rate among its epsilons, unseen."""
    assert [target.value for target in parse_targets("success", [2, 1, 2.0], 2)] == [2, 1]
    assert all(target.is_rate for target in parse_targets("success", [0.6, 0.8], 2))
    with pytest.raises(SpecError, match=r"0\.9, 1, 1\.1 .* rates are 0\.7109, 0\.7311, 0\.7503"):
        parse_targets("success", [0.9, 1, 1.1], 2)
    assert [target.value for target in parse_targets("loss@0.01", [0.5, 1], 2)] == [0.5, 1]
