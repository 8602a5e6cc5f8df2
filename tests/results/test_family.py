"""All rows judged together: who is in reach, which error each test has, and what a verdict says."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from helpers import Failing, Promising, SharedWords, audited, make_spec
from tedaudit.api import load_run, run
from tedaudit.estimators import Counts, baseline, find_estimator, reduced_form, sequential
from tedaudit.estimators.abstaining import count_parts, find_sizes
from tedaudit.plugins.values import Claim
from tedaudit.results.family import Family, judge_gate
from tedaudit.results.row import Row
from tedaudit.runs.looks import Look

ALPHA, ERROR = 0.01, 0.005
REDUCED, BASELINE = find_estimator("reduced"), find_estimator("baseline")


def row(right, trials, epsilon=1.0, *, k=2, **changes):
    claim = Claim(epsilon, "document", delta=changes.pop("claimed_delta", 0.0))
    counts = Counts(trials, (right,), k, **changes.pop("counts", {}))
    return Row(REDUCED, counts, claim, **changes)


def all_right(trials, epsilon):
    """Return a row as a run has it, with its most certain guesses if there are enough of them."""
    made, right = row(trials, trials, epsilon), np.ones(trials, dtype=np.bool_)
    sizes = find_sizes(trials, 2, 0.0, ERROR)
    parts = count_parts(right, np.zeros(trials, dtype=np.float32), right, sizes, 2) if sizes else None
    return replace(made, parts=parts)


def judged(*rows, look=1, noted=True):
    return Family(ALPHA, rows, Look(look, noted)).judge()


def names(*rows, **changes):
    return [verdict.name for verdict in judged(*rows, **changes)]


# --- one test


def test_a_claim_is_violated_exactly_if_the_bound_at_the_error_of_the_first_look_is_above_it():
    lower = reduced_form(900, 1000, 2, ALPHA / 2).lower
    found = [names(row(900, 1000, total)) for total in (lower - 1e-6, lower + 1e-6)]
    assert found == [["violated"], ["no violation found"]]


@pytest.mark.parametrize("look", [1, 2, 3])
def test_a_look_has_its_share_of_the_error_and_all_looks_together_no_more_than_all_of_it(look):
    assert Family(ALPHA, (), Look(look)).error == pytest.approx(ERROR / (look * (look + 1)))
    assert sum(Family(ALPHA, (), Look(j)).error for j in range(1, 10_000)) < ERROR
    lower = reduced_form(900, 1000, 2, ALPHA / (look * (look + 1))).lower
    found = [names(row(900, 1000, total), look=look) for total in (lower - 1e-6, lower + 1e-6)]
    assert found == [["violated"], ["no violation found"]]


def test_the_adjusted_p_is_to_be_compared_with_the_error_of_the_run():
    for look in (1, 2, 3):
        rows = [row(right, 300, 0.5) for right in range(200, 260)]
        for verdict in judged(*rows, look=look):
            assert (verdict.adjusted_p <= ERROR) == verdict.is_violation


def test_rows_that_grew_after_a_look_are_judged_by_the_confidence_sequence():
    fixed, any_time = reduced_form(280, 300, 2, ALPHA / 6), sequential(280, 300, 2, ALPHA / 6)
    between = (fixed.lower + any_time.lower) / 2
    assert names(row(280, 300, between), look=2) == ["violated"]
    assert names(row(280, 300, between, any_time=True), look=2) == ["no violation found"]
    assert names(row(280, 300, any_time.lower - 1e-6, any_time=True), look=2) == ["violated"]


def test_a_look_that_is_not_counted_gives_no_verdict():
    [verdict] = judged(row(300, 300, 0.1), noted=False)
    assert verdict.name == "not tested"
    assert "tedaudit report" in verdict.reason
    assert names(Row(REDUCED, Counts(10, (10,), 2), None), noted=False) == ["no claim"]


def test_a_baseline_claim_is_judged_at_half_the_alpha_because_two_ends_can_fail():
    total, trials, hits = 1.0, 400, 300
    strict, lax = ({f: baseline(hits, f, trials, alpha).lower for f in range(trials)}
                   for alpha in (ALPHA / 4, ALPHA / 2))  # fmt: skip
    alarms = next(f for f in range(trials) if strict[f] <= total < lax[f])
    counts = Counts(trials, (hits, trials - alarms), 2)
    assert names(Row(BASELINE, counts, Claim(total, "document"))) == ["no violation found"]
    below = Claim(strict[alarms] - 1e-6, "document")
    assert names(Row(BASELINE, counts, below)) == ["violated"]


# --- delta


def test_no_smaller_delta_than_the_claims_is_used_against_it():
    """A function that is exactly (0, 0.2)-DP and claims (0.05, 0.2) is right in 60 % of trials."""
    honest = [row(1200, 2000, 0.05, claimed_delta=0.2, delta=delta) for delta in (None, 0.0, 0.1)]
    assert names(*honest) == ["no violation found"] * 3
    assert honest[1].bound(ERROR).lower > 0.2  # the bound that was asked for, at delta 0
    assert names(row(1700, 2000, 0.05, claimed_delta=0.2, delta=0.0)) == ["violated"]


def test_a_larger_delta_than_the_claims_may_be_asked_for():
    assert names(row(1200, 2000, 0.05)) == ["violated"]
    assert names(row(1200, 2000, 0.05, delta=0.3)) == ["no violation found"]


# --- reach


def test_a_claim_above_the_ceiling_is_out_of_reach_with_the_trials_that_it_needs():
    [verdict] = judged(all_right(250, 8.0))
    assert verdict.name == "out of reach"
    needed = verdict.trials_needed
    assert f"{needed:,} trials" in verdict.reason
    assert names(all_right(needed, 8.0)) == ["violated"]
    assert names(all_right(needed - 1, 8.0)) == ["out of reach"]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 1.5, 2.0])
def test_so_are_the_trials_that_it_needs_whether_there_are_few_or_many(epsilon):
    """Of few trials none are the most certain ones, so that all of them have the whole error."""
    told = [judged(all_right(trials, epsilon))[0].trials_needed for trials in (5, 9)]
    least = next(trials for trials in range(1, 200) if names(all_right(trials, epsilon)) == ["violated"])
    assert told == [least, least]


def test_no_number_of_trials_reaches_an_enormous_claim():
    [verdict] = judged(row(250, 250, 3200.0))
    assert (verdict.name, verdict.trials_needed) == ("out of reach", None)
    assert "no number of trials" in verdict.reason


def test_claims_out_of_reach_take_nothing_from_the_others_in_the_first_look():
    lower = reduced_form(250, 250, 2, ALPHA / 2).lower
    high = [row(250, 250, 3200.0)] * 42
    assert names(row(250, 250, lower - 1e-6), *high) == ["violated"] + ["out of reach"] * 42


def test_from_the_second_look_on_all_tests_count():
    alone, shared = (reduced_form(250, 250, 2, ALPHA / 6 / tests).lower for tests in (1, 43))
    high = [row(250, 250, 3200.0)] * 42
    assert names(row(250, 250, shared - 1e-6), *high, look=2)[0] == "violated"
    assert names(row(250, 250, (alone + shared) / 2), *high, look=2)[0] == "out of reach"


def test_a_test_out_of_reach_takes_its_share_from_the_second_look_on():
    """What was added may have been chosen by what was seen, so a p between both shares is not enough."""
    error = ERROR / 6
    right = next(r for r in range(125, 250) if error / 43 < binom.sf(r - 1, 250, 0.5) <= error / 3)
    high = [row(250, 250, 3200.0)] * 42
    assert names(row(right, 250, 0.0), look=2) == ["violated"]
    assert names(row(right, 250, 0.0), *high, look=2)[0] == "no violation found"


def test_holm_rejects_more_than_bonferroni_once_a_test_is_rejected():
    """Two tests: the second is judged at the whole error of the look once the first is rejected."""
    right = next(r for r in range(150, 300) if ERROR / 4 < binom.sf(r - 1, 300, 0.5) <= ERROR / 2)
    assert names(row(300, 300, 0.0), row(right, 300, 0.0)) == ["violated", "violated"]
    assert names(row(150, 300, 0.0), row(right, 300, 0.0)) == ["no violation found"] * 2


def test_the_error_of_a_family_is_kept_whatever_the_mixture_of_claims():
    """Summed over all outcomes: true claims of several sizes, some of them out of reach."""
    trials, claims = 12, [0.0, 1.0, 6.0, 50.0]
    success = [1 / (1 + math.exp(-claim)) for claim in claims]
    wrong = 0.0
    for first in range(trials + 1):
        for second in range(trials + 1):
            chance = binom.pmf(first, trials, success[0]) * binom.pmf(second, trials, success[1])
            rows = [row(right, trials, claim) for right, claim in
                    zip((first, second, trials, trials), claims, strict=True)]  # fmt: skip
            if any(verdict.is_violation for verdict in judged(*rows)):
                wrong += chance
    assert 0 < wrong <= ERROR / 2


# --- not tested


def test_a_mechanism_that_fails_on_most_texts_is_not_tested():
    [verdict] = judged(row(100, 300, 0.1, counts={"failed": 151, "answered": (149,)}))
    assert verdict.name == "not tested"
    assert verdict.reason == "151 of 300 rewrites failed"


def test_an_attack_that_hardly_ever_answers_has_tested_nothing():
    [verdict] = judged(row(100, 300, 0.1, counts={"unusable": 200, "answered": (100,)}))
    assert verdict.name == "not tested"
    assert "only 100 of 300 guesses were usable" in verdict.reason


def test_failures_do_not_hide_a_violation():
    assert names(row(140, 300, 0.1, k=16, counts={"failed": 160, "answered": (140,)})) == ["violated"]


def test_a_test_that_was_not_made_keeps_its_place_in_the_family():
    lower = reduced_form(300, 300, 2, ALPHA / 2).lower
    failed = row(0, 300, 0.1, counts={"failed": 300, "answered": (0,)})
    assert names(row(300, 300, lower - 1e-6)) == ["violated"]
    assert names(row(300, 300, lower - 1e-6), failed, failed, failed)[0] == "out of reach"


def test_an_unbounded_claim_promises_nothing_for_a_whole_text():
    claim = Claim(1.0, "word", max_units=None)
    [verdict] = judged(Row(REDUCED, Counts(300, (300,), 2), claim))
    assert verdict.name == "no claim"
    assert "word" in verdict.reason


# --- power


def test_what_would_have_been_found_is_found_with_that_probability():
    [verdict] = judged(row(500, 1000, 0.2))
    threshold = next(r for r in range(1001) if names(row(r, 1000, 0.2)) == ["violated"])
    assert binom.sf(threshold - 1, 1000, verdict.detectable) == pytest.approx(0.8)
    assert f"{verdict.detectable:.4g}" in verdict.reason


# --- limits


def test_a_limit_is_judged_at_the_error_that_all_rows_share():
    rows = (row(900, 1000, 1.0), row(500, 1000, 1.0), Row(REDUCED, Counts(1000, (500,), 2), None))
    result = Family(ALPHA, rows, Look())
    lower = reduced_form(900, 1000, 2, ALPHA / 6).lower
    assert [v.name for v in judge_gate(rows, result.row_error, lower - 1e-6)] == [
        "above the limit", "not found above the limit", "not found above the limit",
    ]  # fmt: skip
    assert [v.name for v in judge_gate(rows, result.row_error, lower + 1e-6)] == [
        "not found above the limit"
    ] * 3
    assert [v.name for v in judge_gate(rows, result.row_error, 20.0)] == ["out of reach"] * 3


# --- in a run


def test_a_run_of_the_demo_calls_no_claim_tested_that_no_attack_could_refute(tmp_path):
    result = audited(tmp_path, Promising(), epsilons=[1, 100], attacks=["lexical", SharedWords()])
    assert {f.epsilon: f.verdict.name for f in result} == {1.0: "violated", 100.0: "out of reach"}
    assert [(c.verdict.name, c.tests) for c in result.claims] == [("violated", 2), ("out of reach", 2)]
    told = result.to_dict()["claims"]
    assert [claim["verdict"] for claim in told] == ["violated", "out of reach"]
    assert told[1]["trials_needed"] is None
    assert told[0]["witness"]["attack"] in ("lexical", "shared-words")


def test_a_function_that_always_fails_is_not_tested(tmp_path):
    [finding] = audited(tmp_path, Failing(1.0), epsilons=[1])
    assert finding.verdict.name == ("not tested" if finding.claim else "no claim")


def test_the_largest_bound_has_the_error_of_all_rows(tmp_path):
    """Among 48 blind rows the largest is above 0 with probability 0.19 if each has the error 0.005."""
    result = audited(tmp_path, Promising(), epsilons=[1, 2, 3, 4], trials=200)
    assert result.eps_emp == pytest.approx(
        reduced_form(200, 200, 2, ALPHA / 2 / 4 / 2).lower
    )  # and half of it is for all trials
    assert {finding.eps_emp for finding in result} == {result.eps_emp}
    assert {finding.alone for finding in result} == {reduced_form(200, 200, 2, ALPHA / 2).lower}
    assert {finding.teda.lower for finding in result} == {reduced_form(200, 200, 2).lower}
    least = next(r for r in range(501, 1000) if binom.sf(r - 1, 1000, 0.5) < ERROR / 2 / 48)
    assert 48 * binom.sf(least - 1, 1000, 0.5) < ERROR / 2


def test_a_second_look_is_counted_and_a_third_command_that_adds_nothing_is_none(tmp_path):
    looks = []
    for trials in (60, 60, 90, 90):
        result = audited(tmp_path, Promising(), epsilons=[1], trials=trials)
        looks.append(result.family.look.number)
    assert looks == [1, 1, 2, 2]
    assert load_run(tmp_path).family.look == Look(2, noted=True)


def test_an_attack_of_ones_own_that_is_added_after_a_look_is_judged_on_fresh_trials_only(tmp_path):
    base = {"mechanisms": [Promising()], "epsilons": [1]}
    run(make_spec(tmp_path, attacks=["lexical"], **base))
    old = run(make_spec(tmp_path, attacks=["lexical", SharedWords()], **base))
    verdicts = {finding.attack: finding.verdict.name for finding in old}
    assert verdicts == {"lexical": "violated", "shared-words": "not tested"}
    assert any("fresh trials only" in note for note in old.notes)
    assert old.largest.attack == "lexical"
    unfit = replace(old, findings=tuple(replace(finding, unfit="seen before") for finding in old))
    assert (unfit.largest, unfit.eps_emp) == (None, 0.0)
    fresh = run(make_spec(tmp_path, attacks=["lexical", SharedWords()], trials=180, **base))
    counts = {finding.attack: finding.counts.trials for finding in fresh}
    assert counts == {"lexical": 180, "shared-words": 80}
    assert {finding.verdict.name for finding in fresh} == {"violated"}


def test_a_built_in_attack_with_default_settings_may_be_added_after_a_look(tmp_path):
    base = {"mechanisms": [Promising()], "epsilons": [1]}
    run(make_spec(tmp_path, attacks=[SharedWords()], **base))
    result = run(make_spec(tmp_path, attacks=[SharedWords(), "lexical"], **base))
    assert {f.attack: f.counts.trials for f in result} == {"lexical": 100, "shared-words": 100}
    assert {f.verdict.name for f in result} == {"violated"}
