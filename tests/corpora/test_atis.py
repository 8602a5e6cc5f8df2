import json

import pytest

from tedaudit.corpora.atis import Atis
from tedaudit.errors import CorpusError
from tedaudit.text.readers import read_table

FERRIES = ["is there a ferry to the island", "how much is the night ferry"]
INTENTS = ("ferry", "fare")


def _check(corpus, edition):
    assert corpus.texts == tuple(FERRIES)
    assert corpus.splits["train"].columns == {"intent": INTENTS}
    assert corpus.splits["test"].texts == ("who sails today",)
    assert corpus.notes[0].startswith(f"read as: {edition}")


def test_the_csv_edition_has_no_header(tmp_path):
    (tmp_path / "atis_train.csv").write_text(f"ferry,{FERRIES[0]}\nfare,{FERRIES[1]}\n")
    (tmp_path / "atis_test.csv").write_text("who,who sails today\n")
    _check(Atis(path=str(tmp_path)).load(), "csv")


@pytest.mark.parametrize("names", ["intent,text", "Text,Intent"])
def test_a_csv_header_is_optional(tmp_path, names):
    rows = [(INTENTS[0], FERRIES[0]), (INTENTS[1], FERRIES[1])]
    lines = [",".join(row if names == "intent,text" else row[::-1]) for row in rows]
    (tmp_path / "train.csv").write_text("\n".join([names, *lines]))
    corpus = Atis(path=str(tmp_path / "train.csv")).load()
    assert corpus.texts == tuple(FERRIES)
    assert corpus.splits["train"].columns == {"intent": INTENTS}


def test_a_csv_of_three_columns_is_refused(tmp_path):
    (tmp_path / "train.csv").write_text("1,ferry,to the island\n2,fare,how much\n")
    with pytest.raises(CorpusError, match=r"has 3 columns. This edition has two: intent, text"):
        Atis(path=str(tmp_path)).load()


def _bio(text, intent):
    return f"BOS {text} EOS\tO {' '.join('O' for _ in text.split())} {intent}\n"


def test_the_bio_edition_closes_each_line_with_the_intent(tmp_path):
    train = "".join(map(_bio, FERRIES, INTENTS))
    (tmp_path / "atis.train.w-intent.iob").write_text(train)
    (tmp_path / "atis.test.w-intent.iob").write_text(_bio("who sails today", "who"))
    _check(Atis(path=str(tmp_path)).load(), "BIO")


def test_of_the_usual_bio_folder_the_training_file_without_dev_is_taken(tmp_path):
    (tmp_path / "atis-2.train.w-intent.iob").write_text("".join(map(_bio, FERRIES, INTENTS)))
    (tmp_path / "atis-2.dev.w-intent.iob").write_text(_bio("a third one", "ferry"))
    (tmp_path / "atis.train.w-intent.iob").write_text(_bio("both of them together", "ferry"))
    (tmp_path / "atis.train.iob").write_text(_bio("without any intent", "O"))
    corpus = Atis(path=str(tmp_path)).load()
    assert corpus.texts == tuple(FERRIES)
    assert corpus.splits["valid"].texts == ("a third one",)


def test_bio_files_without_intents_have_no_such_column(tmp_path):
    (tmp_path / "atis.train.iob").write_text("".join(_bio(text, "O") for text in FERRIES))
    corpus = Atis(path=str(tmp_path)).load()
    assert corpus.texts == tuple(FERRIES)
    assert corpus.splits["train"].columns == {}


def test_a_broken_bio_line_is_named(tmp_path):
    file = tmp_path / "atis.train.w-intent.iob"
    file.write_text(_bio(FERRIES[0], "ferry") + "BOS no tags EOS\n")
    with pytest.raises(CorpusError, match="line 2 is not of the form"):
        Atis(path=str(file)).load()


def _slot_gated(folder, texts, intents):
    folder.mkdir()
    (folder / "seq.in").write_text("".join(f"{text}\n" for text in texts))
    (folder / "label").write_text("".join(f"{intent}\n" for intent in intents))


def test_the_slot_gated_edition_has_a_folder_for_each_split(tmp_path):
    _slot_gated(tmp_path / "train", FERRIES, INTENTS)
    _slot_gated(tmp_path / "test", ["who sails today"], ["who"])
    _check(Atis(path=str(tmp_path)).load(), "folders")


def test_sentences_and_intents_must_be_equally_many(tmp_path):
    _slot_gated(tmp_path / "train", FERRIES, INTENTS[:1])
    with pytest.raises(CorpusError, match=r"2 lines in seq.in and 1 in label"):
        Atis(path=str(tmp_path)).load()


def _rasa(texts, intents):
    examples = [
        {"text": text, "intent": intent, "entities": []} for text, intent in zip(texts, intents, strict=True)
    ]
    return json.dumps({"rasa_nlu_data": {"common_examples": examples}})


def test_the_json_edition_is_read(tmp_path):
    (tmp_path / "train.json").write_text(_rasa(FERRIES, INTENTS))
    (tmp_path / "test.json").write_text(_rasa(["who sails today"], ["who"]))
    _check(Atis(path=str(tmp_path)).load(), "JSON")


@pytest.mark.parametrize(("content", "said"), [('{"rows": []}', "not of the form"), ("{", "is not JSON")])
def test_json_of_another_form_is_refused(tmp_path, content, said):
    (tmp_path / "train.json").write_text(content)
    with pytest.raises(CorpusError, match=said):
        Atis(path=str(tmp_path)).load()


def test_a_folder_with_nothing_known_lists_what_was_looked_for(tmp_path):
    (tmp_path / "atis.pkl").write_bytes(b"x")
    with pytest.raises(CorpusError, match=r"Looked for: csv .*BIO .*seq.in.*rasa_nlu_data. Found: atis.pkl"):
        Atis(path=str(tmp_path)).load()


def test_an_edition_without_training_split_is_refused(tmp_path):
    (tmp_path / "atis_test.csv").write_text("who,who sails today\n")
    with pytest.raises(CorpusError, match=r"none for training: test \(csv"):
        Atis(path=str(tmp_path)).load()


def test_the_data_root_is_used_if_no_path_is_set(tmp_path, monkeypatch):
    (tmp_path / "atis").mkdir()
    _slot_gated(tmp_path / "atis" / "train", FERRIES, INTENTS)
    monkeypatch.setenv("TEDAUDIT_DATA", str(tmp_path))
    assert Atis().load().texts == tuple(FERRIES)


def test_without_path_and_root_both_ways_and_the_origin_are_named(monkeypatch):
    monkeypatch.delenv("TEDAUDIT_DATA", raising=False)
    with pytest.raises(CorpusError, match=r"'path'.*TEDAUDIT_DATA.*Linguistic Data Consortium"):
        Atis().load()


def test_a_missing_folder_is_reported_with_the_setting_that_named_it(tmp_path, monkeypatch):
    monkeypatch.setenv("TEDAUDIT_DATA", str(tmp_path))
    with pytest.raises(
        CorpusError, match=r"There is no .*atis', which the environment variable TEDAUDIT_DATA"
    ):
        Atis().load()
    with pytest.raises(CorpusError, match=r"There is no .*nowhere', which 'path'"):
        Atis(path=str(tmp_path / "nowhere")).load()


def test_the_published_files_have_their_known_sizes(corpora):
    corpus = Atis(path=str(corpora / "atis")).load()
    notes = corpus.notes
    sizes = {note.split(":")[0]: note.split(" of ")[1].split(" ")[0] for note in notes if "distinct" in note}
    assert sizes == {"train": "4,478", "valid": "500", "test": "893"}
    assert len(corpus.texts) == 4189


def test_the_texts_are_those_of_the_table(tmp_path):
    file = tmp_path / "train.csv"
    file.write_text("ferry, an outer space stays\nfare,so it does here \n")
    assert Atis(path=str(file)).load().texts == tuple(read_table(file, header=False)["column_2"])
