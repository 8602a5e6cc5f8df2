"""Parts of a run: commands beside each other, one after the other, or in copies of its folder."""

import shutil
import subprocess
import sys

import pytest

from engine_examples import make_work
from golden.reading import read_rows
from helpers import HERE
from tedaudit.api import run, run_part
from tedaudit.errors import RunInUseError, SpecError
from tedaudit.runs.files import lock_folder
from tedaudit.runs.runner import Part

OTHERS = ((1, 2, 3), (3, 1, 2), (2, 3, 1))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    root = tmp_path_factory.mktemp("whole") / "run"
    run(make_work(root))
    return read_rows(root)


def do(root, number, of=3):
    return run_part(make_work(root), Part(number, of), announce=lambda _: None)


@pytest.mark.parametrize("order", OTHERS)
def test_parts_in_any_order_make_the_rows_of_the_whole(tmp_path, whole, order):
    left = [do(tmp_path / "run", number)[1] for number in order]
    assert left == sorted(left, reverse=True)
    assert len(set(left)) == 3  # each did something
    run(make_work(tmp_path / "run"))
    assert read_rows(tmp_path / "run") == whole
    assert not list((tmp_path / "run").glob("files-*.txt"))


def test_parts_twice_in_turn_leave_little_but_attacks_that_learn(tmp_path, whole):
    for number in (1, 2, 3, 1, 2, 3, 1, 2, 3):
        _, left = do(tmp_path / "run", number)
    assert left == 0
    run(make_work(tmp_path / "run"))
    assert read_rows(tmp_path / "run") == whole


def test_parts_at_once_make_the_rows_of_the_whole(tmp_path, whole):
    code = (
        "import sys; from engine_examples import make_work; from tedaudit.api import run_part\n"
        "from tedaudit.runs.runner import Part\n"
        "run_part(make_work(sys.argv[1]), Part(int(sys.argv[2]), 3))"
    )
    root = tmp_path / "run"
    command = [sys.executable, "-c", code, str(root)]
    processes = [subprocess.Popen([*command, str(number)], cwd=HERE) for number in (1, 2, 3)]
    assert [process.wait(600) for process in processes] == [0, 0, 0]
    run(make_work(root))
    assert read_rows(root) == whole


def test_parts_on_copies_of_the_folder_are_put_together_by_copying_back(tmp_path, whole):
    root = tmp_path / "run"
    do(root, 1)
    for number in (2, 3):
        copy = tmp_path / f"copy{number}"
        shutil.copytree(root, copy)
        do(copy, number)
    for number in (2, 3):
        shutil.copytree(tmp_path / f"copy{number}", root, dirs_exist_ok=True)
    run(make_work(root))
    assert read_rows(root) == whole


@pytest.mark.parametrize("number", [1, 2, 3])  # one of which has guesses to make
def test_a_part_leaves_guesses_on_a_wave_until_all_of_it_is_rewritten(tmp_path, number):
    spec = make_work(
        tmp_path / "run", mechanisms=["word-rr"], trials=400, block=0
    )  # waves have several files
    run_part(spec, Part(number, 3), announce=lambda _: None)
    assert list((tmp_path / "run" / "rewrites").rglob("part-*"))
    assert not list((tmp_path / "run" / "guesses").rglob("part-*"))


def test_the_run_waits_for_no_part_that_is_at_work(tmp_path):
    do(tmp_path / "run", 1)
    with lock_folder(tmp_path / "run", ".lock-part-1-of-3"), pytest.raises(RunInUseError, match="Another"):
        run(make_work(tmp_path / "run"))


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/0", "-1/3", ""])
def test_what_is_no_part_is_refused(text):
    with pytest.raises(SpecError, match="write 1/3, 2/3 and 3/3"):
        Part.parse(text)


def test_a_part_leaves_what_others_are_writing_and_the_run_clears_it(tmp_path):
    do(tmp_path / "run", 1)
    half = tmp_path / "run" / "rewrites" / ".writing-1-part-000000.parquet"
    half.write_bytes(b"half")
    do(tmp_path / "run", 2)
    assert half.exists()
    run(make_work(tmp_path / "run"))
    assert not half.exists()
