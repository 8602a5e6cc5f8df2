"""One JSON object per line to a program, one per line back; the id tells which text an answer belongs to."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tedaudit.errors import quote
from tedaudit.mechanisms._program import ProgramError
from tedaudit.mechanisms._programs import Programs
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.values import Draw, Rewrite

_CODE = re.compile(r"[A-Za-z0-9_-]{1,80}")
_SEED_BITS = 2**31 - 1
_ADVERSARY_BIT = 2**31
_NUMBERS = count()  # of requests: no two in this process share one


@dataclass(frozen=True)
class JsonLines:
    """Asks a program for rewrites. It is told a number, the text, epsilon, and seeds if it takes them."""

    programs: Programs
    ignore: str = ""
    seeded: bool = False
    is_adversary: bool = False
    extra: dict[str, Any] = field(default_factory=dict)

    def rewrite(self, arguments: tuple[str, ...], draw: Draw) -> Rewrite:
        """Return the program's answer to one draw."""
        request = self._describe(draw)
        line = json.dumps(request).encode("ascii")
        answer = self.programs.ask(arguments, line, lambda written: self._read(written, request["id"]))
        return Rewrite("", error=answer.code) if isinstance(answer, ProgramError) else answer

    def _describe(self, draw: Draw) -> dict[str, Any]:
        request: dict[str, Any] = {"id": next(_NUMBERS), "text": draw.text, **self.extra}
        if Nominal(draw.epsilon).is_given:
            request["epsilon"] = draw.epsilon
        if self.seeded:
            request["seed"] = (draw.key & _SEED_BITS) | (_ADVERSARY_BIT if self.is_adversary else 0)
            request["draw_key"] = f"{draw.key:032x}"
        return request

    def _read(self, line: bytes, number: int) -> Rewrite | None:
        try:
            written = line.decode("utf-8").removesuffix("\r")
        except UnicodeDecodeError as error:
            raise ProgramError("not-utf-8", f"wrote a line that is not UTF-8: {quote(line)}") from error
        if self.ignore and re.fullmatch(self.ignore, written):
            return None
        try:
            answer = json.loads(written)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise ProgramError(
                "not-json",
                f"wrote {quote(written)}, which is not a JSON object. Write messages to standard error, "
                "or match such lines with `ignore`",
            )
        if answer.get("id") != number or isinstance(answer.get("id"), bool):
            raise ProgramError(
                "wrong-id",
                f"answered with id {quote(answer.get('id'))} when asked with id {number}. Every answer must "
                "have the id of its question, and every question one answer",
            )
        return _read_answer(answer)


def _read_answer(answer: dict[str, Any]) -> Rewrite:
    """Return a rewrite; an error that is no code, or a text that is none, is a code of ours."""
    error = answer.get("error")
    if error is not None and error != "":
        is_code = isinstance(error, str) and _CODE.fullmatch(error)
        return Rewrite("", error=error if is_code else "unnamed-error")
    text = answer.get("text")
    if not isinstance(text, str):
        return Rewrite("", error=f"returned-{type(text).__name__}")
    return Rewrite(text)


# --- A text per line to a program, the end of its input, and as many lines back: what any filter does.
#
# Lines carry no number. So a program is given a batch and must end, and its lines are counted: if there is
# one too few or too many, nobody can say which text they belong to, and the batch is halved until it is
# clear.

_BREAKS = re.compile("\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")  # wherever some reader ends a line


def rewrite_lines(
    programs: Programs, arguments: tuple[str, ...], texts: Sequence[str], ignore: str = ""
) -> list[Rewrite]:
    """Return a rewrite for each text, in order."""
    lines = [_BREAKS.sub(" ", text).encode("utf-8", "replace") for text in texts]
    return _rewrite(programs, arguments, lines, ignore, programs.number(len(lines)))


def _rewrite(
    programs: Programs, arguments: tuple[str, ...], lines: Sequence[bytes], ignore: str, first: int
) -> list[Rewrite]:
    if not lines:
        return []
    found = programs.run(arguments, lines, lambda written: _count(written, len(lines), ignore), first)
    if not isinstance(found, ProgramError):
        return [_decode(line) for line in found]
    if len(lines) == 1:
        return [Rewrite("", error=found.code)]
    half = len(lines) // 2
    return [
        *_rewrite(programs, arguments, lines[:half], ignore, first),
        *_rewrite(programs, arguments, lines[half:], ignore, first + half),
    ]


def _count(written: bytes, wanted: int, ignore: str) -> list[bytes]:
    """Return the lines that a program wrote, if there are as many as it was given."""
    lines = written.removesuffix(b"\n").split(b"\n") if written else []
    if ignore:
        lines = [line for line in lines if not re.fullmatch(ignore, line.decode("utf-8", "replace"))]
    if len(lines) != wanted:
        raise ProgramError(
            f"printed-{len(lines)}-lines", f"wrote {len(lines):,} lines when it was given {wanted:,}"
        )
    return lines


def _decode(line: bytes) -> Rewrite:
    try:
        return Rewrite(line.removesuffix(b"\r").decode("utf-8"))
    except UnicodeDecodeError:
        return Rewrite("", error="not-utf-8")
