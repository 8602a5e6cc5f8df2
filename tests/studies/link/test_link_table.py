"""The table of a release: what is read, what is told, and what is refused."""

import pytest

from tedaudit.errors import CorpusError
from tedaudit.studies.link.table import ColumnNames, read_release


def read(names=None, **columns):
    return read_release(columns, names or ColumnNames())


def test_records_have_ids_originals_rewrites_and_private_columns():
    release = read(
        ColumnNames("who", private=("age",)),
        who=["x", "y"], original=["a b", "c d"], rewrite=["e", None], age=[41, ""],
    )  # fmt: skip
    assert release.ids == ("x", "y")
    assert release.rewrites == ("e", "")
    assert release.private == {"age": ("41", None)}
    assert "1 of 2 rewrites is empty" in release.notes[0]


def test_every_format_gives_the_same_records(tmp_path):
    import polars as pl

    frame = pl.DataFrame({"id": ["1", "2"], "original": ["a b", "c d"], "rewrite": ["b", "d"]})
    frame.write_csv(tmp_path / "t.csv")
    frame.write_ndjson(tmp_path / "t.jsonl")
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.tsv", separator="\t")
    found = [
        read_release(tmp_path / f"t.{kind}", ColumnNames()) for kind in ("csv", "jsonl", "parquet", "tsv")
    ]
    assert {(one.ids, one.originals, one.rewrites) for one in found} == {
        (("1", "2"), ("a b", "c d"), ("b", "d"))
    }


def test_without_ids_records_are_named_by_their_row_and_that_is_told():
    release = read(original=["a b", "", "c d"], rewrite=["x", "y", "z"])
    assert release.ids == ("1", "3")
    assert any("records are named by row" in note for note in release.notes)
    assert any("1 of 3 rows have no original" in note for note in release.notes)


def test_the_same_original_twice_is_one_candidate_and_is_told():
    release = read(original=["a b", "c d", " a  b "], rewrite=["x", "y", "z"])
    assert release.pool == ("a b", "c d")
    assert release.position.tolist() == [0, 1, 0]
    assert release.first.tolist() == [True, True, False]
    assert release.sharing.tolist() == [2, 1, 2]
    assert any("1 of 3 records repeats the original of an earlier record" in n for n in release.notes)


@pytest.mark.parametrize(
    ("names", "columns", "told"),
    [
        (ColumnNames(original_column="orignal"), {}, "has no column 'orignal'. Did you mean 'original'"),
        (ColumnNames(rewrite_column="output"), {}, "--rewrite"),
        (ColumnNames(id_column="person"), {}, "--id"),
        (ColumnNames(private=("gendr",)), {"gender": ["f", "m"]}, "Did you mean 'gender'"),
        (ColumnNames(), {"id": ["7", "7"]}, "the id '7' in data rows 1 and 2"),
        (ColumnNames(), {"id": ["7", " "]}, "data row 2: 'id' is empty"),
        (ColumnNames(), {"original": ["a b", "a b"]}, "one distinct original"),
        (ColumnNames(), {"original": ["a b"]}, "different lengths"),
    ],
)
def test_what_cannot_be_linked_is_refused_with_the_way_out(names, columns, told):
    with pytest.raises(CorpusError) as caught:
        read(names, **{"original": ["a b", "c d"], "rewrite": ["x", "y"], **columns})
    assert told in str(caught.value)


@pytest.mark.parametrize("column", ["original", "rewrite"])
def test_half_a_surrogate_is_refused_with_its_row(column):
    table = {"original": ["a", "b", "c"], "rewrite": ["x", "y", "z"]}
    table[column][1] = "\ud800"
    with pytest.raises(CorpusError, match=rf"data row 2: '{column}' holds half a surrogate pair"):
        read_release(table, ColumnNames())


def test_a_file_without_a_header_does_not_have_its_first_record_printed(tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text("P1,Mrs Zebu of ward 9 came back with a fever,somebody came back\n" * 2)
    with pytest.raises(CorpusError, match="a name of 41 characters") as refused:
        read_release(file, ColumnNames())
    assert "Zebu" not in str(refused.value)
