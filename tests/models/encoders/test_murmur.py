"""The hash is the one that everybody knows by this name."""

import random
import subprocess
import sys

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.utils import murmurhash3_32

from tedaudit.models.encoders import lexical, murmur
from tedaudit.models.encoders.lexical import WordFeatures, cut_grams
from tedaudit.models.encoders.murmur import hash_strings

LETTERS = ["a", "Z", " ", "\0", "\x7f", "é", "߿", "漢", "￿", "\U00010000", "\U0010ffff"]
STRINGS = [
    "".join(random.Random(number).choices(LETTERS, k=length)) for length in range(40) for number in range(20)
]


def test_every_string_has_the_hash_that_scikit_learn_gives_it():
    for seed in (0, 7):
        assert hash_strings(STRINGS, seed).tolist() == [
            murmurhash3_32(string, seed=seed, positive=True) for string in STRINGS
        ]


def test_a_hash_does_not_depend_on_the_other_strings():
    assert np.array_equal(np.concatenate([hash_strings([s]) for s in STRINGS]), hash_strings(STRINGS))
    assert hash_strings([]).shape == (0,)


def test_very_many_strings_are_hashed_as_few_are():
    many = [f"string {number}" for number in range(70_000)]
    assert np.array_equal(hash_strings(many)[-3:], hash_strings(many[-3:]))


def test_words_have_the_features_that_scikit_learn_gives_them():
    words = ["cat", "a", "bananas", "é漢", "x" * 300]
    hasher = HashingVectorizer(analyzer=cut_grams, n_features=1 << 18, norm=None, alternate_sign=False)
    found = WordFeatures(1 << 18).count(words)
    assert np.array_equal(found.toarray(), hasher.transform(words).toarray())


def test_long_strings_are_hashed_as_short_ones_are(monkeypatch):
    texts = ["", "a", "word", "longer words", "x" * 4095, "é漢" * 900, "y" * 5001, "z" * 4098, "w" * 4099]
    expected = [murmurhash3_32(text, seed=7, positive=True) for text in texts]
    assert hash_strings(texts, 7).tolist() == expected
    monkeypatch.setattr(murmur, "_LONG", 1)
    assert hash_strings(texts, 7).tolist() == expected


def test_a_word_of_any_length_has_all_its_n_grams(monkeypatch):
    word = "".join(random.Random(3).choices("abcdé", k=500))
    expected = WordFeatures(1 << 18).count([word, f"two {word}"]).toarray()
    monkeypatch.setattr(lexical, "_GRAMS", 60)
    assert np.array_equal(WordFeatures(1 << 18).count([word, f"two {word}"]).toarray(), expected)


def test_an_encoder_of_words_loads_no_library_that_takes_long_to_import():
    code = (
        "import sys; from tedaudit.models.encoders.lexical import LexicalEncoder;"
        "LexicalEncoder().encode(['some words']);"
        "print([name for name in ('sklearn', 'scipy.stats', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
