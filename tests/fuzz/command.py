"""The command line of a fuzzer: how many cases, from which seed; it fails if one of them is broken."""

import argparse
import sys
import warnings
from collections.abc import Callable

from fuzz.mutations import Tally


def main(fuzz: Callable[[int, int], Tally], about: str | None) -> None:
    """Run a fuzzer and print what its cases came to."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tally = fuzz(asked.cases, asked.seed)
    sys.stdout.write(f"{tally}\n")
    sys.exit(1 if tally.broken else 0)
