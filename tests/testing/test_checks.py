"""The contract suite itself: how it is called, and what it costs."""

import subprocess
import sys

from rule_keepers import Noisy, Overlap
from tedaudit.testing import check_attack, check_mechanism


def test_a_class_is_built_by_the_suite():
    assert check_mechanism(Noisy) == check_mechanism(Noisy())
    assert check_attack(Overlap) == check_attack(Overlap())


def test_the_suite_loads_no_heavy_library():
    heavy = ("torch", "polars", "pydantic", "sklearn", "pytest", "scipy")
    code = f"import sys, tedaudit.testing; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
