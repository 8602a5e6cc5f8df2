"""rewrite and corpus triples as their users meet them: texts in, texts or a table out."""

import csv
import io
import itertools
import os
import select
import subprocess
import sys

import pytest

from command_line import process
from tiny_models import save_roberta, save_t5

PATIENCE = 300  # seconds until a rewrite that does not come counts as missing


@pytest.fixture
def rewritten(typed, monkeypatch):
    """Return a function that runs `rewrite` in this process, with lines on standard input."""

    def run(*arguments, lines="the old house\n"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
        return typed("rewrite", *arguments)

    return run


def test_lines_in_lines_out_with_the_claim_on_standard_error():
    done = process(
        "rewrite", "-m", "word-rr", "-e", "8", "--set", "slots=4", lines="the old house\nshe went home\n"
    )
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 2
    assert "8 per word x 4 = 32, for any two texts" in done.stderr
    assert "warning" not in done.stderr


def test_a_clip_range_that_was_measured_on_another_model_is_told_on_standard_error(tmp_path, rewritten):
    code, _, err = rewritten("-m", "dp-mlm", "-e", "8", "--set", f"model={save_roberta(tmp_path)}")
    assert code == 0, err
    assert "note: no clip range was measured on" in err


def test_a_field_of_text_takes_braces(tmp_path, rewritten):
    fields = ("--set", f"model={save_t5(tmp_path)}", "--set", "prompt={text}", "--set", "max_tokens=2")
    code, _, err = rewritten("-m", "dp-prompt", "-e", "8", *fields)
    assert code == 0, err


def test_a_file_goes_in_and_a_new_file_comes_out(tmp_path, rewritten):
    source, target = tmp_path / "texts.csv", tmp_path / "out.csv"
    source.write_text("id,text\n1,the old house\n2,she went home\n")
    code, _, err = rewritten(source, "-m", "identity", "--draws", "2", "-o", target, "-q")
    assert code == 0, err
    rows = list(csv.DictReader(target.open()))
    assert [(row["row"], row["draw"], row["rewrite"]) for row in rows] == [
        ("0", "0", "the old house"),
        ("0", "1", "the old house"),
        ("1", "0", "she went home"),
        ("1", "1", "she went home"),
    ]
    code, _, err = rewritten(source, "-m", "identity", "-o", target)  # which takes no epsilon
    assert code == 2
    assert "already exists" in err


def test_a_seed_repeats_the_noise_and_warns(rewritten):
    runs = [rewritten("-m", "word-rr", "-e", "2", "--seed", "5") for _ in range(2)]
    assert runs[0][1] == runs[1][1]
    assert "voids the guarantee" in runs[0][2]
    assert runs[0][1] != rewritten("-m", "word-rr", "-e", "2", "--seed", "6")[1]


@pytest.fixture
def rewriter():
    """Return a function that starts `rewrite` in a process of its own, with pipes at both ends."""
    started = []

    def start(*arguments):
        command = [sys.executable, "-m", "tedaudit", "rewrite", *arguments]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0))
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.wait()
        for stream in (one.stdin, one.stdout, one.stderr):
            stream.close()


def read_line(running):
    """Return the next line of output; fail if it does not come."""
    line = b""
    while not line.endswith(b"\n"):
        assert select.select([running.stdout], [], [], PATIENCE)[0], "no rewrite came"
        piece = os.read(running.stdout.fileno(), 1)
        assert piece, running.stderr.read().decode()
        line += piece
    return line.decode()


@pytest.mark.parametrize("form", ["txt", "jsonl"])
def test_a_text_is_rewritten_before_the_next_one_arrives(rewriter, form):
    running = rewriter("-m", "identity", "-e", "1", "--format", form, "--batch-size", "64")
    for number in range(4):
        running.stdin.write(f"text number {number}\n".encode())
        assert f"text number {number}" in read_line(running)
    running.stdin.write(b"the last one, without a line feed")
    running.stdin.close()
    assert "the last one, without a line feed" in read_line(running)
    assert running.wait(PATIENCE) == 0


def test_many_lines_come_out_in_order(rewriter):
    lines = "".join(f"text {number}\n" for number in range(5000))
    running = rewriter("-m", "identity", "-e", "1", "--draws", "2", "--batch-size", "33")
    out, _ = running.communicate(lines.encode(), timeout=PATIENCE)
    wanted = itertools.chain.from_iterable([f"text {number}"] * 2 for number in range(5000))
    assert out.decode().splitlines() == list(wanted)


def test_a_reader_that_goes_away_ends_it_quietly(rewriter):
    running = rewriter("-m", "identity", "-e", "1")
    running.stdin.write(b"one\n")
    assert read_line(running) == "one\n"
    running.stdout.close()
    running.stdin.write(b"two\nthree\n")
    assert running.wait(PATIENCE) == 141
    told = running.stderr.read().decode()
    assert told == "identity: no claim\n"


def test_input_that_is_no_text_is_refused_after_what_came_before_it(rewriter):
    running = rewriter("-m", "identity", "-e", "1")
    running.stdin.write(b"one\n")
    assert read_line(running) == "one\n"
    running.stdin.write(b"\xff\n")
    running.stdin.close()
    assert running.wait(PATIENCE) == 2
    assert "error: Standard input is not UTF-8" in running.stderr.read().decode()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("-e", "1"), "needs a mechanism"),
        (("-m", "word-r", "-e", "1"), "Did you mean 'word-rr'"),
        (("-m", "word-rr", "-e", "abc"), "--epsilon is 'abc'"),
        (("-m", "word-rr", "-e", "0"), "epsilon is 0.0"),
        (("-m", "word-rr"), "'word-rr' takes an epsilon"),
        (("-m", "word-rr", "-e", "1", "--set", "slots"), "KEY=VALUE"),
        (("-m", "word-rr", "-e", "1", "--format", "pdf"), "csv, jsonl, txt"),
        (("missing.csv", "-m", "word-rr", "-e", "1"), "missing.csv"),
    ],
)
def test_wrong_use_is_reported_and_exits_with_2(arguments, told, rewritten):
    code, out, err = rewritten(*arguments)
    assert (code, out) == (2, "")
    assert told in err
    assert "Traceback" not in err


def test_a_table_of_triples_is_built_and_used(tmp_path, typed, monkeypatch):
    pytest.importorskip("spacy")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from tedaudit.models.triples.table import load_table
    from tiny_triples import minilm, save_parser

    source = tmp_path / "public.txt"
    source.write_text("my sister bought a red bicycle\nthe doctor called my brother\nshe lost her keys\n")
    parser = save_parser(tmp_path / "parser")
    arguments = ("corpus", "triples", source, tmp_path / "table", "--encoder", minilm())
    code, out, err = typed(*arguments, "--extractor", f"spacy:{parser}", "--clusters", "2")
    assert code == 0, err
    assert "triples" in out
    assert len(load_table(str(tmp_path / "table"))) >= 2
