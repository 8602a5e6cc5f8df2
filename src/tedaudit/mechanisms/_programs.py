"""Programs that rewrite texts: started when they are needed, restarted if they fail, one text tried twice.

A text on which a program fails twice, the second time freshly started, is a failed rewrite: that is an
output, and tells something of the text. A program that fails whatever it is given is broken: the run stops.
"""

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeVar

from tedaudit.errors import InfrastructureError, PluginError, SpecError, shorten
from tedaudit.mechanisms._program import Program, ProgramDiedError, ProgramError
from tedaudit.plugins.values import Card

Answer = TypeVar("Answer")
_MOST_KEPT = 4  # programs that run at the same time, one for each command line
_MOST_AT_FIRST = 4  # failures before the first answer: two texts, each tried twice
_MOST_IN_A_ROW = 20  # failures without an answer in between: ten texts
_SLOWER = 10  # times as long as the slowest start so far may a restart take, and no longer
_TAIL = 1_500  # characters of standard error that are shown


@dataclass(frozen=True)
class Patience:
    """How long a program may take for a text, and for its start besides; how often it may fail."""

    timeout: float = 60.0
    start_timeout: float = 600.0
    restarts: int = 1000

    def find_mistake(self) -> str:
        """Return what is wrong with these limits; an empty string if nothing is."""
        for key, value in (("timeout", self.timeout), ("start_timeout", self.start_timeout)):
            if not 0 < value < math.inf:
                return f"{key} is {value}; it must be a number of seconds above 0."
        return f"restarts is {self.restarts}; it must be 0 or more." if self.restarts < 0 else ""


@dataclass
class Programs:
    """The programs of one mechanism by their command lines; a copy, also in another process, has its own."""

    folder: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    patience: Patience = field(default_factory=Patience)
    _running: dict[tuple[str, ...], Program] = field(default_factory=dict, init=False, repr=False)
    _owner: int = field(default_factory=os.getpid, init=False, repr=False)
    _lock: Any = field(default_factory=threading.RLock, init=False, repr=False)
    _failures: int = field(default=0, init=False)
    _in_a_row: int = field(default=0, init=False)
    _has_answered: bool = field(default=False, init=False)
    _slowest: float = field(default=math.inf, init=False)  # first answer of a program, in seconds
    _given: int = field(default=0, init=False)  # texts that programs were asked for

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.folder, self.environment, self.patience)

    def ask(
        self, arguments: tuple[str, ...], line: bytes, read: Callable[[bytes], Answer | None]
    ) -> Answer | ProgramError:
        """Return what is read from a program's answer to a line, or how it failed twice.

        `read` returns None for a line that is no answer, and raises ProgramError for a wrong answer.
        """

        def talk(program: Program) -> Answer:
            is_new, begun = not program.has_answered, time.monotonic()
            seconds = self._limit(1, is_new=is_new)
            answer = read(program.ask(line, seconds))
            while answer is None:
                answer = read(program.listen(seconds))
            program.has_answered = True
            if is_new:
                self._note_start(time.monotonic() - begun)
            return answer

        with self._lock:
            return self._try_twice(arguments, talk, self.number(1))

    def run(
        self, arguments: tuple[str, ...], lines: Sequence[bytes], read: Callable[[bytes], Answer], first: int
    ) -> Answer | ProgramError:
        """Return what is read from all that a program writes that is given some lines, or how it failed.

        The end of its input follows the lines, and then its own. A single line is tried twice. `first` is
        the number of the first text.
        """
        seconds = self._limit(len(lines), is_new=True)

        def talk(program: Program) -> Answer:
            answer = read(program.finish(b"".join(line + b"\n" for line in lines), seconds))
            self._stop(arguments)
            return answer

        with self._lock:
            if len(lines) == 1:
                return self._try_twice(arguments, talk, first)
            return self._try(arguments, talk, first, len(lines))

    def number(self, texts: int) -> int:
        """Return the number of the first of some texts that come next; the first of all is 1."""
        with self._lock:
            self._given += texts
            return self._given - texts + 1

    def close(self) -> None:
        """End all programs."""
        for arguments in list(self._running):
            self._stop(arguments)

    def _try_twice(
        self, arguments: tuple[str, ...], talk: Callable[[Program], Answer], number: int
    ) -> Answer | ProgramError:
        first = self._try(arguments, talk, number)
        if not isinstance(first, ProgramError):
            return first
        second = self._try(arguments, talk, number)
        if isinstance(second, ProgramDiedError) and second.status == -signal.SIGKILL:
            raise InfrastructureError(
                f"{_name(arguments)} was killed twice at the same text, as happens if there is too little "
                "memory. That does not count as an output, so no attack sees it. Finished work is kept: "
                "remove the cause and run the same command again."
            )
        return second

    def _try(
        self, arguments: tuple[str, ...], talk: Callable[[Program], Answer], number: int, texts: int = 1
    ) -> Answer | ProgramError:
        program = self._find(arguments)
        which = f"text number {number:,}"
        if texts > 1:
            which = f"texts number {number:,} to {number + texts - 1:,}"
        program.tell_waiting = lambda waited, limit: _tell_waiting(arguments, which, waited, limit)
        try:
            answer = talk(program)
        except ProgramError as error:
            self._running.pop(arguments, None)
            program.kill()
            self._count_failure(arguments, error, program.tail, texts)
            return error
        except BaseException:  # Ctrl-C, too: the program may be in the middle of a text
            self._running.pop(arguments, None)
            program.kill()
            raise
        self._in_a_row, self._has_answered = 0, True
        return answer

    def _count_failure(self, arguments: tuple[str, ...], error: ProgramError, tail: str, texts: int) -> None:
        """Stop the work if the program fails whatever it is given, or too often.

        If it was given several texts, one of them may have been the cause: that is tried next.
        """
        self._failures += 1
        self._in_a_row += texts == 1
        said = f" On standard error it said: {shorten(tail, _TAIL)}" if tail else ""
        start = f"{_name(arguments)} {error}.{said}"
        if not self._has_answered and self._in_a_row >= _MOST_AT_FIRST:
            raise PluginError(
                f"{start} It has not answered once in {self._in_a_row} attempts. Try it by hand; "
                "docs/adapters.md says what it is given and what it must answer."
            )
        if self._in_a_row >= _MOST_IN_A_ROW:
            raise InfrastructureError(
                f"{start} That is failure number {self._in_a_row} in a row, so the texts are hardly to "
                "blame. Finished work is kept: remove the cause and run the same command again."
            )
        if self._failures > self.patience.restarts:
            raise InfrastructureError(
                f"{start} It has failed {self._failures:,} times. If the texts cause this, each failure is "
                "an output: allow more of them with `restarts`. Finished work is kept."
            )

    def _limit(self, texts: int, *, is_new: bool) -> float:
        """Return how many seconds a program has for so many texts.

        Once it is known how long a start takes, a text at which it hangs does not cost `start_timeout`.
        """
        start = min(self.patience.start_timeout, _SLOWER * self._slowest)
        return texts * self.patience.timeout + (start if is_new else 0.0)

    def _note_start(self, seconds: float) -> None:
        self._slowest = seconds if self._slowest == math.inf else max(self._slowest, seconds)

    def _find(self, arguments: tuple[str, ...]) -> Program:
        """Return a running program; those that a fork of a process inherited are not its own."""
        if self._owner != os.getpid():
            self._running, self._owner = {}, os.getpid()
        if arguments not in self._running:
            while len(self._running) >= _MOST_KEPT:
                self._stop(next(iter(self._running)))
            self._running[arguments] = Program(arguments, self.folder, self.environment)
        return self._running[arguments]

    def _stop(self, arguments: tuple[str, ...]) -> None:
        self._running.pop(arguments).close()


@dataclass(frozen=True, kw_only=True)
class RunsPrograms:
    """What mechanisms share that have programs rewrite: limits, and processes of its own for an adversary."""

    timeout: float = field(default=60.0, metadata={"incidental": True})
    """Seconds that one text may take before the program is restarted."""
    start_timeout: float = field(default=600.0, metadata={"incidental": True})
    """Seconds that the program may take to start, before its first answer."""
    restarts: int = field(default=1000, metadata={"incidental": True})
    """How many times in total the program may fail before the run stops."""
    card: ClassVar[Card]
    _programs: Programs = field(init=False, repr=False, compare=False)
    _is_adversary: bool = field(default=False, init=False, repr=False, compare=False)

    @property
    def is_seeded(self) -> bool:
        """Whether a repeated call should repeat its output: it should."""
        return True

    def for_adversary(self) -> Self:
        """Return the same with processes of its own, and with seeds that no audited draw has."""
        own = copy(self)
        object.__setattr__(own, "_programs", copy(self._programs))
        object.__setattr__(own, "_is_adversary", True)
        return own

    def _set_up_programs(self, folder: str = "") -> None:
        """Check the limits; no program is started before there is a text."""
        patience = Patience(self.timeout, self.start_timeout, self.restarts)
        wrong = patience.find_mistake()
        if wrong:
            raise SpecError(f"'{self.card.name}': {wrong}")
        object.__setattr__(self, "_programs", Programs(folder, patience=patience))


def _name(arguments: Sequence[str]) -> str:
    return f"The program '{shorten(' '.join(arguments), 200)}'"


def _tell_waiting(arguments: Sequence[str], which: str, waited: float, limit: float) -> None:
    """Tell on standard error that a program has not answered yet: people know what they wait for."""
    sys.stderr.write(
        f"{_name(arguments)} has not answered {which} for {waited:,.0f} seconds. After {limit:,.0f} seconds "
        "(`timeout`, `start_timeout`) it is restarted.\n"
    )
