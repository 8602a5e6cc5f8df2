"""Worse, no worse than by a margin, or not told; nothing is called no worse where nothing could be seen."""

import json
import re

import pytest

import tedaudit
from helpers import sentences
from tedaudit.errors import SpecError
from tedaudit.reports.telling_comparison import page_data


def mask_names(text):
    """Version 1, a redactor."""
    return re.sub(r"[A-Z][a-z]+", "[...]", text)


def hide(text):
    """Keep the first word: some texts are known by it, and some are not."""
    return text.split()[0]


def keep(text):
    """Version 2 redacts nothing."""
    return text


def audit(rewrite, texts="demo", **settings):
    mechanism = {"name": "function", "function": rewrite, "label": "redactor"}
    settings = {"trials": 400, "attack": "lexical", "encoder": "lexical", **settings}
    return tedaudit.audit(mechanism, texts, announce=lambda _: None, **settings)


@pytest.fixture(scope="module")
def apart():
    """Both versions on unlike pairs, where both are named always."""
    return audit(mask_names), audit(keep)


@pytest.fixture(scope="module")
def hard():
    """Both versions among all originals, where the redactor is not always named."""
    return audit(mask_names, k="all", trials=1000), audit(keep, k="all", trials=1000)


def test_at_the_ceiling_nothing_is_compared_and_that_is_said(apart):
    compared = tedaudit.compare(*apart)
    assert [row.first.finding.bound.success for row in compared.comparisons] == [1.0]
    assert str(compared.answer) == "not told"
    assert compared.answer.at_ceiling
    assert "nothing is compared" in compared.answer.reason
    assert "k all" in compared.answer.reason


def test_candidates_that_are_hard_enough_show_the_difference(hard):
    compared = tedaudit.compare(*hard)
    [row] = compared.comparisons
    assert row.first.finding.bound.success < 1.0 == row.second.finding.bound.success
    assert (str(row.answer), str(compared.answer)) == ("worse", "worse")
    assert "1,000 of 1,000" in compared.answer.reason


def test_what_is_better_is_no_worse_though_the_first_was_always_named(hard):
    released, candidate = hard[1], hard[0]
    assert str(tedaudit.compare(released, candidate).answer) == "no worse"


def test_an_equal_version_is_no_worse_by_a_margin_that_leaves_room(hard):
    released, _ = hard
    again = audit(mask_names, k="all", trials=1000)
    told = tedaudit.compare(released, again, margin=0.01)
    assert (str(told.answer), told.margin) == ("no worse", 0.01)
    assert "0.01" in told.answer.reason
    wide = tedaudit.compare(released, again)  # only 22 in 1,000 are left: a margin of 50 forbids nothing
    assert (str(wide.answer), wide.answer.at_ceiling, wide.margin) == ("not told", True, 0.05)
    assert "smaller margin" in wide.answer.reason


def test_too_few_trials_do_not_tell_and_how_many_would_is_said():
    few = [audit(hide, trials=60, lambda_=0, k=30) for _ in range(2)]
    answer = tedaudit.compare(*few).answer
    assert (str(answer), answer.at_ceiling) == ("not told", False)
    needed = int(re.search(r"about ([\d,]+) trials", answer.reason)[1].replace(",", ""))
    assert 60 < needed < 1000
    more = [audit(hide, trials=needed, lambda_=0, k=30) for _ in range(2)]
    assert str(tedaudit.compare(*more).answer) == "no worse"


PLANS = [{"k": 2}, {"k": "all"}]


def test_one_run_may_hold_unlike_pairs_for_a_limit_and_all_originals_for_a_comparison():
    released, candidate = (audit(rewrite, plans=PLANS, trials=800) for rewrite in (mask_names, keep))
    rows = {row.plan: row.answer for row in tedaudit.compare(released, candidate).comparisons}
    told = tedaudit.compare(released, candidate)
    assert {plan.partition("-")[0]: str(answer) for plan, answer in rows.items()} == {
        "k2": "not told", "k": "worse",
    }  # fmt: skip
    assert str(told.answer) == "worse"
    equal = tedaudit.compare(released, audit(mask_names, plans=PLANS, trials=800), margin=0.01)
    assert str(equal.answer) == "no worse"
    assert "1 at the ceiling aside" in equal.answer.reason


def test_a_candidate_that_was_not_audited_as_the_release_was_is_not_told():
    released = audit(hide, attack=["lexical", "trained"], lambda_=0, k=10, trials=200)
    candidate = audit(hide, lambda_=0, k=10, trials=200)
    told = tedaudit.compare(released, candidate, margin=0.2)
    assert [str(row.answer) for row in told.comparisons] == ["no worse"]
    assert str(told.answer) == "not told"
    assert "trained" in told.answer.reason
    assert str(tedaudit.compare(candidate, released, margin=0.2).answer) == "no worse"


def test_a_candidate_that_fails_always_is_not_called_no_worse():
    def fail(text):
        raise ValueError(text)

    told = tedaudit.compare(audit(hide, lambda_=0), audit(fail, lambda_=0))
    assert told.comparisons[0].success.high < 0  # nothing is named, since nothing comes out
    assert str(told.answer) == "not told"
    assert "rewrites failed" in told.answer.reason
    assert any("400 of 400" in note for note in told.notes)


def test_a_difference_of_texts_is_none_of_releases():
    told = tedaudit.compare(audit(hide, lambda_=0), audit(keep, sentences(60), lambda_=0))
    assert str(told.answer) == "not told"
    assert "the texts differ" in told.answer.reason


def test_other_trials_of_the_same_texts_are_compared_by_an_interval_of_each():
    settings = {"lambda_": 0, "k": 30, "trials": 1000}
    released, again = (audit(hide, seed=seed, **settings) for seed in (0, 1))
    told = tedaudit.compare(released, again, margin=0.15)
    assert [row.is_paired for row in told.comparisons] == [False]
    assert str(told.answer) == "no worse"
    assert str(tedaudit.compare(released, audit(keep, seed=1, **settings)).answer) == "worse"


def test_attacks_are_no_releases(hard):
    run = audit(hide, attack=["lexical", "trained"], lambda_=0, trials=100)
    compared = tedaudit.compare(run)
    assert compared.answer is None
    assert {row.answer for row in compared.comparisons} == {None}
    assert json.loads(json.dumps(compared.to_dict()))["answer"] is None
    told = tedaudit.compare(*hard).to_dict()
    assert (told["answer"], told["margin"]) == ("worse", 0.05)
    assert [row["answer"] for row in told["comparisons"]] == ["worse"]


@pytest.mark.parametrize("margin", [0, 1, -0.1, float("nan")])
def test_a_margin_that_no_release_could_keep_or_break_is_refused(hard, margin):
    with pytest.raises(SpecError, match="must be between 0 and 1"):
        tedaudit.compare(*hard, margin=margin)


def test_the_page_begins_with_the_answer_and_names_plan_margin_and_error(hard):
    data = page_data(tedaudit.compare(*hard, margin=0.02, alpha=0.02))
    assert ": worse in 1 of 1 comparison" in data["headline"]
    assert "answer" in data["table"]["headings"]
    for part in ("margin is 0.02", "error of 0.01", "k-all: k = 3,600, every text a candidate"):
        assert part in data["reading"]
