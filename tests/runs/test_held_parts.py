"""Rows that are gathered from parts are those of the parts, wherever their bytes came from."""

import numpy as np
import pytest

from tedaudit.errors import RunDirectoryError
from tedaudit.plugins.batches import Rewrites
from tedaudit.runs.held_parts import OPTIONAL, gather_rewrites
from tedaudit.runs.rewrites import make_rewrites_part, name_part

PLAIN = Rewrites.from_texts(["a", "b", "c"], tokens=[[1], [2, 3], []], units=4, latents=np.ones((3, 2)))
FAILED = Rewrites.from_texts(["", "ä"], errors=["timeout", ""], tokens=[None, [9]])
POOL = tuple("vwxyz")
PLACES = [(3, 1), (0, 2), (0, 0), (3, 0), (0, 0)]  # text and replicate
WANTED = [FAILED[1], PLAIN[2], PLAIN[0], FAILED[0], PLAIN[0]]


def make(folder, number, text, rewrites, key="key"):
    """Return a part by its path, and its bytes."""
    places = [text] * len(rewrites), range(len(rewrites))
    return folder / name_part(number), make_rewrites_part(name_part(number), key, POOL, places, rewrites)


@pytest.fixture
def parts(tmp_path):
    """Two parts, of which no file is there."""
    return [make(tmp_path, 0, 0, PLAIN), make(tmp_path, 1, 3, FAILED)]


def gather(parts, pairs, columns=OPTIONAL):
    texts, replicates = np.array(pairs, dtype=np.int32).T
    return gather_rewrites(iter(parts), "key", (texts, replicates), columns)


def test_rows_of_several_parts_come_in_the_order_asked_for_whichever_part_is_read_first(parts):
    assert gather(parts, PLACES) == WANTED
    assert gather(parts[::-1], PLACES) == WANTED


@pytest.mark.parametrize("columns", [("text",), ("text", "error", "units"), ("text", "tokens"), ("latent",)])
def test_what_was_not_asked_for_is_missing_and_the_rest_is_there(parts, columns):
    found = gather(parts, PLACES, columns)
    assert [rewrite.error for rewrite in found] == ["", "", "", "timeout", ""]
    for shown, whole in zip(found, WANTED, strict=True):
        assert shown.text == whole.text
        assert shown.tokens == (whole.tokens if "tokens" in columns else None)
        assert shown.units == (whole.units if "units" in columns else None)
        assert (shown.latent is None) == (whole.latent is None or "latent" not in columns)


def test_rows_that_nobody_asked_for_stay_where_they_are(parts):
    assert gather(parts, [(3, 0)]) == [FAILED[0]]
    assert gather(parts, [(0, 1)] * 3) == [PLAIN[1]] * 3


@pytest.mark.parametrize("place", [(1, 0), (0, 3), (3, 2), (9, 9)])
def test_a_row_that_is_nowhere_is_an_error(parts, place):
    for held in (parts, parts[:1], []):
        with pytest.raises(RunDirectoryError, match=r"should be there are not\. Run the same command again"):
            gather(held, [(0, 0), place])


def test_of_nothing_nothing_is_read():
    def refuse():
        raise AssertionError("a part was read")
        yield

    assert len(gather_rewrites(refuse(), "key", (np.array([]), np.array([])))) == 0


@pytest.mark.parametrize("content", [b"", b"not a table"])
def test_a_part_that_is_damaged_is_named(tmp_path, content):
    with pytest.raises(RunDirectoryError, match=r"part-000000\.parquet' is damaged"):
        gather([(tmp_path / name_part(0), content)], [(0, 0)])


def test_a_part_of_another_table_is_named(tmp_path):
    with pytest.raises(RunDirectoryError, match=r"part-000000\.parquet' does not belong to this table"):
        gather([make(tmp_path, 0, 0, PLAIN, key="another")], [(0, 0)])


def test_a_part_with_a_flipped_bit_is_never_read_as_another(parts):
    path, content = parts[0]
    told = set()
    for at in range(0, len(content), 7):
        spoilt = bytearray(content)
        spoilt[at] ^= 4
        with pytest.raises(RunDirectoryError) as caught:
            gather([(path, bytes(spoilt)), parts[1]], PLACES)
        told.add(str(caught.value).split("part-")[0])
    assert len(told) == 1
