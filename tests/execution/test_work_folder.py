import os
import shutil
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from unittest import mock
from uuid import uuid4

import numpy as np
import pytest
from typer.testing import CliRunner

from engine_examples import Refuses, list_contents
from engine_plugins import __name__ as PLUGINS
from helpers import HERE, SharedWords, given, make_spec, snapshot, tables
from tedaudit.api import load_run, run
from tedaudit.cli import app
from tedaudit.errors import RunDirectoryError
from tedaudit.execution import wire
from tedaudit.execution.engines.serial import SerialEngine
from tedaudit.execution.units import RewriteChunk
from tedaudit.execution.wire import read_chunk, read_result, write_chunk, write_result
from tedaudit.execution.work import Bench, main
from tedaudit.execution.work_folder import count_waiting, write_work
from tedaudit.preparing.preparation import prepare
from tedaudit.spec.model import parse_spec

SETTINGS = {
    "mechanisms": ["identity", {"name": "word-rr", "slots": 4}], "epsilons": [2.0, 8.0], "trials": 60,
    "block": 25, "encoder": "lexical",
}  # fmt: skip


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
    taken = run(spec, Refuses(), work=tmp_path / "work")
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
    assert {path.suffix for path in files} == {".chunk", ".result"}
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
    held = b"".join(path.read_bytes() for path in (tmp_path / "work").iterdir())
    secrets = {texts[at] for job in prepare(spec).jobs for at in job.plan.source.tolist()}
    assert {text for text in texts if f'"{text}"'.encode() in held} == secrets
    assert len(secrets) <= 20


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_folder_that_cannot_be_made_is_named(tmp_path, place):
    (tmp_path / "file").write_text("x")
    spec = parse_spec({**SETTINGS, "out": str(tmp_path / "run")})
    with pytest.raises(
        RunDirectoryError, match=r"cannot be used as a folder of work.*name another with --work"
    ):
        write_work(spec, tmp_path / place)


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


# --- files that are damaged, mixed up or made by another model


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """An audit, and its folder with all results: four files of work of two mechanisms."""
    root = tmp_path_factory.mktemp("done")
    mechanisms = ["py:helpers:Latents", {"name": "word-rr", "slots": 4}]
    spec = make_spec(root / "run", mechanisms=mechanisms, attacks=[SharedWords()], trials=60, block=30)
    assert write_work(spec, root / "work") == (4, 4)
    main([str(root / "work")])
    return spec, root / "work"


@pytest.fixture
def work(done, tmp_path):
    """A copy of the folder to damage."""
    return shutil.copytree(done[1], tmp_path / "work")


def _refusals(spec, folder):
    """Return what whoever reads the folder says of it, all of them refusing."""
    out = folder.parent / f"run {uuid4()}"
    readers = (
        lambda: write_work(spec, folder),
        lambda: count_waiting(prepare(spec), folder),
        lambda: run(spec.model_copy(update={"out": str(out)}), Refuses(), work=folder),
    )
    for read in readers:
        with pytest.raises(RunDirectoryError) as caught:
            read()
        yield str(caught.value)


def test_a_flipped_bit_is_named_in_every_file(done, work):
    bits = np.random.default_rng(3)
    for path in sorted(work.iterdir()):
        whole = path.read_bytes()
        damaged = bytearray(whole)
        damaged[bits.integers(len(whole))] ^= 1 << bits.integers(8)
        path.write_bytes(damaged)
        for told in _refusals(done[0], work):
            assert told.startswith(f"'{path}' ")
            assert "Delete it" in told
        path.write_bytes(whole)
    assert write_work(done[0], work) == (4, 0)


@pytest.mark.parametrize("suffix", [".chunk", ".result"])
def test_files_that_changed_places_are_named(done, work, suffix):
    paths = sorted(work.glob(f"*{suffix}"))
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, contents[1:] + contents[:1], strict=True):
        path.write_bytes(content)
    for told in _refusals(done[0], work):
        assert ".result' is not the result of the work beside it: files were mixed up" in told
        assert told.split("'")[1] in {str(path.with_suffix(".result")) for path in paths}


def test_a_file_that_was_deleted_is_made_again_and_fits_the_others(done, work):
    chunk = min(work.glob("*.chunk"))
    before = chunk.read_bytes()
    chunk.write_bytes(before[:-1])
    for told in _refusals(done[0], work):
        assert "`tedaudit run ... --work FOLDER` writes it again" in told
    chunk.unlink()
    write_work(done[0], work)
    assert chunk.read_bytes() == before
    assert write_work(done[0], work) == (4, 0)


def _ask_worker(folder, **environment):
    return subprocess.run(
        [sys.executable, "-m", "tedaudit.worker", str(folder)],
        cwd=HERE,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_worker_names_damaged_work_and_work_of_an_older_version(done, work):
    for result in work.glob("*.result"):
        result.unlink()
    first = min(work.glob("*.chunk"))
    whole = first.read_bytes()
    for content in (b"", whole[:-9], whole[:99] + b"x" + whole[100:], b'{"work": "rewrite"}\n'):
        first.write_bytes(content)
        told = _ask_worker(work)
        assert told.returncode == 2
        assert told.stderr.startswith(f"error: '{first}' ")
        assert told.stderr.rstrip().endswith("`tedaudit run ... --work FOLDER` writes it again.")
        assert len(told.stderr.splitlines()) == 1
    assert not list(work.glob("*.result"))
    write_work(done[0], work)  # replaces what is damaged
    assert first.read_bytes() == whole


def test_a_worker_with_other_weights_does_nothing_and_names_both(tmp_path, monkeypatch):
    touched = tmp_path / "touched"
    touched.mkdir()
    weighted = {"name": f"py:{PLUGINS}:Weighted", "folder": str(touched)}
    spec = make_spec(tmp_path / "run", mechanisms=[weighted])
    write_work(spec, tmp_path / "work")
    told = _ask_worker(tmp_path / "work", WEIGHTS="second")
    assert told.returncode == 2
    assert "is not done: it was written for another 'py:engine_plugins:Weighted' " in told.stderr
    assert "(weights: 'first' there, 'second' here)" in told.stderr
    assert not list(touched.iterdir())
    assert not list((tmp_path / "work").glob("*.result"))
    assert _ask_worker(tmp_path / "work").returncode == 0
    assert list(touched.iterdir())
    monkeypatch.setenv("WEIGHTS", "third")  # this side has another model now
    for reason in _refusals(spec, tmp_path / "work"):
        assert ".result' was made by another 'py:engine_plugins:Weighted' " in reason
        assert "(weights: 'first' there, 'third' here)" in reason
    monkeypatch.setenv("WEIGHTS", "first")
    run(spec, Refuses(), work=tmp_path / "work")


KILLED = """
import os, pathlib, signal, sys
left = [int(sys.argv[1])]
replace = pathlib.Path.replace

def die(path, target):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(path, target)

pathlib.Path.replace = die
from tedaudit.execution import wire
from tedaudit.execution.wire import read_chunk, read_result, write_result
from tedaudit.execution.work import main
main(sys.argv[2:])
"""


def test_a_worker_that_is_killed_while_it_writes_goes_on_and_ends_the_same(done, work, tmp_path):
    for result in work.glob("*.result"):
        result.unlink()
    for turn in range(3):
        killed = subprocess.run(
            [sys.executable, "-c", KILLED, "2", str(work)], cwd=HERE, capture_output=True, check=False
        )
        assert killed.returncode == -signal.SIGKILL
        assert len(list(work.glob("*.result"))) == turn + 1
        [scratch] = work.glob("*.part")  # as it is left if the kill comes earlier:
        os.truncate(scratch, scratch.stat().st_size // 2)
        missing = {path.with_suffix(".result") for path in work.glob("*.chunk")}
        assert write_work(done[0], work)[1] == len(missing) - turn - 1
    main([str(work)])
    assert {name: content for name, (content, _) in snapshot(work).items()} == {
        name: content for name, (content, _) in snapshot(done[1]).items()
    }
    here, there = tmp_path / "here", tmp_path / "there"
    run(done[0].model_copy(update={"out": str(here)}))
    run(done[0].model_copy(update={"out": str(there)}), Refuses(), work=work)
    assert tables(there) == tables(here)


# --- whether what was done elsewhere is what would be done here


def _change(work, change, device="cpu"):
    """Seal the results of word-rr anew, with other rewrites; return their files."""
    files = []
    for path in sorted(work.glob("*.chunk")):
        unit = read_chunk(path)
        if unit.chunk.plugin.name == "word-rr":
            file = path.with_suffix(".result")
            made, _ = read_result(file, unit, unit.determinants)
            with mock.patch.object(wire, "find_device", return_value=device):
                write_result(file, change(made), unit, unit.determinants)
            files.append(file)
    return files


def _shout(rows):
    """Return what changes some rewrites of every eight that are made again."""

    def change(made):
        again = np.unique(np.linspace(0, len(made) - 1, 8).astype(int))[:rows]
        texts = [text.upper() if at in again else text for at, text in enumerate(made.texts)]
        return replace(made, texts=texts)

    return change


def test_draws_of_every_result_are_made_again_and_the_run_says_so(done, work, tmp_path):
    result = run(done[0].model_copy(update={"out": str(tmp_path / "run")}), work=work)
    files = len(_change(work, lambda made: made))
    [note] = [note for note in result.notes if note.startswith("word-rr: rewrites come")]
    assert f"from {files} files of work that were done elsewhere; up to eight draws of each were" in note


def test_a_result_that_was_made_by_other_code_is_refused_by_name(done, work, tmp_path):
    spec = done[0].model_copy(update={"out": str(tmp_path / "run")})
    files = _change(work, _shout(rows=2))
    with pytest.raises(RunDirectoryError, match=r"of 8 draws that were made again 2 gave another") as refused:
        run(spec, work=work)
    assert str(refused.value).startswith(f"'{files[0]}' holds other rewrites than 'word-rr' makes here")
    for file in files:
        file.unlink()
    main([str(work)])
    run(spec, Refuses(), work=work)
    run(done[0].model_copy(update={"out": str(tmp_path / "here")}))
    assert tables(tmp_path / "run") == tables(tmp_path / "here")


def test_one_draw_may_differ_since_processors_round_differently(done, work, tmp_path):
    _change(work, _shout(rows=1))
    run(done[0].model_copy(update={"out": str(tmp_path / "run")}), Refuses(), work=work)


def test_results_of_another_device_are_taken_and_marked(done, work, tmp_path):
    files = _change(work, _shout(rows=2), device="cuda")
    result = run(done[0].model_copy(update={"out": str(tmp_path / "run")}), work=work)
    [note] = [note for note in load_run(tmp_path / "run").notes if note.startswith("word-rr: rewrites come")]
    assert f"{len(files)} of these were not repeated here, so that this run vouches for them no more" in note
    assert note in result.notes


def test_a_mechanism_that_gives_nothing_twice_is_not_accused(tmp_path):
    spec = parse_spec({**SETTINGS, "mechanisms": [f"py:{PLUGINS}:FreshNoise"], "out": str(tmp_path / "run")})
    write_work(spec, tmp_path / "work")
    main([str(tmp_path / "work")])
    result = run(spec, Refuses(), work=tmp_path / "work")
    assert any("were not repeated here" in note for note in result.notes)


# --- a folder that has some of the rewrites


def _share(folder, keep):
    """Leave some draws of every file of work, with their results: `keep` chooses them by number of file."""
    for number, path in enumerate(sorted(folder.glob("*.chunk"))):
        chunk = read_chunk(path).chunk
        path.unlink()
        _do(folder, str(number), replace(chunk, draws=chunk.draws[keep(number)]))


def _do(folder, name, chunk):
    """Write a chunk and its result."""
    bench = Bench()
    write_chunk(folder / f"{name}.chunk", chunk, bench.describe(chunk))
    unit = read_chunk(folder / f"{name}.chunk")
    write_result(folder / f"{name}.result", bench.perform(chunk), unit, unit.determinants)


@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_a_run_that_takes_some_rewrites_from_a_folder_writes_the_same_tables(tmp_path, engine):
    settings = {
        "mechanisms": [{"name": "word-rr", "slots": 4}], "epsilons": [1, 4], "trials": 200, "block": 30,
        "attacks": ["lexical", "resample"],
    }  # fmt: skip
    run(make_spec(tmp_path / "here", **settings))
    spec = make_spec(tmp_path / "there", **settings)
    write_work(spec, tmp_path / "work")
    total = sum(len(read_chunk(path).chunk) for path in (tmp_path / "work").glob("*.chunk"))
    _share(tmp_path / "work", lambda number: slice(number % 3, None, 3))
    done = []

    class Counting(Bench):
        def perform(self, chunk):
            done.append(len(chunk.draws) if isinstance(chunk, RewriteChunk) else 0)
            return super().perform(chunk)

    if engine == "serial":
        chosen = SerialEngine()
        chosen._bench = Counting()
        run(spec, chosen, work=tmp_path / "work")
        assert 0.6 < sum(done) / total < 0.7  # a third was there
    else:
        run(spec, engine, work=tmp_path / "work")
    assert list_contents(tmp_path / "there") == list_contents(tmp_path / "here")


def test_rewrites_of_a_mechanism_with_other_settings_are_not_taken(tmp_path):
    settings = {"attacks": [SharedWords()], "trials": 20, "block": 20}
    mechanisms = [[{"name": "word-rr", "slots": slots}] for slots in (5, 6)]
    write_work(make_spec(tmp_path / "one", mechanisms=mechanisms[0], **settings), tmp_path / "work")
    main([str(tmp_path / "work")])
    other = make_spec(tmp_path / "other", mechanisms=mechanisms[1], **settings)
    with pytest.raises(AssertionError, match="word-rr: rewritten"):
        run(other, Refuses(), work=tmp_path / "work")
    result = run(other, work=tmp_path / "work")
    assert "elsewhere" not in result.run.manifest()


def test_a_file_of_few_draws_may_have_none_that_differs(tmp_path):
    spec = make_spec(tmp_path / "run", attacks=[SharedWords()], trials=3, block=3)
    write_work(spec, tmp_path / "work")
    [path] = (tmp_path / "work").glob("*.chunk")
    unit = read_chunk(path)
    made = Bench().perform(unit.chunk)
    edited = replace(made, texts=["edited", *made.texts[1:]])
    write_result(path.with_suffix(".result"), edited, unit, unit.determinants)
    with pytest.raises(RunDirectoryError, match="of 3 draws that were made again 1 gave another output"):
        run(spec, work=tmp_path / "work")
