import pytest

from tedaudit.corpora.sst2 import Sst2
from tedaudit.errors import CorpusError

TRAIN = 'sentence\tlabel\na slow but "kind film \t1\nall noise \t0\nall  noise\t0\n'


def test_the_glue_files_are_read_without_quoting(tmp_path):
    (tmp_path / "train.tsv").write_text(TRAIN)
    (tmp_path / "dev.tsv").write_text("sentence\tlabel\nfine enough\t1\n")
    (tmp_path / "test.tsv").write_text("index\tsentence\n0\twho knows\n")
    (tmp_path / "original").mkdir()
    corpus = Sst2(path=str(tmp_path)).load()
    assert corpus.texts == ('a slow but "kind film ', "all noise ")
    assert corpus.splits["train"].columns == {"label": ("1", "0")}
    assert corpus.splits["valid"].columns == {"label": ("1",)}
    assert corpus.splits["test"].texts == ("who knows",)
    assert "label" not in corpus.splits["test"].columns


def test_a_test_file_with_labels_keeps_them(tmp_path):
    (tmp_path / "train.tsv").write_text(TRAIN)
    (tmp_path / "test.tsv").write_text("sentence\tlabel\nwho knows\t0\n")
    assert Sst2(path=str(tmp_path)).load().splits["test"].columns == {"label": ("0",)}


def test_a_file_by_itself_is_the_training_split(tmp_path):
    (tmp_path / "dev.tsv").write_text(TRAIN)
    assert list(Sst2(path=str(tmp_path / "dev.tsv")).load().splits) == ["train"]


def test_a_table_without_sentences_is_refused(tmp_path):
    (tmp_path / "train.tsv").write_text("phrase\tlabel\nall noise\t0\n")
    with pytest.raises(CorpusError, match=r"no column 'sentence'.*It has: label, phrase.*corpus 'files'"):
        Sst2(path=str(tmp_path)).load()


def test_a_folder_with_nothing_known_lists_what_was_looked_for(tmp_path):
    (tmp_path / "train.csv").write_text("sentence,label\n")
    with pytest.raises(CorpusError, match=r"Looked for: tsv files .* Found: train.csv"):
        Sst2(path=str(tmp_path)).load()


def test_without_path_and_root_the_origin_is_named(monkeypatch):
    monkeypatch.delenv("TEDAUDIT_DATA", raising=False)
    with pytest.raises(CorpusError, match=r"TEDAUDIT_DATA.*GLUE"):
        Sst2().load()


def test_the_published_files_have_their_known_sizes(corpora):
    corpus = Sst2(path=str(corpora / "sst2")).load()
    sizes = {
        note.split(":")[0]: note.split(" of ")[1].split(" ")[0] for note in corpus.notes if "distinct" in note
    }
    assert sizes == {"train": "67,349", "valid": "872", "test": "1,821"}
    assert len(corpus.texts) == 66978
    assert set(corpus.splits["train"].columns["label"]) == {"0", "1"}
