"""The worst pairs of a run, tried again on fresh trials."""

import math
import shutil

import pytest

from engine_examples import Counting
from helpers import Promising, make_spec, sentences, summary
from tedaudit.api import load_run, report, run
from tedaudit.errors import SpecError
from tedaudit.estimators import reduced_form
from tedaudit.plugins.nominal import Nominal
from tedaudit.reports.plugin_cards import calibration_cards
from tedaudit.results.summary import headlines
from tedaudit.results.telling_audit import tell_claims
from tedaudit.runs.directory import RunDirectory
from tedaudit.studies.fresh import Study, read_pilot
from tedaudit.studies.worst_pairs import find_worst_pairs, pick_pairs

TEXTS = sentences(40)


def leak_one(text, seed):
    """Give the first text away, and nothing else."""
    return text if text == TEXTS[0] else f"nothing {seed % 7}"


def constant(text):
    return "nothing"


def audited_function(root, function, trials=400, **changes):
    spec = make_spec(
        root, mechanisms=[function], epsilons=[0.2], attacks=["lexical"], trials=trials, **changes
    )
    return spec, run(spec)


def test_a_leak_of_one_text_is_found_in_its_pairs_on_fresh_trials(tmp_path):
    spec, result = audited_function(tmp_path, leak_one)
    worst = find_worst_pairs(result, Study(spec, "pairs"), 3, 300)
    assert worst.violated
    for pair in worst:
        assert TEXTS[0] in pair.texts
        assert pair.bound.trials == 300
        assert pair.bound.lower > 0.2
        assert pair.verdict.is_violation
    error = result.alpha / 2 / 6  # the second look
    assert worst.error == pytest.approx(error)
    first = worst.pairs[0].bound
    assert first.lower == pytest.approx(reduced_form(first.correct, 300, 2, 2 * error / 3).lower)


def test_pairs_of_a_mechanism_that_leaks_nothing_are_judged_afresh_and_show_nothing(tmp_path):
    spec, result = audited_function(tmp_path, constant)
    picked = pick_pairs(result, result.findings[0], 5)
    assert len(set(picked)) == 5
    worst = find_worst_pairs(result, Study(spec, "pairs"), 5, 100)
    assert not worst.violated
    assert max(pair.bound.lower for pair in worst) == 0.0


def test_fresh_trials_share_no_noise_with_those_that_picked_them(tmp_path):
    keys = []

    def remember(text, draw_key):
        keys.append(draw_key)
        return text

    spec, result = audited_function(tmp_path, remember, trials=60)
    before = set(keys)
    keys.clear()
    find_worst_pairs(result, Study(spec, "pairs"), 2, 50)
    assert keys
    assert before.isdisjoint(keys)


def test_a_study_is_a_look_and_one_that_is_finished_makes_nothing_again(tmp_path):
    spec, result = audited_function(tmp_path, leak_one, trials=100)
    engine = Counting()
    first = find_worst_pairs(result, Study(spec, "pairs", engine), 2, 60)
    made = engine.made
    assert made == 120  # calls that are repeated are none of an engine
    again = find_worst_pairs(load_run(tmp_path), Study(spec, "pairs", engine), 2, 60)
    assert (again, engine.made) == (first, made)
    assert load_run(tmp_path).family.look.number == 1  # of the tables themselves
    longer = run(make_spec(tmp_path, mechanisms=[leak_one], epsilons=[0.2], attacks=["lexical"], trials=200))
    assert longer.family.look.number == 3
    stored = RunDirectory(tmp_path).study("pairs", "leak_one", Nominal(0.2))
    assert stored.exists()


def test_a_table_of_rewrites_has_no_fresh_trials(tmp_path):
    table = tmp_path / "pairs.csv"
    table.write_text("original,rewrite\n" + "\n".join(f"text {i},word {i}" for i in range(40)))
    spec = make_spec(
        tmp_path / "run", mechanisms=[{"name": "recorded", "path": str(table)}, Promising()], corpus=None,
        attacks=["lexical"], trials=10,
    )  # fmt: skip
    recorded = spec.model_copy(update={"mechanisms": spec.mechanisms[:1], "epsilons": []})
    worst = find_worst_pairs(run(recorded), Study(recorded, "pairs"), 2, 10)
    assert worst.pairs == ()
    assert "one rewrite of each text" in worst.left_out[0]
    assert math.isfinite(worst.error)


def test_a_pair_has_two_texts_even_if_an_attack_named_none_of_all(tmp_path):
    def fail_sometimes(text, seed):
        if seed % 3 == 0:
            raise ValueError
        return text if seed % 2 else "nothing"

    spec = make_spec(
        tmp_path,
        mechanisms=[fail_sometimes],
        attacks=["lexical"],
        epsilons=[],
        trials=300,
        plans=[{"k": "all"}],
    )
    [finding] = run(spec).findings
    assert finding.counts.failed > 50
    pilot = read_pilot(load_run(tmp_path), finding)
    assert ((pilot.other >= 0) & (pilot.source != pilot.other)).all()
    assert (pilot.evidence[pilot.source == len(TEXTS) - 1] == 0).any()  # the last text, which -1 could mean


def test_a_claim_that_a_pair_alone_refutes_is_violated_everywhere(tmp_path):
    spec, result = audited_function(tmp_path, leak_one, trials=60)
    assert not result.violated
    worst = find_worst_pairs(result, Study(spec, "pairs"), 2, 300)
    again = report(tmp_path)
    assert again.violated
    [claim] = again.claims
    assert (claim.tests, claim.pairs) == (1, 2)
    assert claim.verdict.is_violation
    assert "see Worst pairs), " in claim.verdict.reason
    assert claim.verdict.adjusted_p <= again.alpha / 2  # of all looks: six times that of the study alone
    assert claim.verdict.adjusted_p == pytest.approx(6 * 2 * claim.verdict.p_value)
    assert claim.to_dict()["witness"]["pair"] in [list(pair.tried.positions) for pair in worst]
    assert headlines(again)[0] == "1 of 1 privacy claims is violated."
    assert [row[1] for one in tell_claims(again) for row in one.table.cells] == ["violated"]
    assert [finding.verdict.name for finding in again] == [finding.verdict.name for finding in result]
    stored = summary(tmp_path)
    assert stored["violated"]
    assert stored["claims"] == [claim.to_dict()]
    [card] = calibration_cards(again)
    assert card["violated"]


def test_a_redacted_report_says_so_too_and_shows_no_label(tmp_path):
    mechanism = {"name": "function", "function": leak_one, "label": "the patient Smith"}
    spec = make_spec(tmp_path, mechanisms=[mechanism], epsilons=[0.2], attacks=["lexical"], trials=60)
    find_worst_pairs(run(spec), Study(spec, "pairs"), 2, 300)
    assert report(tmp_path, redact=True).violated
    assert "Smith" not in (tmp_path / "summary.json").read_text()
    assert "violated" in (tmp_path / "report.md").read_text()


def test_pairs_that_refute_nothing_change_no_verdict(tmp_path):
    spec, result = audited_function(tmp_path, constant)
    find_worst_pairs(result, Study(spec, "pairs"), 5, 100)
    [before], [after] = result.claims, load_run(tmp_path).claims
    assert (after.verdict, after.pairs, after.pair) == (before.verdict, 5, None)


def test_trials_of_a_study_that_was_never_judged_decide_nothing(tmp_path):
    spec, result = audited_function(tmp_path, leak_one, trials=60)
    pairs = pick_pairs(result, result.findings[0], 2)
    Study(spec, "pairs").run(result.findings[0], pairs, 600)
    assert load_run(tmp_path).pairs == ()
    Study(spec, "pairs").note(result.run)
    assert load_run(tmp_path).violated


def test_trials_that_are_gone_are_said(tmp_path):
    spec, result = audited_function(tmp_path, leak_one, trials=60)
    find_worst_pairs(result, Study(spec, "pairs"), 2, 300)
    assert load_run(tmp_path).finished
    shutil.rmtree(tmp_path / "studies")
    gone = load_run(tmp_path)
    assert not gone.violated
    assert any("fresh trials" in line and "study pairs" in line for line in gone.told_missing)


def test_nonsense_is_refused(tmp_path):
    spec, result = audited_function(tmp_path, constant, trials=30)
    with pytest.raises(SpecError, match="must be 1 or more"):
        find_worst_pairs(result, Study(spec, "pairs"), 0, 10)
