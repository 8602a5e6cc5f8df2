"""The package as a whole: what importing it costs, and which exports it has."""

import subprocess
import sys

import pytest

import tedaudit.estimators


def test_importing_the_estimators_does_not_import_scipy():
    code = (
        "import sys, tedaudit.estimators; print([name for name in sys.modules if name.startswith('scipy')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.strip() == "[]"


def test_estimating_does_not_import_scipy_stats():
    code = (
        "import sys, tedaudit.estimators as e; e.reduced_form(7, 9); e.baseline(7, 2, 9); "
        "e.sequential(7, 9); "
        "print('scipy.special' in sys.modules, 'scipy.stats' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.split() == ["True", "False"]


@pytest.mark.parametrize("name", tedaudit.estimators.__all__)
def test_every_export_is_there_and_documented(name):
    assert getattr(tedaudit.estimators, name).__doc__
