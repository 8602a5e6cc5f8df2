"""What trials could show, against what a finished run says of them."""

import math

import pytest

from helpers import Promising, make_spec
from tedaudit.api import estimate, run
from tedaudit.errors import SpecError
from tedaudit.estimators import Counts
from tedaudit.estimators.intervals import binomial_tail
from tedaudit.estimators.multiplicity import detectable_success
from tedaudit.estimators.reduced import ESTIMATOR
from tedaudit.studies.forecast.forecast import plan_audit
from tedaudit.studies.forecast.prospects import Goals


def promise(total, delta=0.0):
    """Return a mechanism that gives everything away, and promises this at epsilon 1."""
    return {"name": "promising", "label": f"p{total:g}", "live": Promising(max_units=total, delta=delta)}


def prospects(spec, **options):
    return {(p.plan, p.label): p for p in plan_audit(spec, **options).prospects}


def agree(foreseen, result):
    """Hold what was foreseen against the findings of the run."""
    assert len(foreseen) == len({(f.plan, f.label) for f in result})
    for finding in result:
        prospect = foreseen[finding.plan, finding.label]
        assert prospect.in_reach == (
            None if not finding.verdict.has_claim else finding.verdict.name != "out of reach"
        )
        assert prospect.trials_needed == finding.verdict.trials_needed
        assert prospect.teda_ceiling == pytest.approx(finding.teda.ceiling)
        assert prospect.ceiling == pytest.approx(finding.bound.ceiling)
        if finding.verdict.name == "no violation found":
            assert prospect.detectable == pytest.approx(finding.verdict.detectable)


def test_claims_in_reach_are_those_that_the_run_can_refute(tmp_path):
    """Tarone's rule: with more claims in reach, each has less of the error, and a larger one drops out."""
    mechanisms = [promise(n) for n in (1, 2, 3, 4, 5, 6, 40)]
    spec = make_spec(
        tmp_path / "run", mechanisms=[*mechanisms, "constant", "identity"], epsilons=[1], trials=300,
        plans=[{"k": 2, "lambda": 0}, {"k": 4, "lambda": 0}], attacks=["lexical", "resample"],
    )  # fmt: skip
    foreseen = prospects(spec)
    reach = [foreseen["k2-lambda0", m["label"]].in_reach for m in mechanisms]
    assert reach == sorted(reach, reverse=True)
    assert True in reach
    assert False in reach
    assert foreseen["k2-lambda0", "p40"].trials_needed is None
    agree(foreseen, run(spec))


def test_a_run_that_goes_on_has_the_error_of_its_next_look_and_of_what_is_stored(tmp_path):
    settings = {"mechanisms": [promise(1), promise(3), promise(5)], "epsilons": [1]}
    first = make_spec(tmp_path / "run", trials=200, attacks=["lexical", "resample"], **settings)
    run(first)
    assert plan_audit(first).look == 1  # nothing new to see
    more = make_spec(tmp_path / "run", trials=400, attacks=["lexical"], **settings)
    forecast = plan_audit(more)
    assert (forecast.look, forecast.rows) == (2, 6)
    later = make_spec(tmp_path / "run", trials=400, attacks=["lexical", "resample"], **settings)
    agree(prospects(later), run(later))


def test_a_claim_with_a_delta_is_tested_at_it(tmp_path):
    spec = make_spec(tmp_path / "run", mechanisms=[promise(1, 0.01)], epsilons=[1], trials=150)
    agree(prospects(spec), run(spec))


@pytest.mark.parametrize(("k", "ceiling"), [(2, 3.0), (4, 5.0)])
def test_trials_for_a_ceiling_are_the_least_that_have_it(tmp_path, k, ceiling):
    spec = make_spec(tmp_path / "run", plans=[{"k": k, "lambda": 0}])
    [prospect] = prospects(spec, ceiling=ceiling).values()
    needed = prospect.trials_for_teda_ceiling
    assert estimate(needed, needed, k).ceiling > ceiling >= estimate(needed - 1, needed - 1, k).ceiling
    error = 0.005 / 2 / 2  # of the first look, and without the share of the most certain guesses
    joint = prospect.trials_for_ceiling
    assert estimate(joint, joint, k, 2 * error).ceiling > ceiling
    assert estimate(joint - 1, joint - 1, k, 2 * error).ceiling <= ceiling


def test_ten_thousand_trials_are_those_of_the_paper(tmp_path):
    [prospect] = prospects(make_spec(tmp_path / "run"), ceiling=7.54).values()
    assert 9_900 < prospect.trials_for_teda_ceiling <= 10_000


def test_trials_for_a_success_rate_find_it_and_fewer_do_not(tmp_path):
    spec = make_spec(tmp_path / "run", mechanisms=[promise(1)], epsilons=[1], plans=[{"k": 2, "lambda": 0}])
    [prospect] = prospects(spec, success=0.8).values()
    needed = prospect.trials_for_success
    share = 0.005 / 2 / 2  # the first look has half of it, and the most certain guesses half of that

    def least(trials):
        return ESTIMATOR.detectable(Counts(trials, (trials,), 2), 1.0, 0.0, share)

    assert least(needed) <= 0.8
    assert least(round(0.95 * needed)) > 0.8  # whole numbers make it rise and fall a little
    [never] = prospects(spec, success=0.7).values()  # the claim allows .731
    assert never.trials_for_success is None


def test_without_a_claim_it_is_told_from_chance(tmp_path):
    spec = make_spec(tmp_path / "run", mechanisms=[str.upper], epsilons=[], attacks=["lexical"], trials=200)
    [prospect] = prospects(spec).values()
    assert (prospect.claim, prospect.in_reach, prospect.trials_needed) == (None, None, None)
    least = detectable_success(lambda right: binomial_tail(right, 200, 0.5), 200, 0.005 / 2 / 2)
    assert prospect.detectable == pytest.approx(least)


@pytest.mark.parametrize(
    ("goals", "named"),
    [({"ceiling": 0.0}, "ceiling"), ({"ceiling": math.inf}, "ceiling"), ({"success": 1.0}, "success")],
)
def test_goals_that_mean_nothing_are_refused(goals, named):
    with pytest.raises(SpecError, match=f"{named} is"):
        Goals(**goals)
