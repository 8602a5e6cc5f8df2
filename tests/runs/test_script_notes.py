"""What a run says before its numbers: of texts that are not English, and of a model that was not measured."""

import pytest

from tedaudit.api import audit, load_run
from tedaudit.errors import RunDirectoryError
from tedaudit.plugins.registry import Reference, build
from tedaudit.runs import preparation
from tedaudit.runs.preparation import describe_texts, find_english
from tiny_models import save_roberta
from world_texts import write_texts


def plugin(kind, name, **fields):
    return build(Reference(kind, name, fields))


def test_english_texts_are_not_spoken_of():
    plugins = {"word-rr": plugin("mechanism", "word-rr")}
    assert describe_texts(write_texts("english"), plugins) == []
    assert describe_texts(["caf\u00e9 na\u00efve", "r\u00e9sum\u00e9"], plugins) == []
    assert describe_texts(["one letter in fifty is \u03b1, and all of the others are Latin"], plugins) == []


def test_the_share_is_that_of_the_letters():
    [first, second] = describe_texts(["ab 漢字漢字漢字 12"], {})
    assert first == "75% of the letters are not Latin (Han 75%, Latin 25%)"
    assert second.startswith("75% of the letters belong to scripts that put no spaces")
    assert len(describe_texts(write_texts("russian"), {})) == 1


def test_what_was_made_for_english_is_named_unless_it_is_set_otherwise():
    own = plugin("mechanism", "word-rr", vocabulary=("да", "нет"))
    assert list(find_english(own)) == []
    assert list(find_english(plugin("mechanism", "word-rr"))) == ["the default list of public words"]
    assert list(find_english(plugin("attack", "embedding", encoder="lexical"))) == []
    assert list(find_english(plugin("attack", "lexical"))) == []
    [note] = describe_texts(write_texts("russian"), {"rr": plugin("mechanism", "word-rr"), "own": own})
    assert "Made for English: rr (the default list of public words)." in note
    assert "own" not in note


def test_an_encoder_without_a_model_was_made_for_no_language(monkeypatch):
    monkeypatch.setenv("TEDAUDIT_ZOO", "off")
    assert list(find_english(plugin("attack", "trained"))) == []


def test_a_run_says_so_before_it_starts_and_in_its_report(tmp_path):
    said = []
    settings = {"epsilon": 1.0, "attack": "lexical", "trials": 20, "out": str(tmp_path / "run")}
    result = audit("word-rr", write_texts("thai"), announce=said.append, **settings)
    [note] = [note for note in result.notes if "not Latin" in note]
    assert said[0] == f"note: {note}."
    assert "Thai 100%" in note
    assert "word-rr (the default list of public words)" in note
    assert note in load_run(tmp_path / "run").notes
    assert note in (tmp_path / "run" / "report.md").read_text("utf-8")


def test_tables_that_were_read_in_another_way_are_not_mixed(tmp_path, monkeypatch):
    settings = {"epsilon": 1.0, "attack": "lexical", "out": str(tmp_path / "run"), "announce": lambda _: None}
    with monkeypatch.context() as older:
        older.setattr(preparation, "choose_reading", lambda _: "")
        audit("word-rr", write_texts("thai"), trials=20, lambda_=0, **settings)
    with pytest.raises(RunDirectoryError, match="reading"):
        audit("word-rr", write_texts("thai"), trials=40, lambda_=0, **settings)


def test_tables_of_english_texts_have_the_keys_they_always_had(tmp_path):
    audit(
        "word-rr", write_texts("english"), epsilon=1.0, attack="lexical", trials=20, out=str(tmp_path / "run")
    )
    for table in (tmp_path / "run").rglob("*.json"):
        assert '"reading"' not in table.read_text("utf-8")


def test_a_run_says_of_which_mechanism_the_clip_range_was_measured_on_another_model(tmp_path):
    texts = write_texts("english")
    own = {"name": "dp-mlm", "label": "own", "low": -1.0, "high": 1.0}
    model = {"model": str(save_roberta(tmp_path / "model")), "slots": 2}
    borrowed = {**own, "label": "borrowed", "low": None, **model}
    settings = {"epsilon": 10, "trials": 20, "attack": "lexical", "out": str(tmp_path / "run")}
    told = []
    result = audit(borrowed, texts, announce=told.append, **settings)
    [note] = [note for note in result.notes if "clip range" in note]
    assert note.startswith(f"borrowed: no clip range was measured on '{model['model']}'")
    assert f"note: {note}." in told
    extended = audit({**own, **model}, texts, **settings)  # the rows of the other one are still there
    assert note in extended.notes
    assert note in load_run(tmp_path / "run").notes
