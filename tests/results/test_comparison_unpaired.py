"""Runs that do not share their trials: other plans, other texts, other numbers of candidates, unfinished."""

import shutil
from dataclasses import replace

import pytest

from compared_runs import MECHANISMS, Blind, audited
from helpers import SharedWords, given, make_spec, sentences, stopped
from tedaudit.errors import SpecError
from tedaudit.estimators import clopper_pearson, confidence_sequence
from tedaudit.estimators.paired import mcnemar, paired_epsilon_interval
from tedaudit.results.comparison import compare_runs
from tedaudit.runs.directory import RunDirectory


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def plain(folder):
    return audited(folder / "plain")


def test_runs_on_other_plans_are_compared_by_an_interval_of_each(plain, folder):
    compared = compare_runs([plain, audited(folder / "reseeded", seed=5)])
    for one in compared.comparisons:
        bounds = [side.finding.bound for side in (one.first, one.second)]
        ends = [clopper_pearson(bound.correct, bound.trials, 0.005) for bound in bounds]
        assert (one.counts, one.p) == (None, None)
        assert (one.success.low, one.success.high) == (ends[1][0] - ends[0][1], ends[1][1] - ends[0][0])
        assert one.unpaired == "the plans differ (seed: 0 -> 5)"
    told = [c.to_dict() for c in compared.comparisons if c.first.finding.bound.success == 1]
    assert {one["epsilon_difference"]["low"] for one in told} == {None}  # always right: no end
    assert any("unpaired" in note and "seed: 0 -> 5" in note for note in compared.notes)


def test_with_other_numbers_of_candidates_only_epsilons_are_compared(plain, folder):
    wide = audited(folder / "wide", plans=[{"k": 4, "lambda": 0}])
    compared = compare_runs([plain, wide])
    assert {c.success for c in compared.comparisons} == {None}
    assert {c.plan for c in compared.comparisons} == {"k2-lambda0 / k4-lambda0"}
    blind = next(c for c in compared.comparisons if c.first.finding.attack == "blind")
    assert not blind.differs


def test_an_interval_that_leaves_out_zero_at_alpha_but_not_at_its_share_is_no_difference(folder):
    def mechanisms(name):
        return [{"name": name, "label": "changed"}, "constant"]

    settings = {"attacks": [SharedWords()], "trials": 30}
    before = audited(folder / "before", mechanisms=mechanisms("identity"), **settings)
    after = audited(folder / "after", mechanisms=mechanisms("constant"), seed=5, **settings)
    changed = next(c for c in compare_runs([before, after]).comparisons if c.first.finding.label == "changed")
    bounds = [side.finding.bound for side in (changed.first, changed.second)]

    def leaves_out_zero(alpha):
        (low, _), (_, high) = (clopper_pearson(bound.correct, 30, alpha / 2) for bound in bounds)
        return high < low

    alphas = [0.5 * 0.8**n for n in range(150)]
    smallest = max(number for number, alpha in enumerate(alphas) if leaves_out_zero(alpha))
    for number, differs in ((smallest, False), (smallest - 5, True)):  # half of it, and half of thrice
        rows = compare_runs([before, after], alpha=alphas[number]).comparisons
        one = next(c for c in rows if c.first.finding.label == "changed")
        assert len(rows) == 2
        assert one.success.excludes_zero
        assert one.differs == differs


def test_baseline_trials_are_left_out_and_that_is_said(folder):
    plans = [{"k": 2, "lambda": 0}, {"k": 2, "lambda": 0, "estimator": "baseline"}]
    compared = compare_runs([audited(folder / "both", plans=plans)])
    assert {c.plan for c in compared.comparisons} == {"k2-lambda0"}
    assert any("k2-lambda0-baseline is not compared" in note for note in compared.notes)
    only = audited(folder / "pairs", plans=plans[1:])
    with pytest.raises(
        SpecError,
        match="Plans whose trials have several guesses, as the baseline estimator's have, are not compared",
    ):
        compare_runs([only])


def test_what_stands_alone_is_counted(plain, folder):
    fewer = audited(folder / "fewer", mechanisms=["identity"])
    assert any(note.startswith("plain: 6 of 8 findings have") for note in compare_runs([plain, fewer]).notes)


def test_an_unfinished_run_is_compared_by_what_holds_at_every_look(plain, folder):
    spec = make_spec(
        folder / "cut", name="cut", mechanisms=MECHANISMS, epsilons=[2, 6], attacks=[SharedWords(), Blind()]
    )
    compared = compare_runs([plain, stopped(spec, 6)])
    early = [c for c in compared.comparisons if c.counts.trials < 100]
    assert early
    for one in early:
        assert one.any_time
        assert one.p == mcnemar(one.counts, any_time=True)
        assert one.p >= mcnemar(one.counts)
        ends = paired_epsilon_interval(
            one.counts, (one.first.scale, one.second.scale), 0.01, confidence_sequence
        )
        assert (one.epsilon_span.low, one.epsilon_span.high) == ends
    assert any("valid at every look" in note for note in compared.notes)


def test_a_run_that_has_no_block_yet_is_named(plain, folder):
    begun = stopped(make_spec(folder / "begun", name="begun", attacks=[SharedWords()]), 1)
    shutil.rmtree(begun.root / "guesses", ignore_errors=True)
    with pytest.raises(SpecError, match="begun' has nothing to compare: no block of guesses is complete"):
        compare_runs([plain, begun])


def test_plans_of_one_key_that_hold_other_trials_are_not_paired(plain, folder):
    shutil.copytree(plain.root, folder / "altered")
    altered = RunDirectory(folder / "altered")
    key = altered.manifest()["plans"]["k2-lambda0"]["key"]
    plan = altered.plan("k2-lambda0", key)
    altered.write_plan("k2-lambda0", replace(plan, secret=1 - plan.secret), key)
    assert {c.unpaired for c in compare_runs([plain, altered]).comparisons} == {
        "the plans have one key but hold other trials"
    }


def test_runs_on_other_texts_stand_side_by_side_unpaired(plain, folder):
    other = audited(folder / "other", corpus=given(sentences(30)))
    compared = compare_runs([plain, other])
    assert len(compared.corpora) == 2
    assert all(one.p is None and one.counts is None for one in compared.comparisons)
    why = {one.unpaired for one in compared.comparisons}
    assert len(why) == 1
    assert "given, 40 texts; " in next(iter(why))
    assert "given, 30 texts" in next(iter(why))
    for one in compared.comparisons:
        first, second = (side.finding.bound for side in (one.first, one.second))
        assert one.success.value == pytest.approx(second.success - first.success)
        assert one.success.low <= one.success.value <= one.success.high
    for axis in ("attack", "mechanism"):  # within each corpus only
        for one in compare_runs([plain, other], by=axis).comparisons:
            assert one.first.run.corpus == one.second.run.corpus


def test_where_only_the_texts_stand_between_mechanisms_that_is_said(folder):
    one = audited(folder / "here", mechanisms=["identity"], attacks=[SharedWords()])
    other = audited(folder / "there", mechanisms=["constant"], attacks=[SharedWords()],
                    corpus=given(sentences(30)))  # fmt: skip
    for axis in ("run", "mechanism", "attack"):
        with pytest.raises(SpecError, match=r"different texts .*given, 40 texts; .*given, 30 texts"):
            compare_runs([one, other], by=axis)


def test_differences_are_of_epsilon_if_numbers_of_candidates_differ(plain, folder):
    wide = audited(folder / "wide", plans=[{"k": 4, "lambda": 0}])
    assert compare_runs([plain, wide]).scale == "epsilon"
    assert compare_runs([plain, wide], scale="success").scale == "success"
    assert compare_runs([plain]).scale == "success"
