"""Clopper-Pearson intervals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc
from scipy.stats import beta

from tedaudit.errors import SpecError
from tedaudit.estimators import clopper_pearson


@pytest.mark.parametrize("alpha", [0.01, 0.1])
@pytest.mark.parametrize("trials", [1, 2, 7, 100, 10_000])
def test_the_ends_are_the_beta_quantiles_of_the_definition(trials, alpha):
    for successes in np.unique(np.linspace(1, trials - 1, 40).astype(int)[: max(trials - 1, 0)]):
        low, high = clopper_pearson(successes, trials, alpha)
        assert low == pytest.approx(beta.ppf(alpha / 2, successes, trials - successes + 1), rel=1e-9)
        assert high == pytest.approx(beta.ppf(1 - alpha / 2, successes + 1, trials - successes), rel=1e-9)


def test_the_ends_are_exact_where_none_or_all_succeed():
    for trials in (1, 10, 10**6):
        assert clopper_pearson(0, trials)[0] == 0
        assert clopper_pearson(trials, trials)[1] == 1
        assert clopper_pearson(trials, trials)[0] == pytest.approx(0.005 ** (1 / trials), rel=1e-15)
        assert clopper_pearson(0, trials)[1] == pytest.approx(1 - 0.005 ** (1 / trials), rel=1e-9)


@pytest.mark.parametrize(
    ("successes", "trials"),
    [(6_633_592, 6_634_591), (1000, 188_451_978), (59_890_281, 59_891_280), (338_989_059, 338_990_058)],
)
def test_the_tail_is_met_where_scipy_inverts_wrongly(successes, trials):
    for alpha in (0.01, 0.1, 2e-8):
        low, _ = clopper_pearson(successes, trials, alpha)
        # A rate known to 2^-53 moves the tail by some 1e-7 at this many trials.
        assert betainc(successes, trials - successes + 1, low) == pytest.approx(alpha / 2, rel=1e-6)


@given(st.data(), st.integers(1, 10**7), st.floats(1e-9, 0.999))
def test_the_interval_holds_the_observed_rate_and_is_symmetric(data, trials, alpha):
    successes = data.draw(st.integers(0, trials))
    low, high = clopper_pearson(successes, trials, alpha)
    assert 0 <= low <= successes / trials <= high <= 1
    assert clopper_pearson(trials - successes, trials, alpha) == pytest.approx((1 - high, 1 - low), abs=1e-12)


def test_the_smallest_alpha_that_is_a_number_gives_an_honest_interval():
    low, high = clopper_pearson(5, 10, 5e-324)
    assert 0 <= low < 1e-60
    assert high == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 0), r"trials is 0; .*integer from 1 to"),
        ((1, 2.0), r"trials is 2\.0; .*integer from 1 to"),
        ((1, 10**10), r"trials is 10000000000; .*from 1 to 1000000000"),
        ((1, math.nan), r"trials is nan; "),
        ((-1, 5), r"successes is -1; .*integer from 0 to 5"),
        ((6, 5), r"successes is 6; .*integer from 0 to 5"),
        ((2.5, 5), r"successes is 2\.5; .*integer from 0 to 5"),
        ((2, 5, 0), r"alpha is 0; .*above 0 and below 1"),
        ((2, 5, 1.0), r"alpha is 1\.0; .*above 0 and below 1"),
        ((2, 5, math.nan), r"alpha is nan; .*above 0 and below 1"),
        ((2, 5, "0.01"), r"alpha is '0\.01'; .*above 0 and below 1"),
    ],
)
def test_bad_input_is_refused_with_the_value_and_what_is_allowed(arguments, message):
    with pytest.raises(SpecError, match=message):
        clopper_pearson(*arguments)
