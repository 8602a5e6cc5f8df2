import json

import pytest
from typer.testing import CliRunner

from tedaudit.cli import app
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.runs.spec.model import parse_spec
from tedaudit.runs.spec.zoo_defaults import list_defaults, list_models

pytest.importorskip("tedaudit_zoo")


def test_installed_models_say_their_size_and_who_uses_them():
    found = {model.name: model for model in list_models()}
    assert "dp-mlm (model)" in found["zoo:mlm"].used_by
    assert {"candidate sampling", "embedding (encoder)"} <= set(found["zoo:encoder"].used_by)
    assert {"dp-prompt (model)", "dp-st (model)"} <= set(found["zoo:seq2seq"].used_by)
    assert found["zoo:mlm"].bytes > 1_000_000


def test_the_command_line_lists_them():
    shown = CliRunner().invoke(app, ["ls", "models"])
    assert shown.exit_code == 0
    assert "zoo:mlm" in shown.output
    assert "used by: dp-mlm (model)" in shown.output
    listed = json.loads(CliRunner().invoke(app, ["ls", "models", "--json"]).output)
    assert {"name", "bytes", "used_by", "folder", "summary", "licence", "get"} == set(listed[0])


def test_without_the_zoo_the_list_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("TEDAUDIT_MODELS", str(tmp_path))  # with other models there is nothing to say
    monkeypatch.setattr("tedaudit.runs.spec.zoo_defaults.list_folders", dict)
    assert "pip install tedaudit-zoo" in CliRunner().invoke(app, ["ls", "models"]).output


def test_what_is_taken_unasked_is_said(monkeypatch):
    spec = {
        "mechanisms": [
            {"name": "dp-mlm"},
            {"name": "dp-prompt", "model": "mine"},
            {"live": WordRR(), "name": "x"},
        ],
        "attacks": [{"name": "embedding"}, {"name": "lexical"}],
        "epsilons": [1],
    }
    assert list_defaults(parse_spec(spec)) == {}  # the zoo is switched off for the tests
    monkeypatch.delenv("TEDAUDIT_ZOO")
    assert list_defaults(parse_spec(spec)) == {
        "candidate sampling": "zoo:encoder",
        "dp-mlm (model)": "zoo:mlm",
        "embedding (encoder)": "zoo:encoder",
    }
    assert "candidate sampling" not in list_defaults(parse_spec({**spec, "encoder": "lexical"}))


def test_models_of_others_are_listed_as_here_or_with_the_command_that_gets_them(tmp_path, monkeypatch):
    monkeypatch.setenv("TEDAUDIT_MODELS", str(tmp_path))
    for name in ("opus-mt/fr-en", ".opus-mt.partial/en-fr", "mine"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "model.safetensors").write_bytes(bytes(100))
    found = {model.name: model for model in list_models() if model.name.startswith("models:")}
    assert found["models:opus-mt/fr-en"].folder == str(tmp_path / "opus-mt" / "fr-en")
    assert found["models:mine"].bytes == 100
    assert "models:opus-mt" not in found
    assert found["models:smollm2"].folder == ""
    assert found["models:smollm2"].get == "tedaudit models get smollm2"
    assert "apache-2.0" in found["models:smollm2"].licence
    assert not any("partial" in name for name in found)
    shown = CliRunner().invoke(app, ["ls", "models"]).output
    assert "models:smollm2  not here, 542.0 MB" in shown
    assert "tedaudit models get smollm2" in shown
