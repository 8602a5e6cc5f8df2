"""Built-in messages with names, places, dates, sums and numbers: no download, no personal data.

A grammar writes them (`_grammar`, `demo_phrases.txt`), and every message is a function of its number alone:
a larger size extends the list, and every machine generates the same messages. The test split is drawn
first, so that it is the same for every size and no training message repeats it. The writer's gender
affects the greeting, the sign-off and a few stock words, but only slightly.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import count, islice
from typing import ClassVar, NamedTuple

from tedaudit.corpora._assemble import assemble
from tedaudit.corpora._grammar import Grammar
from tedaudit.errors import CorpusError
from tedaudit.seeding import derive, uniforms
from tedaudit.types import Card, Corpus

SEED = 20240229
TEST_SIZE = 600
SHORTEST, LONGEST = 3, 40
TOPICS = ("banking", "family", "health", "housing", "leisure", "school", "shopping", "travel", "work")
SENTIMENTS = ("negative", "neutral", "positive")
GENDERS = ("F", "M")
# The other person in the message, and its currency: for pronouns and currency signs.
OTHERS = ("he", "she")
CURRENCIES = ("dollar", "pound", "euro")

_LEAST_LONGEST = 8  # shorter messages are too few, and soon used up
_BATCH = 512  # messages whose coins are drawn together
_COINS = 96  # coins drawn in advance for one message; more are drawn if needed


class Message(NamedTuple):
    """One message and its labels."""

    text: str
    topic: str
    sentiment: str
    gender: str


@cache
def grammar() -> Grammar:
    """Return the rules, read once."""
    return Grammar(files("tedaudit.corpora").joinpath("demo_phrases.txt").read_text(encoding="utf-8"))


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
        yield Message(grammar().write("message", tags, coins), topic, sentiment, gender)


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


@cache
def _write_test() -> tuple[tuple[Message, ...], frozenset[str]]:
    """Return the test split, written once, and the forms that no training message may repeat."""
    seen: set[str] = set()
    messages = tuple(islice(_generate("test", seen), TEST_SIZE))
    return messages, frozenset(seen)


@lru_cache(maxsize=4)
def _write_train(size: int, longest: int) -> tuple[Message, ...]:
    """Return so many training messages: an audit after another in one process writes them once."""
    messages = _generate("train", set(_write_test()[1]))
    return tuple(islice((one for one in messages if len(one.text.split()) <= longest), size))


def _to_columns(messages: Sequence[Message]) -> tuple[list[str], dict[str, list[str]]]:
    columns = {name: [getattr(message, name) for message in messages] for name in Message._fields}
    return columns.pop("text"), columns


@dataclass(frozen=True)
class Demo:
    """Messages about everyday matters: `size` of them to draw candidates from, and 600 for testing."""

    card: ClassVar[Card] = Card(
        name="demo",
        summary="Generated everyday messages with names, dates, sums and numbers; built in.",
    )
    size: int = 3600
    """How many messages there are to draw candidates from."""
    longest: int = LONGEST
    """Most words of a message: a smaller number leaves the longer ones out; test messages stay the same."""

    def __post_init__(self) -> None:
        if self.size < 2:
            raise CorpusError(
                f"Corpus 'demo' cannot have {self.size} training messages: an audit needs at least 2 "
                "to choose from. Set 'size' to 2 or more (the default is 3600)."
            )
        if not _LEAST_LONGEST <= self.longest <= LONGEST:
            raise CorpusError(
                f"Corpus 'demo' cannot take messages of at most {self.longest} words: 'longest' is a number "
                f"from {_LEAST_LONGEST} to {LONGEST}, which is the default."
            )

    def load(self) -> Corpus:
        """Return the messages with the topic, the sentiment and the writer's gender of each."""
        train, (test, _) = _write_train(self.size, self.longest), _write_test()
        return assemble("demo", {"train": _to_columns(train), "test": _to_columns(test)})
