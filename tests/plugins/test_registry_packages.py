"""Plug-ins of other packages: found by their entry points, and blamed by name if they are wrong."""

import sys

import pytest

from tedaudit.errors import PluginError, SpecError
from tedaudit.plugins.registry import Reference, build, cards, find, names
from tedaudit.plugins.values import Draw


def made(kind, name, **params):
    return build(Reference(kind, name, params))


def refusal(kind, name, error=SpecError, **params):
    with pytest.raises(error) as caught:
        made(kind, name, **params)
    return str(caught.value)


FOREIGN = """
from __future__ import annotations
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar
from tedaudit import Card, Claim, Rewrite
if TYPE_CHECKING:
    from collections.abc import Sequence

@dataclass(frozen=True)
class Shout:
    mark: str = "!"
    extra: Sequence[str] = ()
    card: ClassVar[Card] = Card(name="shout", summary="Upper case.")

    def claim(self, epsilon):
        return None

    def rewrite(self, draws):
        return [Rewrite(draw.text.upper() + self.mark) for draw in draws]

def whisper(text):
    return text.lower()
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that puts a package with entry points onto the import path, as pip would."""

    def put(name, source, **points):
        (tmp_path / f"{name}.py").write_text(source)
        about = tmp_path / f"{name}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [f"[tedaudit.{group}]\n{line}\n" for group, entries in points.items() for line in entries]
        (about / "entry_points.txt").write_text("".join(lines))
        monkeypatch.syspath_prepend(str(tmp_path))

    before = set(sys.modules)
    yield put
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_another_package_adds_a_plug_in_by_an_entry_point(install):
    assert "shout" not in names("mechanism")
    install("tiny_shout", FOREIGN, mechanisms=["shout = tiny_shout:Shout"])
    assert "shout" in names("mechanism")
    assert "shout" not in names("attack")
    assert "shout" in [card.name for card in cards("mechanism")]
    plugin = made("mechanism", "shout", mark="?")
    assert plugin.rewrite([Draw("a", 1.0, 0)])[0].text == "A?"
    assert "Did you mean 'mark'?" in refusal("mechanism", "shout", marks="?")
    assert "Did you mean 'shout'?" in refusal("mechanism", "shoutt", PluginError)


def test_an_entry_point_may_stand_for_a_function(install):
    install("tiny_whisper", FOREIGN, mechanisms=["whisper = tiny_whisper:whisper"])
    plugin = made("mechanism", "whisper")
    assert plugin.rewrite([Draw("ABC", 1.0, 0)])[0].text == "abc"


def test_a_function_takes_no_other_beside_itself(install):
    install("tiny_whisper", FOREIGN, mechanisms=["whisper = tiny_whisper:whisper"])
    assert "takes no `function`" in refusal("mechanism", "whisper", function="os:getcwd")


def test_two_plug_ins_of_one_name_are_refused(install):
    install("tiny_clash", FOREIGN, mechanisms=["identity = tiny_clash:Shout"])
    for ask in (lambda: names("mechanism"), lambda: find("mechanism", "word-rr")):
        with pytest.raises(
            PluginError, match="Two mechanism plug-ins are named identity: rename or uninstall"
        ):
            ask()
    assert names("attack")


def test_two_packages_with_one_name_are_refused(install):
    install("tiny_one", FOREIGN, mechanisms=["shout = tiny_one:Shout"])
    install("tiny_two", FOREIGN, mechanisms=["shout = tiny_two:Shout"])
    with pytest.raises(PluginError, match="Two mechanism plug-ins are named shout"):
        names("mechanism")


@pytest.mark.parametrize(
    ("source", "point", "reason"),
    [
        ("import no_such_dependency\n", "shout = {}:Shout", "No module named 'no_such_dependency'"),
        ("raise RuntimeError('no licence')\n", "shout = {}:Shout", "RuntimeError: no licence"),
        ("", "shout = {}:Shout", "has no attribute 'Shout'"),
    ],
)
def test_a_package_that_cannot_be_loaded_is_blamed_by_name(install, source, point, reason):
    module = f"tiny_broken_{len(reason)}"
    install(module, source, mechanisms=[point.format(module)])
    message = refusal("mechanism", "shout", PluginError)
    assert f"The mechanism 'shout' stands for {module}:Shout, which cannot be loaded" in message
    assert reason in message
    assert made("mechanism", "identity")  # the others still work
