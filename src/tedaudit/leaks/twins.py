"""Twins: pairs of texts that differ in one thing only, made from the user's own texts."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tedaudit.text.words import STOP_WORDS, cut_marks, joint_of, split_words

NAMES = ("Anna", "Boris", "Chloe", "Dmitri", "Elena", "Farid", "Greta", "Hamza")
_RARE = ("zyqvex", "brophlun", "kwimbard", "vuxtolp", "drospick", "ghelmund")
_HOMOGLYPHS = {"a": "\u0430", "e": "\u0435", "o": "\u043e", "c": "\u0441", "p": "\u0440", "x": "\u0445"}
ZERO_WIDTH = "\u200b"
_NUMBER = re.compile(r"\d+")
_CAPITAL = re.compile(r"(?<=\S\s)[A-Z][a-z]+")
_ENDS = re.compile(r"[.!?\u3002\uff01\uff1f\u061f]+")


@dataclass(frozen=True, slots=True)
class Twin:
    """A text and its twin, and what stands in one of them only."""

    first: str
    second: str
    marks: tuple[str, str] = ("", "")


Build = Callable[[str, int], Twin | None]  # from a text and its number
Score = Callable[[str, Twin], float]  # how much an output looks like one of the first rather than the second


@dataclass(frozen=True, slots=True)
class Kind:
    """One thing in which twins differ; `culprit` is what is wrong if outputs follow it."""

    name: str
    culprit: str
    counted: str
    build: Build
    score: Score
    applies: Callable[[str], object] = bool  # which texts come first: those that have the thing already

    def list_marks(self, twin: Twin) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return what stands in either twin only, or in another order in each."""
        first, second = twin.marks
        return ((first, second), (second, first)) if self.score is _score_order else ((first,), (second,))


def _change_case(text: str, number: int) -> Twin:
    lower = text.lower()
    upper = "".join(part.capitalize() for part in re.split(r"(\s+)", lower))
    if lower == upper:
        lower, upper = _append(text, NAMES[number % len(NAMES)].lower()), _append(text, NAMES[number % 8])
    return Twin(upper, lower)


def _change_stop_word(text: str, number: int) -> Twin:
    ordered = sorted(STOP_WORDS & {word.lower() for word in split_words(text)})
    others = ("the", "of", "and", "with", "from", "that", "this", "but")
    if not ordered:
        old, new = others[number % 8], others[(number + 3) % 8]
        return Twin(_append(text, old), _append(text, new), (old, new))
    old = ordered[number % len(ordered)]
    free = [word for word in others[number % 8 :] + others if word not in ordered]
    new = next(word for word in (*free, *others) if word != old)
    pattern = re.compile(rf"(?<!\w){re.escape(old)}(?!\w)", re.IGNORECASE)
    return Twin(pattern.sub(old, text), pattern.sub(new, text), (old, new))


def _change_mark(text: str, number: int) -> Twin:
    bare = cut_marks(text)
    old, new = ("?", "!") if number % 2 else ("!", "?")
    return Twin(bare + old, bare + new, (old, new))


def _change_length(text: str, number: int) -> Twin | None:  # noqa: ARG001
    words = split_words(text)
    if not words:
        return None
    joint = joint_of(text)
    return Twin(text + joint + joint.join([words[-1]] * max(4, len(words))), text)


def _change_sentences(text: str, number: int) -> Twin | None:
    words = split_words(text)
    if len(words) < 2:
        return None
    joint, middle = joint_of(text), 1 + number % (len(words) - 1)
    halves = joint.join(words[:middle]), joint.join(words[middle:])
    return Twin(f"{halves[0]}. {halves[1]}.", f"{halves[0]}, {halves[1]}.")


def _change_name(text: str, number: int) -> Twin:
    old, new = NAMES[number % 8], NAMES[(number + 3) % 8]
    found = _CAPITAL.search(text)
    if found is None:
        return Twin(_append(text, old), _append(text, new), (old, new))
    return Twin(
        text[: found.start()] + old + text[found.end() :], text[: found.start()] + new + text[found.end() :],
        (old, new),
    )  # fmt: skip


def _change_number(text: str, number: int) -> Twin:
    old, new = str(137 + 73 * (number % 11)), str(951 - 67 * (number % 11))
    found = _NUMBER.search(text)
    if found is None:
        return Twin(_append(text, old), _append(text, new), (old, new))
    return Twin(
        text[: found.start()] + old + text[found.end() :], text[: found.start()] + new + text[found.end() :],
        (old, new),
    )  # fmt: skip


def _change_rare_word(text: str, number: int) -> Twin:
    old, new = _RARE[number % 6], _RARE[(number + 1 + number // 6 % 5) % 6]
    return Twin(_append(text, old), _append(text, new), (old, new))


def _change_order(text: str, number: int) -> Twin | None:
    places = [m for m in re.finditer(r"\w+", text) if m.group().lower() not in STOP_WORDS]
    words = {m.group().lower() for m in places}
    if len(words) < 2:
        return None
    first = places[number % len(places)]
    second = next(
        m for m in (*places[number % len(places) :], *places) if m.group().lower() != first.group().lower()
    )
    first, second = sorted((first, second), key=lambda m: m.start())
    swapped = (
        text[: first.start()] + second.group() + text[first.end() : second.start()] + first.group()
        + text[second.end() :]
    )  # fmt: skip
    return Twin(text, swapped, (first.group(), second.group()))


def _add_trailing_space(text: str, number: int) -> Twin:  # noqa: ARG001
    return Twin(f"{text.rstrip()} ", text.rstrip())


def _add_zero_width(text: str, number: int) -> Twin:
    bare = text.replace(ZERO_WIDTH, "")
    place = number % max(1, len(bare)) + 1
    return Twin(bare[:place] + ZERO_WIDTH + bare[place:], bare)


def _add_homoglyph(text: str, number: int) -> Twin:
    letters = [letter for letter in _HOMOGLYPHS if letter in text]
    if not letters:
        return Twin(_append(text, _HOMOGLYPHS["a"]), _append(text, "a"))
    old = letters[number % len(letters)]
    return Twin(text.replace(old, _HOMOGLYPHS[old]), text)


def _add_line_break(text: str, number: int) -> Twin:
    bare = " ".join(text.split("\n"))
    gaps = [m.start() for m in re.finditer(" ", bare)]
    if not gaps:
        return Twin(f"{bare}\n{bare}", f"{bare} {bare}")
    gap = gaps[number % len(gaps)]
    return Twin(f"{bare[:gap]}\n{bare[gap + 1 :]}", bare)


def _append(text: str, word: str) -> str:
    """Return a text with a word before its last punctuation marks."""
    bare = cut_marks(text)
    return f"{bare} {word}{text[len(bare) :]}"


def _score_case(output: str, twin: Twin) -> float:  # noqa: ARG001
    cased = [word for word in split_words(output) if word[0].lower() != word[0].upper()]
    return sum(word[0].isupper() for word in cased) / len(cased) if cased else 0.0


def _score_words(output: str, twin: Twin) -> float:
    words = [word.lower() for word in split_words(output)]
    return words.count(twin.marks[0]) - words.count(twin.marks[1])


def _score_strings(output: str, twin: Twin) -> float:
    plain = output.casefold()
    return plain.count(twin.marks[0].casefold()) - plain.count(twin.marks[1].casefold())


def _score_length(output: str, twin: Twin) -> float:  # noqa: ARG001
    return len(split_words(output)) + 1e-6 * len(output)


def _score_sentences(output: str, twin: Twin) -> float:  # noqa: ARG001
    return len(_ENDS.findall(output))


def _score_order(output: str, twin: Twin) -> float:
    words = [word.lower() for word in split_words(output)]
    first, second = (word.lower() for word in twin.marks)
    if first not in words or second not in words:
        return 0.0
    return 1.0 if words.index(first) < words.index(second) else -1.0


def _score_trailing(output: str, twin: Twin) -> float:  # noqa: ARG001
    return len(output) - len(output.rstrip(" "))


def _score_zero_width(output: str, twin: Twin) -> float:  # noqa: ARG001
    return output.count(ZERO_WIDTH)


def _score_homoglyphs(output: str, twin: Twin) -> float:  # noqa: ARG001
    return sum(output.count(letter) for letter in _HOMOGLYPHS.values())


def _score_lines(output: str, twin: Twin) -> float:  # noqa: ARG001
    return output.count("\n")


KINDS = (
    Kind(
        name="case",
        culprit="the case of letters shows in the output's",
        counted="more words have a capital letter if the text's have",
        build=_change_case,
        score=_score_case,
    ),
    Kind(
        name="stop word",
        culprit="stop words come back",
        counted="the stop word comes back",
        build=_change_stop_word,
        score=_score_words,
    ),
    Kind(
        name="punctuation",
        culprit="punctuation comes back",
        counted="the mark comes back",
        build=_change_mark,
        score=_score_strings,
    ),
    Kind(
        name="length",
        culprit="the output's length follows the text's",
        counted="the longer text has the longer output",
        build=_change_length,
        score=_score_length,
    ),
    Kind(
        name="sentences",
        culprit="the number of sentence ends shows in the output's",
        counted="two sentences give more sentence ends than one",
        build=_change_sentences,
        score=_score_sentences,
    ),
    Kind(
        name="name",
        culprit="first names that are put into the text come back",
        counted="the name comes back",
        build=_change_name,
        score=_score_strings,
        applies=_CAPITAL.search,
    ),
    Kind(
        name="number",
        culprit="numbers that are put into the text come back",
        counted="the number comes back",
        build=_change_number,
        score=_score_strings,
        applies=_NUMBER.search,
    ),
    Kind(
        name="rare word",
        culprit="made-up words come back",
        counted="the made-up word comes back",
        build=_change_rare_word,
        score=_score_strings,
    ),
    Kind(
        name="word order",
        culprit="words come back in the text's order",
        counted="two words come back in the order of their source",
        build=_change_order,
        score=_score_order,
    ),
    Kind(
        name="trailing space",
        culprit="white space at the end comes back",
        counted="the trailing space comes back",
        build=_add_trailing_space,
        score=_score_trailing,
    ),
    Kind(
        name="zero-width character",
        culprit="invisible characters come back",
        counted="the character comes back",
        build=_add_zero_width,
        score=_score_zero_width,
    ),
    Kind(
        name="homoglyph",
        culprit="look-alike characters come back",
        counted="look-alikes come back",
        build=_add_homoglyph,
        score=_score_homoglyphs,
    ),
    Kind(
        name="line break",
        culprit="line breaks come back",
        counted="the line break comes back",
        build=_add_line_break,
        score=_score_lines,
    ),
)


def build_twins(kind: Kind, texts: Sequence[str], count: int) -> list[Twin]:
    """Return twins of one kind; texts to which the change applies come first, and all of them again."""
    ordered = sorted(texts, key=lambda text: not kind.applies(text))
    found: list[Twin] = []
    for number in range(4 * count if ordered else 0):
        twin = kind.build(ordered[number % len(ordered)], number)
        if twin is not None and twin.first != twin.second:
            found.append(twin)
        if len(found) == count:
            break
    return found
