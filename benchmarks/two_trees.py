"""Two source trees side by side: the same audits, their tables compared, their CPU time and memory told.

    git worktree add --detach ../before main
    python benchmarks/two_trees.py ../before . --million
    python benchmarks/two_trees.py ../before . --mechanism dp-mlm --trials 60 --epsilon 10 --epsilon 100

The trees take turns, `--repeats` times; every run is a process of its own. Time is of the processor, in user
and system mode, start included. Tables must hold the same rows in the same files: it fails if they do not.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

CHILD = """
import json, resource, sys
from tedaudit.api import run
run(json.loads(sys.argv[1]), page=False)
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"cpu": used.ru_utime + used.ru_stime, "GiB": used.ru_maxrss / 2**20}))
"""


def run_audit(tree: Path, spec: dict[str, Any]) -> dict[str, float]:
    """Run an audit with the code of a tree; return its CPU time and its peak of memory."""
    paths = os.pathsep.join(str(tree.resolve() / part) for part in ("src", "zoo/src"))
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", CHILD, json.dumps(spec)],
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


def compare_tables(one: Path, other: Path) -> tuple[int, list[str]]:
    """Return the number of rows in all tables of a run, and the files that differ in another one."""
    names = [{str(path.relative_to(run)) for path in run.glob("*/**/*.parquet")} for run in (one, other)]
    differing = sorted(names[0] ^ names[1])
    rows = 0
    for name in sorted(names[0] & names[1]):
        first, second = pl.read_parquet(one / name), pl.read_parquet(other / name)
        rows += len(first)
        if first.schema != second.schema or not first.equals(second):
            differing.append(name)
    return rows, differing


def main() -> None:
    """Run the audits of both trees in turn, compare and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--million", action="store_true", help="word-rr with lexical, a million trials")
    parser.add_argument("--mechanism", action="append", default=[])
    parser.add_argument("--attack", action="append")
    parser.add_argument("--epsilon", action="append", type=float)
    parser.add_argument("--corpus", default="demo")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=1)
    settings = parser.parse_args()
    names = ["word-rr"] if settings.million else settings.mechanism or ["word-rr"]
    for name in names:
        spec = {
            "mechanisms": [name],
            "corpus": settings.corpus,
            "attacks": ["lexical"] if settings.million else settings.attack or ["lexical"],
            "epsilons": settings.epsilon or [8.0],
            "trials": 1_000_000 if settings.million else settings.trials,
            "encoder": "lexical",
        }
        told: dict[str, list[dict[str, float]]] = {"before": [], "after": []}
        for _ in range(settings.repeats):
            with tempfile.TemporaryDirectory() as folder:
                for label, tree in (("before", settings.before), ("after", settings.after)):
                    told[label].append(run_audit(tree, {**spec, "out": str(Path(folder) / label)}))
                rows, differing = compare_tables(Path(folder) / "before", Path(folder) / "after")
            if differing:
                raise SystemExit(f"{name}: {len(differing)} files differ, the first is {differing[0]}")
        cpu = {label: sum(run["cpu"] for run in runs) / len(runs) for label, runs in told.items()}
        peak = {label: max(run["GiB"] for run in runs) for label, runs in told.items()}
        print(
            f"{name}, {spec['trials']:,} trials: {rows:,} rows of tables are equal; CPU time "
            f"{cpu['before']:.1f} s before, {cpu['after']:.1f} s after, ratio "
            f"{cpu['before'] / cpu['after']:.2f}; peak {peak['before']:.2f} and {peak['after']:.2f} GiB",
            flush=True,
        )


if __name__ == "__main__":
    main()
