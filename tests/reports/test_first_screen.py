"""The sentences below the first table: each only where it is true."""

import re
from dataclasses import replace

import pytest

import tedaudit
from helpers import Failing, make_spec, sentences
from tedaudit.api import load_run, run
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.reports.first_screen import (
    describe_screen,
    explain_losses,
    make_loss_pivots,
    make_pivots,
    mention_no_epsilon,
)
from tedaudit.results.losses import read_losses
from tedaudit.runs.looks import Look

TEXTS = sentences(40)


def tell(result):
    return " ".join(describe_screen(result, make_pivots(result)))


def audit(mechanism, **changes):
    return tedaudit.audit(mechanism, TEXTS, **{"trials": 250, "attack": "lexical", **changes})


def test_what_leaks_is_told_with_counts_error_and_ceiling():
    told = tell(audit("identity"))
    assert re.search(r"finds most for identity: eps_emp [\d.]+ \(lexical: 250 of 250 guesses right; bl", told)
    assert "too large has probability 0.005 at most, its one row and all looks counted" in told
    assert "* is the ceiling (" in told
    assert "true value may be far larger" in told
    assert "0.00:" not in told
    assert "?:" not in told


def test_nothing_found_is_no_comfort_and_no_number_is_explained():
    told = tell(audit("constant"))
    assert told.startswith("No attack did provably better than guessing, which does not show that none can.")
    assert "e^eps_emp" not in told
    assert "ceiling" not in told


def test_zeros_beside_numbers_are_explained():
    told = tell(audit({"name": "word-rr", "slots": 6}, epsilon=[0.01, 12.0], trials=300))
    assert (
        "0.00: no attack here did provably better than guessing, which does not show that none can." in told
    )
    assert "finds most for word-rr at epsilon 12" in told


def test_a_mechanism_that_fails_is_said_to_have_shown_nothing():
    told = tell(audit(Failing(1.0), epsilon=1.0, trials=100))
    assert "?: nothing can be concluded" in told
    assert "No attack did provably better" not in told


def test_equal_bounds_are_counted_and_not_hidden():
    told = tell(audit({"name": "word-rr", "slots": 6}, epsilon=[50.0, 60.0, 70.0]))
    assert "2 other settings have the same bound" in told


class HidesText(WordRR):
    """Draws words and shows none of them."""

    def rewrite(self, draws):
        return [replace(made, text="") for made in super().rewrite(draws)]


def test_what_the_draw_alone_tells_is_said_of_nobody_else():
    told = tell(audit(HidesText(slots=8), epsilon=8.0, attack=["lexical", "likelihood"], trials=300))
    assert "No attack on the text alone did provably better than guessing" in told
    assert "Whoever sees what was drawn (tokens, latent) finds most for" in told


def test_delta_and_plans_are_told_if_there_are_any(tmp_path):
    spec = make_spec(tmp_path, mechanisms=["identity"], attacks=["lexical"], delta=0.01,
                     plans=[{"k": 2, "lambda": 0}, {"k": 4, "lambda": 0}])  # fmt: skip
    told = tell(run(spec))
    assert "It is at delta 0.01." in told
    assert "largest over 2 plans" in told
    assert "delta" not in tell(audit("identity"))


def test_a_state_that_was_never_judged_promises_no_error(tmp_path):
    result = run(make_spec(tmp_path, mechanisms=["identity"], attacks=["lexical"]))
    unnoted = replace(result, family=replace(result.family, look=Look(2, noted=False)))
    told = tell(unnoted)
    assert "no error is promised" in told
    assert "has probability" not in told


def test_losses_are_called_an_estimate_over_pairs(tmp_path):
    run(make_spec(tmp_path, epsilons=[1, 4], attacks=["likelihood"]))
    [pivot] = make_loss_pivots(read_losses(load_run(tmp_path)))
    assert pivot.title == "loss of what was drawn by nominal epsilon, at delta 0.05"
    assert len(pivot.cells) == 2
    told = explain_losses([pivot])
    assert "an estimate" in told
    assert "single pairs may lose more" in told


@pytest.mark.parametrize(
    ("mechanism", "epsilon", "expected"), [("identity", (), True), ("word-rr", (2.0,), False)]
)
def test_the_column_without_an_epsilon_is_explained_if_it_is_there(mechanism, epsilon, expected):
    pivots = make_pivots(audit(mechanism, epsilon=epsilon, trials=60))
    assert bool(mention_no_epsilon(pivots)) == expected
