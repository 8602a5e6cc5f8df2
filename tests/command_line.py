"""The command line for tests: ways to call it, what to type, and what lies in a folder before and after."""

import os
import subprocess
import sys

import pytest

from tedaudit.cli import main

TEXTS = "".join(f"{who} {did} the {what}\n" for who in ("ann", "bob", "cat", "dan", "eve")
                for did in ("lost", "sold") for what in ("ring", "boat", "lamp"))  # fmt: skip
SMALL = ("--corpus", "texts.txt", "--quiet", "--out", "made")
IDENTITY = ("run", "-m", "identity", *SMALL)
PLUGIN = ("run", *SMALL, "-m")


def contents(folder):
    """Return every file and folder with its content and time of change; Python's own cache left out."""
    found = [path for path in sorted(folder.rglob("*")) if "__pycache__" not in path.parts]
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.is_file() and path.read_bytes())
        for path in found
    }


def call(*arguments):
    """Run the command line in this process and return its exit code."""
    before, sys.argv = sys.argv, ["tedaudit", *map(str, arguments)]
    try:
        with pytest.raises(SystemExit) as stopped:
            main()
    finally:
        sys.argv = before
    return stopped.value.code or 0


def process(*arguments, lines="", cwd=None, **environment):
    """Run the real command in a process of its own, with these lines on standard input."""
    command = [sys.executable, "-m", "tedaudit", *map(str, arguments)]
    return subprocess.run(
        command, input=lines, cwd=cwd, env={**os.environ, **environment},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
