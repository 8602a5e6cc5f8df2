"""Code that a run of somebody else names: it is asked for before it runs."""

import io
import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import SMALL, TEXTS, contents, process
from tedaudit.runs.checksums import seal_json
from tedaudit.runs.spec.example import EXAMPLE

TELLTALE = """\
from pathlib import Path
Path("it-ran").touch()
from tedaudit.attacks.lexical import Lexical

def shout(text):
    return text.upper()
"""


@pytest.fixture(scope="module")
def strange_once(tmp_path_factory):
    """A run whose code leaves a mark whenever it is imported."""
    folder = tmp_path_factory.mktemp("strange")
    (folder / "texts.txt").write_text(TEXTS)
    (folder / "telltale.py").write_text(TELLTALE)
    done = process("run", "-m", "py:telltale:shout", "-t", "20", *SMALL, cwd=folder)
    assert done.returncode == 0, done.stderr
    (folder / "it-ran").unlink()
    return folder


@pytest.fixture
def strange(strange_once, here, monkeypatch):
    """A copy of it, with its code, in the current folder; its code was not imported yet."""
    shutil.copy(strange_once / "telltale.py", here)
    shutil.copytree(strange_once / "made", here / "made")
    monkeypatch.delitem(sys.modules, "telltale", raising=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO())  # no terminal, however the tests were started
    yield here
    sys.modules.pop("telltale", None)


def _asked(here, answer, *arguments):
    """Run the command on a terminal, answer its question, and return its exit code and what it showed."""
    terminal, other = pty.openpty()
    command = [sys.executable, "-m", "tedaudit", *arguments]
    child = subprocess.Popen(command, cwd=here, stdin=other, stdout=other, stderr=other)
    os.close(other)
    os.write(terminal, answer.encode())
    shown = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        shown += piece
    os.close(terminal)
    return child.wait(timeout=300), shown.decode()


def test_a_replay_that_would_run_code_is_refused_without_a_terminal(strange, typed):
    before = contents(strange)
    code, out, err = typed("replay", "made", "0")
    assert (code, out) == (2, "")
    assert err == (
        "error: 'made' names code that would run here: py:telltale:shout. If you trust whoever made the run, "
        "say so with --yes.\n"
    )
    assert contents(strange) == before
    assert not (strange / "it-ran").exists()


def test_a_replay_runs_code_if_it_is_told_to(strange, typed):
    code, _, err = typed("replay", "made", "0", "--yes")
    assert code == 0, err
    assert (strange / "it-ran").exists()


@pytest.mark.parametrize(("answer", "ran"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_on_a_terminal_a_replay_asks_first(strange, answer, ran):
    code, shown = _asked(strange, answer, "replay", "made", "0")
    assert "names code that will run here: py:telltale:shout" in shown
    assert "Do you trust whoever made the run? [y/N]" in shown
    assert (strange / "it-ran").exists() == ran
    assert code == (0 if ran else 2)
    assert ("Nothing was run" in shown) == (not ran)


def test_a_function_that_is_named_without_the_prefix_is_code_too(strange, typed):
    (strange / "f.yaml").write_text(
        "mechanisms: [{name: function, function: 'telltale:shout'}]\ntrials: 20\nout: made2\n"
        "corpus: {name: files, path: texts.txt}\n"
    )
    assert typed("run", "f.yaml", "-q")[0] == 0
    (strange / "it-ran").unlink()
    del sys.modules["telltale"]
    code, _, err = typed("replay", "made2", "0")
    assert (code, "telltale:shout" in err) == (2, True)
    assert not (strange / "it-ran").exists()


def test_a_replay_without_code_asks_nothing(here, typed):
    assert typed("run", "-m", "identity", "-t", "20", *SMALL)[0] == 0
    assert typed("replay", "made", "0")[0] == 0


def test_a_study_of_a_run_asks_for_its_code_but_not_for_what_flags_name_instead(strange, typed):
    arguments = ("utility", "--run", "made", "--task", "x", "-q")
    code, _, err = typed(*arguments)
    assert code == 2
    assert "names code that would run here: py:telltale:shout" in err
    assert not (strange / "it-ran").exists()
    for flags in (("-m", "identity"), ("--yes",)):
        assert "names code" not in typed(*arguments, *flags)[2]


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "made"),
        ("estimate", "made"),
        ("export", "made", "-f", "card"),
        ("compare", "made", "copy"),
    ],
)
def test_commands_that_only_read_a_run_run_none_of_its_code(strange, arguments, typed):
    shutil.copytree("made", "copy")
    code, _, err = typed(*arguments)
    assert code == 0, err
    assert not (strange / "it-ran").exists()
    assert "telltale" not in sys.modules


# --- code under every name that a manifest can hold

PLANTED = """\
from pathlib import Path
Path({mark!r}).touch()
from dataclasses import dataclass
from typing import ClassVar
from tedaudit import Card

def rewrite(text):
    return text

@dataclass
class Thing:
    card: ClassVar[Card] = Card("{name}", "Planted.", sees=("text",))
    def rewrite(self, draws): ...
    def claim(self, epsilon): ...
    def guess(self, seen): ...
    def load(self): ...
    @classmethod
    def load_from(cls, *arguments): ...
"""
WORDS = {"name": "word-rr", "slots": 4}
CODE = {  # what a manifest says, and what is then named as code
    "mechanism": ("mechanisms", [{"name": "py:planted:Thing", "label": "word-rr"}], "py:planted:Thing"),
    "mechanism of a package": ("mechanisms", [{"name": "planted-m", "label": "word-rr"}], "planted-m"),
    "function": ("mechanisms", [{"name": "function", "function": "planted:rewrite", "label": "word-rr"}],
                 "planted:rewrite"),
    "function with a prefix": ("mechanisms", [{"name": "py:planted:rewrite", "label": "word-rr"}],
                               "py:planted:rewrite"),
    "program": ("mechanisms", [{"name": "command", "program": [sys.executable, "planted.py"],
                                "label": "word-rr"}], "planted.py"),
    "interpreter": ("mechanisms", [{"name": "mldp", "python": "planted.sh", "label": "word-rr"}],
                    "planted.sh"),
    "vocabulary": ("mechanisms", [{**WORDS, "vocabulary": "py:planted:rewrite"}], "py:planted:rewrite"),
    "attack": ("attacks", [{"name": "py:planted:Thing", "label": "lexical"}], "py:planted:Thing"),
    "attack of a package": ("attacks", [{"name": "planted-a", "label": "lexical"}], "planted-a"),
    "part of an ensemble": ("attacks", [{"name": "ensemble", "members": ["lexical", {"name": "planted-a"}]}],
                            "planted-a"),
    "judge": ("attacks", [{"name": "llm", "judge": "py:planted:Thing", "label": "lexical"}],
              "py:planted:Thing"),
    "corpus": ("corpus", {"name": "py:planted:Thing"}, "py:planted:Thing"),
    "corpus of a package": ("corpus", {"name": "planted-c"}, "planted-c"),
}  # fmt: skip
DATA = {  # what names no code to be imported, and imports none either
    "encoder": ("encoder", "model"),
    "encoder by another name": ("encoder", "py:planted:Thing"),
    "model folder": ("mechanisms", [{"name": "dp-prompt", "model": "model", "label": "word-rr"}]),
    "encoder of an attack": ("attacks", [{"name": "embedding", "encoder": "model", "label": "lexical"}]),
    "pipeline": ("mechanisms", [{"name": "presidio", "model": "planted_pipeline", "label": "word-rr"}]),
    "extractor": ("mechanisms", [{"name": "dp-st", "extractor": "spacy:planted_pipeline",
                                  "label": "word-rr"}]),
}  # fmt: skip
ASKING = {
    "mechanisms": ["replay made 0", "records made --count 1 -t 20", "leaks made --trials 50", "loss plain",
                   "utility --run made --task kind"],
    "attacks": ["replay made 0", "records made --count 1 -t 20", "loss plain"],
    "corpus": ["utility --run made --task kind"],
    "encoder": ["replay made 0"],
}  # fmt: skip
READING = [
    "report made", "report made --redact --no-figures", "report made --full", "report made --check",
    "report made --no-figures --table full --fail-on violated", "estimate made", "estimate made --json",
    *(f"export made -f {name}" for name in ("csv", "latex", "json", "markdown", "card")),
    "export made -f junit --fail-above 9", "export made -f csv --what trials",
    "export made -f csv --what losses", "compare made", "compare made --by mechanism", "compare made plain",
    "records made --loss", "loss made",
]  # fmt: skip


@pytest.fixture(scope="module")
def planted_once(tmp_path_factory):
    """A run with losses and one without, beside code that leaves a mark wherever it is imported or run."""
    folder = tmp_path_factory.mktemp("planted")
    rows = [f"{text},{'odd' if number % 2 else 'even'}" for number, text in enumerate(TEXTS.splitlines())]
    (folder / "texts.csv").write_text("\n".join(["text,kind", *rows, ""]))
    common = ("-m", "word-rr", "--set", "word-rr.slots=4", "-e", "5", "-c", "texts.csv", "--column", "text",
              "-t", "60", "-q")  # fmt: skip
    for attacks, out in ((("-a", "lexical", "-a", "likelihood"), "made"), (("-a", "lexical"), "plain")):
        done = process("run", *common, *attacks, "-m", "identity", "-o", out, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def planted(planted_once, tmp_path, monkeypatch):
    """A copy of them in the current folder, from which modules and packages are imported."""
    here = shutil.copytree(planted_once, tmp_path / "here")
    mark = str(here / "it-ran")
    code = PLANTED.format(mark=mark, name="planted")
    (here / "planted.py").write_text(code)
    (here / "planted.sh").write_text(f"#!/bin/sh\ntouch {mark}\n")
    (here / "planted.sh").chmod(0o755)
    (here / "planted_pipeline").mkdir()
    (here / "planted_pipeline" / "__init__.py").write_text(code)
    for name in ("planted", "planted_pipeline"):
        about = here / f"{name}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (here / "planted-1.0.dist-info" / "entry_points.txt").write_text(
        "[tedaudit.mechanisms]\nplanted-m = planted:Thing\n[tedaudit.attacks]\nplanted-a = planted:Thing\n"
        "[tedaudit.corpora]\nplanted-c = planted:Thing\n"
    )
    model = here / "model"
    model.mkdir()
    (model / "planted.py").write_text(code)
    (model / "config.json").write_text(
        '{"model_type": "planted", "auto_map": {"AutoConfig": "planted.Thing", "AutoModel": "planted.Thing", '
        '"AutoModelForCausalLM": "planted.Thing", "AutoTokenizer": ["planted.Thing", null]}}'
    )
    (model / "tokenizer_config.json").write_text('{"auto_map": {"AutoTokenizer": ["planted.Thing", null]}}')
    (model / "modules.json").write_text('[{"idx": 0, "name": "0", "path": "", "type": "planted.Thing"}]')
    monkeypatch.chdir(here)
    monkeypatch.syspath_prepend(str(here))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    for name in ("planted", "planted_pipeline"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return here


def plant(run, changes):
    """Write other settings into the manifest of a run, as whoever hands it on can."""
    path = Path(run) / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["spec"] |= changes
    path.write_text(json.dumps(seal_json(manifest)))


def test_no_command_that_reads_a_run_runs_code_that_it_names(planted, typed):
    settings = {"mechanisms": [], "attacks": []}
    for where, value, *_ in (*CODE.values(), *DATA.values()):
        settings[where] = [*settings[where], *value] if isinstance(settings.get(where), list) else value
    for run in ("made", "plain"):
        plant(run, settings)
    for words in READING:
        code, _, err = typed(*words.split())
        assert code in (0, 1), (words, err)
        assert not (planted / "it-ran").exists(), words
    assert "planted" not in sys.modules


def test_python_reads_a_run_without_its_code(planted):
    import tedaudit

    plant("made", {"mechanisms": CODE["mechanism"][1], "attacks": CODE["attack of a package"][1]})
    str(tedaudit.load_run("made"))
    tedaudit.report("made", figures=True)
    tedaudit.compare("made")
    assert not (planted / "it-ran").exists()


@pytest.mark.parametrize("name", [*CODE, *DATA])
def test_a_command_that_runs_code_of_a_run_asks_first(planted, name, typed):
    where, value, *named = (CODE | DATA)[name]
    for run in ("made", "plain"):
        plant(run, {where: value})
    for words in ASKING[where]:
        before = contents(planted)
        code, _, err = typed(*words.split(), "-q") if "replay" not in words else typed(*words.split())
        if named:
            assert code == 2, words
            assert named[0] in err, words
            assert "--yes" in err, words
            assert contents(planted) == before, words
        assert not (planted / "it-ran").exists(), words


def test_what_is_agreed_to_runs(planted, typed):
    plant("made", {"mechanisms": CODE["mechanism of a package"][1]})
    typed("replay", "made", "0", "--yes")
    assert (planted / "it-ran").exists()  # so that the others would have seen it


def test_a_page_shows_the_card_of_code_without_loading_it(here, monkeypatch, typed):
    (here / "cards_of_mine.py").write_text(PLANTED.format(mark=str(here / "it-ran"), name="mine"))
    (here / "cards_of_mine.py").write_text(
        (here / "cards_of_mine.py").read_text()
        + "    card = Card('mine', 'Shouts, and says so on its card.')\n"
        "    def claim(self, epsilon): return None\n"
        "    def rewrite(self, draws):\n"
        "        from tedaudit import Rewrite\n"
        "        return [Rewrite(draw.text.upper()) for draw in draws]\n"
    )
    done = process("run", "-m", "py:cards_of_mine:Thing", "-e", "1", "-t", "20", *SMALL, cwd=here)
    assert done.returncode == 0, done.stderr
    (here / "it-ran").unlink()
    assert typed("report", "made", "--no-figures")[0] == 0
    assert "Shouts, and says so" in (here / "made" / "report.html").read_text()
    assert not (here / "it-ran").exists()


@pytest.mark.parametrize("command_name", ["run", "replay", "utility"])
def test_help_says_that_a_name_runs_code(typed, command_name):
    shown = " ".join(typed(command_name, "--help")[1].split())
    assert "py:package.module:name" in shown
    assert "code" in shown


def test_the_example_and_the_readme_say_that_a_name_runs_code():
    from helpers import HERE

    assert "this runs its code" in EXAMPLE
    readme = " ".join((HERE.parent / "README.md").read_text().split())
    assert "runs that code" in readme
    assert "`tedaudit replay` asks first" in readme
