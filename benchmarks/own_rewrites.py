"""How many rows a masked model runs for an audit without the attack `resample` and with it.

python benchmarks/own_rewrites.py --corpus atis --variant published --variant sound --trials 1000
"""

import argparse
import tempfile
from pathlib import Path

from tedaudit.api import run
from tedaudit.mechanisms import _masked_rows
from tedaudit.models.sampling import masked


class RowCount:
    """Stands before the function that runs the model, and counts the rows it is given."""

    def __init__(self) -> None:
        self.rows = 0

    def __call__(self, checkpoint, rows):
        """Count rows and have the model do them."""
        self.rows += len(rows)
        return masked.masked_logits(checkpoint, rows)


def count_rows(asked: argparse.Namespace, variant: str, temperature: float, attacks: list[str]):
    """Return the model rows of one audit, and how many own rewrites its attacks were given."""
    counter = RowCount()
    _masked_rows.masked_logits = counter
    mechanism = {"name": "dp-mlm", "model": "zoo:mlm", "variant": variant}
    with tempfile.TemporaryDirectory() as folder:
        result = run(
            {
                "mechanisms": [mechanism], "corpus": asked.corpus, "epsilons": [asked.epsilon],
                "attacks": attacks, "trials": asked.trials, "plans": [{"k": 2, "lambda": temperature}],
                "out": str(Path(folder) / "run"), "encoder": "lexical",
            },
            page=False,
        )  # fmt: skip
        return counter.rows, max(finding.measures.own_rewrites for finding in result)


def main() -> None:
    """Print one line for each variant and lambda."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="demo")
    parser.add_argument("--variant", action="append", choices=["published", "sound"])
    parser.add_argument("--lambda", dest="temperatures", type=float, action="append")
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--epsilon", type=float, default=10.0)
    asked = parser.parse_args()
    print("| corpus | variant | lambda | rows without | own rewrites | rows with | added |")
    print("|---|---|---|---|---|---|---|")
    for variant in asked.variant or ["published", "sound"]:
        for temperature in asked.temperatures or [-10_000.0, 0.0]:
            without, _ = count_rows(asked, variant, temperature, ["lexical"])
            rows, own = count_rows(asked, variant, temperature, ["lexical", "resample"])
            cells = (
                asked.corpus, variant, f"{temperature:g}", f"{without:,}", f"{own:,}", f"{rows:,}",
                f"{rows / without - 1:.2f}",
            )  # fmt: skip
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
