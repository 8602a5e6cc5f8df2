"""Small real programs for `command`: each is a script that a test writes, and a Python that starts fast."""

import os
import sys
import textwrap
import time
from pathlib import Path

from tedaudit.mechanisms.command import Command
from tedaudit.plugins.values import Draw
from tedaudit.seeding import derive

HEAD = """
import json, os, signal, sys, time
def answer(request, **answered):
    print(json.dumps({"id": request["id"], **answered}), flush=True)
"""
LOOP = """
for line in sys.stdin:
    request = json.loads(line)
    text = request["text"]
"""
SHOUT = "answer(request, text=text.upper())"


def save_program(place, body, before="", name="program.py"):
    """Write a script that runs some lines for every request, and return its command line."""
    script = HEAD + textwrap.dedent(before) + LOOP + textwrap.indent(textwrap.dedent(body).strip(), "    ")
    return save_script(place, script, name)


def save_script(place, script, name="program.py"):
    """Write a script and return its command line."""
    path = place / name
    path.write_text(textwrap.dedent(script) + "\n", encoding="utf-8")
    return (sys.executable, "-I", "-S", str(path))


def make_command(place, body, before="", **fields):
    """Return a command that runs some lines for every request."""
    return Command(save_program(place, body, before), **fields)


def make_draws(*texts, epsilon=2.0):
    return [Draw(text, epsilon, derive(0, text, number)) for number, text in enumerate(texts)]


def rewrite(command, *texts):
    """Return the texts or, in place of those that failed, their codes."""
    return [made.text or made.error for made in command.rewrite(make_draws(*texts))]


def is_running(number):
    """Return whether a process is there, other than as a name that nobody has asked for yet."""
    try:
        os.kill(number, 0)
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class MarkedClock:
    """Stands still, and goes on by an hour with every file in its folder: programs say when time passes."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()

    @property
    def mark(self):
        """Return the code by which a program moves the clock; only its first time counts."""
        return f"open({str(self.folder)!r} + f'/{{os.getpid()}}', 'w').close()"

    def monotonic(self):
        return 3600.0 * len(list(self.folder.iterdir()))

    def sleep(self, seconds):
        time.sleep(seconds)


def wait_until(is_so, seconds=300.0):
    """Return whether something became so in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if is_so():
            return True
        time.sleep(0.02)
    return is_so()
