"""What every estimator of the folder offers, how rows become counts, and that a new one is one file."""

import sys

import numpy as np
import pytest

import tedaudit.estimators
from helpers import make_spec, told
from tedaudit.api import run
from tedaudit.errors import SpecError
from tedaudit.estimators import (
    DEFAULT_ESTIMATOR,
    Bound,
    Choices,
    Counts,
    baseline,
    estimator_names,
    find_estimator,
    reduced_form,
    sequential,
)
from tedaudit.estimators.sequential import confidence_sequence
from tedaudit.plugins.values import Plan
from tedaudit.runs.preparation import prepare

NAMES = estimator_names()


def _plan(secret):
    secret = np.asarray(secret, dtype=np.int32)
    return Plan(None, secret, np.zeros(len(secret), dtype=np.int32))


def _choices(choice, failed=()):
    choice = np.asarray(choice, dtype=np.int32)
    return Choices(choice, choice >= 0, np.isin(np.arange(len(choice)), list(failed)))


def _count(name, secret, choice, failed=()):
    return find_estimator(name).count(_plan(secret), _choices(choice, failed), 2)


@pytest.mark.parametrize("name", NAMES)
def test_failed_rewrites_are_counted_whether_they_were_answered_or_not(name):
    counts = _count(name, [0, 1, 0, 1, 0, 1], [0, -1, 0, -1, 1, 1], failed=[0, 1, 4])
    assert (counts.failed, counts.unusable, sum(counts.answered)) == (3, 1, 4)
    assert (counts.correct, counts.guesses) == (3, 6)


# --- what each of them offers


def test_the_folder_has_these_estimators_and_one_of_them_is_the_default():
    assert NAMES == ["baseline", "baseline-ldp-audit", "reduced"]
    assert DEFAULT_ESTIMATOR in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_estimator_has_all_that_the_protocol_names(name):
    estimator = find_estimator(name)
    assert estimator.name == name
    assert estimator.title.strip()
    assert estimator.rows_per_trial in (1, 2)
    assert estimator.refuse(2) == ""
    secret = np.tile(np.arange(estimator.rows_per_trial), 30)
    counts = estimator.count(_plan(secret), _choices(secret), 2)
    rows = estimator.rows_per_trial
    assert counts == Counts(30, (30,) * rows, 2, answered=(30,) * rows)
    assert counts.answers_right().right == counts.all_right().right == (30,) * rows
    for any_time in (False, True):
        bound = estimator.bound(counts, 0.01, 0.1, any_time=any_time)
        assert isinstance(bound, Bound)
        assert (bound.trials, bound.guesses, bound.correct) == (30, counts.guesses, counts.correct)
        assert (bound.candidates, bound.delta, bound.any_time) == (2, 0.1, any_time)
        assert 0 < bound.lower == bound.ceiling


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("any_time", [False, True])
@pytest.mark.parametrize("error", [0.001, 0.005, 0.04])
def test_the_alpha_for_an_error_gives_a_bound_with_that_one_sided_error(name, any_time, error):
    estimator = find_estimator(name)
    counts = Counts(50, (40,) * estimator.rows_per_trial, 2)
    bound = estimator.bound(counts, estimator.alpha_for(error), 0.0, any_time=any_time)
    assert bound.error == pytest.approx(error, rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_bound_valid_at_every_look_claims_no_more_than_one_for_a_fixed_number_of_trials(name):
    estimator = find_estimator(name)
    counts = Counts(80, (70,) * estimator.rows_per_trial, 2)
    fixed, any_time = (estimator.bound(counts, 0.01, 0.0, any_time=early) for early in (False, True))
    assert 0 < any_time.lower < fixed.lower


def test_a_name_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(
        SpecError, match=r"no estimator 'redcued'\. Did you mean 'reduced'\?.*baseline-ldp-audit, red"
    ):
        find_estimator("redcued")


# --- counts


def test_the_reduced_form_counts_right_guesses_and_every_trial():
    counts = _count("reduced", [0, 1, 2, 1], [0, 1, 1, -1], failed=[3])
    assert (counts.trials, counts.right, counts.guesses) == (4, (2,), 4)
    assert (counts.unusable, counts.failed) == (0, 1)


def test_the_baseline_counts_an_answer_it_cannot_use_against_the_bound_on_either_side():
    counts = _count("baseline", [0, 1] * 5, [0, 1, 1, 0, -1, 1, 0, -1, 0, 1], failed=[7])
    assert counts.trials == 5
    hits, rejections = counts.right
    assert hits == 3  # v1 named on M(v1): trials 0, 3, 4; a missing answer is no hit
    # false positives: trial 1 named v1 on M(v2); in trial 3 the rewriting of v2 failed
    assert counts.trials - rejections == 2
    assert (counts.unusable, counts.failed) == (1, 1)
    assert (counts.correct, counts.guesses) == (6, 10)


def test_half_a_trial_of_the_baseline_does_not_count():
    whole = _count("baseline", [0, 1], [0, 0])
    cut = _count("baseline", [0, 1, 0], [0, 0, 0])
    assert cut == whole
    assert _count("baseline", [0], [0]).trials == 0


def test_the_bound_of_the_baseline_is_the_one_of_its_true_and_false_positives():
    counts = Counts(100, (90, 70), 2)
    estimator = find_estimator("baseline")
    assert estimator.bound(counts, 0.02, 0.01) == baseline(90, 30, 100, 0.02, 0.01)
    early = baseline(90, 30, 100, 0.02, 0.01, confidence_sequence)
    assert estimator.bound(counts, 0.02, 0.01, any_time=True) == early


def test_the_bound_of_the_reduced_form_is_the_one_of_its_right_guesses():
    counts = Counts(100, (60,), 5)
    estimator = find_estimator("reduced")
    assert estimator.bound(counts, 0.02, 0.01) == reduced_form(60, 100, 5, 0.02, 0.01)
    assert estimator.bound(counts, 0.02, 0.01, any_time=True) == sequential(60, 100, 5, 0.02, 0.01)


@pytest.mark.parametrize(("candidates", "said"), [(3, "k is 3"), (None, "k is all")])
def test_the_baseline_refuses_any_number_of_candidates_but_two(candidates, said):
    assert said in find_estimator("baseline").refuse(candidates)
    assert find_estimator("reduced").refuse(candidates) == ""


# --- a new one

PAIRS = '''
"""Both candidates are rewritten; a trial is right if both rows are."""
from tedaudit.estimators.protocol import Counts
from tedaudit.estimators.reduced import reduced_form
from tedaudit.estimators.sequential import sequential

class Pairs:
    name, title, rows_per_trial, may_abstain = "pairs", "pairs in full", 2, False

    def refuse(self, candidates):
        return "" if candidates == 2 else "pairs need k = 2"

    def count(self, plan, choices, candidates):
        rows = len(choices) // 2 * 2
        right = (choices.choice[:rows] == plan.secret[:rows]).reshape(-1, 2).all(axis=1)
        return Counts(rows // 2, (int(right.sum()),), candidates)

    def bound(self, counts, alpha, delta, *, any_time=False):
        estimate = sequential if any_time else reduced_form
        return estimate(counts.correct, counts.trials, 2, alpha, delta)

    def alpha_for(self, error):
        return 2 * error

ESTIMATOR = Pairs()
'''


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    """A file more in the folder of the estimators."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "pairs.py").write_text(PAIRS)
    monkeypatch.setattr(
        tedaudit.estimators, "__path__", [*tedaudit.estimators.__path__, str(tmp_path / "folder")]
    )
    tedaudit.estimators._estimators.cache_clear()
    yield "pairs"
    sys.modules.pop("tedaudit.estimators.pairs", None)
    vars(tedaudit.estimators).pop("pairs", None)
    tedaudit.estimators._estimators.cache_clear()


def test_a_new_estimator_is_one_file_that_specs_plans_and_results_find(pairs, tmp_path):
    assert pairs in estimator_names()
    assert find_estimator(pairs).title == "pairs in full"
    spec = make_spec(
        tmp_path / "run", mechanisms=["identity"], plans=[{"k": 2, "lambda": 0, "estimator": pairs}]
    )
    [job] = prepare(spec).jobs
    assert job.plan_name == "k2-lambda0-pairs"
    assert len(job.plan) == 200
    assert job.plan.secret.tolist() == [0, 1] * 100
    [finding] = run(spec)
    assert (finding.bound.trials, finding.planned, finding.counts.right) == (100, 100, (100,))
    assert finding.teda == reduced_form(100, 100)


def test_the_refusal_of_a_new_estimator_reaches_whoever_writes_a_spec(pairs):
    assert "pairs need k = 2" in told(plans=[{"k": 3, "estimator": pairs}])
    assert "baseline-ldp-audit, pairs, reduced" in told(plans=[{"estimator": "median"}])


def test_without_its_file_the_new_estimator_is_unknown():
    assert "baseline-ldp-audit, reduced" in told(plans=[{"estimator": "pairs"}])
