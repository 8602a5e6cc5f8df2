"""Print the paper's claims beside what the stored pages show of them, as the table of docs/results/README.md.

    python benchmarks/paper_claims.py

The claims are those of src/tedaudit/paper/claims.yaml; pages are judged from their JSON.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from tedaudit.paper.claims import Check, Claim, Judged, describe_rule, judge, list_claims

_RESULTS = Path(__file__).parents[1] / "docs" / "results"
_SCALES = ("zoo", "real")


def main() -> None:
    """Print the table."""
    print("\n".join(tabulate()))


def tabulate() -> Iterator[str]:
    """Yield the lines of the table, one for each check."""
    judged = {scale: dict(_judge_pages(scale)) for scale in _SCALES}
    yield "| | the paper says | its value | seen if | the zoo | models of real size |"
    yield "|---:|---|---|---|---|---|"
    for number, claim in enumerate(list_claims(), 1):
        for place, check in enumerate(claim.checks or [None]):
            named = (str(number), claim.says, claim.value) if place == 0 else ("", "", "")
            rule = describe_rule(check) if check else ""
            cells = [_tell(scale, judged[scale], claim, check) for scale in _SCALES]
            yield f"| {' | '.join([*named, rule, *cells])} |".replace("  ", " ")


def _judge_pages(scale: str) -> Iterator[tuple[tuple[str, int], Judged]]:
    """Yield what the pages of a scale show, by claim and number of the check on its page."""
    for file in sorted((_RESULTS / scale).glob("*.json")):
        for judged in judge(json.loads(file.read_text("utf-8"))):
            yield (judged.claim.says, judged.claim.checks.index(judged.check)), judged


def _tell(scale: str, judged: Mapping[tuple[str, int], Judged], claim: Claim, check: Check | None) -> str:
    found = judged.get((claim.says, claim.checks.index(check))) if check else None
    if check is None or found is None or found.verdict == "not tried":
        return "not tried" + (f": {claim.untried}" if claim.untried else "")
    return f"[{found.verdict}]({scale}/{check.page}.md): {found.here}"


if __name__ == "__main__":
    main()
