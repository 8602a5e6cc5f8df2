"""The one format in which work and results travel: columns as they lie in memory, and what binds them.

The body of a message is a header of plain values and then the columns. Pipes and clusters carry bodies,
between processes of one run. Large things that much work shares (the pool of texts, practice texts, own
rewrites) and objects of this process (a user's function, a plug-in that was built here) travel once to every
worker, and work names them by a number. Only such objects are pickled, by cloudpickle; columns never are.

A file, which anybody may have changed, mixed up or made elsewhere, is sealed:

    magic          8 bytes
    version        4 bytes
    lengths        4 and 8 bytes: of the determinants and of the body
    unit          32 bytes: the digest of the chunk that this is the result of; zeros in a chunk
    determinants  JSON: what determines every plug-in, its weights included, where this was written; in a
                  result also the device that it was made on
    body          begins at a multiple of 16
    digest        32 bytes: SHA-256 of all before it

Numbers are big-endian. From a file only the kinds that belong there are read, with columns of numbers whose
sizes fit the bytes that are there; nothing is unpickled. A digest shows damage, mix-ups and careless edits.
It is no signature: who edits a file and computes it anew is not noticed.
"""

import hashlib
import json
import math
import os
import pickle
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from tedaudit.batches import Draws, Guesses, Observations, OwnRewrites, PairLosses, Ragged, Rewrites
from tedaudit.errors import PluginError, RunDirectoryError, quote
from tedaudit.execution.units import (
    Chunk,
    Finished,
    GuessChunk,
    Guessing,
    OwnTable,
    RewriteChunk,
    Rewriting,
    SealedPart,
    Stored,
    Unit,
)
from tedaudit.nominal import Nominal
from tedaudit.paths import describe_os_error
from tedaudit.plans.trials import Wanted
from tedaudit.plugins.registry import Reference
from tedaudit.seeding import LateKeys
from tedaudit.types import Plan

_SIZES = struct.Struct(">QQ")  # of the header, and of all columns
_STEP = 16  # columns begin at multiples of it, as numpy likes them
_PLAIN = (bool, int, float, str, type(None))
_SHARED = ("pool", "practice")  # fields that hold texts of many chunks
_DTYPES = frozenset(
    np.dtype(f"{order}{code}").str
    for order in "<>"
    for code in ("?", *np.typecodes["AllInteger"], *np.typecodes["Float"])
)  # of columns: numbers, never objects
_MAGIC, _VERSION = b"\x89tedwork", 1
_HEAD = struct.Struct(">8sIIQ32s")  # magic, version, lengths of determinants and body, unit
_DIGEST = 32  # bytes of SHA-256
_NO_UNIT = bytes(_DIGEST)
_MACHINE = "machine"  # beside the plug-ins that determine a result
_WRITER = "Delete it, or the whole folder: `tedaudit run ... --work FOLDER` writes it again."
_WORKER = (
    "Delete it, or all results if there are more such: `python -m tedaudit.worker FOLDER` makes them again."
)
Determinants = Mapping[str, Mapping[str, Any]]  # of plug-ins, by the identity of their reference


@dataclass(frozen=True)
class Failure:
    """An error as a value: the exception itself if it can be pickled, and how it reads.

    It travels through pipes of this run only: no file holds one.
    """

    pickled: bytes
    kind: str
    message: str
    trace: str


Kinds = Mapping[str, type[Any]]  # by name


def _name_kinds(*kinds: type[Any]) -> Kinds:
    return {kind.__name__: kind for kind in kinds}


_CHUNKS = _name_kinds(RewriteChunk, GuessChunk, Reference, Draws, Observations, Rewrites, Ragged, OwnRewrites)
_RESULTS = _name_kinds(Rewrites, Guesses, PairLosses, Ragged)
_UNITS = _name_kinds(Unit, Plan, Wanted, Rewriting, Guessing, OwnTable, Stored, SealedPart, Finished)
_KINDS = {**_CHUNKS, **_RESULTS, **_UNITS, **_name_kinds(Failure)}


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


def unpack(
    parcel: bytes | bytearray | memoryview, shelf: Mapping[int, Any] | None = None, kinds: Kinds = _KINDS
) -> Any:
    """Return what was packed; its columns lie in the bytes given. A damaged parcel is a ValueError.

    Nothing is made that the bytes which are there do not fill.
    """
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
    return _Unpacking(columns, shelf or {}, kinds, len(view)).unpack(packed)


class _Unpacking:
    """One parcel that is opened."""

    def __init__(
        self, columns: list[memoryview], shelf: Mapping[int, Any], kinds: Kinds, longest: int
    ) -> None:
        self._columns, self._shelf, self._kinds, self._longest = columns, shelf, kinds, longest

    def unpack(self, packed: Any) -> Any:
        """Return the value that was packed."""
        if not isinstance(packed, dict):
            return packed
        if "kind" in packed:
            parts = {name: self.unpack(part) for name, part in packed["fields"].items()}
            return self._kinds[packed["kind"]](**parts)
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
        column = self._columns[number]
        if dtype not in _DTYPES:
            raise ValueError(f"A column cannot hold values of the type {quote(dtype)}.")
        if not all(type(n) is int and 0 <= n <= self._longest for n in shape):
            raise ValueError("A column has more rows than the message has bytes.")
        if math.prod(shape) * np.dtype(dtype).itemsize != len(column):
            raise ValueError("A column has another size than it says.")
        # numpy takes no buffer of no bytes
        return np.frombuffer(column, dtype).reshape(shape) if len(column) else np.empty(shape, dtype)

    def _unpack_list(self, held: Any) -> list[Any]:
        if isinstance(held, int):  # texts
            texts: list[str] = json.loads(bytes(self._columns[held]))
            return texts
        return [self.unpack(part) for part in held]


# --- what travels once

_KEPT = 16  # things on the shelf that no work in flight needs


class Shelf:
    """What travels once to every worker, by number. Numbers are never used again, and grow."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}  # by the identity of the thing, which is kept here
        self._things: dict[int, tuple[Any, frozenset[int]]] = {}  # with what it needs itself
        self._parcels: dict[int, bytes] = {}
        self._last = 0

    def __contains__(self, number: int) -> bool:
        return number in self._things

    def pack(self, work: Any) -> tuple[bytes, frozenset[int]]:
        """Return work as bytes, and the numbers of what it needs from the shelf."""
        needs: set[int] = set()

        def share(thing: Any) -> int:
            number = self._put(thing)
            needs.update(self._things[number][1], {number})
            return number

        return pack(work, share), frozenset(needs)

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


# --- what stands around a body


class DamageError(Exception):
    """A file that is not what it should be; how it reads after the file's name."""


@dataclass(frozen=True)
class Sealed:
    """A message that is whole."""

    unit: bytes
    determinants: Determinants
    body: memoryview
    digest: bytes


def seal(body: bytes, determinants: Determinants, unit: bytes = _NO_UNIT) -> tuple[bytes, ...]:
    """Return the parts of a message, one after the other; the last is its digest."""
    told = json.dumps(determinants, sort_keys=True, default=str).encode("ascii")
    told += b" " * (-(_HEAD.size + len(told)) % _STEP)
    parts = (_HEAD.pack(_MAGIC, _VERSION, len(told), len(body), unit), told, body)
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return (*parts, digest.digest())


def unseal(message: bytearray) -> Sealed:
    """Return what a message holds; a DamageError if it is not as it was written."""
    if not message:
        raise DamageError("is empty")
    if not message.startswith(_MAGIC[: len(message)]):
        raise DamageError(
            "does not begin as a file of work does: it is damaged, or was written by an older tedaudit, "
            "whose files are not read any more"
        )
    if len(message) < _HEAD.size + _DIGEST:
        raise DamageError("is cut off")
    _, version, told, length, unit = _HEAD.unpack_from(message)
    if version != _VERSION:
        raise DamageError(
            f"has version {version} of its format, and this tedaudit reads version {_VERSION}: it is "
            "damaged, or was written by another tedaudit"
        )
    view, start = memoryview(message), _HEAD.size + told
    end = start + length
    if len(view) != end + _DIGEST:
        raise DamageError(f"is cut off or damaged: it has {len(view):,} bytes and says {end + _DIGEST:,}")
    if hashlib.sha256(view[:end]).digest() != view[end:]:
        raise DamageError("is damaged or was edited: its checksum does not fit")
    determinants = {name: dict(known) for name, known in json.loads(bytes(view[_HEAD.size : start])).items()}
    return Sealed(unit, determinants, view[start:end], bytes(view[end:]))


# --- files of work


@dataclass(frozen=True)
class FiledChunk:
    """A chunk as a file holds it: its digest, and what determined its plug-ins where it was written."""

    chunk: Chunk
    determinants: Determinants
    digest: bytes


def seal_chunk(chunk: Chunk, determinants: Determinants) -> tuple[bytes, ...]:
    """Return a chunk as it is written to a file: with the texts of its draws, and no others."""
    for reference in chunk.references:
        if not reference.is_named:
            raise PluginError(
                f"'{reference.name}' is an object of this process and cannot travel to another one; "
                "name it as py:package.module:name instead."
            )
    if isinstance(chunk, RewriteChunk):
        draws = chunk.draws
        used, text = np.unique(draws.text, return_inverse=True)
        pool = tuple(draws.pool[i] for i in used.tolist())
        chunk = replace(chunk, draws=Draws(pool, text.astype(np.int32), draws.epsilons, draws.keys))
    try:
        return seal(pack(chunk), determinants)
    except TypeError as error:
        raise PluginError(f"Work for '{chunk.plugin.name}' cannot be written to a file: {error}") from error


def write_chunk(path: Path, chunk: Chunk, determinants: Determinants) -> None:
    """Write a chunk, with what determines its plug-ins here."""
    write_sealed(path, seal_chunk(chunk, determinants))


def read_chunk(path: Path) -> FiledChunk:
    """Return the chunk in a file; one that is damaged is named."""
    with _damage_named(path, _WRITER):
        sealed = unseal(_read(path))
        chunk = unpack(sealed.body, kinds=_CHUNKS)
        if not isinstance(chunk, RewriteChunk | GuessChunk):
            raise DamageError("holds no work")
        rows = chunk.draws if isinstance(chunk, RewriteChunk) else chunk.observations
        if not isinstance(rows, Draws | Observations) or not all(r.is_named for r in chunk.references):
            raise DamageError("holds work that cannot be done")
        return FiledChunk(chunk, sealed.determinants, sealed.digest)


def write_result(
    path: Path, result: Rewrites | Guesses, unit: FiledChunk, determinants: Determinants
) -> None:
    """Write the outcome of a chunk, with what determines the plug-ins that made it, and where it was made."""
    told = {**determinants, _MACHINE: {"device": find_device()}}
    write_sealed(path, seal(pack(result), told, unit.digest))


def find_device() -> str:
    """Return what models compute on here unless they are told: CUDA, if PyTorch knows of it."""
    torch = sys.modules.get("torch")
    if torch is None:
        return "cpu"
    return "cuda" if torch.cuda.is_available() else "cpu"


def read_result(path: Path, unit: FiledChunk, determinants: Determinants) -> tuple[Rewrites | Guesses, str]:
    """Return the outcome of a chunk and the device that made it, "" if it does not say.

    One that is damaged, of another chunk or of other plug-ins is named.
    """
    wanted = Rewrites if isinstance(unit.chunk, RewriteChunk) else Guesses
    with _damage_named(path, _WORKER):
        sealed = unseal(_read(path))
        if sealed.unit != unit.digest:
            raise DamageError(
                "is not the result of the work beside it: files were mixed up, or one of both was replaced"
            )
        other = find_other(unit.chunk, sealed.determinants, determinants)
        if other:
            raise DamageError(f"was made by another {other}")
        result = unpack(sealed.body, kinds=_RESULTS)
        if not isinstance(result, wanted) or not _holds_texts(result):
            raise DamageError("holds no result")
        if len(result) != len(unit.chunk):
            raise DamageError(f"has {len(result):,} results for {len(unit.chunk):,} items")
        return result, str(sealed.determinants.get(_MACHINE, {}).get("device", ""))


def _holds_texts(result: Rewrites | Guesses) -> bool:
    return isinstance(result, Guesses) or all(type(text) is str for text in (*result.texts, *result.errors))


def find_other(chunk: Chunk, there: Determinants, here: Determinants) -> str:
    """Return which plug-in of a chunk is not the same in two places, and how they differ; "" if none."""
    for reference in chunk.references:
        difference = explain_difference(*(known.get(reference.identity, {}) for known in (there, here)))
        if difference:
            return f"'{reference.name}' ({difference})"
    return ""


def explain_difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """Return what differs between a plug-in of another place and ours, with both values; "" if nothing."""
    spelled = [
        {name: json.dumps(known[name], sort_keys=True, default=str) for name in known}
        for known in (there, here)
    ]
    differing = [
        f"{name}: {' there, '.join(quote(known.get(name, '(nothing)')) for known in (there, here))} here"
        for name in sorted({*there, *here})
        if spelled[0].get(name) != spelled[1].get(name)
    ]
    return "; ".join(differing)


def write_sealed(path: Path, parts: tuple[bytes, ...]) -> None:
    """Write a file that only its owner may read: it holds texts. It is there as a whole or not at all."""
    scratch = path.with_name(f"{path.name}.part")
    try:
        scratch.unlink(missing_ok=True)
        with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.writelines(parts)
        scratch.replace(path)
    except OSError as error:
        raise RunDirectoryError(
            f"'{path}' cannot be written ({describe_os_error(error)}). Make room or name another folder, and "
            "run the same command again."
        ) from error


def _read(path: Path) -> bytearray:
    with path.open("rb") as file:
        message = bytearray(os.fstat(file.fileno()).st_size)
        del message[file.readinto(message) :]
        return message


@contextmanager
def _damage_named(path: Path, remedy: str) -> Iterator[None]:
    """Name a file that is not what it should be, and what to do."""
    try:
        yield
    except OSError as error:
        raise RunDirectoryError(f"'{path}' cannot be read ({describe_os_error(error)}).") from error
    except Exception as error:  # whatever bytes that were made up lead to
        reason = error if isinstance(error, DamageError) else f"is damaged ({type(error).__name__}: {error})"
        raise RunDirectoryError(f"'{path}' {reason}. {remedy}") from error
