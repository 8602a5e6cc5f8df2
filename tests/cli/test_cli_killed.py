"""Commands that are killed while they write, and run again: the same results as if they had not been."""

import json
import signal
import subprocess
import sys

import pytest

from helpers import HERE
from killing import COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_was_killed_ends_as_if_it_had_not_been(tmp_path, name, is_thorough):
    kills = 1000 if is_thorough else 2
    script = f"import sys, killing; killing.kill_command(sys.argv[1], sys.argv[2], {kills})"
    command = [sys.executable, "-c", script, name, str(tmp_path)]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told["results"] > 5
    assert len(told["moments"]) == min(told["files"], kills) >= 2
    for moment in told["moments"]:
        assert moment["killed"] == signal.SIGKILL
        assert (moment["again"], moment["fits"]) == (0, [0, 0]), done.stderr
        assert (moment["left"], moment["differing"]) == ([], [])
