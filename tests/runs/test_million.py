import json
import os
import subprocess
import sys

MILLION = 1_000_000
TRIALS = MILLION if "TEDAUDIT_MILLION" in os.environ else 100_000
FEW = 20_000
GIBIBYTE = 1024 * 1024  # in KiB, as the system counts


MEASURED = """
import atexit, sys
from tedaudit.cli import main

def tell():
    with open("/proc/self/status") as status:
        sys.stderr.write(next(line for line in status if line.startswith("VmHWM")))

atexit.register(tell)
main()
"""


def audited(folder, trials):
    """Run an audit by the command; return its peak of memory and the only finding.

    The process itself tells its peak: what `wait` tells of a child counts the memory of its parent too.
    """
    settings = ["-m", "word-rr", "-e", "8", "-c", "demo", "-a", "lexical", "-t", str(trials)]
    command = [sys.executable, "-c", MEASURED, "run", *settings, "-o", str(folder), "-q"]
    process = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True
    )
    [finding] = json.loads((folder / "summary.json").read_text())["findings"]
    return int(process.stderr.split("VmHWM:")[1].split()[0]), finding


def test_a_million_trials_stay_within_two_gibibytes(tmp_path):
    """Memory is measured at two numbers of trials: what a trial adds must leave room for a million."""
    base, _ = audited(tmp_path / "few", FEW)
    peak, finding = audited(tmp_path / "many", TRIALS)
    assert base + (peak - base) * (MILLION - FEW) / (TRIALS - FEW) < 2 * GIBIBYTE
    assert finding["trials"] == finding["planned_trials"] == finding["guesses"] == TRIALS
    assert finding["method"] == "reduced form"
    assert (finding["failed"], finding["unusable"]) == (0, 0)
    assert TRIALS / 2 < finding["correct"] <= TRIALS
    assert 0 < finding["lower"] < finding["ceiling"] < 12.16
    assert not list((tmp_path / "many").rglob(".writing-*"))
