"""An audit on a Ray cluster of two one-core machines, whose workers and machines are killed at random.

    python benchmarks/ray_kills.py --kills 20 --seed 1

Every fifth kill takes a whole machine, in whose place another comes; the others take a process. The tables
are compared, file by file, with those of one process that nobody disturbed.
"""

import argparse
import hashlib
import os
import random
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from tedaudit.api import run
from tedaudit.errors import InfrastructureError
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.values import Card
from tedaudit.runs.ray_engine import RayEngine
from tedaudit.runs.spec.engine import EngineSpec

_INCIDENTAL = {"incidental": True}  # no part of the table's key
_MEMORY = 100 * 2**20
_TABLES = ("rewrites", "own_rewrites", "guesses")


@dataclass(frozen=True)
class Paced(WordRR):
    """Randomised response that takes a while for each batch, and notes the process that it runs in."""

    folder: str = field(default="", metadata=_INCIDENTAL)
    seconds: float = field(default=0.3, metadata=_INCIDENTAL)
    card: ClassVar[Card] = Card(name="paced", summary="word-rr, slowly.")

    def rewrite(self, draws):
        """Wait, then rewrite."""
        if self.folder:
            (Path(self.folder) / str(os.getpid())).touch()
            time.sleep(self.seconds)
        return super().rewrite(draws)


class Killer:
    """Kills a process or a machine now and then, while the run gets on, until it has done so often enough."""

    def __init__(self, cluster, folder: Path, asked: argparse.Namespace) -> None:
        self._cluster, self._folder, self._left = cluster, folder, asked.kills
        self._coins, self._pause = random.Random(asked.seed), asked.pause  # noqa: S311
        self._next = self._wait(2 * asked.pause)
        self._returns: float | None = None  # when a machine comes in the place of one that went
        self.processes = self.machines = 0

    def __call__(self, *_: object) -> None:
        """Kill, if it is time."""
        now = time.monotonic()
        if self._returns is not None and now >= self._returns:
            self._returns = None
            self._cluster.add_node(num_cpus=1, object_store_memory=_MEMORY)
        if not self._left or now < self._next:
            return
        if self._left % 5 == 0 and self._returns is None:
            self._cluster.remove_node(next(iter(self._cluster.worker_nodes)), allow_graceful=False)
            self._returns = self._wait(self._pause)
            self.machines += 1
        else:
            alive = [path for path in self._folder.iterdir() if Path(f"/proc/{path.name}").exists()]
            if not alive:
                return
            os.kill(int(self._coins.choice(sorted(alive)).name), signal.SIGKILL)
            self.processes += 1
        self._left -= 1
        self._next = self._wait(2 * self._pause)

    def _wait(self, most: float) -> float:
        return time.monotonic() + self._coins.uniform(0.2, most)


def make_settings(out: Path, mechanism: dict, trials: int) -> dict:
    """Return the audit."""
    return {
        "mechanisms": [mechanism], "corpus": "demo", "epsilons": [1, 4], "attacks": ["lexical"],
        "trials": trials, "block": 100, "encoder": "lexical", "out": str(out),
    }  # fmt: skip


def hash_tables(root: Path) -> dict[str, str]:
    """Return what every file of the tables holds."""
    found = [path for table in _TABLES for path in root.glob(f"{table}/**/*.parquet")]
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def main() -> None:
    """Print what happened."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=float, default=2.0, help="mean seconds between kills")
    parser.add_argument("--trials", type=int, default=10_000)
    asked = parser.parse_args()
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # workers get as much of a busy machine as this process
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - so Ray spells it
    import ray
    from ray.cluster_utils import Cluster

    sys.path.insert(0, str(Path(__file__).parent))  # where workers find the mechanism
    health = {
        "health_check_period_ms": 500,
        "health_check_timeout_ms": 2000,
        "health_check_failure_threshold": 3,
    }
    head = {
        "num_cpus": 1,
        "include_dashboard": False,
        "object_store_memory": _MEMORY,
        "_system_config": health,
    }
    cluster = Cluster(initialize_head=True, head_node_args=head)
    cluster.add_node(num_cpus=1, object_store_memory=_MEMORY)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="FATAL")
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        (root / "who").mkdir()
        mechanism = {"name": "py:ray_kills:Paced", "folder": str(root / "who")}
        killer = Killer(cluster, root / "who", asked)
        ends, begin = 0, time.monotonic()
        disturbed = make_settings(root / "disturbed", mechanism, asked.trials)
        with RayEngine(EngineSpec(name="ray"), print) as engine:
            while True:
                try:
                    result = run(disturbed, engine, killer, page=False)
                    break
                except InfrastructureError as error:  # one step was hit three times: go on, as a user would
                    ends += 1
                    print(f"ended and resumed: {error}")
        seconds = time.monotonic() - begin
        calm = make_settings(root / "calm", mechanism | {"seconds": 0.0}, asked.trials)
        other = run(calm, page=False)
        tables = [hash_tables(root / name) for name in ("disturbed", "calm")]
        bounds = [[finding.bound for finding in found] for found in (result, other)]
        print(f"{killer.processes} processes and {killer.machines} machines were killed in {seconds:.0f} s")
        print(f"runs that ended because one step was hit three times, and were resumed: {ends}")
        print(f"processes that worked: {len(list((root / 'who').iterdir())) - 1}")
        print(f"files of tables: {len(tables[1])}; as in one process: {_count_equal(*tables)}")
        print(f"equal bounds: {bounds[0] == bounds[1]}")
    ray.shutdown()
    cluster.shutdown()
    sys.exit(0 if tables[0] == tables[1] and killer.processes + killer.machines == asked.kills else 1)


def _count_equal(one: dict[str, str], other: dict[str, str]) -> int:
    return sum(other.get(name) == content for name, content in one.items())


if __name__ == "__main__":
    main()
