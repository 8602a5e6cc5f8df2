"""The table of docs/results/leaks.md, from what `tedaudit leaks --json` printed, one file for each mechanism.

for m in dp-mlm dp-prompt dp-paraphrase dp-bart adept dp-st; do for v in published sound; do
    tedaudit leaks -m $m --set variant=$v --json > $m-$v.json
done; done
python benchmarks/leaks_table.py *.json
"""

import json
import sys
from pathlib import Path
from typing import Any

from tedaudit.reports.writers.markdown import write_table
from tedaudit.results.section import Column, Table

HEADINGS = ("mechanism", "variant", "what was found", "pairs that follow", "adjusted p", "what would fix it",
            "smallest example")  # fmt: skip
_LONGEST = 60


def main() -> None:
    """Print one row for each finding, and one for a mechanism without any."""
    rows = [row for path in sys.argv[1:] for row in list_rows(Path(path))]
    print(write_table(Table(tuple(map(Column, HEADINGS)), tuple(rows))))


def list_rows(path: Path) -> list[tuple[str, ...]]:
    """Return the findings of one battery as cells."""
    report = json.loads(path.read_text(encoding="utf-8"))
    name, _, variant = path.stem.rpartition("-")
    if not report["findings"]:
        least = min(test["p_value"] for test in report["tests"])
        found = f"nothing by {len(report['tests'])} tests on {report['calls']:,} rewrites"
        return [(name, variant, found, "", f"(least p, not adjusted: {least:.2g})", "", "")]
    return [(name, variant, *describe(finding)) for finding in report["findings"]]


def describe(finding: dict[str, Any]) -> tuple[str, ...]:
    """Return one finding as cells."""
    low, high = finding["interval"]
    clue = f"; what tells: {finding['clue']['kind']}" if finding["clue"] else ""
    strength = f"{finding['followed']} of {finding['pairs']} ({low:.0%} to {high:.0%})"
    fix = finding["fix"].removesuffix(" (the variant 'sound' sets all)").partition(": set ")[2]
    return (
        f"{finding['culprit']} ({finding['part']}, {finding['name']}{clue})", strength,
        f"{finding['adjusted_p']:.2g}", fix or finding["fix"], show(finding["example"]),
    )  # fmt: skip


def show(example: dict[str, list[str]] | None) -> str:
    """Return both texts of an example with what became of them."""
    pairs = zip(example["texts"], example["outputs"], strict=True) if example else ()
    return "; ".join(f"{shorten(text)!r} → {shorten(output)!r}" for text, output in pairs)


def shorten(text: str) -> str:
    """Return the beginning of a text."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


if __name__ == "__main__":
    main()
