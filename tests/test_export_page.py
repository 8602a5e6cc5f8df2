"""docs/export.md is run: its Python, its commands, and what it says of the schemas."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

import tedaudit
from command_line import call
from tedaudit.reports.export.documents import SCHEMAS

PROJECT = Path(tedaudit.__file__).parents[2]
PAGE = PROJECT / "docs" / "export.md"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not here")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_its_python_runs_as_it_stands(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks("python"):
        exec(block, names)  # what stands on the page
    assert len(names["result"]) == 2


def test_its_commands_run_as_they_stand(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run = ("run", "-m", "word-rr", "-e", "1", "-a", "lexical", "-a", "likelihood", "-t", "40", "-q")
    assert call(*run, "--encoder", "lexical", "--name", "demo") == 0
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    assert len(lines) == 9
    for line in lines:
        program, *arguments = shlex.split(line.partition(" >> ")[0], comments=True)
        assert program == "tedaudit"
        assert call(*arguments) == 0, line
        assert capsys.readouterr().out or "--out" in arguments


def test_the_hook_on_it_is_the_one_that_is_shipped():
    [config] = [block for block in blocks("yaml") if "repos:" in block]
    [hook] = yaml.safe_load(config)["repos"][0]["hooks"]
    known = yaml.safe_load((PROJECT / ".pre-commit-hooks.yaml").read_text())
    [shipped] = [other for other in known if other["id"] == hook["id"]]
    assert hook["entry"] == shipped["entry"]


def test_the_inputs_of_the_action_on_it_are_real():
    [job] = [block for block in blocks("yaml") if "uses:" in block]
    [step] = [step for step in yaml.safe_load(job) if "spec" in step.get("with", {})]
    assert set(step["with"]) <= set(yaml.safe_load((PROJECT / "action.yml").read_text())["inputs"])


def test_it_names_every_schema():
    page = PAGE.read_text("utf-8")
    assert "urn:tedaudit:summary:2" in page
    assert all(f"`{kind}`" in page or f"schema {kind}" in page for kind in SCHEMAS)
