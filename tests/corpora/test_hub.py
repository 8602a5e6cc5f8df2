import os
import subprocess
import sys

import pytest

from tedaudit.corpora.hub import Hub
from tedaudit.errors import CorpusError

TEXTS = ["a door in the wall", "a wall in the door", "no door at all"]


@pytest.fixture
def saved(tmp_path):
    """Return a folder with a dataset of two splits, and one with a dataset that has none."""
    datasets = pytest.importorskip("datasets")
    kinds = datasets.Features(
        {"line": datasets.Value("string"), "mood": datasets.ClassLabel(names=["calm", "loud"])}
    )
    train = datasets.Dataset.from_dict({"line": TEXTS, "mood": [0, 1, -1]}, features=kinds)
    test = datasets.Dataset.from_dict({"line": ["an open door"], "mood": [1]}, features=kinds)
    datasets.DatasetDict({"train": train, "held_out": test}).save_to_disk(str(tmp_path / "splits"))
    train.save_to_disk(str(tmp_path / "single"))
    return tmp_path


def test_a_saved_dataset_is_read_with_class_labels_as_names(saved):
    corpus = Hub(dataset=str(saved / "splits"), test="held_out").load()
    assert corpus.texts == tuple(TEXTS)
    assert corpus.splits["train"].columns == {"mood": ("calm", "loud", None)}
    assert corpus.splits["test"].texts == ("an open door",)
    assert "column 'line' taken as the text (others: mood); name one with 'column'" in corpus.notes


def test_a_saved_dataset_without_splits_is_the_training_split(saved):
    corpus = Hub(dataset=str(saved / "single"), column="line").load()
    assert {name: len(split) for name, split in corpus.splits.items()} == {"train": 3}


def test_a_split_that_is_not_there_is_refused_with_those_that_are(saved):
    with pytest.raises(
        CorpusError, match=r"no split 'heldout'. It has: held_out, train. Did you mean 'held_out'"
    ):
        Hub(dataset=str(saved / "splits"), test="heldout").load()
    with pytest.raises(CorpusError, match="one dataset without splits"):
        Hub(dataset=str(saved / "single"), test="test").load()


def test_a_column_that_is_not_there_is_refused(saved):
    with pytest.raises(CorpusError, match=r"no column 'lines'. It has: line, mood. Did you mean 'line'"):
        Hub(dataset=str(saved / "splits"), column="lines").load()


def test_a_folder_of_tables_is_sent_to_the_files_corpus(tmp_path):
    pytest.importorskip("datasets")
    (tmp_path / "train.csv").write_text("text\none\n")
    with pytest.raises(CorpusError, match=r"train.csv.*use the corpus 'files'"):
        Hub(dataset=str(tmp_path)).load()


def test_a_damaged_folder_is_refused(saved):
    for file in (saved / "single").glob("*.arrow"):
        file.write_bytes(b"not arrow at all")
    with pytest.raises(CorpusError, match="is damaged"):
        Hub(dataset=str(saved / "single")).load()


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(CorpusError, match=r"pip install 'tedaudit\[hub\]'"):
        Hub(dataset="somebody/something").load()


def test_without_the_hub_the_other_ways_are_named(tmp_path):
    pytest.importorskip("datasets")
    code = "from tedaudit.corpora.hub import Hub; Hub(dataset='somebody/something', config='small').load()"
    # The library reads the variable once, when it is imported; hence a process of its own.
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-c", code], env=offline, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert "CorpusError: The hub cannot be reached for dataset 'somebody/something' (small)" in ended.stderr
    assert "save_to_disk" in ended.stderr
    assert "corpus 'files'" in ended.stderr


def test_importing_the_loader_does_not_import_the_library():
    code = "import sys, tedaudit.corpora.hub; sys.exit('datasets' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
