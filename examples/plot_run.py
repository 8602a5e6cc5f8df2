"""Draw eps_emp against nominal epsilon for a finished run, as in the README.

    python examples/plot_run.py runs/demo docs/figures/demo.svg [ATTACK]

`tedaudit report runs/demo` draws every plan and attack as PDF and PNG; this is how to have one figure
in a format and size of your own. Needs matplotlib (`pip install 'tedaudit[reports]'`).
"""

import sys
from pathlib import Path

from tedaudit.reports.figures import figure
from tedaudit.results.reading import read_result
from tedaudit.store.directory import RunDirectory


def main(run: Path, target: Path, attack: str = "") -> None:
    """Draw the first plan under one attack, by default the first."""
    findings = read_result(RunDirectory(run)).findings
    wanted = (findings[0].plan, attack or findings[0].attack)
    drawn = figure([finding for finding in findings if (finding.plan, finding.attack) == wanted])
    drawn.set_size_inches(6.4, 3.6)
    drawn.savefig(target)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
