"""What the battery finds of twenty leaks that were written by somebody who had read docs/leaks.md alone.

python benchmarks/leaks_unseen.py [-c atis]

The leaks are in unseen_leaks.py, as they were written before the battery's views were chosen.
"""

import argparse
import random

from unseen_leaks import LEAKS

from tedaudit.api import load_corpus
from tedaudit.errors import InfrastructureError
from tedaudit.leaks.finder import find_leaks
from tedaudit.leaks.outcomes import LeakReport
from tedaudit.models import calling as retries


def main() -> None:
    """Print a row of Markdown for each leak, and how many were found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-c", "--corpus", default="demo")
    texts = load_corpus(parser.parse_args().corpus).texts
    retries.PAUSES = (0.0,) * 3  # errors that come at random need no time to pass
    found = 0
    print("| leak | found | what tells them apart |\n|---|---|---|")
    for leak in LEAKS:
        random.seed(5)
        try:
            report = find_leaks(leak.factory(), texts, processes=False)
        except InfrastructureError as error:
            print(f"| {leak.name} | no | (stops: {str(error).partition(':')[0]}) |")
            continue
        found += bool(report.findings)
        print(f"| {leak.name} | {_name(report)} |", flush=True)
    print(f"\n{found} of {len(LEAKS)}")


def _name(report: LeakReport) -> str:
    """Return the most certain finding and what it names, or that there is none."""
    if not report.findings:
        return f"no | (smallest p-value {min(o.signs.p_value for o in report.outcomes):.2g})"
    first = report.causes[0].finding
    kind, value = first.clue
    return (
        f"{first.name} | {kind}: `{value.partition(': ')[2]}`" if kind else f"{first.name} | {first.culprit}"
    )


if __name__ == "__main__":
    main()
