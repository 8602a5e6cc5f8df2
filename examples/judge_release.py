"""I have a release to judge: originals and rewrites, no code and no epsilon.

    python examples/judge_release.py pairs.csv

The file has the columns `original` and `rewrite`; without one, the demo's texts with names masked are judged.
"""

import re
import sys
from pathlib import Path

import tedaudit


def make_release() -> dict[str, list[str]]:
    """Return a table of 600 texts whose names and numbers are masked."""
    texts = list(tedaudit.load_corpus("demo").splits["test"].texts)
    masked = [re.sub(r"\b([A-Z][a-z]+|\d+)\b", "[...]", text) for text in texts]
    return {"original": texts, "rewrite": masked}


def judge(release: Path | dict[str, list[str]]) -> str:
    """Return what an adversary could do who compares words and holds all originals."""
    result = tedaudit.link(release, attacks="lexical")
    [attack] = result.attacks
    found = attack.linkability
    return (
        f"{found.right:,} of {result.records:,} rewrites lead back to their original, "
        f"among {result.originals:,}; blind guessing finds 1. "
        f"The privacy loss is at least {result.eps_emp:.2f}, at an error of {result.error:g}."
    )


if __name__ == "__main__":
    sys.stdout.write(judge(Path(sys.argv[1]) if len(sys.argv) > 1 else make_release()) + "\n")
