"""Write the messages of the corpus `demo`: names, places, dates, sums and numbers, and no personal data.

    python recipes/demo.py src/tedaudit/corpora/demo.csv.gz

A grammar writes them (below, from `demo_phrases.txt`), and every message is a function of its number alone:
more of them extend the list, and every machine writes the same ones. The test split is drawn first, so that
it is the same however many there are and no training message repeats it. The writer's gender affects the
greeting, the sign-off and a few stock words, but only slightly.

Authors are found in what was written, by a public rule. Every word belongs to one of a hundred women and to
one of a hundred men, and words have an order, both by coins that anybody can repeat; people, places and
things come first, then other words of four letters or more, then the rest. A message is by the author of the
writer's gender to whom the first of its words in that order belongs. So an author writes of the same few
people, places and things again. The other names in a message belong to others, so that several messages tell
more than one. No style was imitated, and an author may sign with several names.
"""

import csv
import gzip
import io
import re
import sys
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate, count, islice
from pathlib import Path
from typing import NamedTuple

from tedaudit.seeding import derive, uniforms

# --- A small language for grammars whose sentences are drawn with coins given from outside.
#
#     parcel = the [big] parcel | a letter *3     one of these; the letter three times as often
#     carrier banking = the bank                  the rule for messages tagged "banking"
#     reply = <name> sent <parcel>. | _           slots are filled by rules; _ is nothing
#
# `[x]` is x or nothing and `[x|y]` is one of both. `<@name>` keeps what it drew for the rest of the
# message. `<he/she>` reads off whether the message is tagged "he" or "she". `#` is a digit and `^`
# one that is not zero. A rule `town! = ...` never gives the same words twice in a message. Where
# several rules bear a name, the one with most tags is used, of those whose tags the message has.
# An indented line continues the rule above it; a line that begins with `#` is a comment.

Tags = frozenset[str]

_COMMENT = re.compile(r"^#.*\n?", re.MULTILINE)
_NEXT_RULE = re.compile(r"\n(?=\S)")
_HEAD = re.compile(r"([a-z]+!?(?: [a-zA-Z]+)*) =(?=\s)")
_WEIGHT = re.compile(r"\s\*(\d+)$")
_SLOT = re.compile(r"<(@?)([^<>]+)>|([#^])")
_DIGITS = {"#": "digit", "^": "nonzero"}


@dataclass(frozen=True, slots=True)
class Slot:
    """A place filled by the rule of this name; a kept one holds the same words all through a message."""

    name: str
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """Alternatives, and the running totals of their weights."""

    options: tuple[tuple["str | Slot | Choice", ...], ...]
    totals: tuple[int, ...]


Part = str | Slot | Choice


@dataclass(frozen=True, slots=True)
class Draft:
    """A message being written: what it is tagged, its coins, and what its slots were filled with."""

    tags: Tags
    coins: Iterator[float]
    kept: dict[str, str] = field(default_factory=dict)
    used: set[tuple[str, str]] = field(default_factory=set)


class Grammar:
    """The rules of a grammar's text."""

    def __init__(self, text: str) -> None:
        self.rules: dict[str, list[tuple[Tags, Choice]]] = {}
        self.unlike: set[str] = set()  # the rules that never repeat themselves in a message
        for rule in _NEXT_RULE.split(_COMMENT.sub("", text).strip()):
            head = _HEAD.match(rule)
            if head is None:
                raise ValueError(f"The grammar has a line that is not a rule, 'name tags = ...': '{rule}'.")
            self._add(head[1].split(), _choice(_divide(rule[head.end() :])))
        for rules in self.rules.values():
            rules.sort(key=lambda rule: -len(rule[0]))

    def _add(self, head: list[str], choice: Choice) -> None:
        name, tags = head[0].rstrip("!"), frozenset(head[1:])
        if head[0].endswith("!"):
            self.unlike.add(name)
        known = self.rules.setdefault(name, [])
        if any(tags == other for other, _ in known):
            raise ValueError(f"The grammar has two rules headed '{' '.join(head)}'.")
        known.append((tags, choice))

    def find(self, name: str, tags: Tags) -> Choice:
        """Return the rule of this name with the most tags, all of them met."""
        for needed, choice in self.rules.get(name, ()):
            if needed <= tags:
                return choice
        raise ValueError(f"The grammar has no rule '{name}' for a message tagged {sorted(tags)}.")

    def write(self, name: str, tags: Tags, coins: Iterator[float]) -> str:
        """Return one sentence or more, drawn from the rule of this name."""
        return tidy(self._fill(Slot(name), Draft(tags, coins)))

    def _fill(self, slot: Slot, draft: Draft) -> str:
        if "/" in slot.name:
            his, hers = slot.name.split("/")
            return his if "he" in draft.tags else hers
        if slot.kept and slot.name in draft.kept:
            return draft.kept[slot.name]
        rule = self.find(slot.name, draft.tags)
        words = self._pick(rule, draft)
        if slot.name in self.unlike:
            while (slot.name, words) in draft.used:
                words = self._pick(rule, draft)
            draft.used.add((slot.name, words))
        if slot.kept:
            draft.kept[slot.name] = words
        return words

    def _pick(self, choice: Choice, draft: Draft) -> str:
        totals = choice.totals
        at = 0 if len(totals) == 1 else bisect_right(totals, next(draft.coins) * totals[-1])
        words = []
        for part in choice.options[at]:
            if isinstance(part, str):
                words.append(part)
            else:
                words.append(self._fill(part, draft) if isinstance(part, Slot) else self._pick(part, draft))
        return "".join(words)


def _divide(body: str) -> list[str]:
    """Return the alternatives of a rule or a bracket: bars inside inner brackets do not divide."""
    depth, pieces = 0, [""]
    for sign in body:
        depth += (sign == "[") - (sign == "]")
        if sign == "|" and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += sign
    return [piece for piece in pieces if piece.strip()]


def _choice(alternatives: list[str]) -> Choice:
    options, weights = [], []
    for alternative in alternatives:
        words = " ".join(alternative.split())
        weight = _WEIGHT.search(words)
        words = words[: weight.start()] if weight else words
        options.append(() if words == "_" else tuple(_parts(words)))
        weights.append(int(weight[1]) if weight else 1)
    return Choice(tuple(options), tuple(accumulate(weights)))


def _parts(words: str) -> Iterator[Part]:
    """Yield what an alternative is made of, in order."""
    depth, start = 0, 0
    for at, sign in enumerate(words):
        if sign == "[":
            if depth == 0:
                yield from _slots(words[start:at])
                start = at + 1
            depth += 1
        elif sign == "]":
            depth -= 1
            if depth == 0:
                inner = _divide(words[start:at])
                yield _choice(inner if len(inner) > 1 else [*inner, "_"])
                start = at + 1
    yield from _slots(words[start:])


def _slots(words: str) -> Iterator[Part]:
    start = 0
    for slot in _SLOT.finditer(words):
        if slot.start() > start:
            yield words[start : slot.start()]
        yield Slot(_DIGITS[slot[3]]) if slot[3] else Slot(slot[2], slot[1] == "@")
        start = slot.end()
    if start < len(words):
        yield words[start:]


_ARTICLE = re.compile(r"\b([Aa])n? (?=[$£€]?(\w[\w-]*))")
_BEFORE_MARK = re.compile(r" +([,.;!?](?!\))|'s\b)")
_SENTENCE = re.compile(r"(?:^|(?<=[.!?] ))[a-z]")
_ADDRESS = re.compile(r"\S+@\S+")
# Words that sound otherwise than they are spelled.
_LIKE_VOWEL = re.compile(r"hour|honest|8|11$|11th|18$|18th|MRI\b|X-ray|HR\b")
_LIKE_CONSONANT = re.compile(r"uni[^nm]|use|usu|eu|one\b|once\b", re.IGNORECASE)


def tidy(text: str) -> str:
    """Return the text with single spaces, the right articles, and capitals where sentences begin."""
    text = _BEFORE_MARK.sub(r"\1", " ".join(text.split()))
    text = _ARTICLE.sub(lambda found: found[1] + ("n " if _sounds_open(found[2]) else " "), text)
    text = _ADDRESS.sub(lambda found: found[0].lower(), text)
    return _SENTENCE.sub(lambda found: found[0].upper(), text)


def _sounds_open(word: str) -> bool:
    if _LIKE_VOWEL.match(word):
        return True
    return word[0] in "aeiouAEIOU" and not _LIKE_CONSONANT.match(word)


SEED = 20240229
TRAIN_SIZE, TEST_SIZE = 3600, 600
SHORTEST, LONGEST = 3, 40
TOPICS = ("banking", "family", "health", "housing", "leisure", "school", "shopping", "travel", "work")
SENTIMENTS = ("negative", "neutral", "positive")
GENDERS = ("F", "M")
# The other person in the message, and its currency: for pronouns and currency signs.
OTHERS = ("he", "she")
CURRENCIES = ("dollar", "pound", "euro")
AUTHORS = 100  # women, and as many men
# The rules whose words tell most of an author: people, places, things.
TELLING = (
    *("woman", "man", "unisex", "surname"),
    *("near", "far", "country", "tree"),
    *("body", "drug", "exam", "illness", "feast", "toy", "dwelling", "fixture", "room", "item", "lodging"),
    *("luggage", "sight", "gathering", "paper", "post", "building", "subject", "task", "dish", "pastime"),
    *("show", "sport"),
)  # fmt: skip

_BATCH = 512  # messages whose coins are drawn together
_WORD = re.compile(r"[^\W\d_]+")
_SHORT_WORD = 3  # letters: nearly all such words say nothing of an author
_COINS = 96  # coins drawn in advance for one message; more are drawn if needed


class Message(NamedTuple):
    """One message and its labels."""

    text: str
    topic: str
    sentiment: str
    gender: str
    author: str


@cache
def grammar() -> Grammar:
    """Return the rules, read once."""
    return Grammar(Path(__file__).with_name("demo_phrases.txt").read_text(encoding="utf-8"))


def compose(split: str, first: int, number: int) -> Iterator[Message]:
    """Yield messages number first, first + 1, ... of a split, including repeats and unsuitable lengths."""
    keys = [derive(SEED, "demo", split, i) for i in range(first, first + number)]
    for key, ahead in zip(keys, uniforms(keys, _COINS).tolist(), strict=True):
        coins = _draw_coins(key, ahead)
        topic, sentiment, gender, other, currency = (
            values[int(next(coins) * len(values))]
            for values in (TOPICS, SENTIMENTS, GENDERS, OTHERS, CURRENCIES)
        )
        tags = frozenset((topic, sentiment, gender, other, currency))
        text = grammar().write("message", tags, coins)
        yield Message(text, topic, sentiment, gender, find_author(text, gender))


def find_author(text: str, gender: str) -> str:
    """Return who wrote a message, as "F07": the author to whom the first of its words in order belongs."""
    first = min(_place(word, gender) for word in set(_WORD.findall(text.lower())))
    return f"{gender}{first % AUTHORS:02}"


@cache
def _place(word: str, gender: str) -> int:
    """Return a word's place in the order of words; modulo AUTHORS it is the number of whom it belongs to."""
    kind = 0 if word in _list_telling() else 1 if len(word) > _SHORT_WORD else 2
    return kind * 10**40 + derive(SEED, "author", gender, word)


@cache
def _list_telling() -> frozenset[str]:
    rules = (choice for name in TELLING for _, choice in grammar().rules[name])
    parts = (part for choice in rules for option in choice.options for part in option)
    return frozenset(part.lower() for part in parts if isinstance(part, str) and part.isalpha())


def _draw_coins(key: int, ahead: list[float]) -> Iterator[float]:
    yield from ahead
    for start in count(_COINS, _COINS):
        yield from uniforms([key], _COINS, start)[0].tolist()


def _generate(split: str, seen: set[str]) -> Iterator[Message]:
    """Yield, without end, messages of a suitable length whose set of words is new."""
    for first in count(0, _BATCH):
        for message in compose(split, first, _BATCH):
            words = message.text.lower().split()
            # The same words in another order or with other punctuation would be a near-duplicate.
            form = " ".join(sorted({word.strip(".,;:!?") for word in words}))
            if SHORTEST <= len(words) <= LONGEST and form not in seen:
                seen.add(form)
                yield message


def write_splits() -> Iterator[tuple[str, Message]]:
    """Yield all messages with their split."""
    seen: set[str] = set()
    test = list(islice(_generate("test", seen), TEST_SIZE))
    for message in islice(_generate("train", seen), TRAIN_SIZE):
        yield "train", message
    for message in test:
        yield "test", message


def main(target: Path) -> None:
    """Write the table that the corpus reads."""
    table = io.StringIO(newline="")
    rows = csv.writer(table, lineterminator="\n")
    rows.writerow(("split", *Message._fields))
    rows.writerows((split, *message) for split, message in write_splits())
    target.write_bytes(gzip.compress(table.getvalue().encode(), mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
