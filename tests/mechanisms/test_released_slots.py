"""Drawn items written as text."""

import numpy as np

from tedaudit.inference.treebank import join_words
from tedaudit.mechanisms._released_slots import SlotNumbers, join_items

SPELLINGS = ["", "hello", ",", "can", "not", "(", "world", ")", ".", "''", "n't", "do", "e-mail"]
NUMBERS = SlotNumbers(len(SPELLINGS), frozenset(), False, False, SPELLINGS.__getitem__)


def test_rows_of_items_are_joined_as_their_words_are():
    items = np.random.default_rng(0).integers(0, len(SPELLINGS), (400, 6))
    items[0], items[1], items[2] = 0, [1, 2, 0, 6, 8, 0], [3, 4, 0, 0, 0, 0]
    found = join_items(items, NUMBERS)
    assert found[:3] == ["", "hello, world.", "cannot"]
    assert found == [join_words([SPELLINGS[item] for item in row if item]) for row in items.tolist()]


def test_no_rows_make_no_texts():
    assert join_items(np.zeros((0, 4), dtype=np.int64), NUMBERS) == []
