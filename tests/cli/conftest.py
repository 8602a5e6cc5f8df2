"""A folder to work in, the command line, and a finished run."""

import shutil
import sys

import pytest

from command_line import SMALL, TEXTS, call

PLUGINS = """\
import os, time
from dataclasses import dataclass
from typing import ClassVar
from tedaudit import Card, Claim, Rewrite

calls = 0

def shout(text):
    global calls
    calls += 1
    if calls == int(os.environ.get("HANG_AT", "0")):
        time.sleep(600)  # until it is stopped
    return text.upper()

@dataclass
class Metric:
    card: ClassVar[Card] = Card("metric", "Promises something else.")
    def claim(self, epsilon):
        return Claim(epsilon, "word", neighbours="two texts at distance 1")
    def rewrite(self, draws):
        return [Rewrite(draw.text) for draw in draws]

@dataclass
class Endless(Metric):
    card: ClassVar[Card] = Card("endless", "Promises without a limit.")
    def claim(self, epsilon):
        return Claim(epsilon, "word", max_units=None)
"""


@pytest.fixture(scope="session")
def made_once(tmp_path_factory):
    """A folder with a finished run of two mechanisms, one of them with a promise that is broken."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "texts.txt").write_text(TEXTS)
    (folder / "my_plugins.py").write_text(PLUGINS)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "path", [*sys.path])
        patch.delitem(sys.modules, "my_plugins", raising=False)
        words = ("-m", "py:my_plugins:shout", "-m", "identity", "-e", "0.5", "-t", "40", *SMALL)
        assert call("run", *words) == 0
    sys.modules.pop("my_plugins", None)
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with texts, a spec and plug-ins, which is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("my_plugins", "broken", "raising"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "texts.txt").write_text(TEXTS)
    (tmp_path / "my_plugins.py").write_text(PLUGINS)
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "raising.py").write_text("raise RuntimeError('no luck')\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "same.txt").write_text("a b\n a  b\na b\n")
    (tmp_path / "latin.txt").write_bytes(b"a cup\na caf\xe9\n")
    (tmp_path / "columns.csv").write_text("first,second\n1,2\n3,4\n")
    (tmp_path / "pairs.csv").write_text("original,rewrite\na b,c\nd e,f\ng h,i\n")
    (tmp_path / "half.yaml").write_text("mechanisms: [identity\ntrials: 5\n")
    (tmp_path / "list.yaml").write_text("- identity\n")
    (tmp_path / "key.yaml").write_text("mechanisms: [identity]\ntrails: 5\n")
    (tmp_path / "plan.yaml").write_text("mechanisms: [identity]\nplans: [{kk: 5}]\n")
    (tmp_path / "field.yaml").write_text("mechanisms: [{name: word-rr, slot: 3}]\nepsilons: 1\n")
    (tmp_path / "good.yaml").write_text(
        "corpus: {name: files, path: texts.txt}\nmechanisms: [identity, {name: word-rr, slots: 4}]\n"
        "epsilons: [2, 9]\nplans: [{k: 3, lambda: 0}]\ntrials: 60\nseed: 5\nalpha: 0.02\n"
    )
    return tmp_path


@pytest.fixture
def typed(capsys):
    """A function that runs the command line in this process: exit code, standard output, standard error."""

    def run(*arguments):
        capsys.readouterr()
        code = call(*arguments)
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def command(here, typed):
    """The same, where texts, a spec and plug-ins lie."""
    return typed


@pytest.fixture
def made(made_once, here):
    """A copy of that run in the current folder."""
    return shutil.copytree(made_once / "made", here / "made")
