"""Rewrites texts for release: the noise must be secret, so it comes from fresh system entropy."""

import codecs
import io
import json
import secrets
import select
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from tedaudit.errors import ContractError, CorpusError, SpecError, join_names
from tedaudit.plugins.extras import name_needs
from tedaudit.plugins.nominal import NO_EPSILON, Nominal
from tedaudit.plugins.protocols import HasOwnEpsilons
from tedaudit.plugins.values import Draw, Mechanism, Rewrite
from tedaudit.seeding import derive
from tedaudit.text.readers import csv_line

Format = Literal["csv", "jsonl", "txt"]
Progress = Callable[[str, int, int], None]
FORMATS: tuple[Format, ...] = ("csv", "jsonl", "txt")
_BYTES = 1 << 16  # of standard input, read at a time


@dataclass(frozen=True, slots=True)
class ReleasedRow:
    """One rewrite: of which row of the input, which draw of it, and what came out. Never the original."""

    row: int
    draw: int
    rewrite: Rewrite


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be released: how often each text is rewritten, at which epsilon, with whose noise.

    `NO_EPSILON` is for a mechanism that takes none. Without a seed every draw has a key of 128 bits of
    system entropy, known to nobody afterwards. A seed makes the noise repeatable, hence known to whoever
    knows the seed: for experiments only.
    """

    epsilon: float
    draws: int = 1
    seed: int | None = None
    batch_size: int = 512

    def __post_init__(self) -> None:
        if not self.epsilon > 0:  # one that is not finite stands for none
            raise SpecError(f"epsilon is {self.epsilon}; it must be a number above 0.")
        if self.draws < 1 or self.batch_size < 1:
            raise SpecError(f"draws is {self.draws}, batch_size {self.batch_size}; both must be 1 or more.")

    def key(self, text: str, row: int, draw: int) -> int:
        """Return the key of one draw."""
        if self.seed is None:
            return secrets.randbits(128)
        return derive(self.seed, "release", text, row, draw)


def choose_epsilon(mechanism: Mechanism, given: float | None) -> float:
    """Return the epsilon of a release: the one given, or none for a mechanism that takes none."""
    if given is not None:
        if not 0 < given < float("inf"):
            raise SpecError(f"epsilon is {given}; it must be a number above 0.")
        return given
    if isinstance(mechanism, HasOwnEpsilons) and tuple(mechanism.epsilons(())) == (NO_EPSILON,):
        return NO_EPSILON
    raise SpecError(
        f"'{mechanism.card.name}' takes an epsilon, a number above 0: --epsilon 8 on the command line."
    )


def release(
    mechanism: Mechanism, texts: Sequence[str], order: Order, progress: Progress | None = None
) -> Iterator[ReleasedRow]:
    """Yield the rewrites of all texts in order, several draws of a text after each other."""
    return release_stream(mechanism, [texts], order, progress, len(texts) * order.draws)


def release_stream(
    mechanism: Mechanism,
    arriving: Iterable[Sequence[str]],
    order: Order,
    progress: Progress | None = None,
    total: int | None = None,
) -> Iterator[ReleasedRow]:
    """Yield the rewrites of texts as they arrive, in order; of earlier ones nothing is kept.

    `progress` is told of a batch once all its rewrites have been taken.
    """
    step = max(1, order.batch_size // order.draws)
    first = 0  # the number of the first row of what arrived
    for texts in arriving:
        for start in range(0, len(texts), step):
            yield from _release_some(mechanism, texts[start : start + step], order, first + start)
            if progress is not None:
                done = (first + min(start + step, len(texts))) * order.draws
                progress("rewriting", done, done if total is None else total)
        first += len(texts)


def _release_some(
    mechanism: Mechanism, texts: Sequence[str], order: Order, first: int
) -> Iterator[ReleasedRow]:
    """Yield the rewrites of one batch, whose first text is the row with this number."""
    places = [(row, draw) for row in range(len(texts)) for draw in range(order.draws)]
    draws = [
        Draw(texts[row], order.epsilon, order.key(texts[row], first + row, draw)) for row, draw in places
    ]
    with name_needs(mechanism.card.name, mechanism.card.needs):
        rewrites = mechanism.rewrite(draws)
    if len(rewrites) != len(draws):
        raise ContractError(
            f"'{mechanism.card.name}' was given {len(draws)} draws and returned {len(rewrites)} rewrites."
        )
    for (row, draw), rewrite in zip(places, rewrites, strict=True):
        yield ReleasedRow(first + row, draw, rewrite)


def format_of(path: Path | None, asked: str) -> Format:
    """Return the format of the output: as asked for, by the file's name, or plain lines."""
    wanted = asked or (path.suffix.removeprefix(".").lower() if path else "txt")
    for known in FORMATS:
        if wanted == known:
            return known
    raise SpecError(f"The output format is '{wanted}'; it is one of: {join_names(FORMATS)} (--format).")


class Written(NamedTuple):
    """How many rewrites were written, and how many of them failed."""

    rows: int
    failed: int


class Output(Protocol):
    """Takes text, such as an open file."""

    def write(self, text: str, /) -> Any:
        """Take some more."""
        ...


def write_released(
    released: Iterator[ReleasedRow],
    out: Output,
    form: Format,
    epsilon: float,
    beside: Mapping[str, Sequence[Any]] | None = None,
) -> Written:
    """Write rewrites as they come and return how many there were; a failed one keeps its row.

    `beside` has columns of the input, by row, for a table that shows what became of each text. Such a table
    has no epsilon: the nominal one is per unit of the mechanism, and whoever reads the table knows no unit.
    In a csv, an apostrophe stands before what a spreadsheet would run; `readers` takes it off again.
    """
    rows = failed = 0
    columns: tuple[str, ...] = ("row", "draw", "epsilon", "rewrite", "error")
    if beside is not None:
        columns = (*beside, "rewrite", "error")
    if form == "csv":
        out.write(csv_line(columns))
    for item in released:
        text, error = item.rewrite.text, item.rewrite.error
        rows += 1
        failed += bool(error)
        values: tuple[Any, ...] = (item.row, item.draw, Nominal(epsilon).json, text, error)
        if beside is not None:
            values = (*(column[item.row] for column in beside.values()), text, error)
        if form == "csv":
            out.write(csv_line(values))
        elif form == "jsonl":
            out.write(json.dumps(dict(zip(columns, values, strict=True)), ensure_ascii=False) + "\n")
        else:
            out.write(" ".join(text.split()) + "\n")
    return Written(rows, failed)


class Stream(Protocol):
    """Bytes that arrive, such as those of standard input."""

    def read1(self, size: int, /) -> bytes:
        """Return what is there, and wait only if nothing is."""
        ...

    def fileno(self) -> int:
        """Return the number that the system knows it by."""
        ...


def stream_lines(stream: Stream, most: int) -> Iterator[list[str]]:
    """Yield the lines of a stream in order, at most so many together.

    If more input is at hand, lines are gathered until there are enough; if the input pauses, those that
    are complete are handed on at once. The last line need not end with a line feed.
    """
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")(), translate=True)
    complete: list[str] = []
    unfinished: list[str] = []  # pieces of the line that has not ended yet
    passed = 0
    while True:
        raw = stream.read1(_BYTES)
        try:
            first, *others = decoder.decode(raw, final=not raw).split("\n")
        except UnicodeDecodeError as error:
            line = passed + len(complete) + 1 + raw.count(b"\n", 0, error.start)
            raise CorpusError(
                f"Standard input is not UTF-8: {error.reason} in line {line:,} or the one before. "
                "Convert it, or name a file."
            ) from error
        unfinished.append(first)
        for piece in others:
            complete.append("".join(unfinished))
            unfinished = [piece]
        if not raw:
            last = "".join(unfinished)
            complete += [last] if last else []
        while len(complete) >= most or (complete and (not raw or not _has_more(stream))):
            yield complete[:most]
            passed += len(complete[:most])
            complete = complete[most:]
        if not raw:
            return


def _has_more(stream: Stream) -> bool:
    """Return whether something can be read without waiting; False if that cannot be told."""
    try:
        return bool(select.select([stream.fileno()], [], [], 0)[0])
    except (OSError, ValueError):  # a system or a stream that cannot say
        return False
