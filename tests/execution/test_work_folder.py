import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from helpers import HERE, given
from tedaudit.api import run
from tedaudit.cli import app
from tedaudit.errors import RunDirectoryError
from tedaudit.execution.chunks import RewriteChunk
from tedaudit.execution.engines.serial import SerialEngine
from tedaudit.execution.preparation import prepare
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


# --- who may read it, and what is in it


def _mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def open_mask():
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_mask")
def test_the_folder_and_all_its_files_are_closed_to_others(tmp_path):
    settings = {**SETTINGS, "mechanisms": ["py:helpers:Latents"], "out": str(tmp_path / "run")}
    spec = parse_spec(settings)
    write_work(spec, tmp_path / "some" / "work")
    subprocess.run(
        [sys.executable, "-m", "tedaudit.worker", str(tmp_path / "some" / "work")], cwd=HERE, check=True
    )
    files = list((tmp_path / "some" / "work").iterdir())
    assert {path.suffix for path in files} == {".chunk", ".result", ".npz"}
    assert _mode(tmp_path / "some" / "work") == 0o700
    assert {_mode(path) for path in files} == {0o600}


def test_an_empty_folder_that_lay_open_is_closed_and_one_in_use_stays_as_its_owner_wants_it(tmp_path):
    spec = parse_spec({**SETTINGS, "out": str(tmp_path / "run")})
    work = tmp_path / "work"
    work.mkdir(mode=0o755)
    write_work(spec, work)
    assert _mode(work) == 0o700
    work.chmod(0o750)
    write_work(parse_spec({**SETTINGS, "seed": 1, "out": str(tmp_path / "run")}), work)
    assert _mode(work) == 0o750
    assert {_mode(path) for path in work.iterdir()} == {0o600}


def test_the_folder_holds_the_texts_of_its_draws_and_no_others(tmp_path):
    texts = [f"a private text about number {number}" for number in range(300)]
    spec = parse_spec({**SETTINGS, "corpus": given(texts), "trials": 20, "out": str(tmp_path / "run"),
                       "plans": [{"k": 3, "lambda": 0}], "attacks": ["lexical", "trained"]})  # fmt: skip
    write_work(spec, tmp_path / "work")
    held = "".join(path.read_text() for path in (tmp_path / "work").iterdir())
    secrets = {texts[at] for job in prepare(spec).jobs for at in job.plan.source.tolist()}
    assert {text for text in texts if f'"{text}"' in held} == secrets
    assert len(secrets) <= 20
    assert all(
        set(json.loads(line)) <= {"work", "plugin", "text", "epsilon", "key"} for line in held.splitlines()
    )


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_folder_that_cannot_be_made_is_named(tmp_path, place):
    (tmp_path / "file").write_text("x")
    spec = parse_spec({**SETTINGS, "out": str(tmp_path / "run")})
    with pytest.raises(
        RunDirectoryError, match=r"cannot be used as a folder of work.*name another with --work"
    ):
        write_work(spec, tmp_path / place)


@pytest.mark.parametrize("damage", ["cut", "text", "rows", "packed"])
def test_a_damaged_result_is_named(tmp_path, damage):
    spec = parse_spec({**SETTINGS, "mechanisms": ["py:helpers:Latents"], "out": str(tmp_path / "run")})
    write_work(spec, tmp_path / "work")
    subprocess.run([sys.executable, "-m", "tedaudit.worker", str(tmp_path / "work")], cwd=HERE, check=True)
    path = min((tmp_path / "work").glob("*.result"))
    lines = path.read_text().splitlines(keepends=True)
    if damage == "packed":
        arrays = dict(np.load(f"{path}.npz"))
        with Path(f"{path}.npz").open("wb") as file:
            np.savez_compressed(file, **arrays)
    else:
        path.write_text(
            {"cut": "".join(lines)[:-20], "text": "[1, 2]\n", "rows": "".join(lines[:-1])}[damage]
        )
    with pytest.raises(
        RunDirectoryError, match=rf"{path.name}(\.npz)?' (is damaged|has).*Delete it"
    ) as caught:
        run(spec, engine=FolderEngine(tmp_path / "work"))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("arguments", [(), ("none",), ("a", "b", "c"), ("missing.chunk", "out")])
def test_a_worker_without_work_says_so_in_one_line(tmp_path, arguments):
    done = subprocess.run(
        [sys.executable, "-m", "tedaudit.worker", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("error: ")
