"""Mutated run directories: each shows the numbers that it showed before, or is refused in one line.

PYTHONPATH=src:tests python -m fuzz.runs --cases 2000 --seed 0
"""

import json
import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

from fuzz.command import main
from fuzz.mutations import JSON, NAMES, Tally, flip, replace_in_tree, try_case, working_in
from fuzz.specs import TEXTS
from tedaudit.api import load_run, report, run
from tedaudit.reports.plugin_cards import calibration_cards
from tedaudit.runs.checksums import seal_json
from tedaudit.runs.directory import RunDirectory
from tedaudit.studies.replay import replay

SPEC: dict[str, Any] = {
    "corpus": {"name": "files", "path": "texts.txt"}, "epsilons": [1, 4], "attacks": ["lexical"], "trials":
    40,
    "mechanisms": [{"name": "word-rr", "slots": 3}, "identity"],
    "plans": [{"k": 2, "lambda": 0}], "block": 20, "encoder": "lexical", "out": "run",
}  # fmt: skip


def fuzz_runs(cases: int, seed: int) -> Tally:
    """Try mutated runs, the same ones for the same seed."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as outer:
        folder = Path(outer) / "case"
        folder.mkdir()
        (folder / "texts.txt").write_text(TEXTS)
        with working_in(folder):
            told = _tell(run(SPEC, page=False))
            Path("run").rename("whole")
            for number in range(cases):
                rng = random.Random(f"{seed} {number}")
                shutil.rmtree("run", ignore_errors=True)
                shutil.copytree("whole", "run")
                kind = _mutate(rng)
                name = f"run {seed} {number} ({kind})"
                try_case(tally, name, lambda kind=kind, rng=rng: _try(rng, kind, told))
    return tally


def _mutate(rng: random.Random) -> str:
    """Change one file of the run and return in which way."""
    kind = rng.choice(("flip", "flip", "cut", "swap", "copy", "remove", "json", "json", "json"))
    files = sorted(
        path for path in Path("run").rglob("*") if path.is_file() and path.suffix in (".json", ".parquet")
    )
    files = [path for path in files if path.name not in ("summary.json", "estimates.parquet")]
    path = rng.choice(files)
    parts = [other for other in files if other.name.startswith("part-")]
    if kind == "flip":
        path.write_bytes(flip(path.read_bytes(), rng))
    elif kind == "cut":
        path.write_bytes(path.read_bytes()[: rng.randrange(path.stat().st_size)])
    elif kind == "swap":
        shutil.copy(*rng.sample(parts, 2))
    elif kind == "copy":
        source = rng.choice(parts)
        source.with_name(source.name.replace("0", "1", rng.choice((1, 3, 9)))).write_bytes(
            source.read_bytes()
        )
    elif kind == "remove":
        path.unlink()
    else:
        _change_json(rng, rng.choice([other for other in files if other.suffix == ".json"]))
    return kind


def _change_json(rng: random.Random, path: Path) -> None:
    """Put something into a description that does not belong there, under a checksum that fits."""
    values = [*NAMES, None, True, [], {}, -1, 0.5, 10**30, [[]], {"a": 1}, [1, "a"], *JSON[:3]]
    content = replace_in_tree(json.loads(path.read_text()), rng, rng.choice(values))
    if isinstance(content, dict):
        content = seal_json(content)
    path.write_text(json.dumps(content))


def _try(rng: random.Random, kind: str, told: list[dict[str, Any]]) -> None:
    result = load_run("run")
    if kind in ("flip", "cut", "swap"):
        assert _tell(result) == told, "other numbers were shown"
    if rng.random() < 0.1:
        report("run", redact=rng.random() < 0.5)
        calibration_cards(result)
    if rng.random() < 0.2:
        replay(RunDirectory(Path("run")), 0, {})
    if rng.random() < 0.2:
        run(SPEC, page=False)


def _tell(result: Any) -> list[dict[str, Any]]:
    return [finding.to_dict() for finding in result]


if __name__ == "__main__":
    main(fuzz_runs, __doc__)
