"""How loose a claim can be: an exactly tight one reads 1, by closed forms and by enumeration."""

import math

import numpy as np
import pytest

from tedaudit.estimators.gdp import find_epsilon
from tedaudit.estimators.loss import LossSample, Supremum, find_supremum
from tedaudit.estimators.slack import Slack, find_slack
from tedaudit.seeding import normals

NONE = np.array([math.nan])


def sample(losses, error=0.005):
    return LossSample(np.asarray(losses, dtype=np.float64), error)


def respond(epsilon, words):
    """Return the losses of randomised response on a word, of all outputs and pairs, by enumeration."""
    chances = np.full((words, words), 1.0)
    np.fill_diagonal(chances, math.exp(epsilon))
    chances /= chances.sum(axis=1, keepdims=True)
    pairs = [(a, b) for a in range(words) for b in range(words) if a != b]
    return np.concatenate([np.log(chances[a] / chances[b]) for a, b in pairs])


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 40.0])
@pytest.mark.parametrize("words", [2, 3, 7])
def test_a_tight_claim_of_randomised_response_reads_one(epsilon, words):
    losses = respond(epsilon, words)
    supremum = find_supremum(np.array([losses.max()]), NONE)
    slack = find_slack(epsilon, 0.0, sample(losses), supremum)
    assert str(slack) == "at most 1.0x"
    assert slack.at_most == pytest.approx(1.0)
    assert str(find_slack(epsilon, 0.0, sample(losses), None, confirmed=losses.max())) == "at most 1.0x"


@pytest.mark.parametrize("mu", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-5, 0.01])
def test_a_tight_claim_of_gaussian_noise_reads_one(mu, delta):
    supremum = find_supremum(np.array([math.inf, math.inf]), np.array([mu / 2, mu]))
    claim = find_epsilon(mu, delta)
    losses = mu * normals([1], 1000)[0] + mu**2 / 2
    slack = find_slack(claim, delta, sample(losses), supremum)
    assert slack.at_most == pytest.approx(1.0) if claim > 0 else slack.at_most is None
    assert slack.delta == delta


def test_an_average_is_a_lower_bound_on_the_worst_pair_at_the_claim_s_delta_or_a_larger_one():
    """Of the exact curve: the same losses as often as the trials, so that ends lie around it."""
    losses = np.repeat(respond(2.0, 2), 500)
    slack = find_slack(2.0, 1e-5, sample(losses), None)
    assert (slack.delta, slack.source) == (1e-5, "average")
    assert 0 < slack.lost <= 2.0
    assert str(slack).startswith("at most 1.0x") or slack.at_most > 1.0
    assert str(slack).endswith("(delta 1e-05)")
    pure = find_slack(2.0, 0.0, sample(losses), None)
    assert pure.delta == 0.001
    assert 0 < pure.lost < slack.lost
    large = find_slack(2.0, 0.02, sample(losses), None)
    assert large.delta == 0.02


def test_a_supremum_at_delta_0_bounds_no_claim_with_a_delta():
    """One output in a million of one text is impossible for the other: at delta 1e-5 nothing is lost."""
    losses = np.zeros(1000)
    slack = find_slack(1.0, 1e-5, sample(losses), Supremum(math.inf, 0.0, 0))
    assert slack.source == "average"
    assert slack.at_most is None
    assert str(slack) == "not known"


def test_few_trials_show_the_smallest_delta_that_they_can():
    slack = find_slack(1.0, 0.5, sample([math.inf]), None)
    assert slack.lost == 0
    assert str(slack) == "not known"


def test_a_loss_above_the_claim_reads_below_one_and_an_endless_one_nothing():
    assert str(Slack(1.0, 2.0, 0.0, "supremum")) == "at most 0.5x"
    endless = find_slack(5120.0, 0.0, sample([1.0]), Supremum(math.inf, 0.0, 0))
    assert endless.at_most == 0.0
    assert str(endless) == "none: the loss is infinite"
    assert endless.to_dict() == {"at_most": 0.0, "lost": None, "delta": 0.0, "source": "supremum"}


def test_it_is_rounded_up_because_it_is_a_limit():
    assert str(Slack(104.0, 100.0, 0.0, "supremum")) == "at most 1.1x"
    assert str(Slack(1.00001, 1.0, 0.0, "supremum")) == "at most 1.0x"
    assert str(Slack(100.4, 1.0, 0.0, "supremum")) == "at most 101x"
    assert str(Slack(2126.2, 1.0, 0.001, "average")) == "at most 2,127x (delta 0.001)"


def test_a_claim_without_a_maximum_has_none():
    assert find_slack(math.inf, 0.0, sample([1.0]), None) is None
