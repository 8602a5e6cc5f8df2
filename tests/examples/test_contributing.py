"""What CONTRIBUTING.md tells people to do is done here, exactly as it says."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tedaudit

PROJECT = Path(__file__).parents[2]
PACKAGE = Path(tedaudit.__file__).parent
CONTRIBUTING = PROJECT / "CONTRIBUTING.md"
EXAMPLE = PROJECT / "examples" / "money_flag.py"

pytestmark = pytest.mark.skipif(not CONTRIBUTING.is_file(), reason="the tests do not run from a checkout")


def blocks(language: str) -> list[str]:
    """Return the code of CONTRIBUTING.md in a language."""
    return re.findall(rf"```{language}\n(.*?)```", CONTRIBUTING.read_text("utf-8"), flags=re.DOTALL)


def test_the_text_shows_the_example_as_it_is():
    assert EXAMPLE.read_text("utf-8") in blocks("python")


def test_the_test_that_the_text_shows_passes(tmp_path):
    (tmp_path / "test_money.py").write_text(next(code for code in blocks("python") if "def test_" in code))
    shutil.copy(EXAMPLE, tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_the_example_made_to_lie_is_found_out_without_a_likelihood(monkeypatch):
    """It tells the truth and claims 1: most texts mention no money, so that success hardly shows it.

    That the example itself is not found out is what the test above says.
    """
    monkeypatch.syspath_prepend(str(EXAMPLE.parent))
    money_flag = importlib.import_module("money_flag")

    class Truthful(money_flag.MoneyFlag):
        def _one(self, draw, coin):
            return tedaudit.Rewrite(money_flag.SENTENCES[bool(re.search(self.pattern, draw.text))])

    lie = tedaudit.audit(Truthful(), "demo", epsilon=1.0, trials=2000)
    assert lie.violated
    assert {finding.attack for finding in lie} == {"lexical", "resample", "trained"}


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """Return a copy of the package with the example put where the text says."""
    root = tmp_path_factory.mktemp("shipped")
    shutil.copytree(PACKAGE, root / "tedaudit", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(EXAMPLE, root / "tedaudit" / "mechanisms")
    return root


def run_tests(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run tests of this checkout against another copy of the package."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(PROJECT / "tests")])}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments]
    return subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)


def test_the_example_passes_the_contract_suite_and_the_rules_of_the_layout_where_the_text_says_to_put_it(
    shipped,
):
    files = ("tests/testing/test_contracts.py", "tests/test_layers.py")
    done = run_tests(shipped, *files, "-k", "money or card_says or test_layers", "-rp")
    assert done.returncode == 0, done.stdout
    for tried in (
        "keeps_its_contract[money-flag]",
        "card_says_what_the_plug_in_is[mechanism]",
        "test_layers",
    ):
        assert tried in done.stdout


def test_the_text_names_every_optional_ability_with_its_methods():
    from tedaudit.plugins import protocols as abilities

    protocols = {
        name: value
        for name, value in vars(abilities).items()
        if isinstance(value, type) and getattr(value, "_is_protocol", False) and name != "Protocol"
    }
    text = CONTRIBUTING.read_text("utf-8")
    for name, protocol in protocols.items():
        row = next((line for line in text.splitlines() if line.startswith(f"| `{name}`")), "")
        methods = [method for method in vars(protocol) if not method.startswith("_")]
        assert methods
        assert all(method in row for method in methods), (name, methods)
