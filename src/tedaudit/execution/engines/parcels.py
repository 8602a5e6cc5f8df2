"""Chunks and results as bytes: one header of plain values, and the columns as they lie in memory.

Large things that many chunks share (the pool of texts, practice texts, own rewrites) and objects of this
process (a user's function, a plug-in that was built here) are put on a shelf. They travel once to every
worker, and chunks name them by a number. Only such objects are pickled, by cloudpickle; columns never are.
"""

import json
import pickle
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tedaudit.batches import Draws, Guesses, Observations, OwnRewrites, PairLosses, Ragged, Rewrites
from tedaudit.errors import PluginError
from tedaudit.execution.chunks import GuessChunk, RewriteChunk
from tedaudit.nominal import Nominal
from tedaudit.registry import Reference
from tedaudit.seeding import LateKeys

_SIZES = struct.Struct(">QQ")  # of the header, and of all columns
_STEP = 16  # columns begin at multiples of it, as numpy likes them
_PLAIN = (bool, int, float, str, type(None))
_SHARED = ("pool", "practice")  # fields that hold texts of many chunks
_KEPT = 16  # things on the shelf that no chunk in flight needs


@dataclass(frozen=True)
class Failure:
    """An error as a value: the exception itself if it can be pickled, and how it reads."""

    pickled: bytes
    kind: str
    message: str
    trace: str


_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        Draws, Rewrites, Observations, Guesses, PairLosses, Ragged, OwnRewrites, Reference, RewriteChunk,
        GuessChunk, Failure,
    )
}  # fmt: skip


class _Packing:
    """One parcel in the making."""

    def __init__(self, share: Callable[[Any], int] | None) -> None:
        self._share, self.columns = share, list[Any]()

    def pack(self, value: Any) -> Any:
        """Return a value as JSON holds it; columns are set aside."""
        if type(value) in _PLAIN:
            return value
        if type(value) in _KINDS.values():
            parts = {f.name: self._pack_field(f.name, getattr(value, f.name)) for f in fields(value)}
            return {"kind": type(value).__name__, "fields": parts}
        for kind, pack_kind in self._ways:
            if isinstance(value, kind):
                return pack_kind(value)
        return self._pack_shared(value)

    @property
    def _ways(self) -> tuple[tuple[Any, Callable[[Any], Any]], ...]:
        return (
            (Nominal, lambda value: {"nominal": value.json}),
            (np.ndarray, self._pack_array),
            (LateKeys, lambda keys: self._pack_array(np.asarray(keys))),
            (bytes, lambda value: {"bytes": self._add(value)}),
            (list | tuple, self._pack_list),
            (Mapping, lambda value: {"map": [[self.pack(key), self.pack(value[key])] for key in value]}),
        )

    def _pack_array(self, array: Any) -> Any:
        return {"array": [self._add(np.ascontiguousarray(array)), array.dtype.str, list(array.shape)]}

    def _pack_field(self, name: str, value: Any) -> Any:
        is_shared = (name in _SHARED and len(value)) or isinstance(value, OwnRewrites)
        return self._pack_shared(value) if is_shared and self._share is not None else self.pack(value)

    def _pack_shared(self, value: Any) -> Any:
        if self._share is None:
            raise TypeError(f"A {type(value).__name__} cannot be packed.")
        return {"shared": self._share(value)}

    def _pack_list(self, values: list[Any] | tuple[Any, ...]) -> Any:
        what = "list" if isinstance(values, list) else "tuple"
        if values and all(type(value) is str for value in values):
            # as ASCII, so that halves of surrogate pairs survive
            return {what: self._add(json.dumps(values).encode("ascii"))}
        return {what: [self.pack(value) for value in values]}

    def _add(self, column: Any) -> int:
        self.columns.append(column)
        return len(self.columns) - 1


def pack(value: Any, share: Callable[[Any], int] | None = None) -> bytes:
    """Return a value as bytes; `share` takes what is not to travel with it and returns its number."""
    packing = _Packing(share)
    packed = packing.pack(value)
    views = [_as_bytes(column) for column in packing.columns]
    header = json.dumps([packed, [len(view) for view in views]]).encode("ascii")
    header += b" " * (-(len(header) + _SIZES.size) % _STEP)
    padded = [part for view in views for part in (view, b"\0" * (-len(view) % _STEP))]
    return b"".join([_SIZES.pack(len(header), sum(map(len, padded))), header, *padded])


def _as_bytes(column: Any) -> Any:
    return column if isinstance(column, bytes) else memoryview(column.reshape(-1).view(np.uint8))


def unpack(parcel: bytes | bytearray | memoryview, shelf: Mapping[int, Any] | None = None) -> Any:
    """Return what was packed; its columns lie in the bytes given. A damaged parcel is a ValueError."""
    view = memoryview(parcel)
    header, body = _SIZES.unpack_from(view)
    start = _SIZES.size + header
    if len(view) != start + body:
        raise ValueError("A message has another length than it says.")
    packed, lengths = json.loads(bytes(view[_SIZES.size : start]))
    columns = []
    for length in lengths:
        columns.append(view[start : start + length])
        start += length + -length % _STEP
    return _Unpacking(columns, shelf or {}).unpack(packed)


class _Unpacking:
    """One parcel that is opened."""

    def __init__(self, columns: list[memoryview], shelf: Mapping[int, Any]) -> None:
        self._columns, self._shelf = columns, shelf

    def unpack(self, packed: Any) -> Any:
        """Return the value that was packed."""
        if not isinstance(packed, dict):
            return packed
        if "kind" in packed:
            parts = {name: self.unpack(part) for name, part in packed["fields"].items()}
            return _KINDS[packed["kind"]](**parts)
        [(what, held)] = packed.items()
        ways: dict[str, Callable[[Any], Any]] = {
            "array": self._unpack_array,
            "map": lambda pairs: {self.unpack(key): self.unpack(part) for key, part in pairs},
            "list": self._unpack_list,
            "tuple": lambda parts: tuple(self._unpack_list(parts)),
            "bytes": lambda number: bytes(self._columns[number]),
            "nominal": Nominal.of,
            "shared": self._shelf.__getitem__,
        }
        return ways[what](held)

    def _unpack_array(self, held: Any) -> Any:
        number, dtype, shape = held
        column = self._columns[number]  # numpy takes no buffer of no bytes
        return np.frombuffer(column, dtype).reshape(shape) if len(column) else np.empty(shape, dtype)

    def _unpack_list(self, held: Any) -> list[Any]:
        if isinstance(held, int):  # texts
            texts: list[str] = json.loads(bytes(self._columns[held]))
            return texts
        return [self.unpack(part) for part in held]


class Shelf:
    """What travels once to every worker, by number. Numbers are never used again, and grow."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}  # by the identity of the thing, which is kept here
        self._things: dict[int, tuple[Any, frozenset[int]]] = {}  # with what it needs itself
        self._parcels: dict[int, bytes] = {}
        self._last = 0

    def __contains__(self, number: int) -> bool:
        return number in self._things

    def pack(self, chunk: Any) -> tuple[bytes, frozenset[int]]:
        """Return a chunk as bytes, and the numbers of what it needs from the shelf."""
        needs: set[int] = set()

        def share(thing: Any) -> int:
            number = self._put(thing)
            needs.update(self._things[number][1], {number})
            return number

        return pack(chunk, share), frozenset(needs)

    def parcel(self, number: int) -> bytes:
        """Return a thing of the shelf as bytes; what it needs itself has a lower number."""
        if number not in self._parcels:
            self._parcels[number] = pack_thing(self._things[number][0], self._put)
        return self._parcels[number]

    def forget(self, needed: frozenset[int]) -> list[int]:
        """Drop the oldest things that nothing needs, if there are many; return their numbers."""
        needed = needed.union(*(needs for _, needs in self._things.values()))
        spare = [number for number in self._things if number not in needed]
        dropped = spare[: max(0, len(spare) - _KEPT)]
        for number in dropped:
            thing, _ = self._things.pop(number)
            del self._numbers[id(thing)]
            self._parcels.pop(number, None)
        return dropped

    def _put(self, thing: Any) -> int:
        number = self._numbers.get(id(thing))
        if number is None:
            needs = frozenset({self._put(thing.pool)}) if isinstance(thing, OwnRewrites) else frozenset()
            self._last += 1
            number = self._numbers[id(thing)] = self._last
            self._things[number] = thing, needs
            if not _is_plain(thing):
                self.parcel(number)  # one that cannot travel is refused here, by name
        return number


def _is_plain(thing: Any) -> bool:
    return isinstance(thing, OwnRewrites | list | tuple)


def pack_thing(thing: Any, share: Callable[[Any], int]) -> bytes:
    """Return texts or own rewrites as columns, and any other object as cloudpickle writes it."""
    if _is_plain(thing):
        return pack(thing, share)
    import cloudpickle

    try:
        return pack(cloudpickle.dumps(thing))
    except Exception as error:  # whatever a class raises that is no file, lock or connection
        raise PluginError(explain_stay(thing, error)) from error


def unpack_thing(parcel: bytes | bytearray | memoryview, shelf: Mapping[int, Any]) -> Any:
    """Return what `pack_thing` packed; PluginError if an object cannot be loaded here."""
    thing = unpack(parcel, shelf)
    if not isinstance(thing, bytes):
        return thing
    try:
        return pickle.loads(thing)  # noqa: S301 - from the process that started this one
    except Exception as error:
        raise PluginError(explain_stay("An object of the run", error)) from error


def explain_stay(thing: Any, error: Exception) -> str:
    """Return in one line that an object cannot leave its process, and what to do."""
    named = getattr(thing, "__qualname__", None) or type(thing).__qualname__
    name = thing if isinstance(thing, str) else f"'{named}'"
    return (
        f"{name} cannot travel to another process ({type(error).__name__}: {error}). Use the engine "
        "`serial`, or name it as py:package.module:name, so that every worker makes its own."
    )
