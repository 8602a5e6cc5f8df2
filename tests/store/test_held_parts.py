"""Rows that are gathered from parts are those of the parts: files, bytes of files, or in memory."""

import numpy as np
import pytest

from tedaudit.batches import Rewrites
from tedaudit.errors import RunDirectoryError
from tedaudit.store.held_parts import HeldParts
from tedaudit.store.rewrites import PartMaker, name_part

PLAIN = Rewrites.from_texts(["a", "b", "c"], tokens=[[1], [2, 3], []], units=4)
FAILED = Rewrites.from_texts(["", "ä"], errors=["timeout", ""], tokens=[None, [9]])
POOL = tuple("vwxyz")
PLACES = [(3, 1), (0, 2), (0, 0), (3, 0), (0, 0)]  # text and replicate
WANTED = [FAILED[1], PLAIN[2], PLAIN[0], FAILED[0], PLAIN[0]]


def _places():
    return np.array(PLACES, dtype=np.int32).T


@pytest.fixture(params=["files", "contents", "bytes of files", "memory"])
def held(request, tmp_path):
    """Two parts, held in every way."""
    parts, maker = HeldParts("key"), PartMaker("key", POOL, 0)
    for text, rewrites in ((0, PLAIN), (3, FAILED)):
        where = [text] * len(rewrites), range(len(rewrites))
        made = maker.make(*where, rewrites)
        path = tmp_path / name_part(made.number)
        if request.param == "files":
            path.write_bytes(made.content)
            parts.add_file(path)
        elif request.param == "bytes of files":
            parts.add_file(path, made.content)
        elif request.param == "contents":
            parts.add_content(made.content)
        else:
            parts.add_rewrites(*where, rewrites)
    return parts


def test_rows_of_several_parts_come_in_the_order_asked_for(held):
    assert held.fetch(*_places()) == WANTED


def test_lists_that_were_not_asked_for_are_missing(held):
    found = held.fetch(*_places(), ("text",))
    assert [rewrite.tokens for rewrite in found] == [None] * 5
    assert [rewrite.error for rewrite in found] == ["", "", "", "timeout", ""]


def test_a_row_that_is_in_several_parts_is_that_of_the_last(held):
    held.add_rewrites([0], [2], Rewrites.from_texts(["new"], latents=np.ones((1, 2))))
    found = held.fetch(*_places())
    assert [rewrite.text for rewrite in found] == ["ä", "new", "a", "", "a"]
    assert found[1].latent.tolist() == [1, 1]
    assert found[0].latent is None


def test_a_row_that_is_nowhere_is_an_error(held):
    with pytest.raises(RunDirectoryError, match="should be there"):
        held.fetch(np.array([0, 1]), np.array([0, 0]))
    with pytest.raises(RunDirectoryError, match="should be there"):
        HeldParts("key").fetch(np.array([0]), np.array([0]))
    assert len(held.fetch(np.array([]), np.array([]))) == 0


@pytest.mark.parametrize("content", [b"", b"not a table"])
def test_a_file_that_is_damaged_is_named_and_so_are_bytes_of_one(tmp_path, content):
    path = tmp_path / name_part(0)
    path.write_bytes(b"not a table")
    parts = HeldParts("key")
    parts.add_file(path, content)
    with pytest.raises(RunDirectoryError, match=r"part-000000\.parquet' is damaged"):
        parts.fetch(np.array([0]), np.array([0]))
