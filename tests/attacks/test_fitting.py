import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, softmax

from tedaudit.attacks._practice import Weights, fit


def trials_with(weights, count, seed=0):
    """Return trials of four candidates whose secret follows a softmax with these weights."""
    rng = np.random.default_rng(seed)
    trials = [rng.normal(size=(4, len(weights))) for _ in range(count)]
    secrets = [int(rng.choice(4, p=softmax(one @ np.asarray(weights)))) for one in trials]
    return trials, secrets


def test_known_weights_are_found_again():
    learnt = fit(*trials_with([2.0, -1.0, 0.0], 4000))
    assert learnt.values / learnt.spread == pytest.approx([2.0, -1.0, 0.0], abs=0.2)


def test_scores_are_calibrated():
    learnt = fit(*trials_with([1.5, 0.5], 3000))
    trials, secrets = trials_with([1.5, 0.5], 3000, seed=1)
    chances = np.array([softmax(learnt.scores(one)) for one in trials])
    said = chances.max(axis=1).mean()
    right = np.mean([int(c.argmax()) == s for c, s in zip(chances, secrets, strict=True)])
    assert said == pytest.approx(right, abs=0.03)


def test_features_of_any_size_are_weighed_alike():
    trials, secrets = trials_with([2.0, 1.0], 800)
    scaled = [one * [1e6, 1e-6] for one in trials]
    plain, other = fit(trials, secrets), fit(scaled, secrets)
    same = [plain.scores(one) for one in trials]
    assert np.allclose(same, [other.scores(one) for one in scaled], atol=1e-3)


def test_line_ups_of_different_sizes_are_learnt_from_together():
    trials, secrets = trials_with([2.0, -1.0], 3000)
    cut = [one[: secret + 1] if number % 2 else one for number, (one, secret) in
           enumerate(zip(trials, secrets, strict=True))]  # fmt: skip
    some = [number for number, secret in enumerate(secrets) if number % 2 == 0 or secret > 0]
    learnt = fit([cut[number] for number in some], [secrets[number] for number in some])
    assert np.isfinite(learnt.values).all()
    assert learnt.values[0] > 0.5 > -0.2 > learnt.values[1]


def test_a_score_that_stands_for_impossible_does_not_drown_the_others():
    trials, secrets = trials_with([2.0, 1.0], 800)
    for one, secret in zip(trials, secrets, strict=True):
        one[(secret + 1) % 4, 1] = -1e30
    learnt = fit(trials, secrets)
    assert np.isfinite(learnt.values).all()
    assert learnt.values[0] > 0.5


def test_a_feature_that_never_differs_is_worth_nothing():
    trials, secrets = trials_with([2.0], 200)
    learnt = fit([np.column_stack([one, np.ones(4)]) for one in trials], secrets)
    assert learnt.values[1] == pytest.approx(0.0, abs=1e-6)


def test_weights_stay_small_where_one_feature_always_tells_the_secret():
    rng = np.random.default_rng(0)
    trials = [rng.normal(size=(4, 2)) for _ in range(200)]
    learnt = fit(trials, [int(one[:, 0].argmax()) for one in trials])
    assert np.isfinite(learnt.values).all()
    assert 1 < learnt.values[0] < 8
    assert abs(learnt.values[1]) < 0.5


@pytest.mark.parametrize("count", [5, 500])
def test_the_penalty_on_weights_is_a_hundredth_per_trial_however_many_there_are(count):
    """With one feature that is 1 for the secret and 0 for the other, the weight can be worked out."""
    learnt = fit([np.array([[1.0], [0.0]])] * count, [0] * count)
    expected = brentq(lambda weight: expit(-weight) - 0.01 * weight, 0, 20)
    assert expected < 4
    assert learnt.values == pytest.approx([expected], rel=1e-3)


@pytest.mark.parametrize("candidates", [3, 7, 10, 64])
def test_equal_candidates_have_equal_scores_at_any_place(candidates):
    learnt = Weights(np.random.default_rng(2).normal(size=41), np.ones(41))
    one, other = np.random.default_rng(3).normal(size=(2, 41))
    assert len(set(learnt.scores(np.array([other, *[one] * (candidates - 1)]))[1:])) == 1
