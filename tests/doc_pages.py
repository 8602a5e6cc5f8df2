"""The pages of the documentation: their links, their fenced blocks, and the commands in them."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parents[1]
FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,})(?P<language>\w*)[^\n]*\n(?P<code>.*?)^(?P=indent)(?P=fence)",
    re.MULTILINE | re.DOTALL,
)
INLINE = re.compile(r"(?<!`)`(tedaudit [^`]+)`(?!`)")
MARKS = ("(model)", "(minutes)", "(server)", "(package)")
"""Why a test does not run a command: in the comment beside it, or in one above it that holds for the block.

docs/README.md tells readers what each means."""
RECORDS = ("docs/results/", "benchmarks/", "zoo/")
"""Pages that tell how figures were made: their commands take models and hours, and need no marks."""
LANGUAGES = ("", "sh", "bash", "console")
PROGRAMS = ("tedaudit", "python", "make", "pip", "vllm")


@dataclass(frozen=True)
class Command:
    """One command of a page, and whether the page says that it needs more than a test has."""

    page: str
    text: str
    is_marked: bool

    @property
    def words(self) -> list[str]:
        try:
            return shlex.split(self.text.partition(" >>")[0])
        except ValueError:  # a quotation that goes on in the next line
            return self.text.split()

    def __str__(self) -> str:
        return f"{self.page}: {self.text}"


def list_pages() -> list[Path]:
    """Return every Markdown file that people read, cards of models included."""
    folders = ("docs", "benchmarks", "zoo", "examples")
    found = [path for folder in folders for path in (PROJECT / folder).rglob("*.md")]
    return sorted([*PROJECT.glob("*.md"), *found])


def name_page(path: Path) -> str:
    return path.relative_to(PROJECT).as_posix()


def read_blocks(path: Path) -> list[tuple[str, str]]:
    """Return the fenced blocks of a page: language and code."""
    return [(match["language"], match["code"]) for match in FENCE.finditer(path.read_text("utf-8"))]


def read_commands(path: Path) -> list[Command]:
    """Return the commands in the blocks of a page, in order; `&&` parts two of them."""
    page, commands = name_page(path), []
    for language, code in read_blocks(path):
        whole = page.startswith(RECORDS)
        for line in re.sub(r"\\\n\s*", "", code).splitlines() if language in LANGUAGES else ():
            text, *rest = re.split(r"(?:^|\s)#\s", line.removeprefix("$ ").strip(), maxsplit=1)
            comment = "".join(rest)
            is_marked = any(mark in comment for mark in MARKS)
            whole = whole or (is_marked and not text)
            if text.split(" ")[0] in PROGRAMS:
                parts = text.split(" && ")
                commands += [Command(page, part.strip(), whole or is_marked) for part in parts]
    return commands


def read_inline_commands(path: Path) -> list[Command]:
    """Return the calls of tedaudit that stand in the text."""
    text = FENCE.sub("", path.read_text("utf-8"))
    return [Command(name_page(path), " ".join(found.split()), True) for found in INLINE.findall(text)]
