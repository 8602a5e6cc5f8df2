"""How many texts a model reads in an audit: each once in a unit, so smaller units for more workers read more.

    TEDAUDIT_DATA=data python benchmarks/passes.py --corpus atis

Nothing is rewritten: candidates are drawn, the plan is cut into units, and different sources are counted.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from tedaudit.execution.backlog import spans
from tedaudit.preparing.preparation import prepare
from tedaudit.spec.model import parse_spec


def main() -> None:
    """Print a row for each number of trials."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--corpus", default="demo")
    parser.add_argument("--trials", type=int, action="append")
    parser.add_argument("--workers", type=int, action="append")
    asked = parser.parse_args()
    workers = [1, *(asked.workers or [2, 4, 12])]
    print("| trials | " + " | ".join(f"{number} workers" for number in workers) + " |")
    print("|---|" + "---|" * len(workers))
    for trials in asked.trials or [10_000, 100_000, 1_000_000]:
        with tempfile.TemporaryDirectory() as folder:
            spec = {
                "mechanisms": ["word-rr"], "corpus": asked.corpus, "epsilons": [1.0], "trials": trials,
                "encoder": "lexical", "out": str(Path(folder) / "run"),
            }  # fmt: skip
            audit = prepare(parse_spec(spec))
        [job] = audit.jobs
        read = [
            sum(len(np.unique(job.plan.source[rows.start : rows.stop])) for rows in spans(job, audit, number))
            for number in workers
        ]
        cells = [f"{number:,} ({number / read[0]:.2f})" for number in read]
        print(f"| {trials:,} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
