"""How much faster an audit is with several processes than with one, as users run it.

    python benchmarks/engines.py --workers 2 --repeats 3

Every audit is `tedaudit run` in a process of its own, with whatever threads torch takes by itself: start-up,
reading, models and reports included. Engines take turns, so that other work on the machine meets both.
"""

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

AUDITS = {
    "dp-mlm": ["-m", "dp-mlm", "-e", "10", "-e", "100", "-e", "1000"],
    "dp-bart": ["-m", "dp-bart", "-e", "100", "-e", "1000"],
    "word-rr": ["-m", "word-rr", "--encoder", "lexical", "-e", "1", "-e", "2", "-e", "4", "-e", "8"],
}
_TABLES = ("rewrites", "own_rewrites", "guesses")


def time_run(flags: list[str], folder: Path) -> tuple[float, str]:
    """Return the seconds of an audit, and a hash of its tables."""
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    command = [sys.executable, "-m", "tedaudit", "run", "-q", "--json", "-o", str(folder), *flags]
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)  # noqa: S603
    seconds = time.perf_counter() - begin
    return seconds, hash_tables(folder)


def hash_tables(folder: Path) -> str:
    """Return a hash of the rows of all tables, however they were cut into files."""
    content = hashlib.sha256()
    for table in sorted({path.parent for kind in _TABLES for path in folder.glob(f"{kind}/**/*.parquet")}):
        rows = pl.concat(
            [pl.read_parquet(path) for path in sorted(table.iterdir()) if path.suffix != ".json"]
        )
        rows = rows.sort("text", "replicate") if "replicate" in rows.columns else rows
        content.update(str(table.relative_to(folder)).encode() + rows.hash_rows().to_numpy().tobytes())
    return content.hexdigest()


def main() -> None:
    """Print one line for each audit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audit", action="append", choices=list(AUDITS))
    parser.add_argument("--attack", default="embedding")
    parser.add_argument("--corpus", default="demo")
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    machine = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    print(f"{machine}, {asked.workers} workers, {asked.trials} trials")
    print("| audit | serial, seconds | processes, seconds | ratio | equal tables |")
    print("|---|---|---|---|---|")
    rows = []
    for name in asked.audit or ["dp-mlm", "dp-bart"]:
        flags = [*AUDITS[name], "-c", asked.corpus, "-a", asked.attack, "-t", str(asked.trials)]
        engines = {"serial": [], "processes": ["--engine", "processes", "--workers", str(asked.workers)]}
        seconds: dict[str, list[float]] = {engine: [] for engine in engines}
        tables = set()
        for number in range(asked.repeats):
            for engine, more in engines.items():
                with tempfile.TemporaryDirectory() as scratch:
                    took, content = time_run([*flags, *more], Path(scratch) / f"{engine}-{number}")
                seconds[engine].append(took)
                tables.add(content)
        pairs = zip(seconds["serial"], seconds["processes"], strict=True)
        ratio = statistics.median(one / other for one, other in pairs)
        cells = [name, *(" ".join(f"{s:.1f}" for s in seconds[e]) for e in engines), f"{ratio:.2f}"]
        print(f"| {' | '.join([*cells, str(len(tables) == 1)])} |", flush=True)
        told = {"audit": name, "flags": flags, "seconds": seconds, "ratio": ratio}
        rows.append({**told, "equal": len(tables) == 1, "machine": machine})
    if asked.out is not None:
        asked.out.write_text(json.dumps(rows, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
