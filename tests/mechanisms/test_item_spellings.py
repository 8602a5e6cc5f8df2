"""Drawn items written as text."""

import json

import numpy as np
import pytest

from tedaudit.mechanisms._masked_rows import ItemSpellings
from tedaudit.mechanisms.dp_mlm import DPMLM
from tedaudit.models.triples.treebank import join_words
from tedaudit.plugins.values import Draw
from tiny_models import save_mpnet_encoder

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


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    """A masked model whose vocabulary has ends of words and an unused place."""
    from transformers import AutoTokenizer, MPNetConfig, MPNetForMaskedLM

    folder = save_mpnet_encoder(tmp_path_factory.mktemp("pieces"))
    config = MPNetConfig(**json.loads((folder / "config.json").read_text()))
    MPNetForMaskedLM(config).save_pretrained(folder)
    return str(folder), AutoTokenizer.from_pretrained(folder)


def drawn(model, **settings):
    draws = [Draw("the doctor called about the results", 1.0, key) for key in range(60)]
    return list(DPMLM(model=model, slots=6, device="cpu", **settings).rewrite(draws))


def test_a_drawn_token_that_is_no_word_leaves_nothing(pieces):
    model, tokenizer = pieces
    released = drawn(model)
    written = " ".join(one.text for one in released)
    assert "##" not in written
    assert "[unused" not in written
    ends = {number for token, number in tokenizer.get_vocab().items() if token.startswith("##")}
    assert any(ends & set(one.tokens) for one in released)  # they are drawn all the same
    assert DPMLM(model=model).fingerprint()["ends of words"] == "not written"


def test_a_release_writes_ends_of_words_as_they_are_called(pieces):
    model, _ = pieces
    assert "##" in " ".join(one.text for one in drawn(model, special_tokens="write"))
    assert "ends of words" not in DPMLM(model=model, special_tokens="write").fingerprint()


def test_a_text_is_as_likely_as_all_draws_that_are_written_so_with_pieces_that_are_not(pieces):
    from tedaudit.testing import check_mechanism

    check_mechanism(DPMLM(model=pieces[0], slots=4, device="cpu"))
