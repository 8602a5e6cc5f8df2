from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import tedaudit
from judging_server import running
from tedaudit.estimators import Counts, reduced_form
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.nominal import NO_EPSILON, Nominal
from tedaudit.results.family import Family
from tedaudit.results.findings import AuditResult, Finding, post_processing
from tedaudit.results.measures import Measures, mean_posterior
from tedaudit.results.reading import read_result
from tedaudit.results.telling_audit import tell_post_processing
from tedaudit.results.verdict import Decision, Verdict
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.looks import Look

TEXTS = [f"{who} {did} the {what}" for who in ("ann", "bob", "cat") for did in ("lost", "sold")
         for what in ("ring", "boat", "lamp")]  # fmt: skip


def half(text):
    """Copy what begins with a, release nothing of what begins with b, and change the rest."""
    return text if text.startswith("ann") else "" if text.startswith("bob") else text.upper()


def test_copies_and_empty_rewrites_are_counted():
    found = next(iter(tedaudit.audit(half, TEXTS, epsilon=1.0, trials=600, lambda_=0, attack="lexical")))
    assert found.measures.copied == pytest.approx(1 / 3, abs=0.1)
    assert found.measures.empty == pytest.approx(1 / 3, abs=0.1)


def test_a_copy_has_the_cosine_one_with_its_source():
    found = next(iter(tedaudit.audit("identity", TEXTS, trials=50, attack="lexical")))
    assert found.measures.cosine == pytest.approx(1.0, abs=1e-5)
    assert found.measures.copied == 1.0


def test_the_cosine_is_that_of_the_outputs_whatever_the_attack():
    rows = tedaudit.audit(WordRR(slots=6), "demo", epsilon=6.0, attack=["lexical", "likelihood"], trials=200)
    assert len({row.measures.cosine for row in rows}) == 1


@pytest.mark.parametrize(("mechanism", "rank"), [("identity", 1.0), ("constant", 4.5)])
def test_the_place_of_the_source_is_the_first_for_copies_and_the_middle_for_equals(mechanism, rank):
    found = next(iter(tedaudit.audit(mechanism, TEXTS, trials=60, attack="lexical", k=8, lambda_=10_000)))
    assert found.measures.median_rank == rank
    assert found.to_dict()["median_rank"] == rank
    of_pairs = next(iter(tedaudit.audit(mechanism, TEXTS, trials=60, attack="lexical")))
    assert of_pairs.measures.median_rank is None


def test_a_judge_that_names_the_first_is_found_out(tmp_path):
    with running() as server:
        attack = {"name": "llm", "judge": server.backend}
        found = next(iter(tedaudit.audit("word-rr", "demo", epsilon=8.0, attack=[attack], trials=40,
                                         out=str(tmp_path / "run"))))  # fmt: skip
    assert found.measures.first == 1.0
    assert next(iter(read_result(RunDirectory(tmp_path / "run")))).measures.first == 1.0


@pytest.mark.parametrize(
    ("attainable", "success", "strength", "saturated"),
    [(0.75, 0.625, 0.5, False), (1.0, 1.0, 1.0, True), (0.9, 1.0, 1.25, False), (0.5, 0.5, None, False)],
)
def test_strength_is_the_share_of_what_is_within_reach(attainable, success, strength, saturated):
    measures = Measures(attainable=attainable)
    assert measures.strength(success, 2) == (None if strength is None else pytest.approx(strength))
    assert measures.saturated(success) is saturated
    assert Measures().strength(success, 2) is None


def test_both_at_the_ceiling_are_marked():
    rows = tedaudit.audit(
        WordRR(slots=30), "demo", epsilon=40.0, attack=["lexical", "likelihood"], trials=300
    )
    assert all(row.saturated for row in rows)


def test_what_a_decoder_hides_is_the_difference_of_two_attacks(tmp_path):
    pytest.importorskip("transformers")
    import tiny_models

    model = str(tiny_models.save_lstm(tmp_path / "model"))
    encoder = {"name": "embedding", "encoder": "lexical"}
    result = tedaudit.audit({"name": "adept", "model": model, "delta": 1e-5}, TEXTS, epsilon=[50.0],
                            attack=["internal", encoder], trials=100)  # fmt: skip
    (row,) = post_processing(result)
    bounds = {finding.attack: finding.bound.lower for finding in result}
    assert row["effect"] == pytest.approx(bounds["internal"] - bounds["embedding"])
    assert np.isfinite(row["effect"])
    assert result.to_dict()["post_processing"] == [row]


def found(attack, score, correct, epsilon=2.0):
    """Return what an attack found on the outputs of one mechanism."""
    return Finding(
        "k2-lambda0", "latents", Nominal(epsilon), None, attack, Counts(1000, (correct,), 2), 1000,
        reduced_form(correct, 1000), 0.0, reduced_form(correct, 1000), Verdict(Decision.NO_CLAIM), score,
        "k2-lambda0", Measures(empty=correct / 1000),
    )  # fmt: skip


def result_of(*findings):
    return AuditResult("made", RunDirectory(Path("made")), findings, (), Family(0.01, (), Look()))


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_attack_on_latents_that_found_more_is_compared_whichever_comes_first(order):
    attacks = [
        found("near", "latent similarity", 900), found("far", "latent similarity", 700),
        found("embedding", "cosine", 600),
    ]  # fmt: skip
    (row,) = post_processing(result_of(*(attacks[i] for i in order)))
    inner, outer = reduced_form(900, 1000).lower, reduced_form(600, 1000).lower
    assert (row["internal"], row["external"], row["effect"]) == (inner, outer, inner - outer)
    assert row["empty"] == 0.9


def test_a_latent_is_compared_with_the_text_of_the_same_epsilon_only():
    rows = post_processing(result_of(
        found("internal", "latent similarity", 900, 3), found("embedding", "cosine", 600, 3),
        found("internal", "latent similarity", 950, 4),
    ))  # fmt: skip
    assert [row["epsilon"] for row in rows] == [3.0]


def test_what_a_decoder_hides_is_shown_for_a_mechanism_without_an_epsilon_too():
    inner = found("internal", "latent similarity", 900, NO_EPSILON)
    [told] = tell_post_processing(result_of(inner, found("embedding", "cosine", 600, NO_EPSILON)))
    assert told.table.cells[0][:3] == ("k2-lambda0", "latents", "any")


def test_a_row_without_a_likelihood_may_name_its_source():
    scores = np.zeros((4, 2))
    assert mean_posterior(scores, 2, np.array([True, True, True, False])) == pytest.approx(0.625)
