"""Chunks on their way to workers: what they share travels once.

Large things that many chunks share (the pool of texts, practice texts, own rewrites) and objects of this
process (a user's function, a plug-in that was built here) are put on a shelf. They travel once to every
worker, and chunks name them by a number. Only such objects are pickled, by cloudpickle; columns never are.
"""

import pickle
from collections.abc import Callable, Mapping
from typing import Any

from tedaudit.batches import OwnRewrites
from tedaudit.errors import PluginError
from tedaudit.execution.wire import pack, unpack

_KEPT = 16  # things on the shelf that no chunk in flight needs


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
