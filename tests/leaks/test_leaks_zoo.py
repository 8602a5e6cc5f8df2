"""The battery on published and sound variants, with the zoo's models and short texts."""

import pytest

from helpers import sentences
from tedaudit.leaks.finder import find_leaks

pytest.importorskip("tedaudit_zoo")
SHORT = [f"{' '.join(text.split()[-4:])}." for text in sentences(14)]


@pytest.fixture(autouse=True)
def with_zoo(monkeypatch):
    monkeypatch.delenv("TEDAUDIT_ZOO", raising=False)


def test_dp_mlm_as_released_leaks_stop_words_case_and_length_at_zero_budget():
    report = find_leaks({"name": "dp-mlm", "model": "zoo:mlm", "variant": "published"}, SHORT, trials=50)
    fixes = {finding.name: finding.fix for finding in report.findings}
    assert {"stop word", "punctuation", "case", "length"} <= fixes.keys()
    assert "keep_stop_words=false" in fixes["stop word"]
    assert "copy_case=false" in fixes["case"]
    assert "length=fixed" in fixes["length"]
    assert not {"name", "number", "rare word", "failure", "same output"} & fixes.keys()


def test_dp_mlm_made_sound_leaks_nothing_at_zero_budget():
    sound = {"name": "dp-mlm", "model": "zoo:mlm", "variant": "sound", "slots": 4}
    assert find_leaks(sound, SHORT, trials=50).findings == ()


def test_dp_st_as_released_returns_raw_texts():
    pytest.importorskip("spacy")
    report = find_leaks(
        {"name": "dp-st", "model": "zoo:seq2seq", "extractor": "zoo:parser", "table": "zoo:triples",
         "variant": "published"},
        SHORT, trials=50,
    )  # fmt: skip
    [finding] = [found for found in report.findings if found.name == "whole text"]
    assert "no_triples=null" in finding.fix
    assert finding.figures["own"] > 0.5
