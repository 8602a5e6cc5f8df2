"""Findings, their verdicts, and what a reader must know besides."""

import json
import math

import pytest

from helpers import Failing, Promising, SharedWords, audited, make_spec
from tedaudit.api import load_run, run
from tedaudit.errors import RunDirectoryError
from tedaudit.estimators import baseline, reduced_form
from tedaudit.plugins.values import Claim
from tedaudit.results.reading import read_result
from tedaudit.runs.directory import RunDirectory

# --- findings


def test_a_finding_is_the_bound_of_its_counts_with_everything_that_belongs_to_it(tmp_path):
    [finding] = audited(tmp_path, Promising(), epsilons=[2], trials=80)
    assert (finding.plan, finding.label, finding.epsilon, finding.attack) == (
        "k2-lambda0", "promising", 2.0, "shared-words",
    )  # fmt: skip
    assert finding.teda == reduced_form(80, 80, 2)
    assert finding.claim == Claim(2.0, "document")
    assert (finding.planned, finding.complete) == (80, True)
    assert finding.counts.trials == finding.counts.correct == 80


def test_findings_come_from_the_files_alone_and_again_with_another_alpha(tmp_path):
    result = audited(tmp_path, Promising(), epsilons=[2, 10, 1], attacks=["lexical", SharedWords()])
    again = load_run(tmp_path)
    assert again == result
    order = [(epsilon, attack) for epsilon in (1, 2, 10) for attack in ("lexical", "shared-words")]
    assert [(f.epsilon, f.attack) for f in again] == order
    strict = read_result(RunDirectory(tmp_path), alpha=1e-6)
    assert strict.alpha == 1e-6
    assert [finding.teda for finding in strict] == [reduced_form(100, 100, 2, 1e-6)] * 6
    assert result.eps_emp == reduced_form(100, 100, 2, 0.01 / 2 / 6 / 2).lower < result.findings[0].teda.lower


def test_the_result_is_safe_for_json_without_infinite_numbers(tmp_path):
    result = run(make_spec(tmp_path, mechanisms=["identity", Promising(max_units=None)]))
    text = json.dumps(result.to_dict(), allow_nan=False)
    assert [finding["epsilon"] for finding in json.loads(text)["findings"]] == [None, 3.0]
    assert json.loads((tmp_path / "summary.json").read_text()) == json.loads(text)


def test_a_folder_that_is_no_run_has_no_result(tmp_path):
    with pytest.raises(RunDirectoryError, match=r"not a run directory.*manifest\.json"):
        read_result(RunDirectory(tmp_path))


def test_the_baseline_counts_both_ways_to_err_against_the_bound(tmp_path):
    plan = {"k": 2, "lambda": 0, "estimator": "baseline"}
    [finding] = audited(tmp_path, Failing(0.3), plans=[plan], trials=400)
    true_positives, true_negatives = finding.counts.right
    false_positives = 400 - true_negatives
    assert finding.teda == baseline(true_positives, false_positives, 400)
    failed = finding.counts.failed
    assert failed == (400 - true_positives) + false_positives  # all other guesses were right
    assert true_positives < 400
    assert false_positives > 0
    assert finding.bound.correct == 800 - failed


# --- verdicts


def test_a_kept_text_violates_a_small_claim_and_not_a_large_one(tmp_path):
    result = audited(tmp_path, Promising(), epsilons=[1, 100])
    assert [finding.verdict.name for finding in result] == ["violated", "out of reach"]
    assert result.violated


def test_a_mechanism_without_a_claim_violates_none(tmp_path):
    result = run(make_spec(tmp_path, mechanisms=["identity"]))
    assert [finding.verdict.name for finding in result] == ["no claim"]
    assert not result.violated


def test_a_verdict_shares_the_error_among_all_claims_in_reach(tmp_path):
    """A claim that is in reach alone is not if another takes half of the error."""
    alone, shared = (reduced_form(100, 100, 2, 0.01 / 4 / tests).lower for tests in (1, 2))
    between = (shared + alone) / 2
    [one] = audited(tmp_path / "one", Promising(), epsilons=[between])
    assert one.verdict.name == "violated"
    result = audited(tmp_path / "many", Promising(), epsilons=[between, shared - 0.01, 50, 60])
    assert {f.epsilon: f.verdict.name for f in result} == {
        between: "out of reach", shared - 0.01: "violated", 50: "out of reach", 60: "out of reach",
    }  # fmt: skip
    assert {f.teda for f in result} == {one.teda}  # which is the same in any company
    assert {f.bound.error for f in result} == {one.bound.error / 4}


def test_findings_without_a_claim_take_no_share(tmp_path):
    close = reduced_form(100, 100, 2, 0.01 / 4 / 1.5).lower
    result = run(
        make_spec(tmp_path, mechanisms=[Promising(), "identity"], epsilons=[close], attacks=[SharedWords()])
    )
    assert [finding.verdict.name for finding in result] == ["no claim", "violated"]


def test_a_claim_counts_in_total_over_all_its_units(tmp_path):
    lower = reduced_form(100, 100, 2, 0.01 / 2).lower
    for units, verdict in ((1, "violated"), (3, "violated"), (4, "out of reach")):
        mechanism = Promising(unit="word", max_units=units)
        [finding] = audited(tmp_path / str(units), mechanism, epsilons=[lower / 3.5])
        assert finding.verdict.name == verdict


def test_a_claim_with_unbounded_units_promises_nothing_for_a_whole_text(tmp_path):
    for delta in (0.0, 1e-3):
        mechanism = Promising(unit="token", max_units=None, delta=delta)
        [finding] = audited(tmp_path / str(delta), mechanism, epsilons=[0.001])
        assert finding.verdict.name == "no claim"
        assert finding.claim.total == math.inf


def test_the_delta_of_the_claim_is_used_in_total_and_the_specs_delta_overrides_it(tmp_path):
    mechanism = Promising(delta=0.1, unit="word", max_units=3)
    [finding] = audited(tmp_path, mechanism)
    assert finding.teda == reduced_form(100, 100, 2, 0.01, delta=0.1 * 3)
    [finding] = audited(tmp_path, mechanism, delta=0.2)
    assert finding.teda == reduced_form(100, 100, 2, 0.01, delta=0.2)
    [finding] = audited(tmp_path, mechanism, delta=0.0)
    assert finding.teda == reduced_form(100, 100, 2)
    [finding] = read_result(RunDirectory(tmp_path), delta=0.5)
    assert finding.teda == reduced_form(100, 100, 2, 0.01, delta=0.5)


def test_delta_can_decide_a_verdict(tmp_path):
    bounds = [reduced_form(100, 100, 2, 0.005, delta).lower for delta in (0.0, 0.5)]
    between = sum(bounds) / 2
    for delta, verdict in ((0.0, "violated"), (0.5, "out of reach")):
        [finding] = audited(tmp_path / str(delta), Promising(delta=delta), epsilons=[between])
        assert finding.verdict.name == verdict


# --- what a reader must know


def test_a_mechanism_all_of_whose_rewrites_failed_is_named(tmp_path):
    result = run(make_spec(tmp_path, mechanisms=[Failing(1.0), "identity"], attacks=[SharedWords()]))
    assert [note for note in result.notes if "failed" in note] == [
        "every rewrite of failing failed: `tedaudit replay` shows why"
    ]


def test_notes_tell_of_the_corpus_and_of_every_plan(tmp_path):
    result = run(make_spec(tmp_path, plans=[{"k": 2, "lambda": 0}, {"k": 3, "lambda": 0}]))
    assert any(note.startswith("train: 40 distinct texts of 40 rows") for note in result.notes)
    assert [note.split(":")[0] for note in result.notes if "candidate set" in note] == [
        "plan k2-lambda0", "plan k3-lambda0",
    ]  # fmt: skip
