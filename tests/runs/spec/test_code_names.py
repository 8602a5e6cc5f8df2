"""Which settings run code."""

import pytest

from tedaudit.runs.spec.code_names import list_code
from tedaudit.runs.spec.model import parse_spec


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"mechanisms": ["identity", {"name": "word-rr", "slots": 3}]}, []),
        ({"mechanisms": "py:a.b:c"}, ["py:a.b:c"]),
        ({"mechanisms": ["py:a:b", {"name": "py:c:d"}, "py:a:b"]}, ["py:a:b", "py:c:d"]),
        ({"attacks": [{"name": "trained", "encoder": "py:x:y"}]}, ["py:x:y"]),
        ({"attacks": [{"name": "x", "inner": [{"deep": ("py:x:y",)}]}]}, ["py:x:y"]),
        ({"mechanisms": [{"name": "function", "function": "os:system"}]}, ["os:system"]),
        ({"mechanisms": [{"name": "function", "function": "py:os:system"}]}, ["py:os:system"]),
        ({"mechanisms": [{"name": "command", "program": "rm -r x"}]}, ["rm -r x"]),
        ({"mechanisms": [{"name": "command", "program": ["a b", "c"]}]}, ["'a b' c"]),
        ({"mechanisms": {"name": "mldp", "python": "bin/python"}}, ["bin/python"]),
        ({"mechanisms": [{"name": "mldp", "python": "x"}, {"name": "mldp"}]}, ["x"]),
        ({"mechanisms": [{"name": ["command"], "program": "x"}]}, []),
        ({"mechanisms": [{"name": "not-installed", "program": "x"}]}, []),
        ({"mechanisms": [{"name": "function", "function": None}]}, []),
        ({"corpus": {"name": "py:x:y"}}, ["py:x:y"]),
        ({"corpus": None}, []), ({}, []), ({"mechanisms": 3}, []),
    ],
)  # fmt: skip
def test_every_name_of_code_is_found_once(settings, names):
    assert list_code(settings) == names


def test_only_the_kinds_that_are_asked_for_are_looked_at():
    settings = {"corpus": "py:c:c", "mechanisms": ["py:m:m"], "attacks": ["py:a:a"]}
    assert list_code(settings, "mechanisms", "attacks") == ["py:m:m", "py:a:a"]


def test_a_function_that_was_handed_over_in_python_is_code_in_the_manifest():
    spec = parse_spec({"mechanisms": [str.upper]}).model_dump(mode="json", fallback=repr)
    assert len(list_code(spec)) == 1


def test_code_is_named_and_not_loaded(tmp_path, monkeypatch):
    (tmp_path / "loud_module.py").write_text("raise SystemExit('loaded')\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert list_code({"mechanisms": [{"name": "py:loud_module:f", "program": "x"}]}) == ["py:loud_module:f"]
