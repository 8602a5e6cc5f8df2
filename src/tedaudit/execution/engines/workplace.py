"""The other end of an engine: does work that arrives as bytes, and answers with bytes.

`python -m tedaudit.worker --serve` reads messages from standard input and ends when that ends, so that no
worker outlives the run that started it. Whatever code prints goes to standard error: standard output is for
answers alone. An error is an answer too. On the machines of a cluster an actor does the same, and checks that
its plug-ins are those of the run.
"""

import io
import os
import pickle
import queue
import struct
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from tedaudit.errors import ModelError, TedauditError
from tedaudit.execution.doing import do
from tedaudit.execution.units import Work
from tedaudit.execution.wire import Failure, explain_difference, pack, unpack, unpack_thing
from tedaudit.execution.work import BATCH, Bench
from tedaudit.plugins.registry import Reference, determinants
from tedaudit.version import __version__

MESSAGE = struct.Struct(">BQQ")  # what it is, a number, and how many bytes follow
OPEN, SHELVE, DROP, PERFORM, READY = range(5)
"""Batch size in the number; a thing for the shelf; one that is not needed any more; some work; at work."""


class Workplace:
    """A bench and a shelf: what a worker has."""

    def __init__(self, batch_size: int = BATCH, threads: int = 1) -> None:
        self.bench, self._threads = Bench(batch_size), threads
        self._shelf: dict[int, Any] = {}
        self._broken: dict[int, TedauditError] = {}  # things that could not be loaded here

    def shelve(self, number: int, parcel: Any) -> None:
        """Take something that work will name by its number."""
        try:
            self._shelf[number] = unpack_thing(parcel, self._shelf)
        except TedauditError as error:
            self._broken[number] = error

    def has(self, number: int) -> bool:
        """Return whether a thing is there."""
        return number in self._shelf or number in self._broken

    def drop(self, number: int) -> None:
        """Forget something."""
        self._shelf.pop(number, None)
        self._broken.pop(number, None)

    def perform(self, parcel: Any, check: Callable[[Work], None] | None = None) -> Iterator[bytes]:
        """Do some work; yield its results, the last of which may be the error that it ended with."""
        limit_threads(self._threads)
        if self._broken:
            yield pack(describe_failure(next(iter(self._broken.values()))))
            return
        try:
            work = unpack(parcel, self._shelf)
            if check is not None:
                check(work)
            yield from map(pack, do(work, self.bench))
        except GeneratorExit:  # nobody wants more of it
            raise
        except BaseException as error:
            yield pack(describe_failure(error))


class Actor:
    """A workplace on a machine of a cluster; its methods are called by name."""

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
    ) -> list[bytes] | None:
        """Do some work with what it needs from the shelf; None if something is not there."""
        for number, thing in zip(numbers, things, strict=True):
            self._place.shelve(number, bytearray(thing))
        if not all(map(self._place.has, needs)):
            return None
        return list(self._place.perform(bytearray(parcel), lambda work: self._check(work, known)))

    def _check(self, work: Work, known: Mapping[str, Any]) -> None:
        """Refuse a plug-in that is not here what it is where the run is: rows would get a wrong key."""
        for reference in work.references:
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


def limit_threads(threads: int) -> None:
    """Compute with so many threads if torch is there: the other cores belong to other workers."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() != threads:
        torch.set_num_threads(threads)


def describe_failure(error: BaseException) -> Failure:
    """Return an error as a value."""
    try:
        pickled = pickle.dumps(error)
        if str(pickle.loads(pickled)) != str(error):  # noqa: S301 - made in the line above
            pickled = b""
    except Exception:  # what no pickle can hold is told in words
        pickled = b""
    trace = "".join(traceback.format_exception(error))
    return Failure(pickled, type(error).__name__, str(error), trace)


def restore_error(failure: Failure) -> BaseException:
    """Return the error that a failure describes: of the same class, if there is such a class here."""
    error: BaseException = RuntimeError(f"{failure.kind}: {failure.message}")
    if failure.pickled:
        with suppress(Exception):  # a class that is known to the worker alone
            error = pickle.loads(failure.pickled)  # noqa: S301 - from a worker of this run
    error.add_note(f"It was raised in a worker:\n{failure.trace}")
    return error


def serve() -> None:
    """Do what arrives at standard input until it ends."""
    source, sink = _take_over_streams()
    arrived: queue.SimpleQueue[tuple[int, int, bytearray]] = queue.SimpleQueue()
    send(sink, READY)
    threading.Thread(target=_listen, args=(source, arrived), daemon=True).start()
    workplace = Workplace()
    while True:
        what, number, parcel = arrived.get()
        if what == OPEN:
            workplace = Workplace(number)
        elif what == SHELVE:
            workplace.shelve(number, parcel)
        elif what == DROP:
            workplace.drop(number)
        else:
            for result in workplace.perform(parcel):
                try:
                    send(sink, PERFORM, number, result)
                except OSError:  # nobody is there to read it
                    os._exit(0)


def send(sink: IO[bytes], what: int, number: int = 0, parcel: bytes = b"") -> None:
    """Write a message."""
    sink.write(MESSAGE.pack(what, number, len(parcel)))
    sink.write(parcel)
    sink.flush()


def receive(source: IO[bytes]) -> tuple[int, int, bytearray] | None:
    """Read a message; None if there is none any more, or only part of one."""
    head = source.read(MESSAGE.size)
    if len(head) < MESSAGE.size:
        return None
    what, number, size = MESSAGE.unpack(head)
    parcel = bytearray(size)
    done = 0
    while done < size:
        read = source.readinto(memoryview(parcel)[done:])  # type: ignore[attr-defined]
        if not read:
            return None
        done += read
    return what, number, parcel


def _listen(source: IO[bytes], arrived: "queue.SimpleQueue[tuple[int, int, bytearray]]") -> None:
    """Take in messages while work is done; end the process with its input, whatever it is doing."""
    while (message := receive(source)) is not None:
        arrived.put(message)
    os._exit(0)


def _take_over_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Return the pipes to the run, under numbers that code in this process and its children does not meet."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # the process ends without notice
    return source, sink
