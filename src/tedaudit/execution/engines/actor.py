"""What lives on the machines of a cluster: a workplace that is called by name, and checks its plug-ins."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tedaudit.errors import ModelError
from tedaudit.execution.chunks import Chunk
from tedaudit.execution.engines.serving import Workplace
from tedaudit.execution.wire import explain_difference
from tedaudit.registry import Reference, determinants
from tedaudit.version import __version__


class Actor:
    """Does chunks, one after the other."""

    def __init__(self, batch_size: int, threads: int, path: Sequence[str]) -> None:
        self._place = Workplace(batch_size, threads)
        sys.path += [entry for entry in path if entry not in sys.path and Path(entry).exists()]
        self._checked: set[str] = set()

    def greet(self) -> str:
        """Say that it is there, and which version it has."""
        return __version__

    def drop(self, number: int) -> None:
        """Forget something from the shelf."""
        self._place.drop(number)

    def perform(
        self,
        parcel: bytes,
        needs: Sequence[int],
        known: Mapping[str, Any],
        numbers: Sequence[int],
        *things: bytes,
    ) -> bytes | None:
        """Do a chunk with what it needs from the shelf; None if something is not there."""
        for number, thing in zip(numbers, things, strict=True):
            self._place.shelve(number, bytearray(thing))
        if not all(map(self._place.has, needs)):
            return None
        return self._place.perform(bytearray(parcel), lambda chunk: self._check(chunk, known))

    def _check(self, chunk: Chunk, known: Mapping[str, Any]) -> None:
        """Refuse a plug-in that is not here what it is where the run is: rows would get a wrong key."""
        for reference in chunk.references:
            wanted = known.get(reference.identity)
            if wanted is None or reference.identity in self._checked:
                continue
            difference = explain_difference(wanted, determinants(self._place.bench.plugin(reference)))
            if difference:
                raise ModelError(
                    f"'{reference.name}' is not the same on every machine of the cluster ({difference}). "
                    "Install the same versions and the same models everywhere."
                )
            self._checked.add(reference.identity)


def describe_known(reference: Reference, plugin: Any) -> dict[str, Any] | None:
    """Return what determines a plug-in that other machines make by its name; None if it travels itself."""
    return None if plugin is None or not reference.is_named else determinants(plugin)
