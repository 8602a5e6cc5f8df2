"""Draws the sandwich of a run: what is claimed, what is lost and what attacks show, as one SVG file.

python examples/plot_loss.py runs/demo docs/figures/loss.svg
"""

import sys
from pathlib import Path

import matplotlib as mpl

import tedaudit
from tedaudit.reports.loss_figures import draw_sandwich


def main(run: Path, target: Path) -> None:
    """Draw the first plan that has losses."""
    mpl.rcParams["svg.hashsalt"] = "tedaudit"  # the same file every time
    result = tedaudit.load_run(run)
    losses = tedaudit.read_losses(result)
    plan = losses[0].finding.plan
    drawn = draw_sandwich(
        [row for row in losses if row.finding.plan == plan],
        [finding for finding in result if finding.plan == plan],
    )
    drawn.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
