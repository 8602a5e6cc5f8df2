"""Virtual environments for packages that cannot live in ours, built as docs/adapters.md says.

TEDAUDIT_ENVIRONMENTS may name a folder in which they are kept between test runs.
"""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
_UNREACHABLE = re.compile(r"from versions: none|Max retries|NewConnectionError|Temporary failure|ReadTimeout")


def read_commands(heading):
    """Return the packages that the documentation installs for an adapter, by its heading there."""
    page = (PROJECT / "docs" / "adapters.md").read_text("utf-8")
    section = page.partition(f"\n## `{heading}`")[2].partition("\n## ")[0]
    line = re.search(r"bin/pip install (.+)", section)
    assert line, f"docs/adapters.md says nothing of how to install {heading}"
    return line[1].split()


def find_environment(name, folder, packages=(), *, shared=False):
    """Return the interpreter of an environment with these packages, or those that the documentation names.

    If it is shared, libraries that are installed here are used and not installed again.
    """
    kept = os.environ.get("TEDAUDIT_ENVIRONMENTS")
    place = Path(kept or folder) / name
    python = place / "bin" / "python"
    if not python.exists():
        _run("venv", sys.executable, "-m", "venv", "--without-pip", place)  # ours can install there
        packages = packages or read_commands(name)
        if shared:
            own = next(place.glob("lib/python*/site-packages"))
            (own / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n")
        quiet = ("-q", "--disable-pip-version-check", "--retries", "1")
        pip = (sys.executable, "-m", "pip", "--python", python)
        _run("pip", *pip, "install", "--no-compile", *quiet, *packages)  # what is imported is compiled then
    return str(python)


def _run(what, *command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, timeout=900)
    if done.returncode and _UNREACHABLE.search(done.stderr):
        last = done.stderr.strip().splitlines()[-1]
        pytest.skip(f"PyPI cannot be reached to build an environment: {last[:200]}")
    assert done.returncode == 0, f"{what}: {done.stderr[-3000:]}"
