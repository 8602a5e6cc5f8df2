"""Tables as anybody may have written them: none brings the reader down."""

import polars
import pytest

from refused_tables import refusal
from tedaudit.errors import CorpusError, TedauditError
from tedaudit.text.readers import read_table


@pytest.mark.parametrize("encoding", ["undefined", "punycode", "a\0b", "hex", "", "utf9"])
def test_an_encoding_that_cannot_read_the_file_is_refused(tmp_path, encoding):
    file = tmp_path / "a.txt"
    file.write_text("one line - another\n")
    message = refusal(file, encoding=encoding)
    assert "Known encodings: ascii, cp1252" in message
    assert str(file) in message


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("9" * 5000, "a number has too many digits"),
        ("[" * 100_000 + "]" * 100_000, "it is nested too deeply"),
    ],
)
def test_a_line_of_json_that_python_cannot_hold_is_named(tmp_path, value, reason):
    file = tmp_path / "a.jsonl"
    file.write_text(f'{{"text": "one"}}\n{{"text": "two", "n": {value}}}\n')
    message = refusal(file)
    assert f"line 2 is not JSON: {reason}" in message
    assert len(message) < 1000


@pytest.mark.parametrize("path", ["a\0b.txt", "x" * 300 + ".txt", "~nobody-of-that-name/a.txt"])
def test_a_path_that_no_file_can_have_is_refused(path):
    with pytest.raises(TedauditError) as caught:
        read_table(path)
    assert str(caught.value).isprintable()


def test_a_parquet_file_that_makes_its_reader_panic_is_refused(tmp_path):
    file = tmp_path / "a.parquet"
    polars.DataFrame({"text": ["one", "two"]}).write_parquet(file)
    whole = file.read_bytes()
    refused = 0
    for position in range(len(whole) - int.from_bytes(whole[-8:-4], "little"), len(whole), 7):
        file.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
        try:
            read_table(file)
        except CorpusError:
            refused += 1
    assert refused > 10
