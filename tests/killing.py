"""Audits and other commands that are killed at one file after the other."""

import hashlib
import json
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import helpers  # noqa: F401 - before the forks
import tedaudit.reports.files  # noqa: F401 - before the forks
from tedaudit.api import run
from tedaudit.errors import RunDirectoryError
from tedaudit.results.reading import read_result
from tedaudit.runs.checking import find_damage
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.spec.model import AuditSpec, parse_spec, read_spec

_TABLES = ("rewrites/", "own_rewrites/", "guesses/", "manifest.json")


def kill_at_files(spec_path: str, folder: str, which: str, engine: object = "serial") -> None:
    """Kill an audit at its n-th file, look at it, let it go on; print what happened, with a whole run last.

    It is done for every n if `which` is "all", otherwise for one file of each kind, the middle one; if it is
    "tables", only of tables and of the manifest. To be called in a process of its own. Every audit runs in a
    fork, so that nothing is imported twice. It is killed by SIGKILL between the writing of a temporary file
    and its renaming.
    """
    import scipy.sparse  # before the forks
    import scipy.special  # noqa: F401 - before the forks

    settings, whole = read_spec(Path(spec_path)), Path(folder) / "whole"

    def spec_for(out: Path) -> AuditSpec:
        return parse_spec({**settings, "out": str(out), "engine": engine})

    files = Path(folder).with_suffix(".files")
    last = _in_a_fork(lambda: _run_until(0, spec_for(whole), files))
    kinds: dict[str, list[int]] = {}
    for number, name in enumerate(files.read_text().splitlines(), 1):
        if which != "tables" or name.startswith(_TABLES):
            kinds.setdefault(str(number) if which == "all" else name_kind(name), []).append(number)
    moments = []
    for number in sorted(numbers[len(numbers) // 2] for numbers in kinds.values()):
        out = Path(folder) / f"{number:03d}"
        spec = spec_for(out)
        first = _in_a_fork(lambda n=number, s=spec: _run_until(n, s))
        left = [path.name for path in out.rglob(".writing-*")]
        looked = _in_a_fork(lambda o=out: _look(o))
        second = _in_a_fork(lambda s=spec: run(s))
        moments.append(
            {"folder": str(out), "killed": first, "left": left, "looked": looked, "resumed": second}
        )
    sys.stdout.write(json.dumps([*moments, {"folder": str(whole), "killed": last}]))


def name_kind(file: str) -> str:
    """Return what kind of file it is, by its path in the run: its folder, and its name without numbers."""
    folder, _, rest = file.partition("/")
    name = re.sub(r"\d+", "", Path(rest).name)
    return f"{folder}/{name}" if rest else file


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


def _run_until(number: int, spec: AuditSpec, files: Path | None = None) -> None:
    """Run an audit, but die instead of renaming the n-th file; or note the names of all files."""
    seen: list[str] = []

    def hook(event, args):
        if event == "os.rename" and ".writing-" in str(args[0]):  # and not a module that is compiled
            seen.append(os.path.relpath(args[1], spec.out))
            if len(seen) == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    run(spec)
    if files is not None:
        files.write_text("\n".join(seen))


def _look(folder: Path) -> None:
    """Read what is there so far: all that may be missing is the manifest."""
    try:
        read_result(RunDirectory(folder))
    except RunDirectoryError as error:
        if "has no manifest.json" not in str(error) or (folder / "manifest.json").exists():
            raise


COMMANDS = {
    "records": ("records", "run", "--count", "2", "-t", "5", "-q"),
    "leaks": ("leaks", "run", "-t", "50", "-q"),
    "link": ("link", "pairs.csv", "-a", "lexical", "-o", "linked", "--texts", "-q"),
    "calibrate": (
        "calibrate", "-m", "word-rr", "--set", "word-rr.slots=3", "-c", "texts.txt", "-a", "lexical",
        "-t", "200", "--target", "0.9", "--by", "success", "--encoder", "lexical", "-o", "calibrated", "-q",
    ),
    "utility": (
        "utility", "--run", "run", "-c", "labels.csv", "--task", "topic", "--limit", "20", "--seeds", "2",
        "--classifier", "tfidf", "--hold-out", "0.3", "-o", "studied", "-q",
    ),
}  # fmt: skip
"""What is killed, by the name of the command, in a folder that `prepare_folder` has made."""
_OF_THE_CLOCK = (
    "manifest.json",
    "files.json",
    "report.html",
)  # they hold a time, or the digest of one that does


def prepare_folder(folder: Path) -> None:
    """Make a run and the files that the commands read."""
    who, what = ("ann", "bob", "cat", "dan", "eve"), ("ring", "boat", "lamp", "book", "coat", "drum")
    texts = [f"{one} lost the {thing}" for one in who for thing in what]
    folder.mkdir()
    (folder / "texts.txt").write_text("\n".join(texts) + "\n")
    rows = [f"{text},{text.split()[0]} lost it" for text in texts]
    (folder / "pairs.csv").write_text("\n".join(["original,rewrite", *rows]) + "\n")
    labelled = [f"{text},{'a' if 'r' in text.split()[-1] else 'b'}" for text in texts]
    (folder / "labels.csv").write_text("\n".join(["text,topic", *labelled]) + "\n")
    made = ("run", "-m", "word-rr", "-e", "4", "-c", "texts.txt", "-a", "lexical", "-a", "likelihood",
            "-t", "60", "--set", "word-rr.slots=3", "--encoder", "lexical", "-o", "run", "-q")  # fmt: skip
    status = _in_a_fork(lambda: call_until(0, folder, made))
    assert status == 0, status


def kill_commands(folder: str, kills: str, *names: str) -> None:
    """Kill each command at some of its files, run it again, and print whether all results are as without.

    To be called in a process of its own, which loads no table: its forks do.
    """
    import matplotlib.figure  # noqa: F401 - before the forks
    import sklearn.linear_model  # noqa: F401 - before the forks

    base = Path(folder) / "base"
    prepare_folder(base)
    told = {}
    for name in names:
        (Path(folder) / name).mkdir()
        told[name] = _kill_command(name, base, Path(folder) / name, int(kills))
    sys.stdout.write(json.dumps(told))


def _kill_command(name: str, base: Path, folder: Path, kills: int) -> dict[str, object]:
    """Return what became of a command that was killed.

    Half of the moments are the last ones, in which the files beside the tables and their list are written;
    the others are spread. If there are fewer files than kills, it is killed at every file.
    """
    words = COMMANDS[name]
    whole, counter = shutil.copytree(base, folder / "whole"), folder / "count"
    assert _in_a_fork(lambda: call_until(0, whole, words, counter)) == 0
    number, wanted = int(counter.read_text()), digest_results(whole)
    kills = min(kills, number)
    late = range(number - (kills - 1) // 2, number + 1)
    rest, early = number - len(late), kills - len(late)
    spread = [(2 * i + 1) * rest // (2 * early) + 1 for i in range(early)]
    moments = []
    for moment in sorted({*late, *spread}):
        copy = shutil.copytree(base, folder / "copy")
        killed = _in_a_fork(lambda m=moment, c=copy: call_until(m, c, words))
        again = _in_a_fork(lambda c=copy: call_until(0, c, words))
        fits = [_in_a_fork(lambda r=run: _look_for_damage(r)) for run in (copy / "run", copy / "calibrated")]
        left = [path.name for path in copy.rglob(".writing-*")]
        differing = sorted(name for name, _ in digest_results(copy).items() ^ wanted.items())
        told = {"killed": killed, "again": again, "fits": fits, "left": left, "differing": differing}
        moments.append({"at": moment, **told})
        shutil.rmtree(copy)
    return {"files": number, "results": len(wanted), "moments": moments}


def digest_results(folder: Path) -> dict[str, str]:
    """Return the digest of every file that does not tell the time."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.name not in _OF_THE_CLOCK
    }


def _look_for_damage(folder: Path) -> None:
    found = find_damage(RunDirectory(folder))[1] if folder.is_dir() else []
    assert not found, found


def call_until(stop: int, folder: Path, words, counter: Path | None = None) -> None:
    """Run a command in a folder, but die instead of renaming the n-th file; or count the files."""
    from tedaudit.cli import main

    os.chdir(folder)
    seen = 0

    def hook(event, args):
        nonlocal seen
        if event == "os.rename" and ".writing-" in str(args[0]):
            seen += 1
            if seen == stop:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    sys.argv = ["tedaudit", *words]
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        main()
    except SystemExit as stopped:
        if stopped.code:
            raise
    if counter is not None:
        counter.write_text(str(seen))
