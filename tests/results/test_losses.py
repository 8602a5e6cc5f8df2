"""Losses of a run, read from its tables, against closed forms."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

import tedaudit
from helpers import sentences
from tedaudit.estimators.loss import DELTAS, LossSample
from tedaudit.plugins.nominal import NO_EPSILON
from tedaudit.results.losses import find_contradictions, read_losses

PAIR = ("red", "blue")


def respond(epsilon, trials=400, **settings):
    """Audit randomised response on two texts."""
    return tedaudit.audit(
        {"name": "word-rr", "slots": 1, "vocabulary": list(PAIR)}, PAIR, epsilon=epsilon, trials=trials,
        attack=["likelihood", "lexical"], lambda_=0, **settings,
    )  # fmt: skip


def test_losses_of_randomised_response_are_plus_or_minus_epsilon_or_none():
    """Nothing is told by the third item that it may draw, the empty one."""
    [row] = read_losses(respond(1.5))
    losses = row.sample.losses
    assert set(np.round(losses, 4)) == {-1.5, 0.0, 1.5}
    right = int((losses > 0).sum())
    chance = 1 / (1 + 2 * math.exp(-1.5))
    assert binom.ppf(1e-9, 400, chance) <= right <= binom.isf(1e-9, 400, chance)
    exact = 1.5 + math.log(1 - 0.05 * len(losses) / right)
    assert row.sample.epsilon_at(0.05).point == pytest.approx(exact, abs=1e-4)
    assert str(row.slack) == "at most 1.0x"  # what is claimed is what is lost
    assert row.slack.to_dict()["source"] == "supremum"
    assert losses[row.worst] == losses.max()


def test_losses_are_read_without_the_attack_s_ceiling():
    """Every guess is right, and what that is worth is known far beyond it."""
    [row] = read_losses(respond(40.0, 100))
    assert row.finding.bound.ceiling < 4
    assert row.sample.quantile(0.0) == pytest.approx(40.0)


def test_a_run_that_goes_on_after_a_look_has_wider_ends(tmp_path):
    settings = {"out": str(tmp_path), "name": "grow"}
    [first] = read_losses(respond(1.5, 200, **settings))
    [second] = read_losses(respond(1.5, 400, **settings))
    assert first.sample.error == 0.005
    assert second.sample.error == pytest.approx(0.005 / 6)
    assert second.sample.trials == 400


def test_rewrites_that_failed_have_any_loss():
    @tedaudit_mechanism
    def fail(draw):
        return draw.key % 4 == 0

    [row] = read_losses(tedaudit.audit(fail, sentences(20), epsilon=1.0, trials=200, attack="likelihood"))
    assert row.sample.unknown == row.finding.counts.failed > 20
    assert row.sample.trials == 200
    at = row.sample.epsilon_at(0.05)
    assert (at.lower, at.point, at.upper_known, at.upper) == (0.0, 0.0, 0.0, math.inf)


def tedaudit_mechanism(fails):
    """Return a mechanism that releases nothing, and fails if it is told to."""
    from tedaudit.plugins.values import Card, Rewrite

    class Mechanism:
        card = Card(name="failing", summary="Fails sometimes.")

        def claim(self, epsilon):
            return None

        def rewrite(self, draws):
            return [
                Rewrite("", error="no") if fails(draw) else Rewrite("nothing", tokens=(1,)) for draw in draws
            ]

        def log_likelihood(self, tokens, candidates, epsilon):
            return np.zeros(len(candidates))

    return Mechanism()


def test_more_candidates_and_other_attacks_have_no_losses():
    texts = sentences(20)
    assert read_losses(tedaudit.audit("word-rr", texts, epsilon=1.0, trials=50, attack="lexical")) == ()
    three = tedaudit.audit("word-rr", texts, epsilon=1.0, trials=50, attack="likelihood", k=3)
    assert read_losses(three) == ()


def test_an_attack_above_what_the_likelihoods_allow_is_named():
    """It cannot be, so whoever claims such likelihoods is wrong about them."""
    result = respond(3.0, 2000)
    rows = read_losses(result)
    assert find_contradictions(result, rows) == ()
    halved = [replace(row, sample=LossSample(row.sample.losses / 4, row.sample.error)) for row in rows]
    told = find_contradictions(result, halved)
    assert len(told) >= 1
    assert "they are wrong" in told[0]


def test_a_setting_without_an_epsilon_is_named_by_its_mechanism_alone():
    result = respond(3.0, 2000)
    [row] = read_losses(result)
    small = LossSample(row.sample.losses / 4, row.sample.error)
    without = [replace(finding, epsilon=NO_EPSILON) for finding in result]
    none = replace(row, finding=replace(row.finding, epsilon=NO_EPSILON), sample=small)
    told = find_contradictions(replace(result, findings=tuple(without)), [none])
    assert told[0].startswith(f"{row.finding.label}, delta ")


def test_a_claim_without_a_maximum_is_not_compared():
    [row] = read_losses(respond(3.0, 100))
    endless = replace(row.finding, claim=replace(row.finding.claim, max_units=None))
    assert row.slack is not None
    assert replace(row, finding=endless).slack is None
    assert replace(row, finding=endless).to_dict()["slack"] is None


def test_what_is_infinite_is_none_in_json():
    [row] = read_losses(respond(1.5, 50))
    [*_, smallest] = row.to_dict()["epsilon_at"]
    assert smallest["delta"] == DELTAS[-1]
    assert smallest["upper"] is None
    assert smallest["trials_for_upper"] > 50


def test_a_report_tells_losses_and_a_redacted_one_no_text(tmp_path):
    """In report.md, report.html and summary.json, read again from the tables."""
    from helpers import summary
    from tedaudit.api import report

    texts = ["the violet canary", *sentences(10)]
    tedaudit.audit(
        {"name": "word-rr", "slots": 3, "label": "Dr Quillfeather's own"}, texts, epsilon=3.0, trials=100,
        attack="likelihood", out=str(tmp_path), lambda_=0,
    )  # fmt: skip
    [told] = summary(tmp_path)["losses"]
    assert told["claim"]["total"] == 9.0
    assert told["trials"] == 100
    page = (tmp_path / "report.html").read_text()
    assert "what an adversary that knows the mechanism learns" in page
    assert "what an adversary that knows the mechanism learns" in (tmp_path / "report.md").read_text()
    assert any(text in page.partition('"sections"')[2] for text in texts)
    report(tmp_path, redact=True)
    for name in ("report.md", "report.html", "summary.json"):
        shown = (tmp_path / name).read_text()
        assert "what an adversary that knows" in shown or name == "summary.json"
        assert not any(text in shown for text in (*texts, "Quillfeather"))
