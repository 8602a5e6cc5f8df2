"""The spec that `tedaudit init` writes: it runs as it is, and what is commented out is right as well."""

import re
import sys

import pytest
import yaml

from tedaudit.api import run
from tedaudit.cli import main
from tedaudit.plugins.registry import build
from tedaudit.runs.spec.example import EXAMPLE
from tedaudit.runs.spec.model import AuditSpec, PlanSpec, parse_spec

OPTIONS = re.findall(r"^ *# ((?:- |[a-z_]+: ?[^ ]).*)$", EXAMPLE, re.MULTILINE)
QUICK = {"trials": 6, "epsilons": [4], "corpus": {"name": "demo", "size": 30}}


def uncommented(option):
    """Return the example with one line of it no longer a comment, as an editor would do it."""
    text = EXAMPLE.replace(f"# {option}", option)
    assert text != EXAMPLE
    if option.startswith("corpus:"):
        text = text.replace(
            "corpus:                  # `tedaudit ls corpora` lists the others\n  name: demo\n", ""
        )
    return yaml.safe_load(text)


def test_the_example_is_a_valid_spec_that_needs_no_model():
    spec = parse_spec(yaml.safe_load(EXAMPLE))
    assert [m.name for m in spec.mechanisms] == ["identity", "word-rr"]
    assert spec.encoder == "lexical"
    assert [a.name for a in spec.attacks] == ["lexical"]


def test_the_example_shows_every_setting():
    for model in (AuditSpec, PlanSpec):
        for name, field in model.model_fields.items():
            assert re.search(rf"\b{field.alias or name}:", EXAMPLE), name


def test_what_the_example_says_of_a_setting_that_it_leaves_out_is_the_default():
    given = set(yaml.safe_load(EXAMPLE))
    left_out = [option for option in OPTIONS if option[0] != "-" and option.split(":")[0] not in given]
    assert {option.split(":")[0] for option in left_out} == {
        "delta", "batch_size", "block", "engine", "out",
    }  # fmt: skip
    said = {key: value for option in left_out for key, value in yaml.safe_load(option).items()}
    plain = parse_spec(yaml.safe_load(EXAMPLE))
    assert (said["batch_size"], said["block"]) == (plain.batch_size, plain.block)
    assert said["engine"] == plain.engine.name
    assert said["out"] == str(plain.folder)


def test_every_line_that_can_be_uncommented_is_found():
    assert len(OPTIONS) == 15


@pytest.mark.parametrize("option", OPTIONS)
def test_a_commented_line_is_valid_once_it_is_none(option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    data = uncommented(option)
    assert data != yaml.safe_load(EXAMPLE)
    (tmp_path / "my_texts.csv").write_text("text\n" + "".join(f"text {n}\n" for n in range(9)))
    package = tmp_path / "my_package"
    package.mkdir()
    (package / "my_module.py").write_text("def my_function(text):\n    return text.upper()\n")
    spec = parse_spec(data)
    if "embedding" in option:  # its model may not be at hand: the attack is built, which loads nothing
        assert build(spec.attacks[-1].reference("attack")).encoder.endswith("all-mpnet-base-v2")
        return
    if "recorded" in option:  # has rewrites of its own texts only
        rows = "".join(f"text {n},rewrite {n}\n" for n in range(20))
        (tmp_path / "originals_and_rewrites.csv").write_text(f"original,rewrite\n{rows}")
        (tmp_path / "my_texts.csv").write_text("text\n" + "".join(f"text {n}\n" for n in range(20)))
        data["corpus"] = {"name": "files", "path": "my_texts.csv"}
    quick = {key: value for key, value in QUICK.items() if key != "corpus" or data[key] == {"name": "demo"}}
    if "author" in option:  # with enough texts of each
        quick["corpus"] = {"name": "demo", "size": 1000}
    result = run(parse_spec({**data, **quick}))
    single = [finding for finding in result if finding.rewrites == 1]
    assert len(single) == len(data["plans"]) * len(data["mechanisms"])
    assert (tmp_path / "runs" / "example" / "report.md").is_file()


def test_init_writes_a_spec_that_runs_as_it_is(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for arguments in (["init"], ["run", "audit.yaml", "--trials", "20", "--table", "full", "--quiet"]):
        monkeypatch.setattr(sys, "argv", ["tedaudit", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 0
    assert (tmp_path / "audit.yaml").read_text(encoding="utf-8") == EXAMPLE
    shown = capsys.readouterr().out
    assert "tedaudit run audit.yaml" in shown
    assert "20 / 20" in shown
    assert (tmp_path / "runs" / "example" / "summary.json").is_file()
