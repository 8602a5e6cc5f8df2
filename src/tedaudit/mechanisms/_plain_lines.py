"""A text per line to a program, the end of its input, and as many lines back: what any filter does.

Lines carry no number. So a program is given a batch and must end, and its lines are counted: if there is one
too few or too many, nobody can say which text they belong to, and the batch is halved until it is clear.
"""

import re
from collections.abc import Sequence

from tedaudit.mechanisms._program import ProgramError
from tedaudit.mechanisms._programs import Programs
from tedaudit.types import Rewrite

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
