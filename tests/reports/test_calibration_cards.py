"""Calibration cards: everything that belongs to a number, and no text."""

import json
import math
from dataclasses import replace

import pytest
import yaml

from helpers import make_spec
from tedaudit.api import run
from tedaudit.corpora.files import Given
from tedaudit.errors import SpecError
from tedaudit.reports.plugin_cards import FORMAT, calibration_cards, markdown, write_cards
from tedaudit.results.reading import read_result
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.spec.model import parse_spec

TEXTS = [f"{who} {did} the {what}" for who in ("ann", "bob", "cat", "dan", "eve")
         for did in ("lost", "sold") for what in ("ring", "boat", "lamp")]  # fmt: skip
LABEL = "ann lost | the ring"
KEYS = {
    "format", "kind", "written_by", "mechanism", "claims", "results", "violated", "headline", "judged_claims",
    "models",
    "settings", "run", "reproduce", "notes", "says", "says_not",
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "made"
    return run(
        make_spec(
            out, corpus={"name": "given", "live": Given(TEXTS)}, epsilons=[0.5, 8], trials=300, seed=3,
            mechanisms=[{"name": "word-rr", "slots": 3}, "identity",
                        {"name": "function", "function": str.upper, "label": LABEL},
                        {"name": "constant", "output": "bob sold the boat"}],
            plans=[{"k": 2, "lambda": 0}, {"k": 2, "lambda": 0, "estimator": "baseline"}],
        )
    )  # fmt: skip


@pytest.fixture(scope="module")
def cards(made):
    found = calibration_cards(read_result(RunDirectory(made.folder)))
    return {card["mechanism"]["label"]: card for card in found}


def test_there_is_one_card_per_mechanism_with_the_same_keys(cards):
    assert set(cards) == {"word-rr", "mechanism 1", "constant", "identity"}
    for card in cards.values():
        assert set(card) == KEYS
        assert card["format"] == FORMAT == 2
        assert set(card["mechanism"]) == {"label", "name", "summary", "paper", "departures", "version"}


def test_a_card_of_guesses_that_were_not_judged_promises_no_error(made, cards):
    assert "for all bounds together" in markdown(cards["identity"])
    unjudged = replace(made, family=replace(made.family, look=replace(made.family.look, noted=False)))
    told = [markdown(card) for card in calibration_cards(unjudged)]
    assert all("error none is promised" in text for text in told)


def test_a_card_has_claim_bound_error_ceiling_trials_and_verdict_of_every_finding(cards, made):
    mine = [finding for finding in made if finding.label == "word-rr"]
    card = cards["word-rr"]
    assert len(card["results"]) == len(mine) == 4
    for told, finding in zip(card["results"], mine, strict=True):
        assert (told["lower"], told["ceiling"]) == (finding.bound.lower, finding.bound.ceiling)
        assert (told["error"], told["trials"]) == (finding.bound.error, 300)
        assert told["verdict"] == finding.verdict.name
    assert [claim["nominal"] for claim in card["claims"]] == [0.5, 8]
    assert card["claims"][0]["unit"] == "word"
    assert card["claims"][0]["total"] == 1.5
    assert card["claims"][0]["neighbours"] == "any two texts"
    assert cards["mechanism 1"]["violated"]
    assert not card["violated"]


def test_a_card_has_the_settings_with_the_error_that_the_bounds_really_have(cards, made):
    settings = cards["word-rr"]["settings"]
    manifest = RunDirectory(made.folder).manifest()
    assert settings["corpus"]["fingerprint"] == manifest["corpus"]["fingerprint"]
    assert (settings["alpha"], settings["errors"], settings["seed"]) == (0.01, [0.0025 / len(made)], 3)
    assert [(plan["k"], plan["lambda"], plan["estimator"]) for plan in settings["plans"]] == [
        (2, 0.0, "reduced"), (2, 0.0, "baseline")]  # fmt: skip
    assert cards["word-rr"]["run"]["versions"]["tedaudit"]


def test_the_spec_on_a_card_is_of_this_mechanism_alone_and_can_be_run(cards):
    spec = parse_spec(yaml.safe_load(cards["word-rr"]["reproduce"]["spec"]))
    assert [one.title for one in spec.mechanisms] == ["word-rr"]
    assert spec.mechanisms[0].params == {"slots": 3}
    assert (spec.seed, spec.trials, spec.epsilons) == (3, 300, [0.5, 8])
    assert [plan.name for plan in spec.plans] == ["k2-lambda0", "k2-lambda0-baseline"]


def test_the_spec_on_a_card_has_the_attacks_that_fit_the_mechanism(made):
    store = RunDirectory(made.folder)
    manifest = store.manifest()
    manifest["spec"]["attacks"].append({"name": "internal", "label": ""})
    (card,) = calibration_cards(read_result(store), "word-rr")
    assert yaml.safe_load(card["reproduce"]["spec"])["attacks"] == [{"name": "lexical"}]


def test_no_text_label_of_several_words_or_path_is_on_a_card(cards, made, tmp_path):
    for path in write_cards(list(cards.values()), RunDirectory(made.folder), tmp_path):
        told = path.read_text(encoding="utf-8")
        assert not any(text in told for text in [*TEXTS, LABEL, "ann lost"])
        assert str(made.folder.parent) not in told
    assert cards["constant"]["reproduce"]["left_out"]
    assert "What is left out could contain a text" in markdown(cards["constant"])


@pytest.mark.parametrize(
    ("key", "value", "kept"),
    [
        ("variant", "published", True),
        ("model", "owner/model-1", True),
        ("model", "zoo:mlm", True),
        ("model", "a text of the corpus", False),
        ("model", "/a/path/of/mine", False),
        ("output", "oneword", False),
    ],
)
def test_of_settings_that_are_strings_only_identifiers_stay(made, key, value, kept):
    store = RunDirectory(made.folder)
    manifest = store.manifest()
    manifest["spec"]["mechanisms"][0][key] = value
    (card,) = calibration_cards(read_result(store), "word-rr")
    assert (value in card["reproduce"]["spec"]) == kept


def test_a_mechanism_that_the_run_was_last_called_without_still_has_a_card(made):
    store = RunDirectory(made.folder)
    manifest = store.manifest()
    del manifest["spec"]["mechanisms"][0]
    (card,) = calibration_cards(read_result(store), "word-rr")
    assert set(card) == KEYS
    assert card["reproduce"]["left_out"]
    assert markdown(card)


def test_the_files_are_markdown_and_strict_json(cards, made, tmp_path):
    chosen = [cards["identity"], cards["mechanism 1"]]
    written = write_cards(chosen, RunDirectory(made.folder), tmp_path / "new")
    assert [path.name for path in written] == [
        "identity.card.md", "identity.card.json", "mechanism-1.card.md", "mechanism-1.card.json"]  # fmt: skip
    assert json.loads(written[1].read_text(encoding="utf-8")) == cards["identity"]
    assert cards["identity"]["results"][0]["point"] is None
    page = written[0].read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in rows}) == 1
    assert "| inf |" in page
    assert "to inf" not in page
    for title in ("Claim", "Measured", "Settings", "What a bound says", "What it does not say", "Reproduce"):
        assert f"\n## {title}\n" in page


def test_numbers_in_markdown_are_those_of_the_card(cards):
    told = markdown(cards["word-rr"])
    for result in cards["word-rr"]["results"]:
        point = math.inf if result["point"] is None else result["point"]
        assert f"| {result['lower']:.2f} | {point:.2f} (to " in told
    assert "0.5 per word x 3 = 1.5; delta 0 in all; for any two texts" in told


def test_an_unknown_mechanism_and_a_run_without_findings_are_refused(made):
    with pytest.raises(SpecError, match=r"no mechanism 'word-r'. Did you mean 'word-rr'\?"):
        calibration_cards(made, "word-r")
    empty = replace(made, findings=())
    with pytest.raises(SpecError, match="No block of guesses is complete"):
        calibration_cards(empty)


def test_a_card_of_recorded_rewrites_does_not_tell_their_label_by_their_plan(tmp_path):
    rows = "".join(f"thing {n} of {n % 7},a thing of {n % 7}\n" for n in range(60))
    (tmp_path / "pairs.csv").write_text("original,rewrite\n" + rows)
    recorded = {"name": "recorded", "path": str(tmp_path / "pairs.csv"), "label": LABEL}
    plans = [{"k": 2, "lambda": 0, "estimator": estimator} for estimator in ("reduced", "baseline")]
    spec = make_spec(
        tmp_path / "run", corpus=None, mechanisms=[recorded], epsilons=[], plans=plans, trials=20
    )
    (card,) = calibration_cards(run(spec))
    assert "ann lost" not in json.dumps(card)
    assert {plan["words"] for plan in card["settings"]["plans"]} == {
        "k = 2, lambda = 0, reduced form", "k = 2, lambda = 0, baseline"}  # fmt: skip
    assert {result["plan"] for result in card["results"]} == {"k2-lambda0", "k2-lambda0-baseline"}
