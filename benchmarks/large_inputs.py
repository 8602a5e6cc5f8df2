"""What large inputs cost: a million texts, hundreds of candidates, the whole corpus, one text of 10 MB.

python benchmarks/large_inputs.py
python benchmarks/large_inputs.py --case "a million texts, lambda 0" --texts 100000

Every case is a process of its own, started as a user would; its CPU time and its largest memory are
what the system counted for it. Texts are made from a seed, of public words, and lie in a temporary folder.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tedaudit.text.words import common_words

COMMAND = [sys.executable, "-m", "tedaudit"]
AUDIT = ["run", "-q", "-m", "word-rr", "-e", "4"]
LONG = 10_000_000  # characters
HEADINGS = ("what", "command", "seconds", "CPU seconds", "MiB")


def make_texts(number: int, seed: int) -> Iterator[str]:
    """Yield so many distinct texts of 6 to 14 public words, common ones more often, as in real text."""
    rng = np.random.default_rng(seed)
    words = rng.permutation(sorted(common_words())).tolist()
    share = 1 / (np.arange(len(words)) + 10.0)
    seen: set[str] = set()
    while len(seen) < number:
        lengths = rng.integers(6, 15, size=20_000)
        drawn = iter(rng.choice(len(words), size=int(lengths.sum()), p=share / share.sum()).tolist())
        for length in lengths.tolist():
            text = " ".join(words[next(drawn)] for _ in range(length))
            if text not in seen and len(seen) < number:
                seen.add(text)
                yield text


def write_inputs(folder: Path, asked: argparse.Namespace) -> None:
    """Write the files that the cases read."""
    with (folder / "million.csv").open("w") as file:
        file.writelines(f"{line}\n" for line in ["text", *make_texts(asked.texts, asked.seed)])
    with (folder / "tenth.csv").open("w") as file:
        file.writelines(f"{line}\n" for line in ["text", *make_texts(asked.texts // 10, asked.seed)])
    letters = np.random.default_rng(asked.seed).choice(list("abcdefghijklmnopqrstuvwxyz0123456789"), LONG)
    words = " ".join(make_texts(LONG // 64, asked.seed))[:LONG]
    for name, long in (("long.jsonl", words), ("blob.jsonl", "".join(letters))):
        with (folder / name).open("w") as file:
            rows = (json.dumps({"text": text}) for text in [*make_texts(300, asked.seed), long])
            file.writelines(f"{row}\n" for row in rows)


def list_cases() -> dict[str, list[str]]:
    """Return the arguments of each case by its name."""
    million = [*AUDIT, "-c", "million.csv", "--encoder", "lexical", "-a", "lexical", "-t", "1000"]
    many = [*AUDIT, "-c", "atis", "-a", "lexical", "--k", "500", "-t", "200"]
    whole = [*AUDIT, "-c", "tenth.csv", "--k", "all", "-t", "300", "-a"]
    long = [*AUDIT, "-m", "identity", "--encoder", "lexical", "-a", "lexical", "-t", "1500", "-c"]
    lexical = ["--encoder", "lexical"]
    return {
        "a million texts, lambda 0": [*million, "--lambda", "0"],
        "a million texts, lambda -10,000": [*million, "--lambda", "-10000"],
        "a million texts, lambda 10,000": [*million, "--lambda", "10000"],
        "500 candidates, lambda 0": [*many, "--lambda", "0"],
        "500 candidates, lambda -10,000": [*many, "--lambda", "-10000"],
        "500 candidates, lambda -10,000, lexical": [*many, "--lambda", "-10000", *lexical],
        "all of 100,000 texts, lexical attack": [*whole, "lexical"],
        "all of 100,000 texts, embedding attack": [*whole, "embedding"],
        "one text of 10 MB of words": [*long, "long.jsonl"],
        "one text of 10 MB that is one word": [*long, "blob.jsonl"],
        "rewrite, a million lines": ["rewrite", "-q", "-m", "word-rr", "-e", "4"],
    }


def measure(arguments: list[str], folder: Path) -> tuple[float, float, float]:
    """Run a command and return its seconds, its CPU seconds and its largest memory in MiB."""
    is_audit = arguments[0] == "run"
    out = ["-o", "result"] if is_audit else []
    shutil.rmtree(folder / "result", ignore_errors=True)
    began = time.perf_counter()
    with (folder / "million.csv").open() as lines, (folder / "told.txt").open("w") as told:
        whole = [*COMMAND, *arguments, *out]
        running = subprocess.Popen(whole, cwd=folder, stdin=lines, stdout=told, stderr=told)  # noqa: S603
        _, status, usage = os.wait4(running.pid, 0)
    if status:
        sys.exit((folder / "told.txt").read_text())
    seconds = time.perf_counter() - began
    scale = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / scale


def main() -> None:
    """Print one row for each case."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cases = list_cases()
    parser.add_argument("--case", action="append", choices=list(cases), metavar="NAME")
    parser.add_argument("--texts", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path, help="Only write the inputs into this folder.")
    asked = parser.parse_args()
    if asked.write:
        write_inputs(asked.write, asked)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # In a process of its own: the system counts what this one holds as memory of those that it starts.
        settings = ["--texts", str(asked.texts), "--seed", str(asked.seed), "--write", name]
        subprocess.run([sys.executable, __file__, *settings], check=True)  # noqa: S603
        print(f"| {' | '.join(HEADINGS)} |\n|{'---|' * len(HEADINGS)}")
        for case in asked.case or cases:
            arguments = cases[case]
            seconds, cpu, memory = measure(arguments, folder)
            command = f"`tedaudit {' '.join(arguments)}`"
            print(f"| {case} | {command} | {seconds:.0f} | {cpu:.0f} | {memory:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
