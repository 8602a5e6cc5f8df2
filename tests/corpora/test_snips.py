import json

import pytest

from tedaudit.corpora.snips import Snips
from tedaudit.errors import CorpusError


def _requests(intent, *requests):
    data = [{"data": [{"text": piece} for piece in pieces]} for pieces in requests]
    return json.dumps({intent: data}, ensure_ascii=False)


def _write(folder, name, content, encoding="utf-8"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content.encode(encoding))


def _original(root):
    water, lamp = root / "WaterPlant", root / "DimLamp"
    _write(water, "train_WaterPlant_full.json", _requests("WaterPlant", ["water the ", "fig"], ["water it"]))
    _write(water, "train_WaterPlant.json", _requests("WaterPlant", ["a part of it"]))
    _write(water, "validate_WaterPlant.json", _requests("WaterPlant", ["water", " the", " rose"]))
    _write(lamp, "train_DimLamp.json", _requests("DimLamp", ["dim the ", "lampe d'été"]), "latin-1")
    _write(lamp, "Wit_metrics.json", "{}")


def test_the_original_joins_pieces_and_prefers_the_full_files(tmp_path):
    _original(tmp_path)
    corpus = Snips(path=str(tmp_path)).load()
    assert corpus.texts == ("dim the lampe d'été", "water the fig", "water it")
    assert corpus.splits["train"].columns == {"intent": ("DimLamp", "WaterPlant", "WaterPlant")}
    assert corpus.splits["valid"].texts == ("water the rose",)
    assert "read as Latin-1, because they are not UTF-8: train_DimLamp.json" in corpus.notes


def test_the_original_may_be_in_a_folder_of_the_whole_repository(tmp_path):
    _original(tmp_path / "2017-06-custom-intent-engines")
    assert len(Snips(path=str(tmp_path)).load().texts) == 3


def test_one_file_of_the_original_is_the_training_split(tmp_path):
    _original(tmp_path)
    corpus = Snips(path=str(tmp_path / "WaterPlant" / "train_WaterPlant_full.json")).load()
    assert corpus.texts == ("water the fig", "water it")


def test_a_duplicate_intent_is_refused(tmp_path):
    _original(tmp_path / "a")
    _original(tmp_path / "b")
    with pytest.raises(CorpusError, match=r"two files 'train_DimLamp\.json'"):
        Snips(path=str(tmp_path)).load()


@pytest.mark.parametrize(
    "content", ["[]", '{"DimLamp": [{"words": []}]}', '{"DimLamp": [{"data": [{"t": ""}]}]}']
)
def test_json_of_another_form_is_refused(tmp_path, content):
    _write(tmp_path, "train_DimLamp.json", content)
    with pytest.raises(CorpusError, match=r"train_DimLamp.json' is not of the form"):
        Snips(path=str(tmp_path)).load()


def test_the_csv_edition_is_read_with_carriage_returns_and_quotes(tmp_path):
    (tmp_path / "snips_2017_train.csv").write_bytes(
        b'DimLamp,dim it \r\nWaterPlant,"water the ""old"" fig"\r\nDimLamp,dim it\r\n'
    )
    (tmp_path / "snips_2017_valid.csv").write_text("DimLamp,darker please\n")
    corpus = Snips(path=str(tmp_path)).load()
    assert corpus.texts == ("dim it ", 'water the "old" fig')
    assert corpus.splits["valid"].columns == {"intent": ("DimLamp",)}


def test_the_slot_gated_edition_is_read(tmp_path):
    _write(tmp_path / "train", "seq.in", "dim it\nwater it\n")
    _write(tmp_path / "train", "label", "DimLamp\nWaterPlant\n")
    corpus = Snips(path=str(tmp_path)).load()
    assert corpus.splits["train"].columns == {"intent": ("DimLamp", "WaterPlant")}


def test_a_folder_with_nothing_known_lists_what_was_looked_for(tmp_path):
    (tmp_path / "notes.md").write_text("x")
    with pytest.raises(CorpusError, match=r"Looked for: csv .*seq.in.*train_X_full.json.*Found: notes.md"):
        Snips(path=str(tmp_path)).load()


def test_without_path_and_root_the_origin_is_named(monkeypatch):
    monkeypatch.delenv("TEDAUDIT_DATA", raising=False)
    with pytest.raises(CorpusError, match=r"TEDAUDIT_DATA.*sonos/nlu-benchmark.* 'demo' comes with tedaudit"):
        Snips().load()


def test_the_published_files_have_their_known_sizes(corpora):
    corpus = Snips(path=str(corpora / "snips")).load()
    sizes = {
        note.split(":")[0]: note.split(" of ")[1].split(" ")[0] for note in corpus.notes if "distinct" in note
    }
    assert sizes == {"train": "13,084", "valid": "700", "test": "700"}
    assert len(corpus.texts) == 12859
    assert len(set(corpus.splits["train"].columns["intent"])) == 7
