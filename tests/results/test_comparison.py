"""Runs, attacks and mechanisms side by side: paired where the trials are the same."""

import json
import shutil

import numpy as np
import pytest

from compared_runs import MECHANISMS, audited
from helpers import SharedWords
from tedaudit.errors import RunDirectoryError, SpecError
from tedaudit.estimators.paired import (
    PairedCounts,
    mcnemar,
    paired_epsilon_interval,
    paired_interval,
    rank_agreement,
)
from tedaudit.plugins.nominal import NO_EPSILON
from tedaudit.results.comparison import compare_runs
from tedaudit.runs.directory import RunDirectory


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def plain(folder):
    return audited(folder / "plain")


@pytest.fixture(scope="module")
def longer(folder):
    """The same plan with more trials, and a mechanism that is set otherwise under the same label."""
    changed = [*MECHANISMS[:2], {"name": "word-rr", "slots": 2}]
    return audited(folder / "longer", mechanisms=changed, trials=160)


def rights(store, label, epsilon, attack, plan="k2-lambda0"):
    choice = store.guesses(plan, label, epsilon, attack).read(["choice"])["choice"]
    return choice == store.read_plan(plan).secret[: len(choice)]


def test_runs_on_one_plan_are_compared_on_the_trials_that_both_have(plain, longer):
    compared = compare_runs([plain, longer])
    assert compared.by == "run"
    assert {(c.first.member, c.second.member) for c in compared.comparisons} == {("plain", "longer")}
    assert len(compared.comparisons) == 2 * (2 + 2)  # attacks, and mechanisms that take no epsilon once
    for one in compared.comparisons:
        first = rights(plain, one.first.finding.label, one.epsilon, one.first.finding.attack)
        second = rights(longer, one.first.finding.label, one.epsilon, one.first.finding.attack)[:100]
        only = int((first & ~second).sum()), int((second & ~first).sum())
        assert (one.counts.trials, one.counts.first_only, one.counts.second_only) == (100, *only)
        assert one.p == mcnemar(one.counts)
        assert (one.success.low, one.success.high) == paired_interval(one.counts, 0.01)
        scales = (one.first.scale, one.second.scale)
        assert (one.epsilon_span.low, one.epsilon_span.high) == paired_epsilon_interval(
            one.counts, scales, 0.01
        )
        assert one.success.value == pytest.approx(second.mean() - first.mean())


def test_a_run_and_its_copy_differ_in_nothing(plain, folder):
    shutil.copytree(plain.root, folder / "copy")
    compared = compare_runs([plain, RunDirectory(folder / "copy")])
    assert {c.first.member for c in compared.comparisons} == {str(plain.root)}  # both are called plain
    for one in compared.comparisons:
        assert one.counts.discordant == 0
        assert (one.p, one.differs, one.success.value, one.epsilon_span.value) == (1, False, 0, 0)
        never_wrong = one.counts.both == one.counts.trials
        assert ((one.epsilon_span.low, one.epsilon_span.high) == (-np.inf, np.inf)) == never_wrong
        assert one.epsilon_span.endless == never_wrong
    assert any(one.epsilon_span.endless for one in compared.comparisons)
    assert all(one.tau in (None, pytest.approx(1)) for one in compared.agreements)


def test_what_is_printed_is_the_same_every_time(plain, longer):
    assert compare_runs([plain, longer]).to_dict() == compare_runs([plain, longer]).to_dict()


def test_one_run_has_its_attacks_compared(plain):
    compared = compare_runs([plain])
    assert compared.by == "attack"
    assert {(c.first.member, c.second.member) for c in compared.comparisons} == {("blind", "shared-words")}
    identity = next(c for c in compared.comparisons if c.first.finding.label == "identity")
    assert identity.differs
    assert identity.counts.first_only == 0
    constant = next(c for c in compared.comparisons if c.first.finding.label == "constant")
    assert not constant.differs


def test_mechanisms_are_compared_with_the_one_named_and_at_each_epsilon(plain):
    compared = compare_runs([plain], "mechanism", against="word-rr")
    assert compared.agreements == ()
    assert {c.first.member for c in compared.comparisons} == {"word-rr"}
    assert {c.epsilon for c in compared.comparisons} == {2.0, 6.0}
    assert {c.second.member for c in compared.comparisons} == {"identity", "constant"}


def test_mechanisms_without_an_epsilon_are_compared_once(plain):
    rows = compare_runs([plain], "mechanism", against="identity").comparisons
    both = [c for c in rows if c.second.member == "constant"]
    assert [c.epsilon for c in both] == [NO_EPSILON] * 2  # one per attack


def test_mechanisms_of_different_runs_stand_side_by_side_on_one_plan(folder):
    one = audited(folder / "one", mechanisms=["identity"], attacks=[SharedWords()])
    two = audited(folder / "two", mechanisms=["constant"], attacks=[SharedWords()])
    (found,) = compare_runs([one, two], "mechanism").comparisons
    assert (found.first.member, found.second.member) == ("identity", "constant")
    assert found.counts is not None
    with pytest.raises(SpecError, match="use --by mechanism to put different mechanisms side by side"):
        compare_runs([one, two])


def test_a_mechanism_that_two_runs_have_is_told_apart_by_its_run(plain, longer):
    members = {c.second.member for c in compare_runs([plain, longer], "mechanism").comparisons}
    assert "constant (longer)" in members


def test_a_difference_counts_only_where_it_stands_among_all_that_were_made(plain):
    rows = compare_runs([plain], alpha=0.2).comparisons
    assert [c.differs for c in rows] == [c.p <= 0.2 / len(rows) for c in rows]


def test_a_p_between_alpha_and_its_share_is_no_difference(plain):
    least = min(one.p for one in compare_runs([plain]).comparisons)
    assert 0 < least < 0.01
    for times, differing in ((1.5, 0), (4 * 1.001, 1)):
        compared = compare_runs([plain], alpha=times * least)
        assert len(compared.comparisons) == 4
        differences = [one for one in compared.comparisons if one.differs]
        assert [one.p for one in differences] == [least] * differing


def test_rankings_are_compared_per_epsilon_and_need_two_mechanisms(plain, folder):
    found = compare_runs([plain]).agreements
    assert [(a.epsilon, a.mechanisms, a.within) for a in found] == [(2, 3, "plain"), (6, 3, "plain")]
    assert {a.tau for a in found} == {None}  # the blind attack ranks all alike
    twice = [SharedWords(), {"name": "shared-words", "label": "again", "live": SharedWords()}]
    again = compare_runs([audited(folder / "again", attacks=twice)])
    for one in again.agreements:
        rows = [c for c in again.comparisons if c.epsilon in (one.epsilon, NO_EPSILON)]
        lower = [[side.finding.bound.lower for side in (c.first, c.second)] for c in rows]
        assert one.tau == pytest.approx(rank_agreement(*zip(*lower, strict=True)))
        assert one.tau > 0.8
    alone = compare_runs([audited(folder / "alone", mechanisms=["identity"], attacks=twice)])
    assert alone.agreements == ()


def test_wrong_use_is_refused_with_a_way_out(plain, folder):
    single = audited(folder / "single", attacks=[SharedWords()])
    (folder / "nothing").mkdir()
    wrong = {
        "There are no two attacks to put side by side": ([single], {}),
        "--by run needs two runs or more": ([plain], {"by": "run"}),
        "is named twice": ([plain, RunDirectory(plain.root)], {}),
        "no attack 'blnd' to compare with. Did you mean 'blind'?": ([plain], {"against": "blnd"}),
        "alpha is 0": ([plain], {"alpha": 0}),
    }
    for message, (runs, options) in wrong.items():
        with pytest.raises(SpecError) as caught:
            compare_runs(runs, **options)
        assert message in str(caught.value)
    with pytest.raises(RunDirectoryError, match="is not a run directory"):
        compare_runs([plain, RunDirectory(folder / "nothing")])


def test_the_result_is_plain_json(plain, folder):
    compared = compare_runs([plain, audited(folder / "reseeded", seed=5)])
    told = json.loads(json.dumps(compared.to_dict(), allow_nan=False))
    assert [run["corpus"]["texts"] for run in told["runs"]] == [40, 40]
    assert {"first", "second", "paired", "p", "differs"} <= told["comparisons"][0].keys()


def test_counts_are_those_of_the_sides(plain):
    for one in compare_runs([plain]).comparisons:
        counts: PairedCounts = one.counts
        assert counts.both + counts.first_only == one.first.finding.bound.correct
        assert counts.both + counts.second_only == one.second.finding.bound.correct


def test_what_differs_comes_first_then_the_largest_difference(plain):
    for scale in ("success", "epsilon"):
        compared = compare_runs([plain], "mechanism", scale=scale)
        answers = [one.differs for one in compared.comparisons]
        assert answers == sorted(answers, reverse=True)
        assert {True, False} == set(answers)
        sizes = [(one.differs, one.size(scale)) for one in compared.comparisons]
        assert sizes == sorted(sizes, reverse=True)


def test_the_reference_is_the_one_in_most_settings_whatever_the_results(folder):
    mixed = [{"name": "word-rr", "slots": 4}, {"name": "word-rr", "label": "a-rr", "epsilons": [2]}]
    several = audited(folder / "several", mechanisms=mixed, epsilons=[2, 6, 9], attacks=[SharedWords()])
    constant = audited(folder / "fixed", mechanisms=["constant"], attacks=[SharedWords()])
    compared = compare_runs([several, constant], "mechanism")
    [reference] = compared.references
    assert (reference.member, reference.named) == ("word-rr", False)  # a-rr is first by name, in one setting
    assert reference.settings == 3
    assert {one.first.member for one in compared.comparisons} == {"word-rr"}
    assert compare_runs([several, constant], "mechanism", "a-rr").references[0].named


def test_settings_without_the_reference_have_one_of_their_own(folder):
    tried = {"one": [1, 2], "two": [1, 2], "three": [5], "four": [5]}
    mixed = [{"name": "word-rr", "label": label, "epsilons": epsilons} for label, epsilons in tried.items()]
    apart = audited(folder / "apart", mechanisms=mixed, attacks=[SharedWords()])
    compared = compare_runs([apart], "mechanism")
    assert [(one.member, one.settings) for one in compared.references] == [("one", 2), ("four", 1)]
    assert len(compared.comparisons) == 3


def test_of_equals_the_run_that_is_named_first_is_the_reference(plain, longer):
    for runs in ([plain, longer], [longer, plain]):
        assert compare_runs(runs).references[0].member == runs[0].root.name
