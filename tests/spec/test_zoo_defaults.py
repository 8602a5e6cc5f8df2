import json

import pytest
from typer.testing import CliRunner

from tedaudit.cli import app
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.spec.model import parse_spec
from tedaudit.spec.zoo_defaults import list_defaults, list_models

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
    assert {"name", "bytes", "used_by", "folder"} == set(listed[0])


def test_without_the_zoo_the_list_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("tedaudit.spec.zoo_defaults.list_folders", dict)
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
