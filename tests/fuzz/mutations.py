"""What fuzzers share: nasty values, ways to spoil a text, and the rule that every case must keep."""

import contextlib
import json
import os
import random
import signal
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tedaudit.errors import TedauditError

DIGITS = "9" * 5000
NAMES = (
    "", " ", ".", "..", "../x", "a/b", "~", "~nobody/x", "/dev/null", "/dev/full/x", "/proc/self/x",
    "x" * 300, "é" * 200, "²", "\u0661", "\x1b[31mred", "a\nb", "\u202eabc", "\x00", "\ud800", "-", "--", "*",
    "[a]", "py:", "py:x",
    "py:json:dumps", "py:json:JSONDecoder", "py:my_plugins", "text", "label", "null", "x" * 100_000,
)  # fmt: skip
"""Names of files, plug-ins and columns that somebody might give."""

PLAUSIBLE = (
    "1", "2", "3", "5", "0.5", "8", "12", "true", "null", "a b", "lexical", "identity", "word-rr", "constant",
    "[1, 2]", "all", "nearest", "furthest", "transition", "reduced", "baseline", "utf-16", "latin-1",
    "demo", "token",
)  # fmt: skip
"""Values that are right in one place or another."""

YAML = (
    "2024-01-01", "2024-99-99", "2001-12-14t21:59:43.10-05:00", "!!timestamp x",
    "!!python/object:os.system x",
    "!!python/name:os.system", "!!binary aGVsbG8=", "!!binary '?'", "!!set {a, b}", "!!omap [a: 1]",
    "!!pairs [a: 1]",
    "!!int abc", "!!int ''", "!!float x", "!!bool maybe", "!!null x", "!!str 5", "!!map []", "!!seq {}",
    "!unknown x",
    DIGITS, f"-{DIGITS}", "0x" + "f" * 5000, "0b" + "1" * 9000, "1e999", "-.inf", ".inf", ".nan", "1e-320",
    "1:30",
    "0o17", "1_000", "99999999999999999999", "18446744073709551616", "1.5", "-1", "0", "1", "2", "3",
    "true", "no",
    "null", "~", "[]", "{}", "[[]]", "[null]", "[1, a, null]", "{1: 2}", "{null: null}", "{[a]: b}",
    "{{}: 1}",
    "{<<: 3}", "{<<: {k: 1}}", "{<<: [{k: 1}, {k: 2}]}", "&a [*a]", "&a {b: *a}", "*nope", "&x 1", "? x",
    "- 1",
    "[" * 50 + "]" * 50, "[" * 3000 + "]" * 3000, "{a: " * 60 + "1" + "}" * 60, "{name: x, live: 3}",
    "{name: [x]}",
    "{name: identity, epsilons: [1]}", "{name: function, function: 'json:dumps'}", "| \n  x", "'", '"', "#",
    "%", "@x", "`x`",
    *(json.dumps(name) for name in NAMES),
)  # fmt: skip
"""Fragments of YAML, right and wrong."""


def deep_json(depth: int) -> str:
    """Return lists within lists."""
    return "[" * depth + "]" * depth


JSON = (
    DIGITS, f"-{DIGITS}", "9" * 30, "18446744073709551616", "-9223372036854775809", "1e999", "-1e999",
    "NaN", "Infinity",
    "1.5", "0", "-0.0", "true", "null", "[]", "{}", "[1, 2]", '["a", 1, null]', '{"a": {"b": [1]}}',
    '{"": ""}',
    '{"text": "inner"}', '"\\ud800"', '"\\u0000"', '"\\u001b[31m"', '""', '" "', '"a\\nb"', '"text"',
    deep_json(40), deep_json(100_000), '{"a":' * 60 + "1" + "}" * 60, json.dumps("long " * 20_000), "{",
    "'a'", "",
)  # fmt: skip
"""Fragments of JSON, right and wrong."""


def spoil(text: str, rng: random.Random, fragments: tuple[str, ...]) -> str:
    """Return a text with one thing wrong with it, or perhaps not."""
    at = rng.randrange(len(text) + 1)
    end = min(len(text), at + rng.choice((1, 1, 2, 5, 20)))
    lines = text.split("\n")
    line = rng.randrange(len(lines))
    kind = rng.randrange(7)
    if kind == 0:
        return text[:at] + text[end:]
    if kind == 1:
        return text[:at] + rng.choice(fragments) + text[at:]
    if kind == 2:
        return text[:at] + rng.choice("\x00\x1b\x7f\x85\u2028\ufeff\t\r:[]{}\"'\\&*!|>%@`,#-?²") + text[at:]
    if kind == 3:
        return "\n".join([*lines[: line + 1], *lines[line:]])
    if kind == 4:
        return "\n".join([*lines[:line], *lines[line + 1 :]])
    if kind == 5:
        return text[:at] + text[at:end][::-1] + text[end:]
    return text[:at]


def flip(raw: bytes, rng: random.Random) -> bytes:
    """Return bytes of which one bit is another."""
    if not raw:
        return b"\x00"
    bit = rng.randrange(8 * len(raw))
    changed = bytearray(raw)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def replace_in_tree(tree: Any, rng: random.Random, value: Any) -> Any:
    """Return plain data with the value in the place of something in it, or under a key of its own."""
    if isinstance(tree, dict) and tree and rng.random() < 0.85:
        key = rng.choice(list(tree))
        return {**tree, key: replace_in_tree(tree[key], rng, value)}
    if isinstance(tree, list) and tree and rng.random() < 0.85:
        place = rng.randrange(len(tree))
        return [*tree[:place], replace_in_tree(tree[place], rng, value), *tree[place + 1 :]]
    if isinstance(tree, dict) and rng.random() < 0.3:
        return {**tree, rng.choice(NAMES): value}
    return value


@dataclass
class Tally:
    """What the cases of a fuzzer came to."""

    cases: int = 0
    accepted: int = 0
    refused: int = 0
    broken: list[tuple[str, str]] = field(default_factory=list)  # the case, and what went wrong

    def __str__(self) -> str:
        counts = f"{self.cases:,} cases: {self.accepted:,} accepted, {self.refused:,} refused in one line"
        return f"{counts}, {len(self.broken):,} broken" + "".join(f"\n\n--- {a}\n{b}" for a, b in self.broken)


class TooSlowError(Exception):
    """A case that took longer than any honest one."""


@contextlib.contextmanager
def _within(seconds: int) -> Iterator[None]:
    """Stop a case that hangs."""

    def stop(*_: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def try_case(tally: Tally, name: str, work: Callable[[], object], seconds: int = 300) -> None:
    """Do one case: it may succeed, or refuse in one line that a terminal can show; nothing else."""
    tally.cases += 1
    try:
        with _within(seconds):
            work()
    except TedauditError as error:
        tally.refused += 1
        message = str(error)
        if not message or not message.isprintable() or len(message) > 5000:
            tally.broken.append((name, f"a message that is not one line: {message!r}"))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        tally.broken.append((name, _shorten(traceback.format_exc())))
    else:
        tally.accepted += 1


def _shorten(text: str) -> str:
    return text if len(text) < 6000 else f"{text[:3000]}\n[...]\n{text[-3000:]}"


@contextlib.contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Make a folder the current one and the home of this process; nothing is fetched from anywhere."""
    before, folder_before = dict(os.environ), Path.cwd()
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    os.environ.update(HOME=str(home), HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TEDAUDIT_ZOO="off")
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(folder_before)
        os.environ.clear()
        os.environ.update(before)
