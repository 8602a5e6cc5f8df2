"""Lines are handed on in order, gathered if they come fast and at once if they do not."""

import io
import os
import tracemalloc

import pytest

from tedaudit.errors import CorpusError
from tedaudit.runs import release
from tedaudit.runs.release import stream_lines
from tedaudit.text.readers import lines_of


class Pieces:
    """A stream whose pieces arrive one by one, with a pause after each."""

    def __init__(self, *pieces):
        self._pieces = list(pieces)

    def read1(self, _):
        return self._pieces.pop(0) if self._pieces else b""

    def fileno(self):
        raise io.UnsupportedOperation


@pytest.mark.parametrize(
    "text",
    ["", "\n", "a", "a\n", "a\nb", "a\r\nb\r\n", "\n\na\n\n", "é漢\U0001f600\nz", "a\rb\n", "x\u2028y\n"],
)
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_lines_are_those_of_the_whole_wherever_it_is_cut(text, size):
    raw = text.encode()
    pieces = [raw[start : start + size] for start in range(0, len(raw), size)]
    found = [line for some in stream_lines(Pieces(*pieces), 3) for line in some]
    assert found == lines_of(io.TextIOWrapper(io.BytesIO(raw), "utf-8").read())


def test_what_is_complete_is_handed_on_when_the_input_pauses():
    stream = Pieces(b"one\ntwo\nth", b"ree", b"\n", b"four")
    assert list(stream_lines(stream, 10)) == [["one", "two"], ["three"], ["four"]]


def test_no_more_than_asked_for_are_handed_on_together():
    assert list(stream_lines(Pieces(b"1\n2\n3\n4\n5\n"), 2)) == [["1", "2"], ["3", "4"], ["5"]]


def test_input_that_is_at_hand_is_gathered_into_full_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(release, "_BYTES", 7)
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"line {number}\n" for number in range(10)))
    with path.open("rb") as file:  # a file never pauses
        sizes = [len(some) for some in stream_lines(file, 4)]
    assert sizes == [4, 4, 2]


def test_a_pipe_hands_over_each_line_before_the_next_is_written():
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream:
        lines = stream_lines(stream, 100)
        for number in range(5):
            os.write(writing, f"line {number}\nand half".encode())
            begin = "" if number == 0 else "and half"
            assert next(lines) == [f"{begin}line {number}"]
        os.close(writing)
        assert list(lines) == [["and half"]]


def test_bytes_that_are_no_text_are_refused_with_their_line():
    lines = stream_lines(Pieces(b"fine\nalso\n", b"good\n\xff\n"), 10)
    assert next(lines) == ["fine", "also"]
    with pytest.raises(CorpusError, match="not UTF-8: invalid start byte in line 4"):
        next(lines)
    with pytest.raises(CorpusError, match="not UTF-8: unexpected end"):
        list(stream_lines(Pieces(b"cut \xc3"), 10))


def test_memory_does_not_grow_with_the_stream():
    class Endless(Pieces):
        left = 400

        def read1(self, size):
            self.left -= 1
            return b"some words of a line\n" * 500 if self.left > 0 else b""

    tracemalloc.start()
    count = sum(len(some) for some in stream_lines(Endless(), 512))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 399 * 500
    assert peak < 1_000_000  # of 4 million


def test_a_line_of_many_pieces_is_joined_once():
    pieces = [b"x" * 1000] * 3000
    assert list(stream_lines(Pieces(*pieces), 5)) == [["x" * 3_000_000]]
