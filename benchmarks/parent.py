r"""What the process that runs an audit does itself while workers rewrite and guess: its CPU time, by stage.

    python benchmarks/parent.py --mechanism word-rr --attack lexical --trials 100000 --epsilon 1 --epsilon 4
    python benchmarks/parent.py --mechanism dp-mlm --attack embedding --corpus atis --encoder zoo:encoder \
        --trials 1000000 --workers 12 --repeats 2 --epsilon .1 --epsilon .5 --epsilon 1 --epsilon 10 ...

Stages: steps are *made* and *packed*, files are *listed*; *before* is all until the first step, with
candidates and plans, *after* are the bounds and the page. What is left is *other*. A row is a rewrite or a
guess.
"""

import argparse
import json
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tedaudit.api import run
from tedaudit.runs import engines
from tedaudit.runs.listing import Listing
from tedaudit.runs.schedule import Schedule

_SPENT: Counter[str] = Counter()  # seconds of CPU, by stage


def watch(holder: Any, name: str, stage: str) -> None:
    """Count the CPU time that a function takes in its thread."""
    function: Callable[..., Any] = getattr(holder, name)

    def watched(*arguments: Any, **settings: Any) -> Any:
        with count(stage):
            return function(*arguments, **settings)

    setattr(holder, name, watched)


@contextmanager
def count(stage: str) -> Iterator[None]:
    """Count the CPU time of what is done inside."""
    begun = time.thread_time()
    yield
    _SPENT[stage] += time.thread_time() - begun


def main() -> None:
    """Run an audit and print what it cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--mechanism", default="word-rr")
    parser.add_argument("--attack", default="lexical")
    parser.add_argument("--corpus", default="demo")
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--epsilon", action="append", type=float)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--encoder", default="lexical")
    parser.add_argument("--repeats", type=int, default=1)
    asked = parser.parse_args()
    for holder, name, stage in (
        (Schedule, "list_rewriting", "made"), (Schedule, "list_own", "made"),
        (Schedule, "list_guessing", "made"), (Schedule, "list_learning", "made"),
        (engines, "pack_step", "packed"), (Listing, "add", "listed"),
    ):  # fmt: skip
        watch(holder, name, stage)
    for _ in range(asked.repeats):
        print(json.dumps(run_once(asked)), flush=True)


def run_once(asked: argparse.Namespace) -> dict[str, Any]:
    """Return what one audit cost."""
    _SPENT.clear()
    seen: list[tuple[float, float, int, int]] = []  # wall and CPU time, rows done and in all

    def progress(_: str, done: int, total: int) -> None:
        seen.append((time.perf_counter(), time.process_time(), done, total))

    with tempfile.TemporaryDirectory() as folder:
        spec = {
            "mechanisms": [asked.mechanism], "attacks": [asked.attack], "corpus": asked.corpus,
            "epsilons": asked.epsilon or [8.0], "trials": asked.trials, "encoder": asked.encoder,
            "out": str(Path(folder) / "run"), "engine": {"name": "processes", "workers": asked.workers},
        }  # fmt: skip
        begun, begun_cpu = time.perf_counter(), time.process_time()
        run(spec, progress=progress)
        ended, ended_cpu = time.perf_counter(), time.process_time()
        files = sum(1 for _ in Path(folder).glob("**/part-*.parquet"))
    first, last, rows = seen[0], seen[-1], seen[-1][3]
    cpu = last[1] - first[1]
    stages = {stage: round(seconds, 2) for stage, seconds in sorted(_SPENT.items())}
    return {
        "rows": rows, "files": files, "wall": round(ended - begun, 1),
        "wall_of_work": round(last[0] - first[0], 1),
        "parent_cpu_of_work": round(cpu, 2), "us_a_row": round(1e6 * cpu / rows, 3),
        "stages": {
            "before": round(first[1] - begun_cpu, 2), **stages,
            "other": round(cpu - sum(_SPENT.values()), 2), "after": round(ended_cpu - last[1], 2),
        },
        "parent_MiB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "largest_worker_MiB": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024),
        "workers_cpu": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime, 1),
    }  # fmt: skip


if __name__ == "__main__":
    main()
