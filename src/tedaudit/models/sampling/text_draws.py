"""Which draws of tokens are written as a given text: a graph that every one of them runs through.

A tokenizer writes the bytes of its tokens one after another, reads them as UTF-8 with U+FFFD for what is
broken, and the mechanism takes white space off both ends. So a draw can be followed byte by byte: how many
characters of the text are there, and which bytes wait for the rest of a character. Special tokens write
nothing and may stand anywhere; white space may stand before and after the text, and any broken bytes may
be behind a U+FFFD. What a tokenizer is believed to write is held against what it does write.
"""

import codecs
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tedaudit.models.decoding import decode_all, decodes_plainly
from tedaudit.plugins.values import Floats

Ints = npt.NDArray[np.int64]
BROKEN = "\N{REPLACEMENT CHARACTER}"
ENDED = -1  # where an end token leads
_TRIED = 2000  # sequences of random tokens that are written to see whether a tokenizer is understood
_AS_LONG = {
    0xE0: b"\xe0", 0xED: b"\xed", 0xF0: b"\xf0", 0xF4: b"\xf4",
    **dict.fromkeys(range(0xC2, 0xE0), b"\xc3"), **dict.fromkeys((*range(0xE1, 0xED), 0xEE, 0xEF), b"\xe4"),
    **dict.fromkeys(range(0xF1, 0xF4), b"\xf1"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Spellings:
    """The bytes that tokens write, ordered, with the tokens of each; `silent` tokens write nothing."""

    ordered: list[bytes]
    tokens: list[list[int]]
    silent: list[int]

    @classmethod
    def of(cls, written: Sequence[bytes]) -> "Spellings":
        """Return those of tokens 0, 1, 2 and so on."""
        by_bytes: dict[bytes, list[int]] = {}
        for token, spelling in enumerate(written):
            by_bytes.setdefault(spelling, []).append(token)
        silent = by_bytes.pop(b"", [])
        ordered = sorted(by_bytes)
        return cls(ordered, [by_bytes[spelling] for spelling in ordered], silent)


@lru_cache(maxsize=4)
def learn_spellings(tokenizer: Any, vocabulary: int) -> Spellings | None:
    """Return what every token of a model's vocabulary writes; None if the tokenizer is not understood."""
    written = _guess_bytes(tokenizer, vocabulary)
    return Spellings.of(written) if written and _holds(tokenizer, written) else None


def _guess_bytes(tokenizer: Any, vocabulary: int) -> list[bytes]:
    """Return the bytes of every token by the kind of the tokenizer's decoder; none for unknown kinds."""
    if hasattr(tokenizer, "spm_target") and not tokenizer.clean_up_tokenization_spaces:
        return _read_pieces(tokenizer, vocabulary)
    if not decodes_plainly(tokenizer):
        return []
    from tokenizers.decoders import ByteLevel, Metaspace

    core, decoder = tokenizer.backend_tokenizer, tokenizer.backend_tokenizer.decoder
    pieces = [core.id_to_token(token) if token < len(tokenizer) else None for token in range(vocabulary)]
    for token, added in core.get_added_tokens_decoder().items():
        if added.special and token < vocabulary:
            pieces[token] = None
    if isinstance(decoder, ByteLevel):
        return [b"" if piece is None else _read_byte_level(piece) for piece in pieces]
    if isinstance(decoder, Metaspace):
        return [b"" if piece is None else _read_mark(piece, decoder.replacement) for piece in pieces]
    return []


def _read_pieces(tokenizer: Any, vocabulary: int) -> list[bytes]:
    """Return the bytes of the tokens of a Marian model: sentencepiece writes them, and no library of Rust."""
    special = set(tokenizer.all_special_ids)
    known = tokenizer.convert_ids_to_tokens(list(range(min(vocabulary, len(tokenizer)))))
    written = [b"" if i in special else _read_mark(piece, "\u2581") for i, piece in enumerate(known)]
    return written + [b""] * (vocabulary - len(written))


def _read_mark(piece: str, mark: str) -> bytes:
    return piece.replace(mark, " ").encode()


def _read_byte_level(piece: str) -> bytes:
    """Return the bytes that the characters of a piece stand for; added tokens may stand for themselves."""
    alphabet = _byte_alphabet()
    if all(character in alphabet for character in piece):
        return bytes(alphabet[character] for character in piece)
    return piece.encode()


@lru_cache(maxsize=1)
def _byte_alphabet() -> dict[str, int]:
    """Return the byte of every character of byte-level tokens: printable ones are their own."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(others)}


def _holds(tokenizer: Any, written: Sequence[bytes]) -> bool:
    """Return whether tokens write these bytes: each alone and between others, and some at random."""
    count = len(written)
    plain = next((token for token, spelling in enumerate(written) if spelling.isalpha()), 0)
    random = np.random.default_rng(0).integers(0, count, (_TRIED, 6)).tolist()
    tried = [
        *([token] for token in range(count)),
        *([plain, token, plain] for token in range(count)),
        *random,
    ]
    return all(
        text.strip() == b"".join(written[token] for token in tokens).decode("utf-8", "replace").strip()
        for tokens, text in zip(tried, decode_all(tokenizer, tried), strict=True)
    )


class _Place(NamedTuple):
    """How many characters of the text are written, and the bytes of one that is not whole yet."""

    done: int
    waiting: bytes = b""


@dataclass(eq=False)
class TextDraws:
    """A graph of the draws that are written as one text.

    Numbered places; from each, the tokens that may follow and where they lead, the longest first. An end
    token leads to `ENDED`, and is there only if the text is whole with it. `is_whole` says where a draw may
    stop if it has as many tokens as it can have.
    """

    tokens: list[Ints]
    targets: list[Ints]
    is_whole: npt.NDArray[np.bool_]
    _tables: dict[int, tuple[Floats, Floats]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def find(cls, text: str, spellings: Spellings, ends: Iterable[int]) -> "TextDraws":
        """Return the graph of a text."""
        return _Follower(text, spellings, frozenset(ends)).build()

    @classmethod
    def of_sequences(cls, sequences: Iterable[Sequence[int]], ends: Sequence[int]) -> "TextDraws":
        """Return the graph of these sequences alone, for a tokenizer that is not understood."""
        following: list[dict[int, int]] = [{}]
        last: set[int] = set()
        for sequence in sequences:
            place = 0
            for token in sequence:
                if token not in following[place]:
                    following[place][token] = len(following)
                    following.append({})
                place = following[place][token]
            last.add(place)
        for place in last:
            following[place].update(dict.fromkeys(ends, ENDED))
        is_whole = np.array([place in last for place in range(len(following))])
        return cls(*_as_arrays([list(row.items()) for row in following]), is_whole)

    def count(self, limit: int) -> tuple[Floats, Floats]:
        """Return how many ways there are to finish, and the fewest tokens, by place and tokens left.

        A draw is finished by an end token, or by its last token if none is left after it.
        """
        if limit not in self._tables:
            ways, fewest = self._start_table(limit, 0.0, 1.0), self._start_table(limit, np.inf, 0.0)
            places, starts, targets = self._edges
            with np.errstate(over="ignore"):  # more ways than a float holds are more than anybody reads
                for left in range(1, limit + 1):
                    ways[places, left] = np.add.reduceat(ways[targets, left - 1], starts)
                    fewest[places, left] = 1 + np.minimum.reduceat(fewest[targets, left - 1], starts)
            self._tables[limit] = ways, fewest
        return self._tables[limit]

    def expect(self, known: Floats, cost: float) -> Floats:
        """Return a guess of the log-probability to finish, by place and tokens left, if a token has a cost.

        What is known of some (not NaN) is taken for what it is, and the best way there counts.
        """
        hopes = self._start_table(known.shape[1] - 1, -np.inf, 0.0)
        places, starts, targets = self._edges
        for left in range(1, known.shape[1]):
            hopes[places, left] = np.maximum.reduceat(hopes[targets, left - 1], starts) - cost
            hopes[:, left] = np.where(np.isnan(known[:, left]), hopes[:, left], known[:, left])
        return hopes

    def _start_table(self, limit: int, nothing: float, done: float) -> Floats:
        """Return a table that is filled where a draw is finished; its last row is of what has ended."""
        table = np.full((len(self.tokens) + 1, limit + 1), nothing)
        table[-1], table[:-1, 0] = done, np.where(self.is_whole, done, nothing)
        return table

    @cached_property
    def _edges(self) -> tuple[Ints, Ints, Ints]:
        """The places that tokens may follow, where the targets of each begin, and all targets."""
        sizes = np.array([len(row) for row in self.tokens])
        return np.flatnonzero(sizes), (np.cumsum(sizes) - sizes)[sizes > 0], np.concatenate(self.targets)


def _as_arrays(options: Sequence[Sequence[tuple[int, int]]]) -> tuple[list[Ints], list[Ints]]:
    """Return the tokens and the targets of every place."""
    tables = [np.array(row, dtype=np.int64).reshape(-1, 2) for row in options]
    return [table[:, 0] for table in tables], [table[:, 1] for table in tables]


class _Follower:
    """Builds the graph of one text from the bytes of tokens."""

    def __init__(self, text: str, spellings: Spellings, ends: frozenset[int]) -> None:
        self._text, self._spellings, self._ends = text, spellings, ends
        self._steps: dict[_Place, list[tuple[int, _Place]]] = {}

    def build(self) -> TextDraws:
        """Return the graph; that of a text with white space at an end has no way through."""
        queue, numbers = [_Place(0)], {_Place(0): 0}
        options: list[list[tuple[int, int]]] = []
        for place in queue:  # it grows meanwhile
            found = sorted(self._list_tokens(place), key=lambda option: -option[0])
            for after in dict.fromkeys(after for _, _, after in found if after not in numbers):
                numbers[after] = len(queue)
                queue.append(after)
            options.append(
                [(token, ENDED if token in self._ends else numbers[after]) for _, token, after in found]
            )
        return TextDraws(*_as_arrays(options), np.array([self._is_whole(place) for place in queue]))

    def _is_whole(self, place: _Place) -> bool:
        """Return whether the text is written if nothing follows; bytes that wait are broken then."""
        rest = self._text[place.done :]
        return rest == (BROKEN if place.waiting else "") and self._text == self._text.strip()

    def _list_tokens(self, place: _Place) -> Iterator[tuple[int, int, _Place]]:
        """Yield the tokens that may follow, with the number of their bytes and where they lead."""
        ordered = self._spellings.ordered
        stack = [(b"", 0, len(ordered), place)]
        found = [(0, token, place) for token in self._spellings.silent]
        while stack:
            start, low, high, reached = stack.pop()
            if low < high and ordered[low] == start:
                found += [(len(start), token, reached) for token in self._spellings.tokens[low]]
                low += 1
            if low == high:
                continue
            for byte, after in self._list_steps(reached):
                longer = start + bytes([byte])
                first = bisect_left(ordered, longer, low, high)
                last = high if byte == 0xFF else bisect_left(ordered, start + bytes([byte + 1]), first, high)
                if first < last:
                    stack.append((longer, first, last, after))
        for size, token, after in found:
            if token not in self._ends or self._is_whole(after):
                yield size, token, after

    def _list_steps(self, place: _Place) -> list[tuple[int, _Place]]:
        """Return the bytes that may follow, and where they lead."""
        if place not in self._steps:
            allowed: Iterable[int] = range(256)
            if 0 < place.done < len(self._text) and self._text[place.done] != BROKEN:
                allowed = _spell(self._text[place.done])[len(place.waiting) :][:1]
            steps = ((byte, self._step(place, byte)) for byte in allowed)
            self._steps[place] = [(byte, after) for byte, after in steps if after is not None]
        return self._steps[place]

    def _step(self, place: _Place, byte: int) -> _Place | None:
        """Return where a byte leads; None if no draw that goes on from there is written as the text."""
        done = place.done
        characters, waiting = _read_byte(place.waiting, byte)
        for character in characters:
            if done < len(self._text) and character == self._text[done]:
                done += 1
            elif not (done in (0, len(self._text)) and character.isspace()):
                return None
        following = self._text[done : done + 1]
        if _spell(following).startswith(waiting) or (
            done in (0, len(self._text)) and waiting in _list_starts_of_spaces()
        ):
            return _Place(done, waiting)
        return _Place(done, _shorten(waiting)) if following == BROKEN else None


def _spell(character: str) -> bytes:
    return character.encode("utf-8", "surrogatepass")  # nothing is ever written as half of a surrogate


@lru_cache(maxsize=1)
def _list_starts_of_spaces() -> frozenset[bytes]:
    """Return the bytes that white space may begin with."""
    spaces = [_spell(chr(code)) for code in range(0x110000) if chr(code).isspace()]
    return frozenset(space[:length] for space in spaces for length in range(len(space)))


@lru_cache(maxsize=1 << 14)
def _read_byte(waiting: bytes, byte: int) -> tuple[str, bytes]:
    """Return the characters that are whole after one more byte, and the bytes that wait then."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    characters, rest = decoder.decode(waiting + bytes([byte])), decoder.getstate()[0]
    if rest[:1] == b"\xed" and rest[1:2] >= b"\xa0":  # half of a surrogate: it waits, but never gets whole
        return characters + rest.decode("utf-8", "replace"), b""
    return characters, rest


def _shorten(waiting: bytes) -> bytes:
    """Return other bytes that wait for the same, of a character that the text does not have here.

    They only matter by what would break them off, and that keeps the places of a U+FFFD few.
    """
    if len(waiting) == 1:
        return _AS_LONG[waiting[0]]
    missing = (3 if waiting[0] < 0xF0 else 4) - len(waiting)
    return b"\xc3" if missing == 1 else b"\xe4"
