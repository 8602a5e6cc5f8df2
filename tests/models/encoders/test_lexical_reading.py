"""How the lexical encoder reads a pool: as it always did, unless the pool is plainly not Latin."""

import unicodedata

import numpy as np
import pytest

from tedaudit.api import audit
from tedaudit.models.encoders.lexical import CHARACTERS, PLAIN, LexicalEncoder, choose_reading
from tedaudit.seeding import derive, uniforms
from world_texts import LANGUAGES, write_texts


def similarity(pool, one, other):
    encoder = LexicalEncoder()
    encoder.fit(pool)
    first, second = encoder.encode([one, other]).toarray()
    return float(first @ second)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_pool_alone_decides(language):
    expected = PLAIN if language in ("english", "emoji") else CHARACTERS
    assert choose_reading(write_texts(language)) == expected


def test_one_letter_in_a_hundred_decides():
    assert choose_reading(["a" * 99 + "字"]) == CHARACTERS
    assert choose_reading(["a" * 100 + "字"]) == PLAIN
    assert choose_reading(["a" * 95 + "e\u0301" * 2]) == CHARACTERS  # two marks among 99
    assert choose_reading(["caf\u00e9 na\u00efve"] * 3) == PLAIN  # Latin letters, whatever is on them
    assert choose_reading(["I \u2764\ufe0f it"] * 9) == PLAIN
    assert choose_reading([]) == PLAIN


def test_an_english_pool_is_read_as_ever_whatever_a_rewrite_holds():
    english = LexicalEncoder()
    english.fit(write_texts("english"))
    assert english.reading == PLAIN
    assert english.fingerprint() == {"encoder": "lexical-1"}
    assert english.encode(["漢字"]).nnz == 4  # one word, and its n-grams: " 漢字", "漢字 ", " 漢字 "


def test_a_kept_character_is_seen_in_a_text_without_spaces():
    """Read by `\\w+`, a rewrite that keeps every other character shares nothing with its source."""
    pool = write_texts("chinese")
    source = pool[0]
    kept = "".join(c if i % 2 else "\u3400" for i, c in enumerate(source))
    assert similarity(pool, source, kept) > 0.04
    assert similarity(write_texts("english"), source, kept) == 0.0


def test_a_word_with_marks_is_one_feature_and_normal_forms_are_one():
    pool = write_texts("hindi")
    assert similarity(pool, "अस्पताल", "अस्पताल") == pytest.approx(1)
    assert similarity(pool, "साइकिल", "सोना") < 0.2
    decomposed = unicodedata.normalize("NFD", "Пётр нашёл")
    assert decomposed != "Пётр нашёл"
    assert similarity(write_texts("russian"), decomposed, "Пётр нашёл") == pytest.approx(1)


def test_an_encoder_that_is_fitted_again_reads_as_the_new_pool_needs():
    encoder = LexicalEncoder()
    for language, reading in (("chinese", CHARACTERS), ("english", PLAIN), ("chinese", CHARACTERS)):
        encoder.fit(write_texts(language))
        assert encoder.reading == reading
    fresh = LexicalEncoder()
    fresh.fit(write_texts("chinese"))
    texts = write_texts("chinese")[:20]
    assert np.array_equal(encoder.encode(texts).toarray(), fresh.encode(texts).toarray())
    assert "reading" in encoder.fingerprint()


def scatter(pool):
    """Return a mechanism that keeps a third of the characters and draws the others from those of the pool."""
    letters = sorted({c for text in pool for c in text})

    def rewrite(text, seed):
        coins = uniforms([derive(seed, "scatter")], 2 * len(text) + 2)[0]
        return "".join(
            c if coins[2 * i] < 0.34 else letters[int(coins[2 * i + 1] * len(letters))]
            for i, c in enumerate(text)
        )

    return rewrite


def test_a_leak_of_single_characters_is_found_in_chinese():
    pool = write_texts("chinese")
    [found] = audit(
        scatter(pool), pool, epsilon=1.0, attack="lexical", trials=300, lambda_=0, announce=lambda _: None
    )
    assert found.bound.success > 0.75  # 0.64 if a sentence is one word
