"""scrubadub as a mechanism: the real package and its detectors, and what is said about wrong settings."""

import datetime

import pytest

import tiny_nltk_data
from tedaudit.errors import ModelError, SpecError
from tedaudit.mechanisms import scrubadub
from tedaudit.plugins.registry import Reference, build, determinants
from tedaudit.types import Draw

pytest.importorskip("scrubadub")
TEXT = "Ask Alice at alice@example.com or 212-555-5555; alice@example.com is better."


def scrub(text=TEXT, key=1, **settings):
    (rewrite,) = build(Reference("mechanism", "scrubadub", settings)).rewrite([Draw(text, 1.0, key)])
    assert rewrite.error == ""
    return rewrite.text


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "Ask Alice at {{EMAIL}} or {{PHONE}}; {{EMAIL}} is better."),
        ({"replacement": "remove"}, "Ask Alice at  or ;  is better."),
        ({"detectors": ["phone"]}, TEXT.replace("212-555-5555", "{{PHONE}}")),
        ({"detectors": ["postalcode"], "locale": "en_GB"}, TEXT),
    ],
)
def test_what_is_found_is_replaced(settings, expected):
    assert scrub(**settings) == expected


def test_by_default_names_stay():
    assert (
        scrub("Alice Smith was born in London on 3 May 1980.")
        == "Alice Smith was born in London on 3 May 1980."
    )


def test_a_hash_has_a_salt_from_the_key_or_from_its_user():
    first, second, other = (scrub(key=key, replacement="hash", hash_length=8) for key in (1, 1, 2))
    assert first == second != other
    codes = [word.strip("{};") for word in first.split() if "EMAIL-" in word]
    assert codes[0] == codes[1]  # within a text equal addresses have equal hashes
    assert len(codes[0]) == len("EMAIL-") + 8
    assert scrub(key=1, replacement="hash", salt="s") == scrub(key=2, replacement="hash", salt="s")


def test_no_text_depends_on_those_before_it():
    plugin = build(Reference("mechanism", "scrubadub"))
    texts = [TEXT, "Write to bob@example.com.", TEXT]
    together = [rewrite.text for rewrite in plugin.rewrite([Draw(text, 1.0, 1) for text in texts])]
    assert together == [scrub(text) for text in texts]


def test_names_need_a_file_of_nltk(tmp_path, monkeypatch):
    import nltk

    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    scrubadub._load_detectors.cache_clear()
    with pytest.raises(ModelError, match="'text_blob_name' needs punkt_tab"):
        scrub(detectors=["text_blob_name"])
    tiny_nltk_data.save_nltk_data(tmp_path)
    assert scrub("We met Maria there.", detectors=["text_blob_name"]) == "We met {{NAME}} there."


def test_the_key_of_a_table_holds_versions_and_the_year_where_it_matters():
    known = determinants(build(Reference("mechanism", "scrubadub")))
    assert {"scrubadub", "phonenumbers", "python-stdnum", "textblob", "dateparser"} <= set(known)
    assert "year" not in known
    dated = determinants(build(Reference("mechanism", "scrubadub", {"detectors": ["date_of_birth"]})))
    assert dated["year"] == str(datetime.datetime.now().astimezone().year)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"detectors": ["emial"]}, "no detector 'emial'. Did you mean 'email'?"),
        ({"detectors": ["tagged"]}, "no detector 'tagged'"),
        ({"detectors": ["postalcode"]}, "'postalcode' is not made for the locale 'en_US'"),
        ({"locale": "english"}, "the locale is 'english'"),
        ({"salt": "s"}, "salt is for the replacement `hash`, and replacement is 'type'"),
        ({"hash_length": 0, "replacement": "hash"}, "hash_length is 0; it must be 1 to 64"),
    ],
)
def test_wrong_settings_say_what_is_allowed(settings, message):
    with pytest.raises(SpecError) as caught:
        scrub(**settings)
    assert message in str(caught.value)
