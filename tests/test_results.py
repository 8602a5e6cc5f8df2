import json
import math
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import binom

from helpers import NEVER, Failing, SharedWords, make_spec
from tedaudit.candidates import Sampling
from tedaudit.errors import RunDirectoryError
from tedaudit.estimators import baseline, reduced_form, sequential
from tedaudit.results import read_result
from tedaudit.runner import run
from tedaudit.stages import judge, make_plan, tie_keys
from tedaudit.store import RunDirectory
from tedaudit.types import Card, Claim, Guess, Plan, Rewrite


@dataclass(frozen=True)
class Promising:
    """Keeps every text, whatever it promises."""

    unit: str = "document"
    delta: float = 0.0
    max_units: int | None = 1
    card: ClassVar[Card] = Card(name="promising", summary="Promises.")

    def claim(self, epsilon):
        return Claim(epsilon, self.unit, delta=self.delta, max_units=self.max_units)

    def rewrite(self, draws):
        return [Rewrite(draw.text) for draw in draws]


class Stop(Exception):
    """Raised in the middle of a run."""


def _stopped_after(spec, guesses):
    """Run until so many parts of guesses have been made."""
    left = guesses

    def progress(what, done, total):
        nonlocal left
        left -= bool(what) and "rewriting" not in what
        if left == 0:
            raise Stop

    with pytest.raises(Stop):
        run(spec, progress)
    return read_result(RunDirectory(spec.folder))


def _audited(root, mechanism, **changes):
    return run(make_spec(root, **{"mechanisms": [mechanism], "attacks": [SharedWords()]} | changes))


# --- findings


def test_a_finding_is_the_bound_of_its_counts_with_everything_that_belongs_to_it(tmp_path):
    [finding] = _audited(tmp_path, Promising(), epsilons=[2], trials=80)
    assert (finding.plan, finding.label, finding.epsilon, finding.attack) == (
        "k2-lambda0", "promising", 2.0, "shared-words",
    )  # fmt: skip
    assert finding.bound == reduced_form(80, 80, 2)
    assert finding.claim == Claim(2.0, "document")
    assert (finding.planned, finding.complete) == (80, True)
    assert finding.tally.trials == finding.tally.correct == 80


def test_findings_come_from_the_files_alone_and_again_with_another_alpha(tmp_path):
    result = _audited(tmp_path, Promising(), epsilons=[2, 10, 1], attacks=["lexical", SharedWords()])
    again = read_result(RunDirectory(tmp_path))
    assert again == result
    order = [(epsilon, attack) for epsilon in (1, 2, 10) for attack in ("lexical", "shared-words")]
    assert [(f.epsilon, f.attack) for f in again] == order
    strict = read_result(RunDirectory(tmp_path), alpha=1e-6)
    assert strict.alpha == 1e-6
    assert [finding.bound for finding in strict] == [reduced_form(100, 100, 2, 1e-6)] * 6
    assert result.epsilon == max(finding.bound.lower for finding in result)


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
    [finding] = _audited(tmp_path, Failing(0.3), plans=[plan], trials=400)
    tally = finding.tally
    assert finding.bound == baseline(tally.correct, tally.false_positives, 400)
    assert tally.failed == (400 - tally.correct) + tally.false_positives  # all other guesses were right
    assert tally.correct < 400
    assert tally.false_positives > 0
    assert finding.bound.correct == 800 - tally.failed


# --- verdicts


def test_a_kept_text_violates_a_small_claim_and_not_a_large_one(tmp_path):
    result = _audited(tmp_path, Promising(), epsilons=[1, 100])
    assert [finding.verdict for finding in result] == ["violated", "not refuted"]
    assert result.violated


def test_a_mechanism_without_a_claim_violates_none(tmp_path):
    result = run(make_spec(tmp_path, mechanisms=["identity"]))
    assert [finding.verdict for finding in result] == ["no claim"]
    assert not result.violated


def test_a_verdict_shares_alpha_among_all_claims_under_test(tmp_path):
    """The largest total epsilon that is refuted is that of the bound at alpha / tests, and not above it."""
    trials = 100
    alone = reduced_form(trials, trials, 2, 0.01).lower
    shared = reduced_form(trials, trials, 2, 0.01 / 4).lower
    assert shared < alone - 0.2
    between = (shared + alone) / 2
    [one] = _audited(tmp_path / "one", Promising(), epsilons=[between])
    assert one.verdict == "violated"
    four = _audited(tmp_path / "four", Promising(), epsilons=[between, shared - 0.01, 50, 60])
    assert {f.epsilon: f.verdict for f in four} == {
        between: "not refuted", shared - 0.01: "violated", 50: "not refuted", 60: "not refuted",
    }  # fmt: skip
    assert {f.bound for f in four} == {one.bound}  # the bounds themselves are printed per row


def test_findings_without_a_claim_take_no_share(tmp_path):
    between = reduced_form(100, 100, 2, 0.01 / 1.5).lower
    result = run(
        make_spec(tmp_path, mechanisms=[Promising(), "identity"], epsilons=[between], attacks=[SharedWords()])
    )
    assert [finding.verdict for finding in result] == ["no claim", "violated"]


def test_a_claim_counts_in_total_over_all_its_units(tmp_path):
    lower = reduced_form(100, 100, 2).lower
    for units, verdict in ((1, "violated"), (3, "violated"), (4, "not refuted")):
        mechanism = Promising(unit="word", max_units=units)
        [finding] = _audited(tmp_path / str(units), mechanism, epsilons=[lower / 3.5])
        assert finding.verdict == verdict


def test_a_claim_with_unbounded_units_is_never_violated(tmp_path):
    for delta in (0.0, 1e-3):
        mechanism = Promising(unit="token", max_units=None, delta=delta)
        [finding] = _audited(tmp_path / str(delta), mechanism, epsilons=[0.001])
        assert finding.verdict == "not refuted"
        assert finding.claim.total == math.inf


def test_the_delta_of_the_claim_is_used_in_total_and_the_specs_delta_overrides_it(tmp_path):
    mechanism = Promising(delta=0.1, unit="word", max_units=3)
    [finding] = _audited(tmp_path, mechanism)
    assert finding.bound == reduced_form(100, 100, 2, 0.01, delta=0.1 * 3)
    [finding] = _audited(tmp_path, mechanism, delta=0.2)
    assert finding.bound == reduced_form(100, 100, 2, 0.01, delta=0.2)
    [finding] = _audited(tmp_path, mechanism, delta=0.0)
    assert finding.bound == reduced_form(100, 100, 2)
    [finding] = read_result(RunDirectory(tmp_path), delta=0.5)
    assert finding.bound == reduced_form(100, 100, 2, 0.01, delta=0.5)


def test_delta_can_decide_a_verdict(tmp_path):
    between = (reduced_form(100, 100, 2).lower + reduced_form(100, 100, 2, delta=0.5).lower) / 2
    for delta, verdict in ((0.0, "violated"), (0.5, "not refuted")):
        [finding] = _audited(tmp_path / str(delta), Promising(delta=delta), epsilons=[between])
        assert finding.verdict == verdict


# --- looking early


def test_an_unfinished_run_is_estimated_from_complete_blocks_with_the_bound_for_every_look(tmp_path):
    spec = make_spec(tmp_path, mechanisms=[Promising()], attacks=[SharedWords()])
    for blocks in (1, 1, 1):
        result = _stopped_after(spec, blocks)
        done = len(list(tmp_path.glob("guesses/**/part-*.parquet")))
        [finding] = result
        assert finding.bound == sequential(30 * done, 30 * done, 2)
        assert finding.bound.method == "sequential"
        assert (finding.complete, finding.planned) == (False, 100)
        assert any("not finished" in note for note in result.notes)
    assert done == 3
    result = run(spec)
    assert [finding.bound for finding in result] == [reduced_form(100, 100, 2)]
    assert not any("look" in note for note in result.notes)


def test_before_the_first_block_there_is_nothing_to_estimate(tmp_path):
    spec = make_spec(tmp_path, mechanisms=[Promising()])

    def at_once(*_):
        raise Stop

    with pytest.raises(Stop):
        run(spec, at_once)
    assert read_result(RunDirectory(tmp_path)).findings == ()


def test_a_block_behind_a_gap_does_not_count(tmp_path):
    spec = make_spec(tmp_path, mechanisms=[Promising()], attacks=[SharedWords()])
    run(spec)
    folder = tmp_path / "guesses" / "k2-lambda0" / "promising" / "3" / "shared-words"
    (folder / "part-000000030-000000060.parquet").unlink()
    [finding] = read_result(RunDirectory(tmp_path))
    assert finding.bound == sequential(30, 30, 2)
    [finding] = run(spec)
    assert finding.bound == reduced_form(100, 100, 2)


def test_an_executor_that_gives_up_leaves_complete_blocks_behind(tmp_path):
    class GivingUp:
        def run(self, work):
            from tedaudit.worker import SerialExecutor

            for number, found in enumerate(SerialExecutor().run(work)):
                if number == 2:
                    raise Stop
                yield found

    spec = make_spec(tmp_path, mechanisms=[Promising()], attacks=[SharedWords()])
    with pytest.raises(Stop):
        run(spec, executor=GivingUp())
    [finding] = read_result(RunDirectory(tmp_path))
    assert finding.bound.trials in (30, 60)
    assert finding.bound.method == "sequential"


def test_trials_added_after_a_look_get_the_bound_for_every_look_and_a_remark(tmp_path):
    [first] = _audited(tmp_path, Promising(), trials=60)
    assert first.bound == reduced_form(60, 60, 2)
    for _ in range(2):  # and again when nothing is left to do
        result = _audited(tmp_path, Promising(), trials=90)
        assert [finding.bound for finding in result] == [sequential(90, 90, 2)]
        assert any("added after results had been seen" in note for note in result.notes)
    at_once = _audited(tmp_path / "at once", Promising(), trials=90)
    assert [finding.bound.method for finding in at_once] == ["reduced form"]
    assert not any("added" in note for note in at_once.notes)


def test_the_verdict_after_a_look_uses_the_bound_for_every_look_too(tmp_path):
    between = (reduced_form(90, 90, 2).lower + sequential(90, 90, 2).lower) / 2
    _audited(tmp_path / "grown", Promising(), epsilons=[between], trials=60)
    [grown] = _audited(tmp_path / "grown", Promising(), epsilons=[between], trials=90)
    [at_once] = _audited(tmp_path / "at once", Promising(), epsilons=[between], trials=90)
    assert (grown.verdict, at_once.verdict) == ("not refuted", "violated")


def test_the_baseline_is_read_early_with_wider_intervals_and_told_so(tmp_path):
    plan = {"k": 2, "lambda": 0, "estimator": "baseline"}
    spec = make_spec(tmp_path, mechanisms=[Promising()], attacks=[SharedWords()], plans=[plan], block=35)
    early = _stopped_after(spec, 3)
    [finding] = early
    assert finding.bound.trials == 52  # 105 rows: half a trial is left out
    assert finding.bound.lower < baseline(52, 0, 52).lower
    assert any("not finished" in note for note in early.notes)
    [finding] = run(spec)
    assert finding.bound == baseline(100, 0, 100)
    result = _audited(tmp_path, Promising(), plans=[plan], trials=150)
    [finding] = result
    assert finding.bound.trials == 150
    assert finding.bound.lower < baseline(150, 0, 150).lower
    assert any("added after results had been seen" in note for note in result.notes)


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

        run(spec, look)
        assert len(lowers) == 4
        flagged += max(lowers) > 0
    assert flagged <= binom.ppf(1 - NEVER, seeds, alpha / 2 + _last_look(40, alpha))


def _last_look(trials, alpha):
    """Return the probability with which the bound for a fixed number of trials is above 0 by chance."""
    right = np.arange(trials + 1)
    above = np.array([reduced_form(int(s), trials, 2, alpha).lower > 0 for s in right])
    return float(binom.pmf(right, trials, 0.5)[above].sum())


# --- what a reader must know


def test_a_mechanism_all_of_whose_rewrites_failed_is_named(tmp_path):
    result = run(make_spec(tmp_path, mechanisms=[Failing(1.0), "identity"], attacks=[SharedWords()]))
    assert [note for note in result.notes if "failed" in note] == [
        "every rewrite of failing failed: `tedaudit replay` shows why"
    ]


def test_notes_tell_of_the_corpus_and_of_every_plan(tmp_path):
    result = run(make_spec(tmp_path, plans=[{"k": 2, "lambda": 0}, {"k": 3, "lambda": 0}]))
    assert any(note.startswith("train: 40 distinct texts of 40 rows") for note in result.notes)
    assert [note.split(":")[0] for note in result.notes if "distractors" in note] == [
        "plan k2-lambda0", "plan k3-lambda0",
    ]  # fmt: skip
