import json
import os
import subprocess
import sys

MILLION = 1_000_000
TRIALS = MILLION if "TEDAUDIT_MILLION" in os.environ else 200_000
FEW = 20_000
GIBIBYTE = 1024 * 1024  # in KiB, as the system counts


def audited(folder, trials):
    """Run an audit by the command; return its peak of memory and the only finding."""
    what = ["-m", "word-rr", "-e", "8", "-c", "demo", "-a", "lexical", "-t", str(trials)]
    command = [sys.executable, "-m", "tedaudit", "run", *what, "-o", str(folder), "-q"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    [finding] = json.loads((folder / "summary.json").read_text())["findings"]
    return usage.ru_maxrss, finding


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
