"""Drawn items written as text."""

import numpy as np

from tedaudit.inference.treebank import join_words
from tedaudit.mechanisms._masked_rows import ItemSpellings

SPELLINGS = ["", "hello", ",", "can", "not", "(", "world", ")", ".", "''", "n't", "do", "e-mail"]


def test_rows_of_items_are_joined_as_their_words_are():
    items = np.random.default_rng(0).integers(0, len(SPELLINGS), (400, 6))
    items[0], items[1], items[2] = 0, [1, 2, 0, 6, 8, 0], [3, 4, 0, 0, 0, 0]
    found = ItemSpellings(SPELLINGS.__getitem__).join(items)
    assert found[:3] == ["", "hello, world.", "cannot"]
    assert found == [join_words([SPELLINGS[item] for item in row if item]) for row in items.tolist()]


def test_no_rows_make_no_texts():
    assert ItemSpellings(SPELLINGS.__getitem__).join(np.zeros((0, 4), dtype=np.int64)) == []


def test_an_item_is_spelled_once_however_many_batches_have_it():
    asked = []

    def spell(item):
        asked.append(item)
        return SPELLINGS[item]

    spellings = ItemSpellings(spell)
    assert spellings.join(np.array([[1, 2]])) == ["hello,"]
    assert spellings.join(np.array([[6, 8], [1, 0]])) == ["world.", "hello"]
    assert spellings.spell(6) == "world"
    assert sorted(asked) == [0, 1, 2, 6, 8]
