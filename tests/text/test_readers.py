import bz2
import gzip
import lzma
import subprocess
import sys

import polars
import pytest

from refused_tables import refusal
from tedaudit.errors import CorpusError
from tedaudit.text.readers import choose_column, csv_line, guard_cell, read_bytes, read_table, table_format

CSV = 'text,label\n"rain, all day",01\nsun at noon,1e3\n'


def _compressed(raw, ending):
    if ending == "zst":
        pyarrow = pytest.importorskip("pyarrow")
        return pyarrow.compress(raw, codec="zstd", asbytes=True)
    return {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}[ending](raw)


def test_a_csv_keeps_every_value_as_the_string_it_is(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("id,text,score\n007,hello there,1.50\n8,,NA\n")
    assert read_table(file) == {"id": ["007", "8"], "text": ["hello there", ""], "score": ["1.50", "NA"]}


def test_a_quoted_csv_field_may_hold_commas_quotes_and_line_ends(tmp_path):
    file = tmp_path / "a.csv"
    file.write_bytes(b'text,n\r\n"two\nlines, one ""text""",1\r\nplain,2\r\n')
    assert read_table(file) == {"text": ['two\nlines, one "text"', "plain"], "n": ["1", "2"]}


def test_a_tsv_takes_quotation_marks_as_they_come(tmp_path):
    file = tmp_path / "a.tsv"
    file.write_text('sentence\tlabel\n"half a quote\t0\nan "inner" one\t1\n')
    assert read_table(file)["sentence"] == ['"half a quote', 'an "inner" one']


@pytest.mark.parametrize("ending", ["jsonl", "ndjson"])
def test_json_lines_keep_their_types_and_missing_keys_are_none(tmp_path, ending):
    file = tmp_path / f"a.{ending}"
    file.write_text('{"text": "one", "stars": 3}\n\n{"text": null, "tags": ["x"]}\n')
    assert read_table(file) == {"text": ["one", None], "stars": [3, None], "tags": [None, ["x"]]}


def test_a_txt_has_one_text_a_line_and_only_line_feeds_end_it(tmp_path):
    file = tmp_path / "a.txt"
    file.write_bytes("one\u2028still one\r\n\r\ntwo\x0cstill two".encode())
    assert read_table(file) == {"text": ["one\u2028still one", "", "two\x0cstill two"]}


def test_a_parquet_file_is_read_with_its_types(tmp_path):
    file = tmp_path / "a.parquet"
    polars.DataFrame({"text": ["one", None], "n": [1, 2]}).write_parquet(file)
    assert read_table(file) == {"text": ["one", None], "n": [1, 2]}


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz", "zst"])
def test_every_compression_gives_the_same_table(tmp_path, ending):
    plain = tmp_path / "a.csv"
    plain.write_text(CSV)
    packed = tmp_path / f"b.csv.{ending}"
    packed.write_bytes(_compressed(CSV.encode(), ending))
    assert read_table(packed) == read_table(plain)
    assert read_table(plain)["label"] == ["01", "1e3"]


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_a_compressed_parquet_file_is_read(tmp_path, ending):
    plain = tmp_path / "a.parquet"
    polars.DataFrame({"text": ["one", "two"]}).write_parquet(plain)
    packed = tmp_path / f"a.parquet.{ending}"
    packed.write_bytes(_compressed(plain.read_bytes(), ending))
    assert read_table(packed) == {"text": ["one", "two"]}


def test_two_zstd_frames_in_a_row_are_both_read(tmp_path):
    file = tmp_path / "a.txt.zst"
    file.write_bytes(_compressed(b"one\n", "zst") + _compressed(b"two\n", "zst"))
    assert read_table(file) == {"text": ["one", "two"]}


def test_columns_without_a_header_are_numbered_from_one(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("greet,hello there\npart,good bye\n")
    assert read_table(file, header=False) == {
        "column_1": ["greet", "part"],
        "column_2": ["hello there", "good bye"],
    }


def test_a_byte_order_mark_is_not_part_of_the_first_name(tmp_path):
    file = tmp_path / "a.csv"
    file.write_bytes(b"\xef\xbb\xbf" + CSV.encode())
    assert list(read_table(file)) == ["text", "label"]


def test_a_blank_line_is_a_row_of_blanks_so_that_it_can_be_counted(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("text,n\none,1\n\ntwo,2\n")
    assert read_table(file) == {"text": ["one", "", "two"], "n": ["1", "", "2"]}


def test_a_nameless_column_gets_its_number(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text(",text\n0,one\n1,two\n")
    assert list(read_table(file)) == ["column_1", "text"]


def test_a_missing_file_is_named_with_the_one_that_was_meant(tmp_path):
    (tmp_path / "reviews.csv").write_text(CSV)
    assert "Did you mean 'reviews.csv'?" in refusal(tmp_path / "review.csv")


def test_a_folder_is_refused_and_its_files_are_listed(tmp_path):
    folder = tmp_path / "a.csv"
    folder.mkdir()
    (folder / "inner.csv").write_text(CSV)
    assert "inner.csv" in refusal(folder)


@pytest.mark.parametrize("name", ["table.xlsx", "table", "table.gz"])
def test_an_unknown_ending_lists_those_that_are_known(tmp_path, name):
    (tmp_path / name).write_text("x")
    message = refusal(tmp_path / name)
    assert "csv, jsonl, ndjson, parquet, tsv, txt" in message
    assert "bz2, gz, xz, zst" in message


def test_a_byte_that_is_not_utf8_is_named_with_its_place(tmp_path):
    file = tmp_path / "a.csv"
    file.write_bytes(b"text\nfine\ncaf\xe9\n")
    message = refusal(file)
    assert "byte 0xe9 at offset 13, line 3" in message
    assert "encoding: latin-1" in message
    assert read_table(file, encoding="latin-1") == {"text": ["fine", "café"]}


def test_the_mark_of_utf16_is_recognised_in_the_advice(tmp_path):
    file = tmp_path / "a.csv"
    file.write_bytes(CSV.encode("utf-16"))
    assert "encoding: utf-16" in refusal(file)
    assert read_table(file, encoding="utf-16")["label"] == ["01", "1e3"]


def test_an_encoding_that_does_not_exist_is_refused(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("one")
    assert "no encoding 'utf9'" in refusal(file, encoding="utf9")


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a.txt.gz"])
def test_an_empty_file_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    assert "is empty" in refusal(tmp_path / name)


def test_a_compressed_nothing_is_empty_too(tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b""))
    assert "is empty" in refusal(tmp_path / "a.txt.gz")


@pytest.mark.parametrize("content", ["text,label\n", "\n\n\n"])
def test_a_table_without_rows_is_refused(tmp_path, content):
    (tmp_path / "a.csv").write_text(content)
    assert "Is it the right file?" in refusal(tmp_path / "a.csv")


@pytest.mark.parametrize("row", ["one", "one,2,3"])
def test_a_ragged_row_is_named_with_the_line_it_starts_at(tmp_path, row):
    file = tmp_path / "a.csv"
    file.write_text(f'text,n\n"two\nlines",1\n{row}\n')
    assert "line 4 has" in refusal(file)


def test_a_ragged_tsv_row_is_named_with_its_line(tmp_path):
    file = tmp_path / "a.tsv"
    file.write_text("text\tn\none\t1\ntwo\t2\t3\n")
    assert "line 3 has 3 fields, but the first row has 2" in refusal(file)


def test_a_quotation_mark_that_is_never_closed_is_named_with_its_row(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text('text,n\none,1\n"two,2\nthree,3\n')
    assert "starts at line 3" in refusal(file)


def test_two_columns_of_one_name_are_refused(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("text,text\none,two\n")
    assert "header: false" in refusal(file)


@pytest.mark.parametrize("line", ['{"text": "two"', '["two"]', "two"])
def test_a_line_that_is_not_a_json_object_is_named(tmp_path, line):
    file = tmp_path / "a.jsonl"
    file.write_text(f'{{"text": "one"}}\n{line}\n')
    assert "line 2" in refusal(file)


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz", "zst"])
@pytest.mark.parametrize("damage", ["cut", "never"])
def test_a_damaged_compressed_file_is_refused(tmp_path, ending, damage):
    whole = _compressed(CSV.encode() * 50, ending)
    file = tmp_path / f"a.csv.{ending}"
    file.write_bytes(whole[:-9] if damage == "cut" else b"plain text, never compressed")
    assert "damaged" in refusal(file)


def test_a_damaged_parquet_file_is_refused(tmp_path):
    file = tmp_path / "a.parquet"
    polars.DataFrame({"text": ["one", "two"]}).write_parquet(file)
    file.write_bytes(file.read_bytes()[:-30])
    assert "damaged" in refusal(file)


def test_zstd_without_a_library_says_what_to_install(tmp_path, monkeypatch):
    file = tmp_path / "a.txt.zst"
    file.write_bytes(b"\x28\xb5\x2f\xfd")
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(CorpusError, match="pip install pyarrow"):
        read_bytes(file)


def test_importing_the_module_needs_no_polars():
    code = "import sys; sys.modules['polars'] = None; import tedaudit.text.readers"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_format_is_read_from_the_name_whatever_its_case(tmp_path):
    names = ["A.CSV", "b.v2.jsonl.GZ", "c.json", "d"]
    assert [table_format(tmp_path / name) for name in names] == ["csv", "jsonl", "", ""]


@pytest.mark.parametrize("texts", ["good, and cheap", "good"])
def test_a_csv_with_semicolons_is_told_apart_from_a_broken_one(tmp_path, texts):
    file = tmp_path / "excel.csv"
    file.write_text(f"id;note;rewrite\n1;{texts};x\n", encoding="utf-8-sig")
    assert "one field with semicolons" in refusal(file)
    file.write_text("note\ngood; cheap\n")
    assert read_table(file) == {"note": ["good; cheap"]}


def test_wide_characters_without_a_mark_are_recognised(tmp_path):
    file = tmp_path / "wide.csv"
    file.write_bytes("note\ncafé\n".encode("utf-16-le"))
    message = refusal(file)
    assert "'encoding: utf-16-le'" in message
    assert "Convert the file to UTF-8" in message


def test_a_first_row_of_texts_is_not_printed_as_names(tmp_path):
    text = "Mrs Zebu of ward 9 came back with a fever"
    table = {text: ["a"], "P1": ["b"]}
    for wanted in ("", "review"):
        with pytest.raises(CorpusError, match="a name of 41 characters") as refused:
            choose_column(table, wanted, "table")
        assert "Zebu" not in str(refused.value)
    for content in (f"{text},P1\n", f"{text},{text}\nb,c\n"):
        (tmp_path / "a.csv").write_text(content)
        assert "Zebu" not in refusal(tmp_path / "a.csv")


FORMULAS = ["=1+1", "+1 (555) 0100", "-2+3", "@SUM(A1)", "\t=1", "\r1", "'=1", "''-x", "- a list", "-"]
PLAIN = [
    "a = b", "'tis", "", "-5", "+3.5", "-1e-3", ".5", "5-3", " =1", "''", "'", "a\rb", "a\n'b\r\n", '"-5"',
]  # fmt: skip
LINES = {"a\r=1": "a\r'=1", "\n-5": "\n'-5", "-\r\n'@": "'-\r\n''@", "\r=1": "'\r'=1", 'a\r"=1': "a\r'\"=1"}


def test_a_cell_that_a_spreadsheet_would_run_is_guarded_and_numbers_are_not():
    for cell in FORMULAS:
        assert guard_cell(cell) == f"'{cell}"
    for cell, guarded in LINES.items():
        assert guard_cell(cell) == guarded
    for cell in (*PLAIN, -5, -0.5, None, True):
        assert guard_cell(cell) is cell


@pytest.mark.parametrize("last", ["rewrite,error", "error,rewrite", "original,rewrite"])
def test_the_guard_is_taken_off_what_tedaudit_wrote_and_off_nothing_else(tmp_path, last):
    file, cells = tmp_path / "a.csv", [*FORMULAS, *PLAIN, *LINES]
    with file.open("w", newline="", encoding="utf-8") as out:
        out.write(csv_line(["=id", *last.split(",")]))
        out.writelines(csv_line([cell, cell, "x"]) for cell in cells)
    read = read_table(file)
    is_own = last == "rewrite,error"
    expected = cells if is_own else [guard_cell(cell) for cell in cells]
    assert list(read) == ["=id" if is_own else "'=id", *last.split(",")]
    assert read[last.split(",")[0]] == expected
