"""How many texts the embedded audit would cut, counted as its mechanisms cut them."""

import pytest

from tedaudit.models.zoo import is_installed
from tedaudit.plugins.registry import Reference, build
from tedaudit.studies.forecast import cuts
from tedaudit.studies.forecast.cuts import count_cuts

LONG = ["a few words", "word " * 16, "word " * 17, "word " * 400, "字" * 60]


def test_without_the_zoo_it_counts_words(monkeypatch):
    monkeypatch.setenv("TEDAUDIT_ZOO", "off")
    [cut] = count_cuts(LONG)
    assert (cut.mechanism, cut.limit, cut.unit, cut.cut, cut.of) == ("word-rr", 16, "words", 2, 5)


def test_of_many_texts_a_sample_is_counted_over_the_whole(monkeypatch):
    monkeypatch.setenv("TEDAUDIT_ZOO", "off")
    monkeypatch.setattr(cuts, "SAMPLE", 10)
    [cut] = count_cuts(["short"] * 90 + ["word " * 40] * 10)
    assert (cut.cut, cut.of) == (1, 10)
    assert count_cuts([])[0].of == 0


@pytest.mark.parametrize(
    ("name", "fields"),
    [("dp-mlm", {"length": "input"}), ("dp-bart", {"positions": "text", "model": "zoo:bart-pruned"}),
     ("dp-prompt", {"model": "no/such-model"}), ("adept", {"model": "adept"})],
)  # fmt: skip
def test_a_mechanism_that_cuts_nothing_or_whose_tokenizer_is_not_at_hand_says_no_limit(name, fields):
    assert build(Reference("mechanism", name, fields)).input_limit() is None


@pytest.mark.skipif(not is_installed(), reason="the zoo is not installed")
def test_tokens_are_those_that_the_mechanisms_read(monkeypatch):
    monkeypatch.delenv("TEDAUDIT_ZOO", raising=False)
    texts = [
        "a few words",
        "half \ud800 a pair",
        "word " * 10,
        "word " * 60,
        "word " * 400,
        "字" * 60,
    ]  # none fills a window exactly
    found = {cut.mechanism: cut for cut in count_cuts(texts)}
    for name in ("adept", "dp-bart"):
        mechanism = build(Reference("mechanism", name))
        grows = [len(mechanism.pieces(text)) < len(mechanism.pieces(f"{text} more words")) for text in texts]
        assert found[name].limit == mechanism.window
        assert found[name].cut == grows.count(False) == 3
