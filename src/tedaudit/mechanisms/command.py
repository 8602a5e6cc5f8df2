"""Audit any program that rewrites text, in any language and under any interpreter.

Claim: stated by the caller; epsilon for the whole text unless `unit` and `max_units` say otherwise.
"""

import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from tedaudit.errors import PluginError, SpecError
from tedaudit.mechanisms._json_lines import JsonLines, rewrite_lines
from tedaudit.mechanisms._programs import RunsPrograms
from tedaudit.paths import checksum_file
from tedaudit.plugins.batches import Rewrites
from tedaudit.plugins.nominal import NO_EPSILON, Nominal
from tedaudit.plugins.values import Callee, Card, Claim, Draw, Rewrite, Unit

_EPSILON = "{epsilon}"  # in an argument: a program for each epsilon


@dataclass(frozen=True)
class Command(RunsPrograms):
    """Runs `program`, a command line that no shell reads; `{epsilon}` in an argument is the epsilon.

    With `lines` "json" it stays, reads a JSON object per line and answers each with one:

        {"id": 7, "text": "Book a table", "epsilon": 2.0}  ->  {"id": 7, "text": "Reserve a table"}

    or {"id": 7, "error": "too-long"}. The id must come back, so that no line is taken for the answer to
    another text. With `seeded` there are also "seed", a whole number of 32 bits, and "draw_key", the whole
    key of the draw as 32 hexadecimal digits: noise from them is the same whenever the audit is repeated.
    A program is told nothing else of the audit, such as the candidates.

    With `lines` "plain" a program is started for each batch. It reads a text per line until its input ends,
    and writes as many lines, in order. A line break within a text becomes a space. `ignore` is a regular
    expression for whole lines that are no answers, such as greetings.

    A program that dies, is silent for too long or gives something else is started again. A text on which that
    happens twice is a failed rewrite with a code (`exit-1`, `signal-SIGSEGV`, `timed-out`, `not-json`,
    `wrong-id`, `not-utf-8`, `printed-0-lines`, ...); `docs/adapters.md` has them all.

    What it rewrites may depend on more than the command line: the files named in it and those in `files` are
    part of a table's key by their checksums, and so is `program_version`, for all that no file shows.
    """

    program: str | tuple[str, ...]
    """The command line, as for a shell, or a list of arguments. {epsilon} stands for the epsilon."""
    lines: Literal["json", "plain"] = "json"
    """json: an object per line; the program keeps running. plain: a text per line; one start per batch."""
    seeded: bool = False
    """Whether the program gets `seed` and `draw_key`, from which it must make its noise."""
    program_version: str = ""
    """Any words that you change when the program changes in a way that no file shows."""
    files: tuple[str, ...] = ()
    """Other files that the output depends on. If one changes, no stored rewrite is reused."""
    folder: str = ""
    """The folder to run the program in. By default the current one."""
    ignore: str = ""
    """A regular expression for whole lines of output to skip."""
    promised: bool = True
    """Whether the epsilons are a claim to test."""
    unit: Unit = "document"
    """The unit that an epsilon is claimed for."""
    max_units: int | None = 1
    """The most units a text can have. Null: nothing bounds them, so that no epsilon holds for a text."""
    delta: float = 0.0
    """The delta of the claim."""
    card: ClassVar[Card] = Card(
        name="command",
        summary="Any program that rewrites text, by JSON lines or plain lines.",
        claim="as stated by the caller; none with promised: false",
        departures=(
            "results repeat only if the program takes its randomness from `seed` or `draw_key`",
            "a text on which the program fails or is too slow twice is a failed rewrite",
            "plain lines: a line break within a text becomes a space",
        ),
        code=("program",),
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "program", _split(self.program))
        object.__setattr__(self, "files", tuple(self.files))
        self._set_up_programs(self.folder)
        wrong = self._find_mistake()
        if wrong:
            raise SpecError(f"'command': {wrong}")

    def claim(self, epsilon: float) -> Claim | None:
        """Promise what the caller stated, if an epsilon was given and is promised for any two texts."""
        if not self.promised or not Nominal(epsilon).is_given:
            return None
        return Claim(epsilon, self.unit, delta=self.delta, max_units=self.max_units)

    def epsilons(self, asked: Sequence[float]) -> Sequence[float]:
        """Return the epsilons asked for; if there are none, the program is audited without a claim."""
        if not asked and any(_EPSILON in argument for argument in self.program):
            raise SpecError("'command': the program takes an epsilon: set the values at which to audit it.")
        return asked or (NO_EPSILON,)

    def fingerprint(self) -> Mapping[str, str]:
        """Return checksums of the files on the command line and in `files`; nothing is reused if one changes.

        The program itself counts if it is named by a path.
        """
        self._check_program()
        named = [self._find_file(argument) for argument in self.program]
        missing = [name for name in self.files if self._find_file(name) is None]
        if missing:
            raise SpecError(f"'command': there is no file '{missing[0]}', named in `files`.")
        named += map(self._find_file, self.files)
        found = dict.fromkeys(path for path in named if path is not None)
        return {f"file {number}: {path.name}": checksum_file(path) for number, path in enumerate(found, 1)}

    @property
    def is_seeded(self) -> bool:
        """Whether the program is told a seed."""
        return self.seeded

    def callee(self, candidates: int) -> Callee:  # noqa: ARG002 - the same for any number of candidates
        """Name the program, which is given a text per rewrite."""
        return Callee(f"the program '{Path(self.program[0]).name}'", "texts to")

    def rewrite(self, draws: Sequence[Draw]) -> Rewrites:
        """Return the program's answers; whatever it does in place of an answer is a failed rewrite."""
        if self.lines == "json":
            talk = JsonLines(
                programs=self._programs,
                ignore=self.ignore,
                seeded=self.seeded,
                is_adversary=self._is_adversary,
            )
            return Rewrites.of([talk.rewrite(self._fill(draw.epsilon), draw) for draw in draws])
        texts: dict[tuple[str, ...], list[int]] = {}
        for row, draw in enumerate(draws):
            texts.setdefault(self._fill(draw.epsilon), []).append(row)
        made: dict[int, Rewrite] = {}
        for arguments, rows in texts.items():
            own = [draws[row].text for row in rows]
            made.update(zip(rows, rewrite_lines(self._programs, arguments, own, self.ignore), strict=True))
        return Rewrites.of([made[row] for row in range(len(draws))])

    def _fill(self, epsilon: float) -> tuple[str, ...]:
        """Return the command line with an epsilon in its place."""
        return tuple(argument.replace(_EPSILON, repr(float(epsilon))) for argument in self.program)

    def _find_mistake(self) -> str:
        if self.seeded and self.lines == "plain":
            return "plain lines carry no seed; `seeded` needs `lines: json`."
        try:
            re.compile(self.ignore)
        except re.error as error:
            return f"`ignore` is not a regular expression: {error}."
        return ""

    def _check_program(self) -> None:
        name = self.program[0]
        if self._find_file(name) is None and shutil.which(name) is None:
            raise PluginError(
                f"'command': there is no program '{name}', neither on the search path nor in "
                f"'{self.folder or Path.cwd()}'. A script needs its interpreter before it: python3 script.py."
            )

    def _find_file(self, argument: str) -> Path | None:
        """Return the file that an argument names, seen from the folder in which the program runs."""
        try:
            path = Path(self.folder).expanduser() / argument
            return path if path.is_file() else None
        except (OSError, ValueError):
            return None


def _split(program: str | Sequence[str]) -> tuple[str, ...]:
    """Return a command line as arguments; a string is split as a shell would, and expands nothing."""
    try:
        arguments = tuple(shlex.split(program) if isinstance(program, str) else program)
    except ValueError as error:
        raise SpecError(f"'command': the program is {program!r}, which cannot be split: {error}.") from error
    if not arguments or not arguments[0]:
        raise SpecError("'command': there is no program; name one, such as program: python3 rewriter.py.")
    return arguments
