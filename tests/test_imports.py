"""Objects by `py:package.module:name`, and what is said when there is none."""

import sys

import pytest

from tedaudit.errors import PluginError
from tedaudit.plugins.registry import import_object


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty current folder that is not on the import path yet; the path is put back afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def refusal(name):
    with pytest.raises(PluginError) as caught:
        import_object(name)
    return str(caught.value)


def test_the_standard_library_can_be_reached():
    assert import_object("py:textwrap:dedent")("  a") == "a"
    assert import_object("os.path:join") is import_object("py:os.path:join")


def test_a_module_of_the_current_folder_can_be_reached(folder):
    (folder / "my_own_rewriter.py").write_text("def swap(text):\n    return text[::-1]\n")
    assert import_object("py:my_own_rewriter:swap")("abc") == "cba"


def test_a_package_of_the_current_folder_can_be_reached(folder):
    (folder / "my_own_package").mkdir()
    (folder / "my_own_package" / "__init__.py").write_text("")
    (folder / "my_own_package" / "inner.py").write_text("ANSWER = 42\n")
    assert import_object("py:my_own_package.inner:ANSWER") == 42


def test_the_current_folder_comes_last_so_that_it_hides_nothing(folder):
    (folder / "textwrap.py").write_text("dedent = None\n")
    assert import_object("py:textwrap:dedent") is not None
    assert sys.path[-1] == str(folder)
    import_object("py:textwrap:dedent")
    assert sys.path.count(str(folder)) == 1


@pytest.mark.parametrize("name", ["py:", "py:module", "py::name", "py:module:", "module"])
def test_a_name_of_another_form_is_refused(name):
    assert refusal(name) == f"'{name}' is not of the form py:package.module:name."


def test_a_module_that_does_not_exist_is_named_with_the_folder_that_was_searched(folder):
    message = refusal("py:no_such_module_here:rewrite")
    assert "cannot import no_such_module_here" in message
    assert str(folder) in message


def test_a_name_that_does_not_exist_is_answered_with_those_that_do(folder):
    (folder / "my_names.py").write_text("def rewrite(text):\n    return text\n\ndef _hidden():\n    pass\n")
    message = refusal("py:my_names:rewrit")
    assert "my_names has no 'rewrit'. Did you mean 'rewrite'? It has: rewrite." in message


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def broken(:\n", "SyntaxError"),
        ("raise RuntimeError('no licence')\n", "RuntimeError: no licence"),
        ("undefined_name\n", "NameError"),
        ("import no_such_dependency\n", "No module named 'no_such_dependency'"),
    ],
)
def test_a_module_that_fails_when_imported_is_blamed_for_it(folder, source, reason):
    (folder / "my_broken_module.py").write_text(source)
    message = refusal("py:my_broken_module:rewrite")
    assert "my_broken_module" in message
    assert reason in message
