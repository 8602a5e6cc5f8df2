"""The figure of claim, loss and attacks, drawn for a real run."""

import math

import tedaudit
from helpers import sentences
from tedaudit.api import report
from tedaudit.reports.loss_figures import draw_sandwich
from tedaudit.results.losses import read_losses
from tedaudit.results.redaction import redact_result
from tedaudit.results.telling_losses import rename_losses


def audit(tmp_path, **settings):
    mechanism = {"name": "word-rr", "slots": 3, "label": "_a $ign"}
    return tedaudit.audit(
        mechanism, sentences(20), epsilon=[1.0, 4.0, 30.0], trials=300, attack=["likelihood", "lexical"],
        out=str(tmp_path), lambda_=0, **settings,
    )  # fmt: skip


def test_claim_loss_and_attacks_stand_on_one_axis(tmp_path):
    result = audit(tmp_path)
    rows = read_losses(result)
    drawn = draw_sandwich(rows, result.findings)
    [panel] = drawn.axes
    lines = {line.get_label(): line for line in panel.get_lines()}
    assert {
        "claim",
        "loss of the draw, at delta 0.05",
        "lexical",
        "likelihood",
        "ceiling of the trials",
    } <= set(lines)
    assert list(lines["claim"].get_ydata()) == [3.0, 12.0, 90.0]
    points = [row.sample.epsilon_at(0.05).point for row in rows]
    assert list(lines["loss of the draw, at delta 0.05"].get_ydata()) == points
    assert panel.get_ylim()[1] > 90


def test_attacks_of_unequal_trials_are_not_joined_and_each_point_has_its_ceiling(tmp_path):
    audit(tmp_path)
    made = tedaudit.audit(
        {"name": "word-rr", "slots": 3, "label": "_a $ign"}, sentences(20), epsilon=[60.0], trials=900,
        attack=["likelihood", "lexical"], out=str(tmp_path), lambda_=0,
    )  # fmt: skip
    lines = {
        line.get_label(): line for line in draw_sandwich(read_losses(made), made.findings).axes[0].get_lines()
    }
    heights = [finding.bound.ceiling for finding in made]
    assert len(set(heights)) == 2
    assert sorted(lines["ceiling of the trials"].get_ydata()) == sorted(heights)
    assert [math.isnan(height) for height in lines["lexical"].get_ydata()] == [False] * 3 + [True, False]


def test_a_redacted_figure_shows_no_name_that_somebody_typed(tmp_path):
    result = audit(tmp_path)
    shown = redact_result(result, result.run.manifest())
    rows = rename_losses(read_losses(result), result, shown)
    assert len(rows) == 3
    assert all("ign" not in row.finding.label for row in rows)
    assert "ign" not in draw_sandwich(rows, shown.findings).axes[0].get_title()


def test_figures_of_a_run_have_it_and_one_without_likelihoods_does_not(tmp_path):
    audit(tmp_path / "with")
    report(tmp_path / "with", figures=True, redact=True)
    assert (tmp_path / "with/figures/k2-lambda0-loss.png").stat().st_size > 10_000
    tedaudit.audit(str.upper, sentences(20), trials=20, attack="lexical", out=str(tmp_path / "without"))
    report(tmp_path / "without", figures=True)
    assert not list((tmp_path / "without/figures").glob("*-loss.*"))
