"""The pytest plugin, in pytest runs of its own that find it by its entry point, as users' runs do."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tedaudit

pytest_plugins = ["pytester"]
PROJECT = Path(__file__).parents[2]
PACKAGE = Path(tedaudit.__file__).parent
SETTINGS = 'trials=200, attack="lexical", encoder="lexical"'
HEAD = f"""
import functools
import tedaudit

TEXTS = [f"{{who}} paid {{what}}" for who in ("Ann", "Bo", "Cy", "Di") for what in ("rent", "tax", "alms")]
SETTINGS = dict({SETTINGS})
"""

pytestmark = pytest.mark.skipif(
    not (PROJECT / "pyproject.toml").is_file(), reason="the tests do not run from a checkout"
)


@pytest.fixture
def run(pytester, monkeypatch):
    """Return a function that runs tests with the entry points that pyproject.toml declares."""
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
    plugins = declared["project"]["entry-points"]["pytest11"]
    folder = pytester.mkdir("site") / "tedaudit_declared-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: tedaudit-declared\nVersion: 1\n")
    lines = "".join(f"{name} = {module}\n" for name, module in plugins.items())
    (folder / "entry_points.txt").write_text(f"[pytest11]\n{lines}")
    paths = [str(folder.parent), str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))

    def run_tests(body, *arguments):
        pytester.makepyfile(HEAD + body)
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", *arguments)

    return run_tests


def test_a_fixture_asserts_and_the_summary_has_a_line_for_every_audit(run):
    result = run(
        """
def test_thanks(assert_private):
    assert_private(lambda text: "Thank you.", TEXTS, claim=0.5, **SETTINGS)

def test_shout(assert_private):
    assert_private(str.upper, TEXTS, claim=0.5, **SETTINGS)

def test_plainly():
    tedaudit.assert_private(lambda text: "Thank you.", TEXTS, fail_above=1, **SETTINGS)
    tedaudit.assert_private(lambda text: "Thanks.", TEXTS, fail_above=2, **SETTINGS)
""",
        "-p", "no:xdist",
    )  # fmt: skip
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*NotPrivateError: Not private: upper at epsilon 0.5 breaks the claim of 0.5 per document*",
            "*source   '* paid *",
            "*privacy audits*",
        ]
    )
    lines = [line for line in result.outlines if "eps_emp" in line and "200 trials" in line]
    assert len(lines) == 4
    assert sum("test_plainly: lambda" in line for line in lines) == 2
    assert sum("violated" in line and "test_shout" in line for line in lines) == 1
    assert all("of at most" in line and "(lexical)" in line for line in lines)


def test_an_audit_in_the_set_up_of_a_test_is_told_once(run):
    result = run(
        """
import pytest

@pytest.fixture(scope="module")
def audited():
    return tedaudit.assert_private(lambda text: "Thank you.", TEXTS, claim=0.5, **SETTINGS)

def test_one(audited):
    assert not audited.violated

def test_two(audited):
    assert audited.eps_emp == 0
""",
        "-p", "no:xdist",
    )  # fmt: skip
    result.assert_outcomes(passed=2)
    assert sum("200 trials" in line for line in result.outlines) == 1


def test_lines_come_back_from_other_processes(run):
    pytest.importorskip("xdist")
    result = run(
        """
def test_thanks(assert_private):
    assert_private(lambda text: "Thank you.", TEXTS, claim=0.5, **SETTINGS)
""",
        "-n", "1",
    )  # fmt: skip
    result.assert_outcomes(passed=1)
    assert sum("200 trials" in line for line in result.outlines) == 1


def test_a_run_without_audits_says_nothing_of_them_and_loads_next_to_nothing(run):
    result = run(
        """
import sys

def test_nothing():
    heavy = {"numpy", "polars", "torch", "scipy", "sklearn", "pydantic", "tedaudit.api"}
    assert "tedaudit.testing.pytest_plugin" in sys.modules
    assert not heavy & set(sys.modules)
""",
        "-p", "no:xdist", "-p", "no:hypothesispytest",
    )  # fmt: skip
    result.assert_outcomes(passed=1)
    assert "privacy audits" not in result.stdout.str()


def test_importing_the_plugin_imports_nothing_heavy():
    code = (
        "import sys, tedaudit.testing.pytest_plugin; print(*sorted(m for m in sys.modules if '.' not in m))"
    )
    path = os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert not {"numpy", "polars", "torch", "scipy", "sklearn", "pydantic"} & set(done.stdout.split())
