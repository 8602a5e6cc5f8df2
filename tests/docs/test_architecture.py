"""The page on the architecture: the story of one trial is what happens."""

import importlib
import re
import sys
from pathlib import Path

import tedaudit

PAGE = (Path(tedaudit.__file__).parents[2] / "docs" / "architecture.md").read_text("utf-8")


def find_code(name):
    """Return the code of a function or method by its dotted name."""
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found.__code__
    raise AssertionError(name)


def test_the_story_of_one_trial_names_ten_functions_in_the_order_in_which_they_are_called(tmp_path):
    names = re.findall(r"^\d+\. `([\w.]+)`", PAGE, re.MULTILINE)
    assert len(names) == 10
    told = {find_code(name): name for name in names}
    called = {}

    def note(frame, event, _):
        if event == "call" and frame.f_code in told:
            called.setdefault(told[frame.f_code])

    sys.setprofile(note)
    try:
        tedaudit.run({
            "mechanisms": ["word-rr"], "epsilons": [2.0], "attacks": ["lexical"], "encoder": "lexical",
            "trials": 20, "out": str(tmp_path / "run"),
        })  # fmt: skip
    finally:
        sys.setprofile(None)
    assert list(called) == names
