"""A fresh environment without a network: the wheel, and links to the libraries that the core needs."""

import os
import re
import subprocess
import sysconfig
import venv
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

OURS = ("PYTHONPATH", "TEDAUDIT_ZOO", "TEDAUDIT_REPOSITORY")  # what tests set, and a user does not


def list_core():
    """Return the distributions that the core needs, and those that they need in turn."""
    wanted, found = ["tedaudit"], {}
    while wanted:
        name = wanted.pop()
        try:
            known = distribution(name)
        except PackageNotFoundError:
            continue
        if name in found:
            continue
        found[name] = known
        plain = [one for one in known.requires or () if ";" not in one]
        wanted += [re.split(r"[^\w.-]", one)[0].lower().replace("_", "-") for one in plain]
    found.pop("tedaudit")
    return list(found.values())


def make_environment(folder, wheel=None, *, with_pip=False):
    """Make the environment that `pip install tedaudit-*.whl` gives, and return its Python.

    Without a wheel it has the libraries alone.
    """
    venv.create(folder, symlinks=True, with_pip=with_pip)
    places = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", scheme="venv", vars=places))
    for known in list_core():
        paths = [str(path) for path in known.files or ()]
        for top in sorted({path.partition("/")[0] for path in paths if not path.startswith("..")}):
            source = Path(known.locate_file(top))
            if source.exists() and top != "__pycache__" and not (packages / top).exists():
                (packages / top).symlink_to(source)
    if wheel is not None:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(packages)
    return folder / "bin" / "python"


def call(*command, cwd=None, timeout=300, **environment):
    """Run a command as a user would: without what the tests have set."""
    plain = {name: value for name, value in os.environ.items() if name not in OURS}
    return subprocess.run(
        list(map(str, command)), cwd=cwd, env={**plain, **environment}, timeout=timeout,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
