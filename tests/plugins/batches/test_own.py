"""Own rewrites of candidates as columns."""

import numpy as np
import pytest

from tedaudit.plugins.batches import OwnRewrites, Rewrites
from tedaudit.plugins.values import Rewrite


def own(*positions, pool=("a", "b")):
    made = Rewrites.of([Rewrite(f"{pool[i]}{n}") for n, i in enumerate(positions)])
    return OwnRewrites(pool, np.array(positions, dtype=np.int32), made)


def test_rewrites_are_found_by_their_text():
    found = own(1, 0, 1).by_text()
    texts = {text: [rewrite.text for rewrite in made] for text, made in found.items()}
    assert texts == {"b": ["b0", "b2"], "a": ["a1"]}


def test_copies_are_equal_and_others_are_not():
    assert own(0, 1) == own(0, 1)
    assert own(0, 1) != own(1, 0)
    assert own(0) != own(0, pool=("a", "c"))
    assert own(0) != "own"


def test_a_position_outside_the_pool_and_columns_of_other_lengths_are_refused():
    with pytest.raises(ValueError, match="no text at position 2"):
        OwnRewrites(("a", "b"), np.array([2], dtype=np.int32), Rewrites.of([Rewrite("x")]))
    with pytest.raises(ValueError, match="1 rewrites of 2 texts"):
        OwnRewrites(("a", "b"), np.array([0, 1], dtype=np.int32), Rewrites.of([Rewrite("x")]))
