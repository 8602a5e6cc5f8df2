import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tedaudit.api import run
from tedaudit.cli import app
from tedaudit.execution.chunks import RewriteChunk
from tedaudit.execution.engines.serial import SerialEngine
from tedaudit.execution.work_folder import FolderEngine, write_work
from tedaudit.spec.model import parse_spec

SETTINGS = {
    "mechanisms": ["identity", {"name": "word-rr", "slots": 4}], "epsilons": [2.0, 8.0], "trials": 60,
    "block": 25, "encoder": "lexical",
}  # fmt: skip


class Refuses(SerialEngine):
    """Rewrites nothing: whatever reaches it was not taken from the folder."""

    def submit(self, ticket, chunk):
        assert not isinstance(chunk, RewriteChunk), f"{chunk.plugin.name} was to be rewritten here"
        super().submit(ticket, chunk)


def worker(folder):
    return subprocess.run(
        [sys.executable, "-m", "tedaudit.worker", str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )


def findings(result):
    return [(row.label, row.epsilon, row.attack, row.counts) for row in result]


def test_rewriting_done_elsewhere_gives_the_same_result_as_done_here(tmp_path):
    spec = parse_spec({**SETTINGS, "out": str(tmp_path / "there")})
    blocks, left = write_work(spec, tmp_path / "work")
    assert blocks == left > 0
    assert not (tmp_path / "there").exists()  # nothing is claimed before there are results
    assert "word-rr" in worker(tmp_path / "work").stdout
    assert write_work(spec, tmp_path / "work") == (blocks, 0)
    taken = run(spec, engine=FolderEngine(tmp_path / "work", Refuses()))
    here = run(parse_spec({**SETTINGS, "out": str(tmp_path / "here")}))
    assert findings(taken) == findings(here)


def test_a_worker_that_was_stopped_goes_on_where_it_was(tmp_path):
    spec = parse_spec({**SETTINGS, "out": str(tmp_path / "run")})
    blocks, _ = write_work(spec, tmp_path / "work")
    worker(tmp_path / "work")
    lost = next((tmp_path / "work").glob("*.result"))
    lost.unlink()
    assert write_work(spec, tmp_path / "work") == (blocks, 1)
    assert worker(tmp_path / "work").stdout.startswith("1 of 1")


def test_more_trials_hand_over_only_what_is_new(tmp_path):
    spec = parse_spec({**SETTINGS, "out": str(tmp_path / "run")})
    run(spec)
    assert write_work(spec, tmp_path / "work") == (0, 0)
    more = parse_spec({**SETTINGS, "trials": 80, "out": str(tmp_path / "run")})
    blocks, left = write_work(more, tmp_path / "work")
    assert 0 < blocks == left <= 2 * 2


@pytest.mark.parametrize("suffix", [".chunk", ".result"])
def test_a_file_of_another_run_is_left_alone(tmp_path, suffix):
    spec = parse_spec({**SETTINGS, "out": str(tmp_path / "run")})
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / f"0123{suffix}").write_text("{}")
    blocks, left = write_work(spec, tmp_path / "work")
    assert blocks == left


def test_the_command_line_says_what_to_do_and_then_does_the_rest(tmp_path):
    command = [
        "run", "-m", "word-rr", "-e", "8", "-t", "50", "--encoder", "lexical", "--out", str(tmp_path / "run"),
        "--work", str(tmp_path / "work"), "-q",
    ]  # fmt: skip
    first = CliRunner().invoke(app, command)
    assert first.exit_code == 0
    assert f"python -m tedaudit.worker {tmp_path / 'work'}" in first.output
    worker(tmp_path / "work")
    second = CliRunner().invoke(app, command)
    assert second.exit_code == 0
    assert "eps_emp" in second.output
