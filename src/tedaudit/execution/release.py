"""Rewrites texts for release: the noise must be secret, so it comes from fresh system entropy."""

import csv
import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from tedaudit.errors import ContractError, SpecError, join_names
from tedaudit.extras import name_needs
from tedaudit.seeding import derive
from tedaudit.types import Draw, Mechanism, Rewrite

Format = Literal["csv", "jsonl", "txt"]
FORMATS: tuple[Format, ...] = ("csv", "jsonl", "txt")


@dataclass(frozen=True, slots=True)
class Released:
    """One rewrite: of which row of the input, which draw of it, and what came out. Never the original."""

    row: int
    draw: int
    rewrite: Rewrite


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be released: how often each text is rewritten, at which epsilon, with whose noise.

    Without a seed every draw has a key of 128 bits of system entropy, known to nobody afterwards. A
    seed makes the noise repeatable, hence known to whoever knows the seed: for experiments only.
    """

    epsilon: float
    draws: int = 1
    seed: int | None = None
    batch_size: int = 512

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < float("inf"):
            raise SpecError(f"epsilon is {self.epsilon}; it must be a number above 0.")
        if self.draws < 1 or self.batch_size < 1:
            raise SpecError(f"draws is {self.draws}, batch_size {self.batch_size}; both must be 1 or more.")

    def key(self, text: str, row: int, draw: int) -> int:
        """Return the key of one draw."""
        if self.seed is None:
            return secrets.randbits(128)
        return derive(self.seed, "release", text, row, draw)


def release(
    mechanism: Mechanism,
    texts: Sequence[str],
    order: Order,
    progress: Callable[[str, int, int], None] | None = None,
) -> Iterator[Released]:
    """Yield the rewrites of all texts in order, several draws of a text after each other."""
    total = len(texts) * order.draws
    step = max(1, order.batch_size // order.draws)
    for start in range(0, len(texts), step):
        rows = range(start, min(start + step, len(texts)))
        places = [(row, draw) for row in rows for draw in range(order.draws)]
        draws = [Draw(texts[row], order.epsilon, order.key(texts[row], row, draw)) for row, draw in places]
        with name_needs(mechanism.card.name, mechanism.card.needs):
            rewrites = mechanism.rewrite(draws)
        if len(rewrites) != len(draws):
            raise ContractError(
                f"'{mechanism.card.name}' was given {len(draws)} draws and returned {len(rewrites)} rewrites."
            )
        for (row, draw), rewrite in zip(places, rewrites, strict=True):
            yield Released(row, draw, rewrite)
        if progress is not None:
            progress("rewriting", rows.stop * order.draws, total)


def format_of(path: Path | None, asked: str) -> Format:
    """Return the format of the output: as asked for, by the file's name, or plain lines."""
    wanted = asked or (path.suffix.removeprefix(".").lower() if path else "txt")
    for known in FORMATS:
        if wanted == known:
            return known
    raise SpecError(f"The output format is '{wanted}'; it is one of: {join_names(FORMATS)} (--format).")


def write_released(released: Iterator[Released], out: IO[str], form: Format, epsilon: float) -> int:
    """Write rewrites as they come and return how many failed; a failed one keeps its row."""
    failed = 0
    columns = ("row", "draw", "epsilon", "rewrite", "error")
    table = csv.writer(out, lineterminator="\n")
    if form == "csv":
        table.writerow(columns)
    for item in released:
        text, error = item.rewrite.text, item.rewrite.error
        failed += bool(error)
        values: tuple[Any, ...] = (item.row, item.draw, epsilon, text, error)
        if form == "csv":
            table.writerow(values)
        elif form == "jsonl":
            out.write(json.dumps(dict(zip(columns, values, strict=True)), ensure_ascii=False) + "\n")
        else:
            out.write(" ".join(text.split()) + "\n")
    return failed
