"""Texts that arrive one line at a time, such as those of a pipe: handed on as they come, never all held."""

import codecs
import io
import select
from collections.abc import Iterator
from typing import Protocol

from tedaudit.errors import CorpusError

_BYTES = 1 << 16  # read at a time


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
