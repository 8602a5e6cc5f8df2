"""A run that is killed while it makes own rewrites: finished blocks are not made again; it ends the same."""

import os
import signal
import subprocess
import sys
import time

import yaml

from helpers import sentences, summary, tables

OWN = 2**31  # from this seed on a call is for an adversary
STOP_AT = 50  # own calls, of 100 in blocks of 20

REWRITER = f"""\
import os, random, time

def note(text, seed):
    with open(os.environ["LOG"], "a") as log:
        log.write(f"{{seed}}\\t{{text}}\\n")
    with open(os.environ["LOG"]) as log:
        own = sum(int(line.split("\\t")[0]) >= {OWN} for line in log)
    if own == {STOP_AT} and "HANG" in os.environ:
        time.sleep(600)  # until it is killed
    return f"{{random.Random(seed).random()}} {{len(text)}}"
"""


def start(folder, log, out, **environment):
    """Start the real command in a process of its own."""
    command = [sys.executable, "-m", "tedaudit", "run", "audit.yaml", "-q", "-o", out]
    surroundings = {**os.environ, "LOG": str(folder / log), **environment}
    return subprocess.Popen(
        command, cwd=folder, env=surroundings, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def finish(folder, log, out):
    process = start(folder, log, out)
    _, told = process.communicate(timeout=300)
    assert process.returncode == 0, told


def own_calls(path):
    """Return seed and text of every call that was made for an adversary, in order."""
    rows = [line.rstrip("\n").split("\t") for line in path.open()] if path.exists() else []
    return [(int(seed), text) for seed, text in rows if int(seed) >= OWN]


def test_own_rewrites_of_a_killed_run_are_not_made_twice_and_it_ends_like_any_other(tmp_path):
    texts = sentences(40)
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    (tmp_path / "rewriter.py").write_text(REWRITER)
    spec = {
        "corpus": {"name": "files", "path": "texts.txt"}, "mechanisms": ["py:rewriter:note"],
        "attacks": ["resample"], "plans": [{"k": 2, "lambda": 0}], "trials": 100, "block": 20,
        "encoder": "lexical",
    }  # fmt: skip
    (tmp_path / "audit.yaml").write_text(yaml.safe_dump(spec))
    process = start(tmp_path, "before.log", "killed", HANG="1")
    try:
        deadline = time.monotonic() + 300
        while len(own_calls(tmp_path / "before.log")) < STOP_AT:
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        assert process.wait(timeout=300) == -signal.SIGKILL
    finally:
        process.kill()
        process.communicate()
    before = own_calls(tmp_path / "before.log")
    [table] = [rows for name, rows in tables(tmp_path / "killed").items() if name.startswith("own_rewrites/")]
    stored = {row[:2] for row in table}
    assert 20 <= len(stored) < STOP_AT == len(before)
    finished = set(before[: len(stored)])
    assert {texts.index(text) for _, text in finished} == {text for text, _ in stored}

    finish(tmp_path, "after.log", "killed")
    finish(tmp_path, "whole.log", "whole")
    after, whole = own_calls(tmp_path / "after.log"), own_calls(tmp_path / "whole.log")
    assert len(whole) == len(set(whole)) == 100
    assert finished.isdisjoint(after)
    assert sorted([*finished, *after]) == sorted(whole)  # each exactly once, but for the block that was lost
    assert tables(tmp_path / "killed") == tables(tmp_path / "whole")
    mended, undisturbed = summary(tmp_path / "killed"), summary(tmp_path / "whole")
    assert mended == undisturbed
