"""No test sees the corpora that are not shipped unless it asks: CI runs all others as a stranger does.

One test sees none, one asks for one; both are run in a process of their own, with and without a folder.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
ASKS = "asks_for_a_corpus"


def test_a_test_that_does_not_ask_sees_no_corpora():
    assert "TEDAUDIT_DATA" not in os.environ


def test_one_that_asks_for_a_corpus_is_given_its_folder(corpora):
    assert corpora.is_dir()


@pytest.mark.parametrize(
    ("root", "more", "told"),
    [
        (True, ("-k", f"not_ask or {ASKS}", "-n", "1"), {"passed": 2}),
        (False, ("-k", f"not_ask or {ASKS}"), {"passed": 1, "skipped": 1}),
        (True, ("-m", "corpora"), {"passed": 1, "deselected": 4}),
    ],
)
def test_the_marker_finds_all_that_ask_and_without_corpora_they_are_skipped(root, more, told, tmp_path):
    """The marker is what CI selects by for the run without corpora; worker processes know of them too."""
    hidden = {key: value for key, value in os.environ.items() if not key.startswith(("CORPORA_", "PYTEST_"))}
    given = {**hidden, **({"TEDAUDIT_DATA": str(tmp_path)} if root else {})}
    command = [sys.executable, "-m", "pytest", __file__, "-p", "no:cacheprovider", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=given, cwd=PROJECT)
    counts = {what: int(number) for number, what in re.findall(r"(\d+) (\w+)", done.stdout.splitlines()[-1])}
    counts.pop("xdist", None)
    assert {what: counts.get(what) for what in told} == told, done.stdout
