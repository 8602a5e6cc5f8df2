"""The options that every recipe has."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Options:
    """Where the public data lie, where the model goes, and whether only a few steps are tried."""

    data: Path
    out: Path
    dry_run: bool
    seed: int
    seconds: float
    variant: str = ""
    start: Path | None = None
    first: str = ""

    def command(self, script: str) -> str:
        """Return how the recipe was called, for the card; a training that was cut short is told."""
        cut = f" --seconds {self.seconds:g}" if self.seconds else ""
        begun = " --start DIR" if self.start else ""
        return f"python recipes/{script} --data DIR --out DIR{begun}{cut}"


def options(
    about: str | None, variants: Sequence[str] = (), *, goes_on: bool = False, pivots: bool = False
) -> Options:
    """Read the command line; the first of several variants is the default.

    `goes_on` offers a start, and `pivots` a model that reads the texts before this one does.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, required=True, help="the folder with text/, snli/, ud-ewt/, snips/"
    )
    parser.add_argument("--out", type=Path, required=True, help="the folder of the model")
    parser.add_argument("--dry-run", action="store_true", help="a few steps on little text: does it run?")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0.0, help="stop training early, after so long")
    if goes_on:
        parser.add_argument("--start", type=Path, help="the folder of an older version, to train on from it")
    if pivots:
        parser.add_argument("--first", default="", help="a model whose greedy output is read, as in DP-Pivot")
    if variants:
        parser.add_argument("--variant", choices=variants, default=variants[0])
    return Options(**vars(parser.parse_args()))
