"""Built-in messages with names, places, dates, sums and numbers in them: nothing to download, nobody's data.

A grammar writes them (`_grammar`, `demo_phrases.txt`), and every message is a function of its number alone:
more messages extend the list, and the same ones come out on every machine. The test split is drawn
first, so that it is the same for every size and no training message repeats it. The writer's gender
moves the greeting, the sign-off and a few stock words, and only a little.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
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
# Who else is in the message, and in what the message counts money: for pronouns and for signs.
OTHERS = ("he", "she")
CURRENCIES = ("dollar", "pound", "euro")

_BATCH = 512  # messages whose coins are drawn together
_COINS = 96  # coins drawn ahead for one message; one that needs more draws more


class Message(NamedTuple):
    """One message and what is known of it."""

    text: str
    topic: str
    sentiment: str
    gender: str


@cache
def grammar() -> Grammar:
    """Return the rules, read once."""
    return Grammar(files("tedaudit.corpora").joinpath("demo_phrases.txt").read_text(encoding="utf-8"))


def compose(split: str, first: int, number: int) -> Iterator[Message]:
    """Yield messages number first, first + 1, ... of a split, repeats and misfits included."""
    keys = [derive(SEED, "demo", split, at) for at in range(first, first + number)]
    for key, ahead in zip(keys, uniforms(keys, _COINS).tolist(), strict=True):
        coins = _coins(key, ahead)
        topic, sentiment, gender, other, currency = (
            values[int(next(coins) * len(values))]
            for values in (TOPICS, SENTIMENTS, GENDERS, OTHERS, CURRENCIES)
        )
        tags = frozenset((topic, sentiment, gender, other, currency))
        yield Message(grammar().write("message", tags, coins), topic, sentiment, gender)


def _coins(key: int, ahead: list[float]) -> Iterator[float]:
    yield from ahead
    for start in count(_COINS, _COINS):
        yield from uniforms([key], _COINS, start)[0].tolist()


def _fitting(split: str, seen: set[str]) -> Iterator[Message]:
    """Yield, without end, the messages of a fitting length whose words no earlier message has."""
    for first in count(0, _BATCH):
        for message in compose(split, first, _BATCH):
            words = message.text.lower().split()
            # The same words in another order or with other marks would be a near-copy.
            form = " ".join(sorted({word.strip(".,;:!?") for word in words}))
            if SHORTEST <= len(words) <= LONGEST and form not in seen:
                seen.add(form)
                yield message


def _columns(messages: Sequence[Message]) -> tuple[list[str], dict[str, list[str]]]:
    columns = {name: [getattr(message, name) for message in messages] for name in Message._fields}
    return columns.pop("text"), columns


@dataclass(frozen=True)
class Demo:
    """Messages about everyday matters: `size` of them to draw candidates from, and 600 for testing."""

    card: ClassVar[Card] = Card(
        name="demo",
        summary="Generated everyday messages with names, dates, sums and numbers in them; built in.",
    )
    size: int = 3600

    def __post_init__(self) -> None:
        if self.size < 2:
            raise CorpusError(
                f"Corpus 'demo' cannot have {self.size} training messages: an audit needs at least 2 "
                "to choose from. Set 'size' to 2 or more (3600 unless told)."
            )

    def load(self) -> Corpus:
        """Return the messages with the topic, the sentiment and the writer's gender of each."""
        seen: set[str] = set()
        test = list(islice(_fitting("test", seen), TEST_SIZE))
        train = list(islice(_fitting("train", seen), self.size))
        return assemble("demo", {"train": _columns(train), "test": _columns(test)})
