"""Built-in messages with names, places, dates, sums and numbers: no download, no personal data.

They lie in `demo.csv.gz` and were written by a grammar, `recipes/demo.py`, which also says by what rule a
message has its author. The writer's gender affects the greeting, the sign-off and a few stock words only.
"""

import csv
import gzip
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import ClassVar

from tedaudit.corpora.files import assemble
from tedaudit.errors import CorpusError
from tedaudit.plugins.values import Card, Corpus

SIZE, LONGEST = 3600, 40
_LEAST_LONGEST = 8  # words: shorter messages are too few to choose from
Rows = list[dict[str, str]]


@cache
def _read() -> dict[str, Rows]:
    """Return the rows of both splits, read once."""
    packed = files("tedaudit.corpora").joinpath("demo.csv.gz").read_bytes()
    splits: dict[str, Rows] = {"train": [], "test": []}
    for row in csv.DictReader(gzip.decompress(packed).decode().splitlines()):
        splits[row.pop("split")].append(row)
    return splits


def _to_columns(rows: Rows) -> tuple[list[str], dict[str, list[str]]]:
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return columns.pop("text"), columns


@dataclass(frozen=True)
class Demo:
    """Messages about everyday matters: `size` of them to draw candidates from, and 600 for testing.

    Columns: topic, sentiment, gender, and author, one of 200, found by a rule from the words of a message.
    """

    card: ClassVar[Card] = Card(
        name="demo",
        summary="Everyday messages with names, dates, sums and numbers; built in.",
    )
    size: int = SIZE
    """How many messages there are to draw candidates from: the first ones of 3600."""
    longest: int = LONGEST
    """Most words of a message: a smaller number leaves the longer ones out; test messages stay the same."""

    def __post_init__(self) -> None:
        if not 2 <= self.size <= SIZE:
            raise CorpusError(
                f"Corpus 'demo' cannot have {self.size} training messages: an audit needs 2 to choose from, "
                f"and there are {SIZE}. Set 'size' to a number from 2 to {SIZE}, which is the default."
            )
        if not _LEAST_LONGEST <= self.longest <= LONGEST:
            raise CorpusError(
                f"Corpus 'demo' cannot take messages of at most {self.longest} words: 'longest' is a number "
                f"from {_LEAST_LONGEST} to {LONGEST}, which is the default."
            )

    def load(self) -> Corpus:
        """Return the messages with the topic, the sentiment, the writer's gender and the author of each."""
        rows = _read()
        short = [row for row in rows["train"] if len(row["text"].split()) <= self.longest]
        return assemble("demo", {"train": _to_columns(short[: self.size]), "test": _to_columns(rows["test"])})
