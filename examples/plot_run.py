"""Draw eps_emp against nominal epsilon for a finished run, one line per mechanism.

    python examples/plot_run.py runs/demo docs/figures/demo.svg [ATTACK]

Needs matplotlib (`pip install 'tedaudit[reports]'`).
"""

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

STYLES = (
    ("#0072B2", "o"),
    ("#D55E00", "s"),
    ("#009E73", "^"),
    ("#CC79A7", "D"),
    ("#E69F00", "v"),
    ("#56B4E9", "P"),
)


def main(run: Path, target: Path, attack: str = "") -> None:
    """Read summary.json and draw the lower bounds under one attack, by default the first."""
    everything = json.loads((run / "summary.json").read_text())["findings"]
    attack = attack or everything[0]["attack"]
    findings = [f for f in everything if f["attack"] == attack]
    epsilons = sorted({f["epsilon"] for f in findings if f["epsilon"] is not None})
    ceiling = max(f["ceiling"] for f in findings)
    axes = plt.figure(figsize=(6.4, 3.6), layout="constrained").add_subplot()
    names = list(dict.fromkeys(f["mechanism"] for f in findings))
    for i, (name, (colour, marker)) in enumerate(zip(names, STYLES, strict=False)):
        beside = 1.05 ** (i - len(names) / 2)  # lines that coincide stay visible
        points = [
            (e * beside, f["lower"]) for f in findings if f["mechanism"] == name for e in _at(f, epsilons)
        ]
        axes.plot(*zip(*points, strict=True), marker=marker, markersize=5, color=colour, label=name)
    axes.axhline(ceiling, linestyle="--", color="grey", linewidth=1)
    axes.annotate(
        f"ceiling {ceiling:.2f}", (epsilons[0], ceiling), (0, 4), textcoords="offset points", color="grey"
    )
    axes.set(
        xscale="log", xlabel="nominal epsilon, per the mechanism's own unit", ylabel="eps_emp (lower bound)",
        ylim=(-0.3, ceiling + 1),
    )  # fmt: skip
    axes.set_xticks(epsilons, [f"{e:g}" for e in epsilons])
    axes.minorticks_off()
    trials = findings[0]["trials"]
    axes.set_title(f"{attack} attack, k = {findings[0]['candidates']}, {trials:,} trials", fontsize=10)
    axes.legend(frameon=False, loc="center left")
    plt.savefig(target)


def _at(finding: dict[str, Any], epsilons: list[float]) -> list[float]:
    """Return where a finding is drawn: everywhere, where the mechanism takes no epsilon."""
    return epsilons if finding["epsilon"] is None else [finding["epsilon"]]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
