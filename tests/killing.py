"""Audits that are killed at one file after the other."""

import json
import os
import signal
import sys
from pathlib import Path

import helpers  # noqa: F401 - before the forks
import tedaudit.reports.files  # noqa: F401 - before the forks
from tedaudit.api import run
from tedaudit.errors import RunDirectoryError
from tedaudit.results.reading import read_result
from tedaudit.spec.model import AuditSpec, parse_spec, read_spec
from tedaudit.store.directory import RunDirectory


def kill_at_every_file(spec_path: str, folder: str) -> None:
    """Kill an audit at its n-th file for every n, look at it, let it go on; print what happened.

    To be called in a process of its own. Every audit runs in a fork, so that nothing is imported
    twice. It is killed by SIGKILL between the writing of a temporary file and its renaming.
    """
    import scipy.sparse  # before the forks
    import scipy.special  # noqa: F401 - before the forks

    settings = read_spec(Path(spec_path))
    moments = []
    for number in range(1, 500):
        out = Path(folder) / f"{number:03d}"
        spec = parse_spec({**settings, "out": str(out)})
        first = _in_a_fork(lambda n=number, s=spec: _run_until(n, s))
        left = [path.name for path in out.rglob(".writing-*")]
        looked = _in_a_fork(lambda o=out: _look(o))
        second = _in_a_fork(lambda s=spec: run(s))
        moments.append(
            {"folder": str(out), "killed": first, "left": left, "looked": looked, "resumed": second}
        )
        if first != signal.SIGKILL:
            break
    sys.stdout.write(json.dumps(moments))


def _in_a_fork(work) -> int:
    """Return the exit status of a child that does some work."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    try:
        work()
    except BaseException as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        os._exit(1)
    os._exit(0)


def _run_until(number: int, spec: AuditSpec) -> None:
    """Run an audit, but die instead of renaming the n-th file."""
    left = number

    def hook(event, args):
        nonlocal left
        if event == "os.rename" and ".writing-" in str(args[0]):  # and not a module that is compiled
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    run(spec)


def _look(folder: Path) -> None:
    """Read what is there so far: all that may be missing is the manifest."""
    try:
        read_result(RunDirectory(folder))
    except RunDirectoryError as error:
        if "has no manifest.json" not in str(error) or (folder / "manifest.json").exists():
            raise
