"""Tables of rewrites: rows come back whole and in the order asked for; what was released is counted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tedaudit.errors import RunDirectoryError
from tedaudit.plugins.batches import Rewrites
from tedaudit.plugins.values import Rewrite
from tedaudit.runs import rewrites as rewrites_module
from tedaudit.runs.files import read_notes
from tedaudit.runs.guesses import GuessTable
from tedaudit.runs.rewrites import Released, RewriteTable
from tedaudit.runs.table_folder import TableFolder

POOL = [f"text {number}" for number in range(9)]


def _rewrites(texts, replicates):
    return Rewrites.of(
        [Rewrite(f"{text}/{replicate}") for text, replicate in zip(texts, replicates, strict=True)]
    )


def _append(table, texts, replicates):
    table.append(texts, replicates, _rewrites(texts, replicates), POOL)


def _table(path, key="key"):
    return RewriteTable(TableFolder(path), key)


def _fetched(table, pairs):
    texts, replicates = np.array(pairs).T
    return [rewrite.text for rewrite in table.fetch(texts, replicates)]


def test_rewrites_are_found_by_text_and_replicate_in_the_order_asked_for(tmp_path):
    table = _table(tmp_path)
    _append(table, [3, 0, 3], [0, 0, 1])
    _append(table, [1, 0], [0, 1])
    pairs = [(0, 1), (3, 1), (3, 0), (1, 0), (0, 0)]
    for found in (table, _table(tmp_path)):
        assert _fetched(found, pairs) == [f"{text}/{replicate}" for text, replicate in pairs]
        assert _fetched(found, [(3, 1), (3, 1)]) == ["3/1", "3/1"]
        missing = found.missing(np.array([0, 0, 1, 3, 2]), np.array([1, 2, 1, 1, 0]))
        assert missing.tolist() == [False, True, True, False, True]


def test_an_empty_table_lacks_everything(tmp_path):
    table = _table(tmp_path / "none")
    assert table.missing(np.arange(3), np.zeros(3)).all()
    with pytest.raises(RunDirectoryError, match="lacks rewrites"):
        table.fetch(np.array([0]), np.array([0]))


def test_many_parts_are_searched_as_well_as_few(tmp_path):
    table = _table(tmp_path)
    everything = [(text, replicate) for replicate in range(40) for text in range(5)]
    for part in range(40):
        _append(table, [0, 1, 2, 3, 4], [part] * 5)
        assert not table.missing(*np.array(everything[: 5 * (part + 1)]).T).any()
    for found in (table, _table(tmp_path)):
        assert _fetched(found, everything[::-7]) == [f"{t}/{r}" for t, r in everything[::-7]]
    assert len(list(tmp_path.glob("part-*.parquet"))) == 40


def test_every_part_of_a_rewrite_survives(tmp_path):
    rewrites = [
        Rewrite("naïve \u2028\x00 text", (5, 0, 9), np.array([0.5, -1.25], dtype=np.float32), 3),
        Rewrite("", None, None, None, "too-long"),
        Rewrite("plain", (), np.zeros(0, dtype=np.float32)),
    ]
    _table(tmp_path).append([0, 1, 2], [0, 0, 0], Rewrites.of(rewrites), POOL)
    for old, new in zip(rewrites, _table(tmp_path).fetch(np.arange(3), np.zeros(3)), strict=True):
        assert (old.text, old.tokens, old.units, old.error) == (new.text, new.tokens, new.units, new.error)
        assert (old.latent is None) == (new.latent is None)
        if old.latent is not None:
            assert new.latent.dtype == np.float32
            assert new.latent.tolist() == old.latent.tolist()


def test_half_a_surrogate_pair_is_stored_in_the_form_that_attacks_see_now_and_later(tmp_path):
    table = _table(tmp_path)
    table.append([0], [0], Rewrites.of([Rewrite("a\ud800b")]), POOL)
    assert _fetched(table, [(0, 0)]) == _fetched(_table(tmp_path), [(0, 0)]) == ["a?b"]


def test_rewrites_of_a_deleted_part_are_missing_and_come_back_in_a_new_one(tmp_path):
    table = _table(tmp_path)
    _append(table, [0, 1], [0, 0])
    _append(table, [0, 1], [1, 1])
    (tmp_path / "part-000000.parquet").unlink()
    again = _table(tmp_path)
    assert again.missing(np.array([0, 0]), np.array([0, 1])).tolist() == [True, False]
    _append(again, [0, 1], [0, 0])
    assert _fetched(_table(tmp_path), [(0, 0), (1, 1)]) == ["0/0", "1/1"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["part-000001.parquet", "part-000002.parquet"]


def test_a_rewrite_without_a_single_row_does_no_harm(tmp_path):
    table = _table(tmp_path)
    _append(table, [], [])
    _append(table, [4], [0])
    assert _fetched(_table(tmp_path), [(4, 0)]) == ["4/0"]
    assert _table(tmp_path).missing(np.array([0]), np.array([0])).all()


@pytest.mark.parametrize("kind", [RewriteTable, GuessTable])
@pytest.mark.parametrize("name", ["notes.txt", "part-1.parquet", "part-000000.parquet.bak", "part-x.parquet"])
def test_a_file_that_is_no_part_of_the_table_is_named(tmp_path, kind, name):
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(RunDirectoryError, match=f"{name}' is not part of this table. Move it away"):
        kind(TableFolder(tmp_path), "key")


@pytest.mark.parametrize("kind", [RewriteTable, GuessTable])
def test_what_is_being_written_at_the_moment_does_not_disturb_a_reader(tmp_path, kind):
    TableFolder(tmp_path).claim({}, {})
    (tmp_path / ".writing-123-part-000000000-000000010.parquet").write_bytes(b"half")
    kind(TableFolder(tmp_path), "key")


def test_parts_of_one_table_are_not_taken_for_those_of_another(tmp_path):
    _append(_table(tmp_path), [0], [0])
    with pytest.raises(RunDirectoryError, match=r"part-000000\.parquet' does not belong to this table"):
        _table(tmp_path, "another").missing(np.zeros(1), np.zeros(1))


# --- what was released


def _released(*texts, failed=()):
    errors = ["out-of-luck" if number in failed else "" for number in range(len(texts))]
    return Rewrites.from_texts(texts, errors=errors)


def test_a_part_carries_how_many_rewrites_are_copies_or_empty_and_failed_ones_are_neither(tmp_path):
    table = _table(tmp_path)
    table.append([0, 1, 2, 3, 4], [0] * 5, _released("text 0", "", " \n", "text 0", "", failed=[4]), POOL)
    table.append([0, 1], [1, 1], _released("text 0", "text 1", failed=[1]), POOL)
    table.append([], [], _released(), POOL)
    notes = [read_notes(path, "key") for path in sorted(tmp_path.glob("part-*"))]
    assert [tuple(note[name] for name in ("released", "copied", "empty")) for note in notes] == [
        ("4", "1", "2"), ("1", "1", "0"), ("0", "0", "0"),
    ]  # fmt: skip
    for found in (table, _table(tmp_path)):
        assert found.count_released() == Released(5, 2, 2)


def test_counting_what_was_released_reads_no_texts(tmp_path, monkeypatch):
    table = _table(tmp_path)
    table.append([0, 1], [0, 0], _released("text 0", ""), POOL)

    def refuse(*_):
        raise AssertionError("it was read")

    monkeypatch.setattr(rewrites_module, "read_frame", refuse)
    assert table.count_released() == Released(2, 1, 1)
    assert _table(tmp_path).count_released() == Released(2, 1, 1)  # nor the index, when opened anew


def test_a_few_outputs_and_the_mean_number_of_units_are_read_in_the_order_asked_for(tmp_path):
    table = _table(tmp_path)
    units = np.array([3, -1, 5])  # -1: it does not say
    table.append(
        [0, 1, 2], [0] * 3, Rewrites.from_texts(["a", "", "c"], errors=["", "e", ""], units=units), POOL
    )
    _append(table, [3], [0])
    where = np.array([3, 1, 2, 0]), np.zeros(4)
    assert table.outputs(*where) == [("3/0", ""), ("", "e"), ("c", ""), ("a", "")]
    assert table.mean_units(*where) == 4.0
    assert table.mean_units(np.array([1, 3]), np.zeros(2)) is None


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.none() | st.lists(st.integers(0, 2**31 - 1), max_size=3).map(tuple),
            st.none() | st.lists(st.floats(-1e6, 1e6, width=32), max_size=3),
            st.none() | st.integers(0, 2**31 - 1),
        ),
        min_size=1,
        max_size=9,
    )
)
def test_rows_with_and_without_tokens_latents_and_units_come_back_side_by_side(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("table")
    rewrites = [
        Rewrite(str(n), tokens, None if latent is None else np.array(latent, dtype=np.float32), units)
        for n, (tokens, latent, units) in enumerate(rows)
    ]
    _table(folder).append(range(len(rows)), [0] * len(rows), Rewrites.of(rewrites), POOL)
    assert _table(folder).fetch(np.arange(len(rows)), np.zeros(len(rows))) == rewrites


def test_units_tokens_and_latents_are_read_only_if_they_are_asked_for(tmp_path):
    """Parts without any have a type of their own, and may be read together with parts that have some."""
    table, places = _table(tmp_path), np.array([0, 1])
    one, other = Rewrite("a", tokens=(1, 2), latent=np.ones(3, np.float32), units=2), Rewrite("b", units=1)
    table.append([0], [0], Rewrites.of([one]), POOL)
    table.append([1], [0], Rewrites.of([other]), POOL)
    for found in (table, _table(tmp_path)):
        assert found.fetch(places, np.zeros(2)) == Rewrites.of([one, other])
        tokens = [rewrite.tokens for rewrite in found.fetch(places, np.zeros(2), ("text", "tokens"))]
        assert tokens == [(1, 2), None]
        plain = found.fetch(places, np.zeros(2), ("text", "error", "units"))
        assert plain == [Rewrite("a", units=2), Rewrite("b", units=1)]
        assert found.fetch(places, np.zeros(2), ("text",)) == [Rewrite("a"), Rewrite("b")]


def test_many_parts_are_found_however_they_were_added(tmp_path):
    """The index merges its runs as parts are added; every row is found, and no other."""
    table, rng = _table(tmp_path), np.random.default_rng(0)
    pairs = [(text, replicate) for text in range(9) for replicate in range(12)]
    order = rng.permutation(len(pairs))
    for number, rows in enumerate(np.split(order, [1, 2, 3, 20, 21, 60, 61, 62, 100])):
        _append(table, [pairs[row][0] for row in rows], [pairs[row][1] for row in rows])
        assert len(table) == sum(map(len, np.split(order, [1, 2, 3, 20, 21, 60, 61, 62, 100])[: number + 1]))
    assert _fetched(table, pairs) == [f"{text}/{replicate}" for text, replicate in pairs]
    assert table.missing(np.array([0, 9, 8]), np.array([12, 0, 11])).tolist() == [True, True, False]
