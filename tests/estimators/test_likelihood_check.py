"""Likelihoods held against outcomes: the test is exact, and finds a wrong sign and a wrong scale."""

import itertools

import numpy as np
import pytest

from helpers import within
from tedaudit.errors import SpecError
from tedaudit.estimators import likelihood_check
from tedaudit.estimators.likelihood_check import (
    ERROR,
    Calibration,
    LikelihoodCheck,
    calibration_p,
    check_calibration,
    check_guesses,
    posteriors,
    success_tails,
    weigh_evidence,
)
from tedaudit.seeding import derive, normals, uniforms

PAIRS = 2000


def _losses(sigma=1.5, number=0):
    """Return losses of Gaussian noise: mu^2 / 2 on average, with a standard deviation of mu."""
    return sigma * normals([derive(number, "losses")], PAIRS)[0] + sigma**2 / 2


def _outcomes(losses, number=0):
    return uniforms([derive(number, "outcomes")], len(losses))[0] < posteriors(losses)


def test_a_posterior_is_that_of_the_likelier_of_two():
    assert posteriors([0, 1, -1, 1e30]).tolist() == pytest.approx(
        [0.5, np.e / (1 + np.e), np.e / (1 + np.e), 1]
    )


def _p_of_right_losses(number):
    losses = _losses(number=number)[:200]
    return calibration_p(losses, _outcomes(losses, number), number)


def test_right_losses_pass_and_p_is_uniform():
    found = [_p_of_right_losses(number) for number in range(60)]
    assert min(found) > 0.001
    assert within(sum(p <= 0.5 for p in found), 60, 0.5)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda losses, right: (losses, ~right),
        lambda losses, right: (2 * losses, right),
        lambda losses, right: (losses / 2, right),
        lambda losses, right: (losses + 1.0, right),
    ],
    ids=["sign", "twice", "half", "shift"],
)
def test_wrong_losses_do_not(wrong):
    losses = _losses()
    assert calibration_p(*wrong(np.abs(losses), _outcomes(losses)), 1) == pytest.approx(0.0002)


def test_the_p_value_is_that_of_all_outcomes(monkeypatch):
    monkeypatch.setattr(likelihood_check, "REDRAWS", 200_000)
    losses = np.array([0.4, 1.1, 2.0, 3.5])
    rates = posteriors(losses)
    chances, sums = [], []
    for outcome in itertools.product([False, True], repeat=4):
        chances.append(np.prod(np.where(outcome, rates, 1 - rates)))
        sums.append(losses @ (np.array(outcome) - rates))
    chances, sums = np.array(chances), np.array(sums)
    for outcome in ([True] * 4, [False, True, True, True], [True, True, True, False]):
        observed = losses @ (np.array(outcome) - rates)
        tails = chances[sums >= observed - 1e-12].sum(), chances[sums <= observed + 1e-12].sum()
        assert calibration_p(losses, outcome, 5) == pytest.approx(min(1, 2 * min(tails)), abs=0.01)


def test_ties_are_left_out_and_losses_above_30_weigh_no_more():
    losses = _losses()
    right = _outcomes(losses)
    ties = np.zeros(500)
    with_ties = np.concatenate([losses, ties]), np.concatenate([right, ties == 1])
    assert calibration_p(*with_ties, 1) == calibration_p(losses, right, 1)
    assert calibration_p(ties, ties == 0, 1) == 1
    assert calibration_p([*losses, 1e30], [*right, False], 1) > 0.001  # one wrong guess weighs 30 at most
    high = np.full(20, 40.0)
    assert calibration_p(np.concatenate([losses, high]), np.concatenate([right, high > 0]), 1) > 0.001
    assert calibration_p(np.concatenate([losses, 1e30 * high]), np.concatenate([right, high < 0]), 1) < 0.001


def test_the_answer_is_the_same_however_much_memory_there_is(monkeypatch):
    losses = _losses()[:100]
    p = calibration_p(losses, _outcomes(losses), 7)
    monkeypatch.setattr(likelihood_check, "_CELLS", 1000)
    assert calibration_p(losses, _outcomes(losses), 7) == p


@pytest.mark.parametrize("scale", [1.0, 1.3, 2.0])
def test_redraws_that_end_early_decide_as_all_of_them_do(scale, monkeypatch):
    for number in range(3):
        losses = _losses(number=number)[:150]
        right = _outcomes(losses, number)
        whole = calibration_p(scale * losses, right, 3)
        ended = check_calibration(scale * losses, right, 3, until=ERROR)
        assert (whole <= ERROR) == ended.fails
        assert ended.fails == (ended.p <= ERROR)
        with monkeypatch.context() as patched:
            patched.setattr(likelihood_check, "_FIRST", 1)
            patched.setattr(likelihood_check, "_CELLS", 1000)
            assert check_calibration(scale * losses, right, 3, until=ERROR) == ended
        if whole <= ERROR:
            assert ended.p == whole


@pytest.mark.parametrize(("above", "fails"), [(3, True), (4, True), (5, False)])
def test_redraws_end_only_once_the_answer_is_settled(above, fails, monkeypatch):
    """Of 9,999 redraws four may lie beyond what was observed: 2 (1 + 4) / 10,000 is the error."""
    far = np.full(9_999, -1e6)
    far[:above] = 1e6
    monkeypatch.setattr(likelihood_check, "_redraw", lambda *_: iter(np.split(far, [64, 200])))
    found = check_calibration([1.0, 2.0], [True, False], 1, until=ERROR)
    assert found.fails == fails


def test_right_likelihoods_take_few_redraws(monkeypatch):
    made = []
    redraw = likelihood_check._redraw
    monkeypatch.setattr(
        likelihood_check, "_redraw", lambda *given: (made.append(len(u)) or u for u in redraw(*given))
    )
    losses = _losses()
    check_calibration(losses, _outcomes(losses), 1, until=ERROR)
    assert sum(made) < 1000


def _posteriors(scores):
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_the_evidence_of_any_number_of_candidates_gives_the_posterior_of_the_best(k):
    scores = normals([derive(0, "scores")], 50 * k)[0].reshape(50, k) * 3
    scores[0] = 0.0  # all tied
    best = _posteriors(scores).max(axis=1)
    assert posteriors(weigh_evidence(scores), k) == pytest.approx(best)
    assert weigh_evidence(scores)[0] == 0
    assert weigh_evidence(np.array([[-1e30] * (k - 1) + [-5.0]])).tolist() == [np.inf]
    if k == 2:
        assert weigh_evidence(scores) == pytest.approx(np.abs(scores[:, 0] - scores[:, 1]))


@pytest.mark.parametrize(("scale", "fails"), [(1.0, False), (2.0, True), (0.5, True), (-1.0, True)])
def test_guesses_among_several_candidates_are_held_against_their_scores(scale, fails):
    k, trials = 4, 3000
    scores = normals([derive(1, "scores")], trials * k)[0].reshape(trials, k)
    coins = uniforms([derive(1, "secrets")], trials)[0]
    secret = (np.cumsum(_posteriors(scores), axis=1) < coins[:, None]).sum(axis=1)
    told = scale * scores
    columns = {"scores": told, "usable": np.ones(trials, dtype=bool), "choice": told.argmax(axis=1)}
    found = check_guesses(columns, secret, k)
    assert found.fails == fails
    assert found.guesses == trials
    assert (found.surplus > 0) == (found.direction == "understated: it leaks more")
    assert check_guesses(columns, secret, k + 1) is None  # not all scores are kept
    assert check_guesses(columns | {"usable": ~columns["usable"]}, secret, k) is None


def test_what_is_printed_in_the_place_of_a_loss():
    fits, off = Calibration(0.3, 90, 91, 100, 0.5), Calibration(0.0002, 1200.4, 1100, 2000, -80.0)
    assert str(LikelihoodCheck(fits)) == ""
    assert not LikelihoodCheck(fits).is_doubtful
    once, twice = LikelihoodCheck(off), LikelihoodCheck(off, off)
    assert (once.is_refuted, once.is_doubtful) == (False, True)
    words = "promised 1,200 of 2,000, were 1,100): overstated"
    assert str(once) == f"failed once, not repeated (calibration, p = 0.0002; {words}"
    assert (twice.is_refuted, twice.is_doubtful) == (True, False)
    assert str(twice) == f"refuted (calibration, p = 0.0002, again 0.0002; {words}"
    passed = LikelihoodCheck(off, fits)
    assert (passed.is_refuted, passed.is_doubtful, str(passed)) == (False, False, "")
    denied = Calibration(0.8, 90, 88, 100, -2.0, 3)
    assert LikelihoodCheck(off, denied).is_refuted  # fresh trials may be refuted without any chance, too
    impossible = LikelihoodCheck(denied)
    assert impossible.is_refuted
    assert str(impossible).startswith(
        "refuted (3 outputs impossible for their own source, p = 0; promised 90"
    )


@pytest.mark.parametrize(("losses", "right"), [([1.0, np.nan], [True, True]), ([1.0], [True, False])])
def test_what_cannot_be_compared_is_refused(losses, right):
    with pytest.raises(SpecError):
        calibration_p(losses, right, 0)


def _distribution(rates):
    """Return the probabilities of all numbers of successes, exactly."""
    chances = np.ones(1)
    for rate in rates:
        chances = np.convolve(chances, [1 - rate, rate])
    return chances


@pytest.mark.parametrize(
    "rates", [[0.5] * 12, [0.5, 1.0] * 6, [0.51, 0.6, 0.7, 0.8, 0.9, 0.99, 1.0], [1.0] * 5]
)
def test_tails_bound_those_of_trials_with_these_rates_at_every_count(rates):
    chances = _distribution(rates)
    for successes in range(len(rates) + 1):
        below, above = success_tails(float(np.mean(rates)), len(rates), successes)
        assert below >= chances[: successes + 1].sum() - 1e-12
        assert above >= chances[successes:].sum() - 1e-12


def test_tails_of_trials_that_are_alike_are_the_binomial_ones():
    chances = _distribution([0.8] * 20)
    assert success_tails(0.8, 20, 10) == pytest.approx((chances[:11].sum(), 1.0))
    assert success_tails(0.8, 20, 19) == pytest.approx((1.0, chances[19:].sum()))


@pytest.mark.parametrize("arguments", [(1.1, 10, 5), (0.5, 10, 11), (0.5, 10, -1)])
def test_trials_that_cannot_be_are_refused(arguments):
    with pytest.raises(SpecError, match="no such trials"):
        success_tails(*arguments)
