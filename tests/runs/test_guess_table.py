"""Tables of guesses: what is left to do, what is complete, and parts that cannot be."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from tedaudit.errors import RunDirectoryError
from tedaudit.plugins.batches import PairLosses, Ragged
from tedaudit.runs import guesses as guesses_module
from tedaudit.runs.files import write_frame
from tedaudit.runs.guesses import GuessTable
from tedaudit.runs.table_folder import TableFolder
from tedaudit.trials.judge import Judged


def _guess_table(path, key="key"):
    return GuessTable(TableFolder(path), key)


def _judged(rows, best=None):
    n = len(rows)
    number = np.asarray(rows, dtype=np.int32)
    return Judged(
        number, number.astype(np.float32), number, number % 2 == 0, number % 3 == 0,
        np.ones((n, 2), dtype=np.float32), best,
    )  # fmt: skip


def _rows(gaps):
    return [(gap.start, gap.stop) for gap in gaps]


def test_gaps_are_what_is_left_to_do_in_pieces(tmp_path):
    table = _guess_table(tmp_path)
    assert _rows(table.gaps(range(25), 10)) == [(0, 10), (10, 20), (20, 25)]
    for start, stop in ((5, 12), (20, 22)):
        table.append(range(start, stop), _judged(range(start, stop)))
    for found in (table, _guess_table(tmp_path)):
        assert _rows(found.gaps(range(25), 10)) == [(0, 5), (12, 20), (22, 25)]
        assert _rows(found.gaps(range(25), 3)) == [(0, 3), (3, 5), (12, 15), (15, 18), (18, 20), (22, 25)]
        assert _rows(found.gaps(range(21), 100)) == [(0, 5), (12, 20)]
        assert _rows(found.gaps(range(6), 100)) == [(0, 5)]
        assert _rows(found.gaps(range(3), 100)) == [(0, 3)]


def test_only_rows_with_everything_before_them_are_complete(tmp_path):
    table = _guess_table(tmp_path)
    assert table.complete() == 0
    assert table.read(["choice"])["choice"].tolist() == []
    table.append(range(10, 20), _judged(range(10, 20)))
    assert table.complete() == 0
    assert table.read(["choice"])["choice"].tolist() == []
    table.append(range(10), _judged(range(10)))
    table.append(range(30, 40), _judged(range(30, 40)))
    assert table.complete() == 20
    assert _guess_table(tmp_path).read(["choice"])["choice"].tolist() == list(range(20))
    table.append(range(20, 30), _judged(range(20, 30)))
    assert table.complete() == 40
    assert _rows(table.gaps(range(40), 10)) == []


def test_columns_come_back_with_their_types_for_all_or_the_first_rows(tmp_path):
    table = _guess_table(tmp_path)
    for start in (0, 10):
        rows = range(start, start + 10)
        table.append(rows, _judged(rows, best=np.ones((10, 5), dtype=np.int32)))
    found = table.read(["choice", "usable", "failed", "rank"])
    assert found["choice"].dtype == np.int32
    assert found["usable"].dtype == np.bool_
    assert found["failed"].tolist() == [row % 3 == 0 for row in range(20)]
    assert table.read(["choice"], 13)["choice"].tolist() == list(range(13))
    assert table.read(["choice"], 99)["choice"].tolist() == list(range(20))
    assert table.read(["best"])["best"].shape == (20, 5)


@pytest.mark.parametrize("second", [(5, 15), (0, 5), (9, 10), (3, 3), (12, 11)])
def test_parts_that_overlap_or_have_no_rows_are_refused(tmp_path, second):
    _guess_table(tmp_path).append(range(10), _judged(range(10)))
    name = "part-{:09d}-{:09d}.parquet".format(*second)
    write_frame(tmp_path / name, pl.DataFrame({"choice": [1]}), "key")
    with pytest.raises(RunDirectoryError, match=r"part-.*' is not part of this table: .*Move both away"):
        _guess_table(tmp_path)


def test_a_part_with_another_number_of_rows_than_its_name_says_is_refused(tmp_path):
    table = _guess_table(tmp_path)
    table.append(range(10), _judged(range(10)))
    path = tmp_path / "part-000000000-000000010.parquet"
    write_frame(path, pl.read_parquet(path).head(9), "key")
    with pytest.raises(RunDirectoryError, match=f"{path.name}' has 9 rows instead of 10. Delete it"):
        _guess_table(tmp_path).read(["choice"])
    path.unlink()
    again = _guess_table(tmp_path)
    assert _rows(again.gaps(range(10), 10)) == [(0, 10)]


def test_columns_that_were_read_ahead_are_those_of_the_table_and_not_read_twice(tmp_path, monkeypatch):
    table = _guess_table(tmp_path)
    table.append(range(5), _judged(range(5)))
    expected = _guess_table(tmp_path).read(["scores", "usable"])
    assert set(table.read(["choice", "usable"], ahead=["scores"])) == {"choice", "usable"}
    with monkeypatch.context() as patch:
        patch.setattr(guesses_module, "read_frame", None)  # reading again would fail
        found = table.read(["scores", "usable"])
    assert all(np.array_equal(found[name], expected[name]) for name in expected)
    assert len(table.read(["scores"], 3)["scores"]) == 3
    table.append(range(5, 8), _judged(range(5, 8)))
    assert len(table.read(["scores"])["scores"]) == 8


def _with_losses(rows):
    known = PairLosses(np.arange(len(rows), dtype=float), np.ones(len(rows)), Ragged.of([[0.5]] * len(rows)))
    return replace(_judged(rows), usable=np.ones(len(rows), dtype=np.bool_), losses=known)


def test_ends_of_likelihoods_of_texts_are_kept_and_missing_ones_unknown(tmp_path):
    table = _guess_table(tmp_path)
    assert table.read_ends() is None
    ends = np.arange(16.0).reshape(4, 4)
    table.append(range(4), replace(_with_losses(range(4)), losses=PairLosses.between(ends)))
    table.append(range(4, 7), replace(_judged(range(4, 7)), usable=np.zeros(3, dtype=np.bool_)))
    np.testing.assert_array_equal(_guess_table(tmp_path).read_ends(), [*ends, *[[np.nan] * 4] * 3])


@pytest.mark.parametrize("first", ["nothing usable", "losses"])
def test_a_part_without_a_usable_guess_tells_no_losses_and_hides_none(tmp_path, first):
    nobody = replace(_judged(range(3)), usable=np.zeros(3, dtype=np.bool_))
    parts = [nobody, _with_losses(range(4))]
    at = 0
    for judged in parts if first == "nothing usable" else parts[::-1]:
        _guess_table(tmp_path).append(range(at, at + len(judged)), judged)  # as after a resumption
        at += len(judged)
    largest, mu = _guess_table(tmp_path).read_largest()
    known = [0.0, 1.0, 2.0, 3.0]
    expected = [np.nan] * 3 + known if first == "nothing usable" else known + [np.nan] * 3
    np.testing.assert_array_equal(largest, expected)
    assert np.isnan(mu).sum() == 3
    assert _guess_table(tmp_path).read_terms().lengths.sum() == 4


def test_a_table_from_before_losses_stays_without_them(tmp_path):
    _guess_table(tmp_path).append(range(3), _judged(range(3)))
    _guess_table(tmp_path).append(range(3, 7), _with_losses(range(4)))
    assert _guess_table(tmp_path).read_largest() is None
