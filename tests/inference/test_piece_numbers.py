"""Pieces that are numbered many texts at a time are those that `str.split` finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tedaudit.api import load_corpus
from tedaudit.inference import piece_numbers
from tedaudit.inference.piece_numbers import PieceNumbers

WORDS = ["a", "A", "ab", "x" * 7, "x" * 8, "x" * 9, "x" * 15, "x" * 16, "x" * 17, "x" * 16 + "y", "y" * 40]
CONTROLS = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x00\x01\x08\x0e\x1b\x7f"


def spell(numbers, texts, pieces):
    """Return the pieces of each text by their numbers; `pieces` has those that were numbered so far."""
    lengths, found = numbers.number(texts)
    pieces += numbers.take_new()
    assert len(pieces) == len(numbers) == len(set(pieces))
    ends = np.cumsum(lengths)
    return [[pieces[i] for i in found[end - n : end]] for n, end in zip(lengths, ends, strict=True)]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.lists(
            st.one_of(st.sampled_from(WORDS), st.text(alphabet="aB.'" + CONTROLS + "\u00e9\u0130")),
            max_size=8,
        ).map(" ".join),
        max_size=6,
    )
)
def test_pieces_are_those_of_split(texts):
    numbers, pieces = PieceNumbers(), []
    wanted = [text.lower().split() for text in texts]
    assert spell(numbers, texts, pieces) == wanted
    assert spell(numbers, texts, pieces) == wanted  # from the table
    assert [spell(numbers, [text], pieces)[0] for text in texts] == wanted


@pytest.mark.parametrize("places", [1, 4, 18])
def test_pieces_that_share_a_place_are_told_apart(monkeypatch, places):
    monkeypatch.setattr(piece_numbers, "_PLACES", places)
    monkeypatch.setattr(piece_numbers, "_SHIFT", np.uint64(64 - places))
    numbers, pieces = PieceNumbers(), []
    texts = [*load_corpus("demo").texts[:100], "\u00e9 first here"]
    texts = [text for text in texts if text.isascii()] + texts
    for part in (texts[:30], texts, texts[::-1]):
        assert spell(numbers, part, pieces) == [text.lower().split() for text in part]


def test_short_ascii_pieces_are_found_without_the_dictionary(monkeypatch):
    numbers = PieceNumbers()
    texts = ["the parcel came", "The letter did not", "x" * 16]
    numbers.number(texts)
    monkeypatch.setattr(numbers, "_look_up", None)  # a call would fail
    assert numbers.number(texts)[0].tolist() == [3, 4, 1]
    with pytest.raises(TypeError):
        numbers.number(["x" * 17])
