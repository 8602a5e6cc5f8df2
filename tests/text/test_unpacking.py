"""Unpacking ends at a limit, before the memory does."""

import bz2
import gzip
import lzma
import resource
import subprocess
import sys

import polars as pl
import pytest

from tedaudit.errors import CorpusError
from tedaudit.text import unpacking
from tedaudit.text.readers import read_table
from tedaudit.text.unpacking import TooLargeError, unpack, unpack_parquet

ENDINGS = ("gz", "bz2", "xz", "zst")


def _compressed(raw, ending):
    if ending == "zst":
        return pytest.importorskip("pyarrow").compress(raw, codec="zstd", asbytes=True)
    return {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}[ending](raw)


@pytest.fixture
def small_limit(monkeypatch):
    monkeypatch.setattr(unpacking, "MOST_BYTES", 1000)
    monkeypatch.setattr(unpacking, "MOST_CELLS", 1000)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.usefixtures("small_limit")
def test_what_is_at_the_limit_is_unpacked_and_one_byte_more_is_not(ending):
    assert unpack(_compressed(b"x" * 1000, ending), ending) == b"x" * 1000
    with pytest.raises(
        TooLargeError, match="it unpacks to more than 1,000 bytes, the limit for packed files"
    ):
        unpack(_compressed(b"x" * 1001, ending), ending)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.usefixtures("small_limit")
def test_a_corpus_that_unpacks_to_too_much_is_refused_with_the_limit_and_a_way_out(tmp_path, ending):
    file = tmp_path / f"texts.txt.{ending}"
    file.write_bytes(_compressed(b"a text\n" * 1000, ending))
    with pytest.raises(CorpusError, match=r"more than 1,000 bytes.*Unpack it yourself") as caught:
        read_table(file)
    assert str(file) in str(caught.value)


def test_a_bomb_is_refused_without_the_memory_that_it_would_take(tmp_path):
    """Two gigabytes in two megabytes: what is unpacked until the limit fits into a process of 3 GB."""
    script = (
        "import sys, zlib; from tedaudit.text.unpacking import unpack, TooLargeError\n"
        "packer = zlib.compressobj(9, zlib.DEFLATED, 31); block = bytes(1 << 24)\n"
        "pack = lambda: packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)\n"
        "raw = pack() + 127 * pack() + packer.flush()\n"  # after a full flush, a block is the same anywhere
        "assert len(raw) < 3_000_000\n"
        "try: unpack(raw, 'gz')\nexcept TooLargeError as error: print(error)"
    )
    limit = 3 << 30
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )  # fmt: skip
    assert done.stdout == "it unpacks to more than 1,073,741,824 bytes, the limit for packed files\n"


@pytest.mark.usefixtures("small_limit")
@pytest.mark.parametrize(
    ("columns", "things"),
    [
        ({"text": ["a"] * 1001}, "1,000 values"), ({"text": ["a"] * 300, "b": [1] * 300, "c": [1] * 300,
        "d": [1] * 300},
                                                   "1,000 values"),
        ({"text": ["x" * 50] * 21}, "1,000 bytes of text"), ({"t": [["x" * 50] * 21]}, "1,000 bytes of text"),
        ({"t": [{"a": "x" * 1001}]}, "1,000 bytes of text"), ({"t": [b"x" * 1001]}, "1,000 bytes of text"),
    ],
)  # fmt: skip
def test_a_parquet_file_that_repeats_itself_is_refused_with_the_limit(tmp_path, columns, things):
    file = tmp_path / "a.parquet"
    pl.DataFrame(columns).write_parquet(file)
    with pytest.raises(TooLargeError, match=things):
        unpack_parquet(file.read_bytes())
    with pytest.raises(CorpusError, match=rf"a\.parquet'.*{things}.*smaller files"):
        read_table(file)


def test_a_parquet_file_that_cannot_be_read_says_why_in_one_line():
    with pytest.raises(ValueError, match=r".{10}") as caught:
        unpack_parquet(b"no parquet")
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("small_limit")
def test_a_parquet_file_at_the_limit_is_read(tmp_path):
    file = tmp_path / "a.parquet"
    columns = {"text": ["x" * 50] * 20, "n": list(range(20)), "l": [[1], None] * 10}
    pl.DataFrame(columns).write_parquet(file)
    assert read_table(file) == columns


@pytest.mark.usefixtures("small_limit")
def test_lines_of_json_with_ever_new_names_are_no_table(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text("".join(f'{{"name {number}": 1}}\n' for number in range(40)))
    with pytest.raises(CorpusError, match=r"40 lines with 40 names in all.*the same few names"):
        read_table(file)
