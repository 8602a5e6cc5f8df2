"""A running program and its three pipes: nobody who talks to it waits longer than a deadline.

Standard input is written while standard output and standard error are read, so that no full pipe stops
either side. The program gets a session of its own: Ctrl-C reaches us, and we end it with all that it started.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tedaudit.errors import PluginError
from tedaudit.models.calling import is_infrastructure

LONGEST_LINE = 64 * 2**20  # bytes of an answer; a program that never ends a line must not fill the memory
_TAIL = 4_000  # bytes of standard error that are kept
_TICK = 0.2  # seconds between two looks at whether the program still runs
_GRACE = 2.0  # seconds that a program has to end by itself once its input has ended
NOTICE = 60.0  # seconds without an answer after which that is told, and again after as many
_CHUNK = 1 << 16


class ProgramError(Exception):
    """A program that gave no answer; `code` says how, and is the code of a failed rewrite."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class ProgramDiedError(ProgramError):
    """It ended before it answered; `status` as Python's subprocess has it: below 0 for a signal."""

    def __init__(self, status: int) -> None:
        how = f"was ended by {_name_signal(-status)}" if status < 0 else f"ended with exit status {status}"
        super().__init__(f"signal-{_name_signal(-status)}" if status < 0 else f"exit-{status}", how)
        self.status = status


class Program:
    """A program that was started; `close` ends it, and so does the end of this process."""

    def __init__(
        self, arguments: Sequence[str], folder: str = "", environment: Mapping[str, str] | None = None
    ) -> None:
        self.tell_waiting: Callable[[float, float], None] = lambda _waited, _limit: None
        """Called every so often while there is no answer: with the seconds waited, and the limit."""
        self._process = start(arguments, folder, environment)
        self._read, self._tail = bytearray(), bytearray()
        self._waiting = memoryview(b"")  # what is still to be written
        self._selector = selectors.DefaultSelector()
        self.has_answered = False
        self._in, self._out, self._err = _unblock(self._process)
        for pipe in (self._out, self._err):
            self._selector.register(pipe, selectors.EVENT_READ)
        self._end = weakref.finalize(self, _end, self._process, self._selector, os.getpid())

    @property
    def tail(self) -> str:
        """The end of what it wrote to standard error."""
        return bytes(self._tail).decode("utf-8", "replace").strip()

    def ask(self, line: bytes, seconds: float) -> bytes:
        """Write a line and return the next one that the program writes, without its end."""
        self._write(line + b"\n")
        return self.listen(seconds)

    def listen(self, seconds: float) -> bytes:
        """Return the next line that the program writes, once it has read all that it was given."""
        self._pump(lambda: b"\n" in self._read and not self._is_writing, seconds)
        answer, _, rest = bytes(self._read).partition(b"\n")
        self._read[:] = rest
        return answer

    def finish(self, lines: bytes, seconds: float) -> bytes:
        """Write all lines, end the input, and return all that the program writes until it ends."""
        deadline = time.monotonic() + seconds
        self._write(lines)
        with contextlib.suppress(ProgramDiedError):
            self._pump(lambda: not self._is_writing, seconds)
            _close_pipe(self._process.stdin)
            self._pump(lambda: False, max(0.0, deadline - time.monotonic()))
        status = self._wait()
        if status:
            raise ProgramDiedError(status)
        return bytes(self._read)

    def close(self) -> None:
        """End the program and all that it started: by the end of its input, and then by force."""
        self._end()

    def kill(self) -> None:
        """End it at once: nothing that it still has to say is wanted."""
        _kill_group(self._process)
        self._end()

    @property
    def _is_writing(self) -> bool:
        return len(self._waiting) > 0

    def _write(self, data: bytes) -> None:
        self._waiting = memoryview(data)
        if data and not self._is_open(self._in):
            self._selector.register(self._in, selectors.EVENT_WRITE)

    def _pump(self, is_done: Callable[[], bool], seconds: float) -> None:
        """Move what can be moved until that is so; the program's end and a deadline are errors."""
        begun = time.monotonic()
        deadline, notice = begun + seconds, begun + NOTICE
        while not is_done():
            ready = self._selector.select(min(_TICK, max(0.0, deadline - time.monotonic())))
            for key, _ in ready:
                self._move(key.fd)
            if is_done():
                return
            if len(self._read) > LONGEST_LINE:
                raise ProgramError("too-long", f"wrote more than {LONGEST_LINE:,} bytes")
            if not self._is_open(self._out) or (self._process.poll() is not None and self._is_silent()):
                raise ProgramDiedError(self._wait())
            now = time.monotonic()
            if now >= deadline:
                raise ProgramError("timed-out", f"gave no answer within {round(seconds, 2):g} seconds")
            if now >= notice:
                self.tell_waiting(now - begun, seconds)
                notice = now + NOTICE

    def _is_open(self, pipe: int) -> bool:
        return pipe in self._selector.get_map()

    def _is_silent(self) -> bool:
        """Return whether nothing waits to be read; what it started may still hold its pipes open."""
        return self._out not in {key.fd for key, _ in self._selector.select(0)}

    def _move(self, pipe: int) -> None:
        if pipe == self._in:
            self._put_input()
        elif pipe == self._out:
            self._take(pipe, self._read)
        else:
            self._take(pipe, self._tail)
            del self._tail[:-_TAIL]

    def _take(self, pipe: int, into: bytearray) -> None:
        with contextlib.suppress(BlockingIOError):
            data = os.read(pipe, _CHUNK)
            into += data
            if not data:
                self._selector.unregister(pipe)

    def _put_input(self) -> None:
        try:
            self._waiting = self._waiting[os.write(self._in, self._waiting[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # it reads no more; whether it answers is seen from its output
            self._waiting = memoryview(b"")
        if not self._is_writing:
            self._selector.unregister(self._in)

    def _wait(self) -> int:
        """Return how a program that writes no more ended, with the last that it said on standard error."""
        deadline = time.monotonic() + _GRACE
        while self._is_open(self._err) and time.monotonic() < deadline:
            has_ended = self._process.poll() is not None  # asked first: what it wrote before is there now
            readable = {key.fd for key, _ in self._selector.select(0)}
            if self._err in readable:
                self._move(self._err)
            elif has_ended:
                break
            else:
                time.sleep(0.005)
        try:
            return self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise ProgramError("closed-output", "closed its output but kept running") from None


def start(
    arguments: Sequence[str], folder: str = "", environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Return a started process in a session of its own; never through a shell."""
    try:
        return subprocess.Popen(  # noqa: S603 - a list of arguments, which its user wrote
            list(arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
            cwd=folder or None, start_new_session=True,
            env=None if environment is None else {**os.environ, **environment},
        )  # fmt: skip
    except (OSError, ValueError) as error:
        if is_infrastructure(error):
            raise
        place = folder or str(Path.cwd())
        raise PluginError(
            f"The program '{arguments[0]}' cannot be started in '{place}': {error}. Name a program on the "
            "search path, or give its path. Put the interpreter before a script."
        ) from error


def _unblock(process: subprocess.Popen[bytes]) -> tuple[int, int, int]:
    """Return the numbers of the three pipes, on none of which anybody waits."""
    found = [pipe.fileno() for pipe in (process.stdin, process.stdout, process.stderr) if pipe is not None]
    for number in found:
        os.set_blocking(number, False)
    first, second, third = found
    return first, second, third


def _end(process: subprocess.Popen[bytes], selector: selectors.BaseSelector, owner: int) -> None:
    """End a process; one that a fork of this process inherited is not its own to end."""
    if os.getpid() != owner:
        return
    selector.close()
    _close_pipe(process.stdin)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE)
    _kill_group(process)
    process.wait()
    _close_pipe(process.stdout)
    _close_pipe(process.stderr)


def _close_pipe(pipe: object) -> None:
    if pipe is not None:
        with contextlib.suppress(OSError):
            pipe.close()  # type: ignore[attr-defined]


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and what it started and left behind."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _name_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
