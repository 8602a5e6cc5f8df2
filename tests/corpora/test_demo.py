import hashlib
import json
from dataclasses import FrozenInstanceError

import pytest

from tedaudit.corpora.demo import Demo
from tedaudit.errors import CorpusError

CORPUS = Demo().load()
TRAIN, TEST = CORPUS.splits["train"], CORPUS.splits["test"]


def digest(data: object) -> str:
    return hashlib.sha256(json.dumps(data, ensure_ascii=False).encode()).hexdigest()


def test_there_are_3600_training_and_600_test_messages():
    assert (CORPUS.name, list(CORPUS.splits)) == ("demo", ["train", "test"])
    assert (len(TRAIN), len(TEST)) == (3600, 600)


def test_every_message_and_label_is_the_same_on_every_machine():
    columns = {name: dict(split.columns) for name, split in CORPUS.splits.items()}
    authors = [columns[name].pop("author") for name in CORPUS.splits]
    everything = [[name, split.texts, columns[name]] for name, split in CORPUS.splits.items()]
    assert digest(everything) == "ddfde13b78aecf764e9e88e8d43600f0ce96e3be490fbbc9912d2026460e3a32"
    assert digest(authors) == "47af9b823acf0e9dcc92250c2ae334c6c2bb4c572e02b181dcf9ff3b481862c0"
    assert TRAIN.texts[0] == "Bridget gave a wonderful speech. Thank you for the chess set."


@pytest.mark.parametrize("size", [2, 2000])
def test_fewer_messages_are_the_first_ones_and_leave_the_test_split_alone(size):
    smaller = Demo(size=size).load()
    assert smaller.texts == TRAIN.texts[:size]
    for column in ("topic", "sentiment", "gender", "author"):
        assert smaller.splits["train"].columns[column] == TRAIN.columns[column][:size]
    assert smaller.splits["test"] == TEST


def test_short_messages_are_those_of_the_list_that_are_short():
    short = Demo(size=200, longest=10).load()
    wanted = [text for text in TRAIN.texts if len(text.split()) <= 10]
    assert list(short.splits["train"].texts) == wanted[:200]
    assert short.splits["test"].texts == TEST.texts


@pytest.mark.parametrize("size", [-1, 1, 3601])
def test_another_number_than_there_can_be_is_refused(size):
    with pytest.raises(CorpusError, match=rf"cannot have {size} training messages.*from 2 to 3600"):
        Demo(size=size)


@pytest.mark.parametrize("longest", [7, 41])
def test_a_length_without_messages_is_refused(longest):
    with pytest.raises(CorpusError, match="from 8 to 40"):
        Demo(longest=longest)


def test_the_settings_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Demo().size = 3
