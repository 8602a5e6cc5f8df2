"""What a rewrite gives away, in words."""

import math

import pytest

from tedaudit.results.examples import WordWeigher

TEXTS = ["the cat sat", "the dog ran", "the cat ran", "a bird"]


def test_rare_words_that_only_the_source_has_are_the_evidence():
    weigher = WordWeigher(TEXTS)
    assert weigher.weigh("The CAT!", TEXTS[0], [TEXTS[1]]) == pytest.approx(math.log(5 / 3))  # two have it
    assert weigher.weigh("the sat", TEXTS[0], [TEXTS[1]]) == pytest.approx(math.log(5 / 2))
    assert weigher.weigh("the", TEXTS[0], [TEXTS[1]]) == 0.0
    assert weigher.weigh("something else", TEXTS[0], []) == 0.0


def test_of_a_very_long_text_the_beginning_is_weighed():
    """A text of ten megabytes may be in a thousand trials, and would be read through for each."""
    weigher = WordWeigher(["one", "two"])
    long = "common " * 20_000 + "secret"
    assert weigher.weigh("common secret", long, []) == weigher.weigh("common", long, [])
    assert weigher.weigh("secret common", "secret " + long, []) > weigher.weigh("common", long, [])


def test_the_weight_does_not_depend_on_the_order_in_which_a_set_has_its_words():
    words = [f"word{number}" for number in range(300)]
    texts = [" ".join(words[:end]) for end in range(1, 300)]
    weigher = WordWeigher(texts)
    counts = {word: sum(word in text.split() for text in texts) for word in words}
    exact = math.fsum(math.log(300 / (1 + counts[word])) for word in words)
    assert weigher.weigh(" ".join(words), " ".join(words), ["other"]) == exact
