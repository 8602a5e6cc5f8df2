"""How many files of the package one idea takes: five stories, told by the functions that run in each.

    python benchmarks/stories.py            # a row for each story
    python benchmarks/stories.py --files    # and the files

A file counts if a function of it runs; what runs when a module is imported does not count.
"""

import argparse
import subprocess
import sys
import tempfile

TRACED = """
import sys, threading
from pathlib import Path
import tedaudit
home = Path(tedaudit.__file__).parent
seen = set()
IS_FUNCTION = 1  # a code object's first flag: bodies of modules and of classes lack it

def note(frame, event, _):
    if event == "call" and frame.f_code.co_flags & IS_FUNCTION:
        seen.add(frame.f_code.co_filename)

def begin():
    threading.setprofile(note)
    sys.setprofile(note)

def end():
    sys.setprofile(None)
    inside = [Path(name) for name in seen if Path(name).is_relative_to(home)]
    print("FILES", *sorted(str(name.relative_to(home)) for name in inside), sep="\\n")

def call(*arguments):
    from tedaudit.cli import app
    try:
        app(list(arguments))
    except SystemExit as left:
        assert not left.code, left.code
"""
RUN = '"run", "-m", "word-rr", "-a", "lexical", "-t", "60", "-e", "2", "--out", "run"'
STORIES = {
    "run -m word-rr -a lexical -t 60": f"begin(); call({RUN}); end()",
    "link": (
        "import csv\n"
        'texts = tedaudit.load_corpus("demo").texts[:200]\n'
        'table = csv.writer(open("table.csv", "w", newline=""))\n'
        'table.writerows([("original", "rewrite"), *((text, text.lower()) for text in texts)])\n'
        'del table; begin(); call("link", "table.csv", "--out", "linked"); end()'
    ),
    "report of that run": f'call({RUN}); begin(); call("report", "run"); end()',
    "DP-MLM from draw to text": (
        'tedaudit.rewrite("dp-mlm", ["load everything once"], 10.0, seed=1)\n'
        "from tedaudit.plugins.batches import Draws\n"
        "from tedaudit.plugins.registry import Reference, build\n"
        'mechanism = build(Reference("mechanism", "dp-mlm"))\n'
        'draws = Draws.of([tedaudit.Draw("I would like to fly to Boston.", 10.0, 1)])\n'
        "begin(); mechanism.rewrite(draws); end()"
    ),
    "how a finding reaches the page": (
        f"call({RUN})\n"
        "from tedaudit.reports.files import write_reports\n"
        'result = tedaudit.load_run("run"); begin(); write_reports(result); end()'
    ),
}


def count(story: str) -> list[str]:
    """Return the files whose functions run in a story, which is told in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        told = subprocess.run(  # noqa: S603
            [sys.executable, "-c", f"{TRACED}\n{STORIES[story]}"],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
    if told.returncode:
        raise SystemExit(told.stderr)
    return told.stdout.partition("FILES\n")[2].split()


def main() -> None:
    """Print a row for each story."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--files", action="store_true")
    asked = parser.parse_args()
    print("| story | files |\n|---|---|")
    for story in STORIES:
        files = count(story)
        print(f"| {story} | {len(files)} |", flush=True)
        if asked.files:
            print("".join(f"    {name}\n" for name in files), end="", flush=True)


if __name__ == "__main__":
    main()
