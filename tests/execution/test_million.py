import json
import os
import subprocess
import sys

import pytest

TRIALS = 1_000_000
GIBIBYTE = 1024 * 1024  # in KiB, as the system counts


@pytest.mark.timeout(900)
@pytest.mark.skipif("TEDAUDIT_QUICK" in os.environ, reason="TEDAUDIT_QUICK is set: this one takes minutes")
def test_a_million_trials_stay_within_two_gibibytes(tmp_path):
    what = ["-m", "word-rr", "-e", "8", "-c", "demo", "-a", "lexical", "-t", str(TRIALS)]
    command = [sys.executable, "-m", "tedaudit", "run", *what, "-o", "run", "-q"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    assert usage.ru_maxrss < 2 * GIBIBYTE
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    [finding] = summary["findings"]
    assert finding["trials"] == finding["planned_trials"] == finding["guesses"] == TRIALS
    assert finding["method"] == "reduced form"
    assert (finding["failed"], finding["unusable"]) == (0, 0)
    assert TRIALS / 2 < finding["correct"] <= TRIALS
    assert 0 < finding["lower"] < finding["ceiling"] < 12.16
    assert not list((tmp_path / "run").rglob(".writing-*"))
