"""How many texts a model reads in an audit: each once in a piece of a wave, whoever does the pieces.

    TEDAUDIT_DATA=data python benchmarks/passes.py --corpus atis

Nothing is rewritten: candidates are drawn, the plan is cut into waves and pieces, and texts are counted. The
last column tells how many would do: each text once.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from tedaudit.runs.preparation import prepare
from tedaudit.runs.schedule import open_schedules
from tedaudit.runs.spec.model import parse_spec


def main() -> None:
    """Print a row for each number of trials."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--corpus", default="demo")
    parser.add_argument("--trials", type=int, action="append")
    asked = parser.parse_args()
    print("| trials | waves | pieces | texts read | texts |")
    print("|---|---|---|---|---|")
    for trials in asked.trials or [10_000, 100_000, 1_000_000]:
        with tempfile.TemporaryDirectory() as folder:
            spec = {
                "mechanisms": ["word-rr"], "corpus": asked.corpus, "epsilons": [1.0], "trials": trials,
                "encoder": "lexical", "out": str(Path(folder) / "run"),
            }  # fmt: skip
            [schedule] = open_schedules(prepare(parse_spec(spec)))
            read = sum(len(np.unique(piece.text)) for piece in schedule.pieces)
            texts = len(np.unique(schedule.job.plan.source))
        cells = [trials, len(schedule.waves), len(schedule.pieces), read, texts]
        print("| " + " | ".join(f"{cell:,}" for cell in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
