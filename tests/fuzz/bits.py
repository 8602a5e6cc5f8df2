"""Flipped bits of a whole run directory, as many of a small file as of a large one: each is named.

PYTHONPATH=src:tests python -m fuzz.bits --cases 1000 --seed 0
"""

import contextlib
import os
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from command_line import call
from fuzz.command import main
from fuzz.mutations import Tally, flip, try_case, working_in
from fuzz.specs import TEXTS
from tedaudit.api import load_run, report, run
from tedaudit.errors import TedauditError
from tedaudit.reports.plugin_cards import calibration_cards
from tedaudit.results.certain_losses import write_certain
from tedaudit.runs.checking import find_damage
from tedaudit.runs.directory import RunDirectory
from tedaudit.studies.replay import replay

SPEC: dict[str, Any] = {
    "corpus": {"name": "files", "path": "texts.txt"}, "epsilons": [4], "attacks": ["lexical", "likelihood"],
    "trials": 40, "mechanisms": [{"name": "word-rr", "slots": 3}], "plans": [{"k": 2, "lambda": 0}],
    "block": 20, "encoder": "lexical", "out": "run",
}  # fmt: skip


def fuzz_bits(cases: int, seed: int) -> Tally:
    """Try runs of which one bit is another: of one file of each kind, then of the others, and round again."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as outer:
        folder = Path(outer) / "case"
        folder.mkdir()
        (folder / "texts.txt").write_text(TEXTS)
        with working_in(folder):
            told = make_run()
            Path("run").rename("whole")
            files = sort_by_kind(list_files(Path("whole")))
            for number in range(cases):
                rng = random.Random(f"{seed} {number}")
                shutil.rmtree("run", ignore_errors=True)
                shutil.copytree("whole", "run")
                path = Path("run", files[number % len(files)].relative_to("whole"))
                path.write_bytes(flip(path.read_bytes(), rng))
                work = rng.choice(USES)
                name = f"bit {seed} {number} of {path}, {work.__name__}"
                try_case(tally, name, lambda path=path, work=work: _try(path, work, told))
    return tally


def sort_by_kind(files: list[Path]) -> list[Path]:
    """Return files with one of each kind first, by folder and suffix, so that few cases reach all kinds."""
    first: dict[tuple[str, ...], Path] = {}
    for file in files:
        folder, *rest = file.relative_to("whole").parts
        first.setdefault((folder, file.suffix) if rest else (folder,), file)
    return [*first.values(), *(file for file in files if file not in first.values())]


def make_run() -> list[dict[str, Any]]:
    """Make a run with everything that commands put into it, and return what it tells."""
    run(SPEC)
    with Path(os.devnull).open("w") as nothing, contextlib.redirect_stdout(nothing):
        for words in (
            ("report", "run"), ("export", "run", "-f", "card"),
            ("records", "run", "--count", 2, "-t", 5, "-q"),
            ("leaks", "run", "-t", 50, "-q"),
        ):  # fmt: skip
            assert call(*words) == 0, words
    store = RunDirectory(Path("run"))
    write_certain(store, [])
    store.files.write({store.utility: b'{"rows": [], "tasks": []}'}, redacted=False)
    return _tell(load_run("run"))


def list_files(root: Path) -> list[Path]:
    """Return every file of a run that holds anything."""
    return sorted(path for path in root.rglob("*") if path.is_file() and path.stat().st_size)


def _try(path: Path, work: Callable[[], Any], told: list[dict[str, Any]]) -> None:
    _, found = find_damage(RunDirectory(Path("run")))
    assert any(path.name in line for line in found), f"nothing was said of {path}: {found}"
    assert all(line.isprintable() for line in found)
    result = work()
    assert result is None or _tell(result) == told, "other numbers were shown"
    raise TedauditError(found[0])


def _load() -> Any:
    return load_run("run")


def _report() -> Any:
    return report("run", figures=False)


def _redact() -> None:
    report("run", redact=True)
    calibration_cards(load_run("run"))


def _replay() -> None:
    replay(RunDirectory(Path("run")), 0, {})


def _resume() -> Any:
    return run(SPEC, page=False)


USES = (_load, _report, _redact, _replay, _resume)


def _tell(result: Any) -> list[dict[str, Any]]:
    return [finding.to_dict() for finding in result]


if __name__ == "__main__":
    main(fuzz_bits, __doc__)
