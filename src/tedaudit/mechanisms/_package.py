"""Packages that cannot live in our environment: each runs in its own, behind a small script of ours.

The script speaks JSON lines as any program does that `command` runs. What is installed beside the package is
part of a table's key, and so is the script.
"""

import hashlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from tedaudit.batches import Rewrites
from tedaudit.errors import PluginError, SpecError, shorten
from tedaudit.mechanisms._json_lines import JsonLines
from tedaudit.mechanisms._programs import Programs
from tedaudit.types import Draw

SCRIPTS = Path(__file__).parent / "_scripts"
_ASK = """
import importlib.metadata, json, platform, sys
found = {"python": platform.python_version()}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        found[name] = ""
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Package:
    """A package by its name for pip, the version that was tried, the script, and what decides its results."""

    plugin: str
    name: str
    version: str
    script: str
    beside: tuple[str, ...] = ()

    def fingerprint(self, python: str) -> Mapping[str, str]:
        """Return the versions in an environment, and a checksum of our scripts; the package must be there."""
        versions = _read_versions(self.check_python(python), (self.name, *self.beside))
        if not versions[self.name]:
            raise PluginError(
                f"'{self.plugin}': {self.name} is not installed for '{python}'. {self._explain_environment()}"
            )
        scripts = b"".join((SCRIPTS / name).read_bytes() for name in ("answering.py", self.script))
        return {**versions, "script": hashlib.sha256(scripts).hexdigest()[:16]}

    def start(self, python: str, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the command line of the script; the environment of ours is kept out of it."""
        script = str(SCRIPTS / self.script)
        return self.check_python(python), "-E", "-s", script, json.dumps(settings, sort_keys=True)

    def check_python(self, python: str) -> str:
        """Return the path of an interpreter, or say how to make an environment that has one."""
        if not python:
            raise SpecError(
                f"'{self.plugin}' needs `python`: the interpreter of an environment that has {self.name}. "
                f"{self._explain_environment()}"
            )
        path = Path(python).expanduser()
        if not path.is_file():
            raise SpecError(
                f"'{self.plugin}': there is no interpreter '{python}'. {self._explain_environment()}"
            )
        return str(path.absolute())

    def _explain_environment(self) -> str:
        return (
            f"Make one: python3 -m venv FOLDER && FOLDER/bin/pip install {self.name}=={self.version}; then "
            f"set `python` to FOLDER/bin/python. docs/adapters.md has the versions that were tried."
        )


def rewrite_by_script(
    programs: Programs, arguments: tuple[str, ...], draws: Sequence[Draw], *, is_adversary: bool
) -> Rewrites:
    """Return what a script answers to each draw; all its noise comes from the draw's key."""
    talk = JsonLines(programs, seeded=True, is_adversary=is_adversary)
    return Rewrites.of([talk.rewrite(arguments, draw) for draw in draws])


@lru_cache(maxsize=8)
def _read_versions(python: str, names: tuple[str, ...]) -> Mapping[str, str]:
    try:
        done = subprocess.run(  # noqa: S603 - an interpreter that the user named
            [python, "-E", "-s", "-c", _ASK, *names], capture_output=True, text=True, check=True, timeout=120,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        found: Mapping[str, str] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", "") or ""
        raise PluginError(
            f"'{python}' is not a Python interpreter that can list its packages: {error} "
            f"{shorten(str(said), 500)}"
        ) from error
    return found


def find_path(name: str) -> str:
    """Return the path of a file or folder from anywhere; nothing if none is named."""
    return str(Path(name).expanduser().absolute()) if name else ""
