import polars
import pytest

from tedaudit.corpora.files import Files, split_of
from tedaudit.errors import CorpusError

ROWS = "text,mood\nthe kettle sings,calm\nthe kettle  sings,loud\nrain on the roof,calm\n,calm\n"


def test_one_file_is_the_training_split_and_its_other_columns_are_labels(tmp_path):
    file = tmp_path / "notes.csv"
    file.write_text(ROWS)
    corpus = Files(path=str(file)).load()
    assert list(corpus.splits) == ["train"]
    assert corpus.texts == ("the kettle sings", "rain on the roof")
    assert corpus.splits["train"].columns == {"mood": ("calm", "calm")}
    assert "train: 2 distinct texts of 4 rows (1 duplicates and 1 blank rows left out)" in corpus.notes
    assert "column 'text' taken as the text (others: mood); name one with 'column'" in corpus.notes


def test_a_named_column_is_taken_without_a_note(tmp_path):
    file = tmp_path / "notes.csv"
    file.write_text("text,reply\na b,yes please\nc d,no thanks\n")
    corpus = Files(path=str(file), column="reply").load()
    assert corpus.texts == ("yes please", "no thanks")
    assert corpus.splits["train"].columns == {"text": ("a b", "c d")}
    assert not any("taken as the text" in note for note in corpus.notes)


def test_a_folder_is_read_split_by_split_whatever_the_formats(tmp_path):
    (tmp_path / "my_train.csv").write_text(ROWS)
    (tmp_path / "my_dev.jsonl").write_text('{"text": "a new day"}\n')
    polars.DataFrame({"text": ["rain on the roof"], "id": [7]}).write_parquet(tmp_path / "my-test.parquet")
    (tmp_path / "README.md").write_text("nothing to read")
    corpus = Files(path=str(tmp_path)).load()
    assert {name: split.texts for name, split in corpus.splits.items()} == {
        "train": ("the kettle sings", "rain on the roof"),
        "valid": ("a new day",),
        "test": ("rain on the roof",),
    }
    assert corpus.splits["test"].columns == {"id": (7,)}
    assert "1 texts of other splits are also in train" in corpus.notes


def test_the_text_column_of_train_must_be_in_every_split(tmp_path):
    (tmp_path / "train.csv").write_text(ROWS)
    (tmp_path / "test.csv").write_text("sentence,mood\nrain,calm\n")
    with pytest.raises(CorpusError, match=r"test.csv' has no column 'text'. It has: mood, sentence"):
        Files(path=str(tmp_path)).load()


def test_a_test_file_can_be_in_another_folder(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "b.txt").write_text("three\n")
    corpus = Files(path=str(tmp_path / "a.txt"), test=str(tmp_path / "b.txt")).load()
    assert corpus.splits["test"].texts == ("three",)


def test_two_test_splits_are_refused(tmp_path):
    for name in ("train.txt", "test.txt", "other.txt"):
        (tmp_path / name).write_text("one\ntwo\n")
    with pytest.raises(CorpusError, match="two test splits"):
        Files(path=str(tmp_path), test=str(tmp_path / "other.txt")).load()


def test_a_table_without_header_is_read_by_the_number_of_its_column(tmp_path):
    file = tmp_path / "plain.csv"
    file.write_text("greet,hello there\npart,good bye\n")
    corpus = Files(path=str(file), header=False, column="column_2").load()
    assert corpus.texts == ("hello there", "good bye")
    assert corpus.splits["train"].columns == {"column_1": ("greet", "part")}


def test_a_first_row_of_data_taken_as_names_is_answered_with_the_header_option(tmp_path):
    file = tmp_path / "plain.csv"
    file.write_text("greet,hello there\npart,good bye\n")
    with pytest.raises(CorpusError, match=r"It has: greet, hello there\..*'header: false'"):
        Files(path=str(file)).load()


def test_another_encoding_is_read_when_it_is_named(tmp_path):
    file = tmp_path / "old.txt"
    file.write_bytes("un café\nune thé\n".encode("latin-1"))
    with pytest.raises(CorpusError, match="encoding: latin-1"):
        Files(path=str(file)).load()
    assert Files(path=str(file), encoding="latin-1").load().texts == ("un café", "une thé")


def test_a_folder_without_a_training_file_is_refused_with_its_contents(tmp_path):
    (tmp_path / "test.csv").write_text(ROWS)
    (tmp_path / "notes.md").write_text("x")
    with pytest.raises(CorpusError, match=r"training split.*notes.md, test.csv"):
        Files(path=str(tmp_path)).load()


def test_the_plainly_named_file_wins_and_unread_files_are_named(tmp_path):
    (tmp_path / "train.txt").write_text("one\ntwo\n")
    (tmp_path / "old_train.txt").write_text("three\nfour\n")
    corpus = Files(path=str(tmp_path)).load()
    assert corpus.texts == ("one", "two")
    assert any("not read" in note and "old_train.txt" in note for note in corpus.notes)


def test_two_equally_named_training_files_are_left_to_the_user(tmp_path):
    (tmp_path / "train.txt").write_text("one\ntwo\n")
    (tmp_path / "train.csv").write_text(ROWS)
    with pytest.raises(CorpusError, match=r"2 files for the train split: train.csv, train.txt"):
        Files(path=str(tmp_path)).load()


def test_an_empty_path_is_refused():
    with pytest.raises(CorpusError, match="Set 'path'"):
        Files(path="").load()


def test_names_that_refer_to_two_splits_refer_to_none():
    names = ["train.csv", "a_validation.tsv", "atis-2.dev.iob", "train_test.csv", "trains.csv"]
    assert [split_of(name) for name in names] == ["train", "valid", "valid", "", ""]
