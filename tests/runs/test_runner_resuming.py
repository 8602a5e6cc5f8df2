"""A run that was killed, damaged or is going on elsewhere: the same command mends it or says what to do."""

import json
import shutil
import signal
import subprocess
import sys
import time

import pytest
import yaml

from helpers import HERE, TABLES, Recording, make_spec, sentences, snapshot, summary, table_files, tables
from tedaudit.api import run
from tedaudit.errors import RunDirectoryError
from tedaudit.runs.checking import find_damage
from tedaudit.runs.directory import RunDirectory


def _cli(*arguments, cwd, check=True):
    command = [sys.executable, "-m", "tedaudit", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=300)
    assert not check or done.returncode == 0, done.stderr
    return done


def _written(tmp_path, **changes):
    """Write texts and a spec with several epsilons, plans, mechanisms and blocks; return its path."""
    (tmp_path / "texts.txt").write_text("\n".join(sentences(40)))
    settings = {
        "corpus": {"name": "files", "path": str(tmp_path / "texts.txt")},
        "mechanisms": ["identity", {"name": "word-rr", "slots": 4}],
        "epsilons": [2, 8],
        "plans": [{"k": 2, "lambda": 0}, {"k": 4, "lambda": -10000}],
        "trials": 120,
        "block": 20,
    }
    path = tmp_path / "audit.yaml"
    path.write_text(yaml.safe_dump(settings | changes))
    return path


def _hashes(root, leave_out=("manifest.json", "report.html", "files.json")):
    """Return the content of every file but the manifest, which holds the time, the page, and its digest."""
    return {name: content for name, (content, _) in snapshot(root).items() if name not in leave_out}


# --- kill -9, then the same command


def test_after_a_kill_at_any_file_the_same_command_gives_the_files_of_an_uninterrupted_run(
    tmp_path, is_thorough
):
    plans = [{"k": 2, "lambda": 0}, {"k": 4, "lambda": 0}]
    corpus = {"name": "py:tedaudit.corpora.files:Files", "path": str(tmp_path / "texts.txt")}
    mechanisms = ["py:helpers:Latents"]
    attacks = ["py:helpers:SharedWords"]  # cheap ones: there will be two runs for every file
    spec = _written(
        tmp_path, corpus=corpus, mechanisms=mechanisms, plans=plans, attacks=attacks, trials=40, block=20
    )
    script = "import sys, killing; killing.kill_at_files(*sys.argv[1:])"
    which = "all" if is_thorough else "kinds"
    command = [sys.executable, "-c", script, str(spec), str(tmp_path / "runs"), which]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True)
    *killed, last = json.loads(done.stdout)
    assert last["killed"] == 0
    assert len(killed) > (25 if is_thorough else 8)  # tables, parts, plans, manifest and report
    whole = _hashes(tmp_path / "runs" / "whole")
    assert len(whole) > 22
    for moment in killed:
        assert moment["killed"] == signal.SIGKILL
        assert len(moment["left"]) == 1  # the file that it was about to rename
        assert (moment["looked"], moment["resumed"]) == (0, 0), done.stderr
        resumed = tmp_path / "runs" / moment["folder"][-3:]
        assert _hashes(resumed) == whole
        assert (resumed / "report.html").is_file()
        assert find_damage(RunDirectory(resumed))[1] == []


@pytest.mark.timeout(900)
def test_after_a_kill_at_any_file_a_run_with_workers_ends_with_the_rows_of_an_uninterrupted_one(
    tmp_path, is_thorough
):
    spec = _written(
        tmp_path, corpus={"name": "py:tedaudit.corpora.files:Files", "path": str(tmp_path / "texts.txt")},
        mechanisms=[{"name": "word-rr", "slots": 4}], plans=[{"k": 2, "lambda": 0}], epsilons=[2],
        attacks=["resample"], trials=20, block=10,
    )  # fmt: skip
    engine = '{"name": "processes", "workers": 2}'
    script = f"import sys, killing; killing.kill_at_files(*sys.argv[1:], engine={engine})"
    which = "all" if is_thorough else "tables"  # what else is written, this process writes as without workers
    command = [sys.executable, "-c", script, str(spec), str(tmp_path / "runs"), which]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True)
    *killed, last = json.loads(done.stdout)
    assert last["killed"] == 0
    assert len(killed) > (12 if is_thorough else 3)
    whole = tables(tmp_path / "runs" / "whole")
    for moment in killed:
        assert moment["killed"] == signal.SIGKILL
        assert (moment["looked"], moment["resumed"]) == (0, 0), done.stderr
        assert tables(tmp_path / "runs" / moment["folder"][-3:]) == whole
        assert find_damage(RunDirectory(tmp_path / "runs" / moment["folder"][-3:]))[1] == []


def test_a_command_killed_again_and_again_ends_with_the_tables_of_an_uninterrupted_one(tmp_path):
    spec = _written(tmp_path, trials=80)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    _cli("run", spec, "-q", "-o", whole, cwd=tmp_path)
    script = "import sys, killing; killing.call_until(int(sys.argv[1]), sys.argv[2], sys.argv[3:])"
    for files in (2, 12, 18):  # it dies at so many more
        command = [sys.executable, "-c", script, str(files), str(tmp_path), "run", str(spec), "-q"]
        done = subprocess.run([*command, "-o", str(broken)], cwd=HERE, check=False)
        assert done.returncode == -signal.SIGKILL
    half = broken / "guesses" / ".writing-1-part-000000000-000000020.parquet"
    half.parent.mkdir(exist_ok=True)
    half.write_bytes(b"half")
    _cli("run", spec, "-q", "-o", broken, cwd=tmp_path)
    assert table_files(broken) == table_files(whole)
    assert tables(broken) == tables(whole)
    assert summary(broken) == summary(whole)
    assert not list(broken.rglob(".writing-*"))


def test_a_finished_run_is_left_alone_by_the_same_command(tmp_path):
    spec = make_spec(tmp_path, mechanisms=[Recording()])
    run(spec)
    before, told = snapshot(tmp_path, TABLES), summary(tmp_path)
    again = Recording()
    run(make_spec(tmp_path, mechanisms=[again]))
    assert again.draws == []
    assert snapshot(tmp_path, TABLES) == before
    assert summary(tmp_path) == told


# --- damage


def _part(root, table):
    return sorted(root.glob(f"{table}/**/part-*.parquet"))[1]


def _truncated(path):
    path.write_bytes(path.read_bytes()[:-30])


def _of_another_table(path):
    if "rewrites" in path.parts:
        other = path.parents[1] / "8" / path.name
    else:
        other = path.parents[2] / "8" / "lexical" / path.name
    assert other.exists()
    shutil.copy(other, path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    root = tmp_path_factory.mktemp("finished") / "run"
    run(make_spec(root, epsilons=[3, 8]))
    return root


@pytest.fixture
def copy(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


@pytest.mark.parametrize("damage", [_truncated, _of_another_table])
@pytest.mark.parametrize("table", ["rewrites", "guesses"])
def test_a_part_that_is_damaged_or_of_another_table_is_named_and_deleting_it_mends_the_run(
    finished, copy, table, damage
):
    path = _part(copy, table)
    damage(path)
    with pytest.raises(
        RunDirectoryError, match=r"(?:Delete it|Move it away) and run the same comm"
    ) as caught:
        run(make_spec(copy, epsilons=[3, 8]))
    assert str(path) in str(caught.value)
    path.unlink()
    run(make_spec(copy, epsilons=[3, 8]))
    assert tables(copy) == tables(finished)
    assert summary(copy) == summary(finished)


@pytest.mark.parametrize("table", ["rewrites", "guesses"])
def test_a_foreign_file_in_a_table_is_named_and_moving_it_away_helps(finished, copy, table):
    path = _part(copy, table).with_name("notes.txt")
    path.write_text("remember the milk")
    with pytest.raises(RunDirectoryError, match=r"notes\.txt' is not part of this table. Move it away"):
        run(make_spec(copy, epsilons=[3, 8]))
    path.unlink()
    run(make_spec(copy, epsilons=[3, 8]))
    assert tables(copy) == tables(finished)


@pytest.mark.parametrize("table", ["rewrites", "guesses"])
def test_a_damaged_description_is_named_and_deleting_its_folder_mends_the_run(finished, copy, table):
    folder = _part(copy, table).parent
    (folder / "table.json").write_text('{"key": ')
    before = snapshot(copy)
    with pytest.raises(RunDirectoryError, match="Delete the folder") as caught:
        run(make_spec(copy, epsilons=[3, 8]))
    assert str(folder / "table.json") in str(caught.value)
    assert snapshot(copy) == before
    shutil.rmtree(folder)
    run(make_spec(copy, epsilons=[3, 8]))
    assert tables(copy) == tables(finished)
    assert summary(copy) == summary(finished)


def test_a_damaged_plan_is_named_and_deleting_it_mends_the_run(finished, copy):
    path = copy / "plans" / "k2-lambda0.parquet"
    _truncated(path)
    with pytest.raises(RunDirectoryError, match=r"k2-lambda0\.parquet' is damaged.*Delete it"):
        run(make_spec(copy, epsilons=[3, 8]))
    path.unlink()
    run(make_spec(copy, epsilons=[3, 8]))
    assert tables(copy) == tables(finished)


def test_a_damaged_manifest_is_refused_and_moving_the_folder_away_helps(finished, copy):
    (copy / "manifest.json").write_text('{"format": 1')
    before = snapshot(copy)
    with pytest.raises(RunDirectoryError, match=r"manifest\.json' is damaged.*move the folder away"):
        run(make_spec(copy, epsilons=[3, 8]))
    assert snapshot(copy) == before
    shutil.move(copy, copy.with_name("away"))
    run(make_spec(copy, epsilons=[3, 8]))
    assert tables(copy) == tables(finished)


def test_a_folder_that_is_no_run_is_refused_and_stays_as_it_is(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(RunDirectoryError, match=r"holds no run.*thesis\.tex.*`out`"):
        run(make_spec(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(RunDirectoryError, match=r"thesis\.tex' is a file; name a folder"):
        run(make_spec(tmp_path / "thesis.tex"))


def test_the_command_line_tells_of_damage_in_one_line_and_ends_with_2(tmp_path):
    (tmp_path / "run").write_text("x")
    done = _cli("run", _written(tmp_path), "-q", "-o", tmp_path / "run", cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_only_its_owner_can_look_into_a_run(finished):
    assert finished.stat().st_mode & 0o777 == 0o700


def test_a_second_process_is_refused_while_the_first_one_works(tmp_path):
    (tmp_path / "waiting.py").write_text(
        "import time\nfrom pathlib import Path\n\n"
        "def slow(text):\n"
        "    Path('started').touch()\n"
        "    while not Path('go').exists():\n        time.sleep(0.01)\n"
        "    return text\n"
    )
    spec = _written(tmp_path, mechanisms=["py:waiting:slow"], epsilons=[1], trials=20)
    command = [sys.executable, "-m", "tedaudit", "run", str(spec), "-q", "-o", "out"]
    first = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    try:
        while not (tmp_path / "started").exists():
            assert first.poll() is None
            time.sleep(0.01)
        before = snapshot(tmp_path / "out")
        second = _cli("run", spec, "-q", "-o", "out", cwd=tmp_path, check=False)
        assert second.returncode == 2
        assert "Another process is writing to 'out'. Wait for it to end" in second.stderr
        assert snapshot(tmp_path / "out") == before
    finally:
        (tmp_path / "go").touch()
        assert first.wait(300) == 0
    before = snapshot(tmp_path / "out", TABLES)
    _cli("run", spec, "-q", "-o", "out", cwd=tmp_path)
    assert snapshot(tmp_path / "out", TABLES) == before
