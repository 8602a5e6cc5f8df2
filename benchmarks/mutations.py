"""Break guards by chance and see whether a test notices: mutations of what changed since a commit.

    python benchmarks/mutations.py --since v1.0 --count 60             # draws and prints them
    python benchmarks/mutations.py --since v1.0 --count 60 --run       # and tries each, in a copy of the tree

A mutation turns one comparison, condition, sum or number into its neighbour. The seed is the commit's hash,
so that nobody chooses. Each is tried on the tests that name its module first, then on the rest of its folder,
then on those that `--also` names; one that survives is to be killed by a test, or proved to change nothing.
"""

import argparse
import ast
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
_DECLARING = ("dataclass", "field", "ConfigDict", "zip")
_DECLARED = ("frozen", "slots", "eq", "init", "repr", "compare", "hash", "strict")
SUMS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*"}


@dataclass(frozen=True)
class Mutation:
    """One place of a file, and what stands there instead."""

    file: str
    line: int
    start: int  # in bytes of the file, as the end
    stop: int
    old: str
    new: str

    def apply(self, root: Path) -> None:
        """Write the file with the mutation."""
        path = root / self.file
        content = path.read_bytes()
        path.write_bytes(content[: self.start] + self.new.encode() + content[self.stop :])


def git(*arguments: str) -> str:
    """Return what git says."""
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout  # noqa: S603


def find_mutations(file: str) -> Iterator[Mutation]:
    """Yield every mutation of a file.

    Docstrings, annotations, what is said of a dataclass (frozen, slots; repr or compare of a field) and
    `strict` of a zip have none: they decide nothing that a user could see.
    """
    text = (ROOT / file).read_text("utf-8")
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))

    tree = ast.parse(text)
    noted = [node.annotation for node in ast.walk(tree) if isinstance(node, ast.arg | ast.AnnAssign)]
    noted += [node.returns for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = [(call, getattr(call.func, "id", "")) for call in calls]
    noted += [word.value for call, name in named if name in _DECLARING for word in call.keywords
              if word.arg in _DECLARED]  # fmt: skip
    skipped = {id(part) for node in noted if node is not None for part in ast.walk(node)}
    for node in ast.walk(tree):
        new = find_neighbour(node) if isinstance(node, ast.expr) and id(node) not in skipped else None
        if new is not None and isinstance(node, ast.expr):
            start = starts[node.lineno - 1] + node.col_offset
            stop = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
            yield Mutation(file, node.lineno, start, stop, text.encode()[start:stop].decode(), new)


def find_neighbour(node: ast.expr) -> str | None:  # noqa: PLR0911 - one for each kind
    """Return what is to stand in the place of an expression, if it is one that decides something."""
    match node:
        case ast.Compare(left=left, ops=[sign], comparators=[right]):
            return f"({ast.unparse(left)} {COMPARISONS[type(sign)]} {ast.unparse(right)})"
        case ast.BoolOp(op=sign, values=values):
            word = " or " if isinstance(sign, ast.And) else " and "
            return f"({word.join(f'({ast.unparse(value)})' for value in values)})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"({ast.unparse(operand)})"
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in SUMS:
            return f"(({ast.unparse(left)}) {SUMS[type(sign)]} ({ast.unparse(right)}))"
        case ast.Constant(value=bool(value)):
            return repr(not value)
        case ast.Constant(value=int(value) | float(value)):
            return f"({value!r} + 1)"
        case ast.IfExp(test=test, body=body, orelse=other):
            return f"(({ast.unparse(other)}) if ({ast.unparse(test)}) else ({ast.unparse(body)}))"
    return None


def draw(since: str, count: int, seed: str) -> list[Mutation]:
    """Return so many mutations of the files that differ from a commit, each as likely as any other."""
    named = git("diff", "--name-only", "--diff-filter=d", since, "HEAD", "--", "src").split()
    found = [one for file in named if file.endswith(".py") for one in find_mutations(file)]
    return random.Random(seed).sample(found, count)  # noqa: S311 - anybody may repeat it


def find_tests(file: str, tests: Path) -> tuple[list[str], list[str]]:
    """Return the tests that name a module, those of its folder first, and the others of its folder."""
    module = Path(file).relative_to("src/tedaudit").with_suffix("")
    mirrored = tests / module.parent
    while not any(mirrored.glob("test_*.py")):
        mirrored = mirrored.parent
    dotted, plugin = ".".join(module.parts), module.name.replace("_", "-")
    is_named = re.compile(rf"""\b{dotted}\b|["']{plugin}["'@]""")
    found = mirrored.glob("test_*.py") if mirrored == tests else mirrored.rglob("test_*.py")
    near = {str(one): len(is_named.findall(one.read_text("utf-8"))) for one in sorted(found)}
    far = [str(one) for one in sorted(tests.rglob("test_*.py")) if str(one) not in near]
    naming = [one for one in sorted(near, key=lambda one: -near[one]) if near[one]]
    naming += [one for one in far if dotted in Path(one).read_text("utf-8")]
    return naming, [one for one in near if one not in naming]


def survives(mutation: Mutation, also: list[str], limit: int) -> bool:
    """Return whether all tests of the mutation's folder, and of others, pass with it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        git("worktree", "add", "--detach", "--quiet", str(copy), "HEAD")
        try:
            mutation.apply(copy)
            naming, rest = find_tests(mutation.file, copy / "tests")
            paths = os.pathsep.join(str(copy / part) for part in ("src", "zoo/src"))
            for tests in (naming, rest, [str(copy / name) for name in also]):
                command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
                if not tests:
                    continue
                try:
                    done = subprocess.run(  # noqa: S603
                        command, cwd=copy, env={**os.environ, "PYTHONPATH": paths}, capture_output=True,
                        check=False, timeout=limit,
                    )  # fmt: skip
                except subprocess.TimeoutExpired:
                    return False  # it hangs, which nobody overlooks
                if done.returncode:
                    return False
            return True
        finally:
            git("worktree", "remove", "--force", str(copy))


def main() -> None:
    """Print a line for each mutation, and whether it survives."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--since", required=True)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--first", type=int, default=0, help="skip so many")
    parser.add_argument(
        "--also", nargs="*", default=["tests/test_known_answers.py", "tests/cli", "tests/docs"]
    )
    parser.add_argument("--limit", type=int, default=1800, help="seconds")
    asked = parser.parse_args()
    drawn = draw(asked.since, asked.count, git("rev-parse", "HEAD").strip())
    left = 0
    for number, mutation in list(enumerate(drawn))[asked.first :]:
        told = f"{number} {mutation.file}:{mutation.line}: {mutation.old} -> {mutation.new}"
        if asked.run:
            survived = survives(mutation, asked.also, asked.limit)
            left += survived
            told = f"{'SURVIVES' if survived else 'dies'} {told}"
        print(" ".join(told.split()), flush=True)
    if asked.run:
        print(f"{left} of {len(drawn) - asked.first} survive")


if __name__ == "__main__":
    main()
