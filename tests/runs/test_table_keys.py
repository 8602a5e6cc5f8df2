"""The tables of a run: parts that are whole and belong there, and what a table was made with."""

import subprocess
import sys

import polars as pl
import pytest

from tedaudit.errors import RunDirectoryError
from tedaudit.runs.files import key_of, read_frame, write_atomically, write_frame
from tedaudit.runs.table_folder import TableFolder, TableInfo


@pytest.fixture
def part(tmp_path):
    path = tmp_path / "part-000000.parquet"
    write_frame(path, pl.DataFrame({"n": list(range(50)), "t": ["some text"] * 50}), "key")
    return path


# --- files


def test_a_file_is_replaced_as_a_whole_and_nothing_else_stays(tmp_path):
    path = tmp_path / "a.json"
    for content in (b"first", b"second, longer", b""):
        write_atomically(path, content)
        assert path.read_bytes() == content
    assert [p.name for p in path.parent.iterdir()] == ["a.json"]


def test_a_frame_comes_back_under_its_key_and_only_the_columns_asked_for(part):
    assert read_frame(part, "key")["n"].to_list() == list(range(50))
    assert read_frame(part, "key", ["t"]).columns == ["t"]


def test_a_part_cut_short_anywhere_is_refused_by_name_with_the_way_out(part):
    whole = part.read_bytes()
    for length in {0, 1, 4, 11, 12, len(whole) // 2, len(whole) - 9, len(whole) - 1}:
        part.write_bytes(whole[:length])
        with pytest.raises(RunDirectoryError, match="is damaged") as caught:
            read_frame(part, "key")
        assert str(part) in str(caught.value)
        assert "Delete it and run the same command again" in str(caught.value)


def test_a_damaged_footer_is_refused_even_where_the_reader_of_parquet_panics(part):
    script = """
import sys
from pathlib import Path
from tedaudit.errors import RunDirectoryError
from tedaudit.runs.files import read_frame
path = Path(sys.argv[1])
whole = path.read_bytes()
footer = int.from_bytes(whole[-8:-4], "little") + 8
for position in range(len(whole) - footer, len(whole)):
    path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
    try:
        read_frame(path, "key")
    except RunDirectoryError as error:
        print(path.name in str(error))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(part)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert len(done.stdout.split()) > 100
    assert set(done.stdout.split()) == {"True"}


@pytest.mark.parametrize("content", [b"", b"hello", b"PAR1" * 9, bytes(500)])
def test_something_that_is_no_parquet_at_all_is_damaged(tmp_path, content):
    path = tmp_path / "x.parquet"
    path.write_bytes(content)
    with pytest.raises(RunDirectoryError, match=r"x\.parquet' is damaged"):
        read_frame(path, "key")


def test_a_part_of_another_table_is_foreign_and_so_is_one_of_another_program(part, tmp_path):
    with pytest.raises(RunDirectoryError, match=r"part-000000.*does not belong.*Move it away"):
        read_frame(part, "another key")
    plain = tmp_path / "plain.parquet"
    pl.DataFrame({"n": [1]}).write_parquet(plain)
    with pytest.raises(RunDirectoryError, match=r"plain.*does not belong"):
        read_frame(plain, "key")


def test_a_part_that_lacks_a_column_is_refused(part):
    with pytest.raises(RunDirectoryError, match=str(part)):
        read_frame(part, "key", ["nothing"])


# --- tables


def _add_part(folder, key):
    write_frame(folder / "part-000000.parquet", pl.DataFrame({"n": [1]}), key)


def test_a_table_without_a_part_may_be_made_with_other_settings(tmp_path):
    TableFolder(tmp_path / "t").claim({"slots": 4}, {"label": "m"})
    key = TableFolder(tmp_path / "t").claim({"slots": 5}, {"label": "n"})
    assert TableFolder(tmp_path / "t").info() == TableInfo(key, {"label": "n"}, {"slots": 5})


def test_a_key_depends_on_every_determinant_and_not_on_their_order():
    assert key_of({"a": 1, "b": {"c": 2}}) == key_of({"b": {"c": 2}, "a": 1})
    assert len({key_of(d) for d in ({"a": 1}, {"a": 2}, {"b": 1}, {"a": "1"}, {"a": {"a": 1}})}) == 5


def test_a_table_is_claimed_once_and_later_runs_find_its_key(tmp_path):
    folder = tmp_path / "t"
    key = TableFolder(folder).claim({"slots": 4}, {"label": "m"})
    _add_part(folder, key)
    before = (folder / "table.json").stat().st_mtime_ns
    assert (
        TableFolder(folder).claim({"slots": 4}, {"label": "m"})
        == key
        == TableFolder(folder).check({"slots": 4})
    )
    assert (folder / "table.json").stat().st_mtime_ns == before
    assert TableFolder(folder).info() == TableInfo(key, {"label": "m"}, {"slots": 4})


def test_checking_a_table_that_is_not_there_writes_nothing(tmp_path):
    assert TableFolder(tmp_path / "t").check({"slots": 4}) == key_of({"slots": 4})
    assert not (tmp_path / "t").exists()


def test_a_table_made_with_other_settings_is_refused_with_exactly_the_difference(tmp_path):
    old = {"seed": 1, "mechanism": {"slots": 16, "name": "m", "gone": True}}
    _add_part(tmp_path / "t", TableFolder(tmp_path / "t").claim(old, {}))
    with pytest.raises(RunDirectoryError) as caught:
        TableFolder(tmp_path / "t").check({"seed": 1, "mechanism": {"slots": 8, "name": "m", "new": (1, 2)}})
    message = str(caught.value)
    assert str(tmp_path / "t") in message
    assert (
        "mechanism.gone: True -> (nothing); mechanism.new: (nothing) -> [1, 2]; mechanism.slots: 16 -> 8."
        in message
    )
    assert "seed" not in message
    assert "delete that folder" in message


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"key": "k"}', b"\xff", b"null"])
def test_a_damaged_description_of_a_table_is_named_and_deleting_the_folder_helps(tmp_path, content):
    folder = tmp_path / "t"
    TableFolder(folder).claim({"slots": 4}, {})
    (folder / "table.json").write_bytes(content)
    with pytest.raises(RunDirectoryError, match=r"table\.json' is damaged.*Delete the folder '.*t' and run"):
        TableFolder(folder).claim({"slots": 4}, {})
    (folder / "table.json").unlink()
    folder.rmdir()
    TableFolder(folder).claim({"slots": 4}, {})
    assert TableFolder(folder).info().determinants == {"slots": 4}


def test_a_table_without_parts_may_be_made_anew_with_other_settings(tmp_path):
    TableFolder(tmp_path / "table").claim({"slots": 16}, {"label": "word-rr"})
    key = TableFolder(tmp_path / "table").claim({"slots": 8}, {"label": "word-rr"})
    assert TableFolder(tmp_path / "table").info().key == key == key_of({"slots": 8})
    (tmp_path / "table" / "part-000000.parquet").write_bytes(b"")
    with pytest.raises(RunDirectoryError, match="slots: 8 -> 4"):
        TableFolder(tmp_path / "table").claim({"slots": 4}, {"label": "word-rr"})
