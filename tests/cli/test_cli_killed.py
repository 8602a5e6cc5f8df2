"""Commands that are killed while they write, and run again: the same results as if they had not been."""

import json
import signal
import subprocess
import sys

import pytest

from helpers import HERE
from killing import COMMANDS


@pytest.fixture(scope="module")
def kill(tmp_path_factory, is_thorough):
    """Return what was told of a command: all share a process, unless they are killed at every file."""
    told, kills = {}, 1000 if is_thorough else 2

    def look(name):
        if name not in told:
            names = [name] if is_thorough else list(COMMANDS)
            script = "import sys, killing; killing.kill_commands(*sys.argv[1:])"
            command = [sys.executable, "-c", script, tmp_path_factory.mktemp("killed"), str(kills), *names]
            done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True)
            told.update({name: (found, done.stderr) for name, found in json.loads(done.stdout).items()})
        return *told[name], kills

    return look


@pytest.mark.timeout(3600)  # `make test-all` kills at every file, hundreds of times
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_was_killed_ends_as_if_it_had_not_been(name, kill):
    told, errors, kills = kill(name)
    assert told["results"] > 5
    assert len(told["moments"]) == min(told["files"], kills) >= 2
    for moment in told["moments"]:
        assert moment["killed"] == signal.SIGKILL
        assert (moment["again"], moment["fits"]) == (0, [0, 0]), errors
        assert (moment["left"], moment["differing"]) == ([], [])
