"""Looking early: bounds of a run that is not finished, or that grew after a look, hold at every look."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from helpers import NEVER, Promising, SharedWords, Stop, audited, make_spec, stopped
from tedaudit.api import run
from tedaudit.estimators import baseline, reduced_form, sequential
from tedaudit.plugins.values import Callee, Guess, Plan
from tedaudit.results.reading import read_result
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.engines import SerialEngine
from tedaudit.trials.candidates import Sampling
from tedaudit.trials.judge import judge, tie_keys
from tedaudit.trials.plan import make_plan


def test_an_unfinished_run_is_estimated_from_complete_blocks_with_the_bound_for_every_look(tmp_path):
    spec = make_spec(tmp_path, mechanisms=[Promising()], attacks=[SharedWords()])
    for blocks in (1, 1, 1):
        result = read_result(stopped(spec, blocks))
        done = len(list(tmp_path.glob("guesses/**/part-*.parquet")))
        [finding] = result
        assert finding.teda == sequential(30 * done, 30 * done, 2)
        assert finding.bound.method == "sequential"
        assert (finding.complete, finding.planned) == (False, 100)
        assert any("not finished" in note for note in result.notes)
    assert done == 3
    result = run(spec)
    assert [finding.teda for finding in result] == [reduced_form(100, 100, 2)]
    assert not any("look" in note for note in result.notes)


def test_before_the_first_block_there_is_nothing_to_estimate(tmp_path):
    spec = make_spec(tmp_path, mechanisms=[Promising()])

    def at_once(*_):
        raise Stop

    with pytest.raises(Stop):
        run(spec, progress=at_once)
    assert read_result(RunDirectory(tmp_path)).findings == ()


def test_a_block_behind_a_gap_does_not_count(tmp_path):
    spec = make_spec(tmp_path, mechanisms=[Promising()], attacks=[SharedWords()])
    run(spec)
    folder = tmp_path / "guesses" / "k2-lambda0" / "promising" / "3" / "shared-words"
    (folder / "part-000000030-000000060.parquet").unlink()
    [finding] = read_result(RunDirectory(tmp_path))
    assert finding.teda == sequential(30, 30, 2)
    [finding] = run(spec)
    assert finding.teda == reduced_form(100, 100, 2)


class GivingUp(SerialEngine):
    """Does two chunks and no more."""

    done = 0

    def finished(self):
        for found in super().finished():
            if self.done == 2:
                raise Stop
            self.done += 1
            yield found


def test_an_engine_that_gives_up_leaves_complete_blocks_behind(tmp_path):
    spec = make_spec(tmp_path, mechanisms=[Promising()], attacks=[SharedWords()])
    with pytest.raises(Stop):
        run(spec, GivingUp())
    [finding] = read_result(RunDirectory(tmp_path))
    assert finding.bound.trials in (30, 60)
    assert finding.bound.method == "sequential"


def test_trials_added_after_a_look_get_the_bound_for_every_look_and_a_remark(tmp_path):
    [first] = audited(tmp_path, Promising(), trials=60)
    assert first.teda == reduced_form(60, 60, 2)
    for _ in range(2):  # and again when nothing is left to do
        result = audited(tmp_path, Promising(), trials=90)
        assert [finding.teda for finding in result] == [sequential(90, 90, 2)]
        assert any("added after results had been seen" in note for note in result.notes)
    at_once = audited(tmp_path / "at once", Promising(), trials=90)
    assert [finding.bound.method for finding in at_once] == ["reduced form"]
    assert not any("added" in note for note in at_once.notes)


def test_the_verdict_after_a_look_uses_the_bound_for_every_look_too(tmp_path):
    between = (reduced_form(90, 90, 2, 0.01 / 6).lower + sequential(90, 90, 2, 0.01 / 6).lower) / 2
    audited(tmp_path / "grown", Promising(), epsilons=[between], trials=60)
    [grown] = audited(tmp_path / "grown", Promising(), epsilons=[between], trials=90)
    [at_once] = audited(tmp_path / "at once", Promising(), epsilons=[between], trials=90)
    assert (grown.verdict.name, at_once.verdict.name) == ("out of reach", "violated")


def test_the_baseline_is_read_early_with_wider_intervals_and_told_so(tmp_path):
    plan = {"k": 2, "lambda": 0, "estimator": "baseline"}
    spec = make_spec(tmp_path, mechanisms=[Promising()], attacks=[SharedWords()], plans=[plan], block=35)
    early = read_result(stopped(spec, 3))
    [finding] = early
    assert finding.bound.trials == 54  # a wave is 36 rows: it has whole trials
    assert finding.bound.lower < baseline(54, 0, 54).lower
    assert any("not finished" in note for note in early.notes)
    [finding] = run(spec)
    assert finding.teda == baseline(100, 0, 100)
    result = audited(tmp_path, Promising(), plans=[plan], trials=150)
    [finding] = result
    assert finding.bound.trials == 150
    assert finding.bound.lower < baseline(150, 0, 150).lower
    assert any("added after results had been seen" in note for note in result.notes)


class Asking(SharedWords):
    """Asks somebody, so that little is lost by a kill: a block at a time, whatever that cuts."""

    def callee(self, candidates):
        return Callee("nobody")


def test_half_a_trial_of_the_baseline_is_left_out(tmp_path):
    plan = {"k": 2, "lambda": 0, "estimator": "baseline"}
    spec = make_spec(tmp_path, mechanisms=[Promising()], attacks=[Asking()], plans=[plan], block=35)
    [finding] = read_result(stopped(spec, 5))
    assert finding.complete is False
    assert finding.bound.trials == 53  # 36 + 36 + 35 rows
    [finding] = run(spec)
    assert finding.bound.trials == 100


def _ever_flagged(seed, alpha, *, by_secret):
    """Look after every block at an attack that names the first candidate whatever it sees."""
    trials, block = 240, 20
    plan = make_plan(50, Sampling(2, temperature=0.0), range(trials), seed)
    if by_secret:
        order = np.argsort(plan.secret, kind="stable")
        plan = Plan(plan.candidates[order], plan.secret[order], plan.replicate)
    guesses = [Guess(np.array([1.0, 0.0]))] * trials
    judged = judge(guesses, [False] * trials, plan, tie_keys(seed, "plan", "attack", range(trials)))
    right = np.cumsum(judged.choice == plan.secret)[block - 1 :: block]
    looks = range(block, trials + 1, block)
    return any(_lower(int(correct), look, alpha) > 0 for correct, look in zip(right, looks, strict=True))


@cache
def _lower(correct, trials, alpha):
    return sequential(correct, trials, 2, alpha).lower


def test_looking_after_every_block_flags_a_blind_attack_no_more_often_than_alpha_allows():
    seeds, alpha = 200, 0.2
    flagged = sum(_ever_flagged(seed, alpha, by_secret=False) for seed in range(seeds))
    assert flagged <= binom.ppf(1 - NEVER, seeds, alpha / 2)
    assert flagged > 0  # otherwise nothing would have been tested


def test_the_same_looks_flag_nearly_always_if_trials_are_sorted_by_secret_first():
    seeds, alpha = 40, 0.2
    flagged = sum(_ever_flagged(seed, alpha, by_secret=True) for seed in range(seeds))
    assert flagged > binom.ppf(1 - NEVER, seeds, alpha / 2)
    assert flagged >= 38


def test_a_run_can_be_looked_at_after_every_block_while_it_goes_on(tmp_path):
    seeds, alpha, flagged = 10, 0.5, 0
    for seed in range(seeds):
        settings = {"trials": 40, "block": 10, "seed": seed, "alpha": alpha}
        spec = make_spec(tmp_path / str(seed), mechanisms=["constant"], attacks=[SharedWords()], **settings)
        lowers = []

        def look(what, done, total, folder=spec.folder, lowers=lowers):
            if what.endswith("shared-words"):
                lowers.extend(finding.bound.lower for finding in read_result(RunDirectory(folder)))

        run(spec, progress=look)
        assert len(lowers) == 4
        flagged += max(lowers) > 0
    assert flagged <= binom.ppf(1 - NEVER, seeds, alpha / 2 + _last_look(40, alpha))


def _last_look(trials, alpha):
    """Return the probability with which the bound for a fixed number of trials is above 0 by chance."""
    right = np.arange(trials + 1)
    above = np.array([reduced_form(int(s), trials, 2, alpha).lower > 0 for s in right])
    return float(binom.pmf(right, trials, 0.5)[above].sum())
