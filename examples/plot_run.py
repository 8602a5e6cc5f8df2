"""Draw eps_emp against nominal epsilon for a finished run.

    python examples/plot_run.py runs/demo docs/figures/demo.svg

Needs matplotlib (`pip install 'tedaudit[reports]'`).
"""

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt


def main(run: Path, target: Path) -> None:
    """Read summary.json, draw one line per mechanism with the interval of the attack's success."""
    summary = json.loads((run / "summary.json").read_text())
    findings = summary["findings"]
    epsilons = sorted({f["epsilon"] for f in findings if f["epsilon"] is not None})
    ceiling = max(f["ceiling"] for f in findings)
    axes = plt.figure(figsize=(6.4, 3.6), layout="constrained").add_subplot()
    for colour, name in zip(("#0072B2", "#D55E00", "#009E73"), _names(findings), strict=False):
        mine = [f for f in findings if f["mechanism"] == name]
        where = [f["epsilon"] or e for f in mine for e in (epsilons if f["epsilon"] is None else [None])]
        lower = [f["lower"] for f in mine for _ in (epsilons if f["epsilon"] is None else [None])]
        axes.plot(where, lower, marker="o", color=colour, label=name)
    axes.axhline(ceiling, linestyle="--", color="grey", linewidth=1)
    axes.annotate(
        f"ceiling {ceiling:.2f}", (epsilons[0], ceiling), (0, 4), textcoords="offset points", color="grey"
    )
    axes.set(
        xlabel="nominal epsilon per word",
        ylabel="eps_emp (lower bound)",
        xticks=epsilons,
        ylim=(-0.3, ceiling + 1),
    )
    trials = findings[0]["trials"]
    axes.set_title(f"demo corpus, {findings[0]['attack']} attack, k = 2, {trials:,} trials", fontsize=10)
    axes.legend(frameon=False, loc="center left")
    plt.savefig(target)


def _names(findings: list[dict[str, str]]) -> list[str]:
    return list(dict.fromkeys(f["mechanism"] for f in findings))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
