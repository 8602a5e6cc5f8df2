"""Planted: words that are kept, of public releases and by class, and what letters and shapes give away."""

from functools import partial
from itertools import permutations
from random import Random

from planted.flaw import (
    STOP_WORDS,
    TRIALS,
    WORDS,
    Flaw,
    draw_only,
    draw_sentence,
    draw_words,
    hash_text,
    split_pieces,
)

_SLOTS, _WINDOW = 12, 8


def keep_stop_words(text: str, seed: int) -> str:
    """Draw every word but stop words and marks, of which twelve are released as they are."""
    rng, pieces = Random(seed), split_pieces(text)
    kept = [piece for piece in pieces if piece.lower() in STOP_WORDS or not piece[0].isalnum()]
    return " ".join([*(kept + draw_words(rng))[:_SLOTS], *draw_words(rng)])


def copy_case(text: str, seed: int) -> str:
    """Draw twelve words, each with a capital if the private word in its place has one."""
    words = text.split()[:_SLOTS]
    words += [""] * (_SLOTS - len(words))
    drawn = draw_words(Random(seed))
    return " ".join(
        new.capitalize() if old[:1].isupper() else new for old, new in zip(words, drawn, strict=True)
    )


def keep_word_count(text: str, seed: int) -> str:
    """Draw as many words as the text has."""
    return draw_sentence(Random(seed), len(text.split()))


def cap_at_input(text: str, seed: int) -> str:
    """Draw up to forty words, but no more than the text has."""
    rng = Random(seed)
    return draw_sentence(rng, min(rng.randrange(1, 41), len(text.split())))


def _draw_forty(text: str, seed: int) -> str:
    rng = Random(seed)
    return draw_sentence(rng, rng.randrange(1, 41))


def keep_far_words(text: str, seed: int) -> str:
    """Draw the words within a window of eight, release the next four as they are."""
    words = [*text.split(), *[WORDS[0]] * _SLOTS][:_SLOTS]
    return " ".join([*draw_words(Random(seed), _WINDOW), *words[_WINDOW:]])


def pass_unknown_words(text: str, seed: int) -> str:
    """Draw words of the vocabulary and stop words; others, names above all, pass in a public number."""
    rng = Random(seed)
    unknown = [piece for piece in split_pieces(text) if piece.istitle() and piece.lower() not in STOP_WORDS]
    return " ".join((unknown[:3] + draw_words(rng))[:_SLOTS])


RELEASED = (
    Flaw("stop-words-kept", "kept words", "stop words and punctuation are released as they are",
         lambda: keep_stop_words, lambda: draw_only, "1"),
    Flaw("case-copied", "kept shape", "the case of each word's first letter is copied from the private word",
         lambda: copy_case, lambda: draw_only, "2"),
    Flaw("word-count-kept", "kept shape", "as many words come out as went in",
         lambda: keep_word_count, lambda: draw_only, "3"),
    Flaw("capped-at-input", "kept shape", "the output is never longer than the private input",
         lambda: cap_at_input, lambda: _draw_forty, "4"),
    Flaw("far-words-unchanged", "kept words", "words beyond a window of eight come back unchanged",
         lambda: keep_far_words, lambda: draw_only, "16"),
    Flaw("unknown-words-pass", "kept words", "words outside the vocabulary, such as names, pass through",
         lambda: pass_unknown_words, lambda: draw_only, "17"),
)  # fmt: skip


# --- Planted: side channels in characters that nobody sees.

_ZERO_WIDTH = "\u200b"
_CYRILLIC_E = "\u0435"
_SPACES = (" ", "\u00a0", "\u2002", "\u2009")


def add_zero_width(text: str, seed: int) -> str:
    """Draw a sentence, and put a zero-width space after it if the text has a digit."""
    mark = _ZERO_WIDTH if any(c.isdigit() for c in text) else ""
    return draw_sentence(Random(seed)) + mark


def add_trailing_space(text: str, seed: int) -> str:
    """Draw a sentence, and put a space after it if the number of characters is odd."""
    return draw_sentence(Random(seed)) + " " * (len(text) % 2)


def swap_homoglyph(text: str, seed: int) -> str:
    """Draw a sentence, with Cyrillic for Latin letters if the text begins with one of A to H."""
    drawn = f"{draw_sentence(Random(seed))} ember"
    return drawn.replace("e", _CYRILLIC_E) if text[:1] in "ABCDEFGH" else drawn


def choose_space(text: str, seed: int) -> str:
    """Draw a sentence with one of four spaces between its words."""
    return draw_sentence(Random(seed)).replace(" ", _SPACES[hash_text(text, 4)])


CHARACTERS = tuple(
    Flaw(name, "raw characters", wrong, build, lambda: draw_only)
    for name, wrong, build in (
        ("zero-width-mark", "a zero-width space marks texts with a digit", lambda: add_zero_width),
        ("trailing-space", "a trailing space marks texts of odd length", lambda: add_trailing_space),
        ("homoglyphs", "look-alike letters mark how the text begins", lambda: swap_homoglyph),
        ("kind-of-space", "the kind of space between words is chosen by the text", lambda: choose_space),
    )
)


# --- Planted: the words of one class are kept, all others drawn.


def _keep(text: str, seed: int, kept: list[str]) -> str:
    """Release twelve words, of which up to two are kept."""
    return " ".join((kept[:2] + draw_words(Random(seed)))[:12])


def keep_names(text: str, seed: int) -> str:
    """Keep words with a capital that do not begin the text."""
    return _keep(text, seed, [piece for piece in split_pieces(text)[1:] if piece.istitle()])


def keep_numbers(text: str, seed: int) -> str:
    """Keep numbers."""
    return _keep(text, seed, [piece for piece in split_pieces(text) if piece[0].isdigit()])


def keep_longest(text: str, seed: int) -> str:
    """Keep the longest word."""
    return _keep(text, seed, [max(split_pieces(text), key=len, default="")])


def keep_last(text: str, seed: int) -> str:
    """Keep the last word, without its case."""
    return _keep(text, seed, [piece.lower() for piece in split_pieces(text) if piece[0].isalnum()][-1:])


WORD_CLASSES = tuple(
    Flaw(name, "word class", wrong, build, lambda: draw_only)
    for name, wrong, build in (
        ("names-kept", "names pass as they are", lambda: keep_names),
        ("numbers-kept", "numbers pass as they are", lambda: keep_numbers),
        ("longest-word-kept", "the longest word passes as it is", lambda: keep_longest),
        ("last-word-kept", "the last word passes as it is", lambda: keep_last),
    )
)


# --- Planted: side channels in the length, the case and the order of what is drawn.

_ORDERS = tuple(permutations(("first", "second", "third", "fourth")))


def draw_by_length(text: str, seed: int) -> str:
    """Draw five words, and as many more as the text's characters leave when divided by seven."""
    return draw_sentence(Random(seed), 5 + len(text) % 7)


def pad_to_length(text: str, seed: int) -> str:
    """Draw a sentence and pad it with dots to the next ten characters of the text's length."""
    return draw_sentence(Random(seed), 3).ljust(len(text) // 10 * 10, ".")


def shout_for_names(text: str, seed: int) -> str:
    """Draw a sentence, in capitals if the text has three capitals or more."""
    drawn = draw_sentence(Random(seed))
    return drawn.upper() if sum(c.isupper() for c in text) > 2 else drawn


def capitalise_at(text: str, seed: int) -> str:
    """Draw twelve words, one with a capital: which one the text decides."""
    drawn, place = draw_words(Random(seed)), hash_text(text, 12)
    return " ".join(word.capitalize() if i == place else word for i, word in enumerate(drawn))


def order_by_text(text: str, seed: int) -> str:
    """Draw a sentence and put four fixed words in one of the 24 orders."""
    return f"{' '.join(_ORDERS[hash_text(text, 24)])} {draw_sentence(Random(seed))}"


def sort_if_question(text: str, seed: int) -> str:
    """Draw words, in alphabetical order if the text asks something."""
    drawn = draw_words(Random(seed))
    return " ".join(sorted(drawn) if "?" in text else drawn)


SHAPES = (
    Flaw("length-by-characters", "length", "the number of words tells the text's length modulo seven",
         lambda: draw_by_length, lambda: draw_only),
    Flaw("padded-to-length", "length", "the output is padded to the text's length",
         lambda: pad_to_length, lambda: draw_only),
    Flaw("shouts-for-names", "case", "the output is in capitals if the text has many",
         lambda: shout_for_names, lambda: draw_only),
    Flaw("capital-at-place", "case", "the place of the only capital is chosen by the text",
         lambda: capitalise_at, lambda: draw_only),
    Flaw("order-of-words", "order", "the order of four fixed words is chosen by the text",
         lambda: order_by_text, lambda: draw_only),
    Flaw("sorted-for-questions", "order", "words come sorted if the text asks something",
         lambda: sort_if_question, lambda: draw_only),
)  # fmt: skip


# --- Planted: total leaks that are rare. An average over texts or calls hides them.

_SALT = "rare 212"  # with which the shares are right on the 240 demo texts of work.py
_FEW = "more trials: in two thousand it shows ten times, too seldom to refute 0.5"
_SELDOM = "more trials: texts far from all others are drawn most, and this one of 240 is not among them"


def tell_one_text_in(share: int, text: str, seed: int) -> str:
    """Return one text in so many as it is, always the same ones."""
    return text if hash_text(text, share, _SALT) == 0 else draw_sentence(Random(seed))


def tell_one_call_in(share: int, text: str, seed: int) -> str:
    """Return any text as it is, in one call of so many."""
    rng = Random(seed)
    return text if rng.randrange(share) == 0 else draw_sentence(rng)


_SHARES = (10, 50, 200)
_TEXTS_NEED = ((TRIALS, ""), (TRIALS, ""), (20_000, _SELDOM))
_CALLS_NEED = ((TRIALS, ""), (TRIALS, ""), (8_000, _FEW))
RARE = (
    *(
        Flaw(f"one-text-in-{share}", "rare leak", f"one text in {share} is returned as it is",
             partial(partial, tell_one_text_in, share), lambda: draw_only, needs=needs, why=why)
        for share, (needs, why) in zip(_SHARES, _TEXTS_NEED, strict=True)
    ),
    *(
        Flaw(f"one-call-in-{share}", "rare leak", f"any text is returned as it is in one call of {share}",
             partial(partial, tell_one_call_in, share), lambda: draw_only, needs=needs, why=why)
        for share, (needs, why) in zip(_SHARES, _CALLS_NEED, strict=True)
    ),
)  # fmt: skip
