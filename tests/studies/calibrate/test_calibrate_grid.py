"""The grid of epsilons that a search moves on."""

import math
from itertools import pairwise

import pytest

from tedaudit.errors import SpecError
from tedaudit.studies.calibrate.search import FINE, Grid, epsilon_at


def test_neighbours_differ_by_five_per_cent_and_have_three_digits():
    epsilons = [epsilon_at(place) for place in range(-96, 193)]
    steps = [math.log(b / a) for a, b in pairwise(epsilons)]
    assert 0.03 < min(steps) <= max(steps) < 0.065
    assert all(len(epsilon.label.replace(".", "").strip("0")) <= 3 for epsilon in epsilons)
    assert (epsilon_at(0), epsilon_at(48), epsilon_at(-48)) == (1, 10, 0.1)


def test_a_sweep_has_both_ends_and_half_decades():
    swept = [epsilon_at(place) for place in Grid.between(0.01, 100).sweep()]
    assert swept == [0.01, 0.0316, 0.1, 0.316, 1, 3.16, 10, 31.6, 100]
    assert [epsilon_at(place) for place in Grid.between(2, 12).sweep()] == [2.05, 3.16, 11.5]


def test_refining_ends_when_places_are_close_and_meets_the_same_places_from_anywhere():
    grid = Grid.between(0.01, 100)
    assert grid.refine(0, FINE) == []
    assert grid.refine(0, 24) == [4, 8, 12, 16, 20]
    assert grid.refine(3, 24) == [4, 8, 12, 16, 20]
    wide = grid.refine(-96, 96)
    assert len(wide) <= 7
    assert all(place % FINE == 0 for place in wide)


@pytest.mark.parametrize("limits", [(0.01, 10_000), (1.96, 3.16), (1.97, 5), (0.3, 7.77)])
def test_no_place_lies_beyond_the_limits_and_none_within_is_left_out(limits):
    grid = Grid.between(*limits)
    assert epsilon_at(grid.low - 1) < limits[0] <= epsilon_at(grid.low)
    assert epsilon_at(grid.high) <= limits[1] < epsilon_at(grid.high + 1)


@pytest.mark.parametrize("limits", [(0, 1), (2, 1), (1, math.inf), (math.nan, 2), (1, 1.05)])
def test_limits_that_leave_no_way_to_search_are_refused(limits):
    with pytest.raises(SpecError, match="search"):
        Grid.between(*limits)
