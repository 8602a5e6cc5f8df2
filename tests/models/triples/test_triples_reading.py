"""Which public triples a text seems to tell, and all ways to match them with slots."""

import math
from itertools import combinations

import numpy as np
import pytest

from tedaudit.models.triples import reading
from tedaudit.models.triples.extraction import Triple
from tedaudit.models.triples.reading import add_alignments, read_triples
from tedaudit.models.triples.table import load_table
from tedaudit.models.triples.vectors import embed, load_dense_encoder
from tiny_triples import PUBLIC, minilm, save_public_table

DUPLICATE = Triple("A woman", "bought", "a bicycle")


@pytest.fixture(scope="module")
def public(tmp_path_factory):
    folder = save_public_table(tmp_path_factory.mktemp("table"))
    return load_table(str(folder)), load_dense_encoder(minilm())


def enumerate_matches(masses, alone):
    """Return the sum over all matchings, each with every order in which what is unmatched may stand."""
    slots, sentences = masses.shape
    total = 0.0
    for count in range(min(slots, sentences) + 1):
        for rows in combinations(range(slots), count):
            for columns in combinations(range(sentences), count):
                gaps = zip((-1, *rows), (*rows, slots), (-1, *columns), (*columns, sentences), strict=True)
                ways = math.prod(math.comb(b - a - 1 + d - c - 1, b - a - 1) for a, b, c, d in gaps)
                weight = sum(masses[r, c] for r, c in zip(rows, columns, strict=True))
                total += ways * math.exp(weight + alone * (slots + sentences - 2 * count))
    return math.log(total)


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (3, 2), (4, 4), (2, 0)])
def test_all_matches_in_order_are_added_up(shape):
    masses = np.random.default_rng(sum(shape)).normal(-2, 2, shape)
    assert add_alignments(masses, -1.5) == pytest.approx(enumerate_matches(masses, -1.5), rel=1e-12)


def test_what_cannot_be_drawn_leaves_slot_and_sentence_alone():
    assert add_alignments(np.array([[-np.inf]]), -2.0) == pytest.approx(-4 + math.log(2))


def test_a_sentence_with_the_words_of_a_triple_is_that_triple(public):
    text = "The nurse called a parent!  Somebody lost a key. They went to the shop"
    assert read_triples(*public, [text]) == {text: [(4,), (3,), (5,)]}


def test_triples_with_the_same_words_are_all_told(tmp_path, monkeypatch):
    monkeypatch.setattr("tiny_triples.PUBLIC", (*PUBLIC, DUPLICATE))
    monkeypatch.setattr("tiny_triples.CLUSTERS", (0, 0, 1, 1, 2, 2, 0))
    table = load_table(str(save_public_table(tmp_path)))
    assert read_triples(table, load_dense_encoder(minilm()), ["a woman bought a bicycle."]) == {
        "a woman bought a bicycle.": [(0, 6)]
    }


@pytest.mark.parametrize("cells", [1, 1 << 23])
def test_any_other_sentence_is_the_triple_with_the_nearest_vector(public, cells, monkeypatch):
    monkeypatch.setattr(reading, "_CELLS", cells)
    table, encoder = public
    sentences = ["My sister got a bike.", "The doctor phoned my mother.", "Where is that key?"]
    public_vectors = embed(encoder, [triple.text for triple in PUBLIC], table.dimensions)
    nearest = (embed(encoder, sentences, table.dimensions) @ public_vectors.T).argmax(axis=1)
    text = " ".join(sentences)
    assert read_triples(table, encoder, [text, text])[text] == [(int(number),) for number in nearest]
    assert len(set(nearest.tolist())) == 3


@pytest.mark.parametrize("text", ["", " \n", "?! ...", "\x00"])
def test_a_text_without_words_tells_nothing(public, text):
    assert read_triples(*public, [text]) == {text: []}
