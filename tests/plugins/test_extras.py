"""The core alone: whatever needs an optional library says which extra brings it, and is marked in lists."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tedaudit
from tedaudit.errors import EncoderError, ModelError
from tedaudit.plugins import registry
from tedaudit.plugins.extras import (
    EXTRAS,
    explain_missing,
    install,
    is_installed,
    missing_extras,
    name_needs,
    require,
)

PROJECT = Path(tedaudit.__file__).parents[2]
OPTIONAL = [*(name for names in EXTRAS.values() for name in names), "tedaudit_zoo"]
# Run first in a process, it hides every optional library, and the zoo, as if it was not installed.
ALONE = f"""
import json, sys
class Core:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in {OPTIONAL!r} else self.finder.find_spec(name, path, target)
sys.meta_path[:] = map(Core, sys.meta_path)
"""
TRY = """
import tedaudit
from tedaudit.plugins import registry
from tedaudit.errors import TedauditError

AUDIT = {"mechanism": "word-rr", "corpus": ["a b c", "d e f", "g h", "i j k l"], "epsilon": 2.0,
         "trials": 20, "attack": "lexical", "encoder": "lexical"}

def attempt(kind, name):
    try:
        if kind == "corpus":
            registry.build(registry.Reference(kind, name, {"dataset": "x"} if name == "hub" else {})).load()
        else:
            tedaudit.audit(**{**AUDIT, kind: name})
    except TedauditError as error:
        return str(error)
    return ""

print(json.dumps({kind: {name: attempt(kind, name) for name in registry.names(kind)}
                  for kind in ("mechanism", "attack", "corpus")}))
"""
# Runs commands one after the other, each in a fork with a folder of its own for what it prints. What several
# of them import is imported before.
CALL = """
import os
from pathlib import Path
import scipy.sparse, scipy.special, scipy.stats, sklearn.linear_model
import tedaudit.api, tedaudit.reports.files, tedaudit.results.reading
from tedaudit.cli import main
from tedaudit.plugins import registry
for kind in ("mechanism", "attack", "corpus"):
    list(registry.cards(kind))
for number, words in enumerate(json.loads(sys.argv[1])):
    folder = Path(str(number))
    folder.mkdir()
    child = os.fork()
    if not child:
        for place, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT), place)
        sys.argv = ["tedaudit", *words]
        main()
        os._exit(0)
    (folder / "code").write_text(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
"""
LISTS = ("mechanisms", "attacks", "corpora")
# These are refused for another reason: they need a setting, or a mechanism of another kind.
OTHERWISE = {
    "function", "recorded", "command", "mldp", "internal", "files", "atis", "snips", "sst2",
    "trustpilot",
}  # fmt: skip


def alone(script, *arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-c", ALONE + script, *map(str, arguments)],
        cwd=cwd, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def called(tmp_path_factory):
    """What every command did without any extra: its exit code, standard output, standard error."""
    folder = tmp_path_factory.mktemp("alone")
    (folder / "texts.txt").write_text("The cat sat.\nThe dog ran.\n")
    cases = {name: words for name, (words, _) in COMMANDS.items()}
    for kind in LISTS:
        cases |= {kind: ("ls", kind), f"{kind} as JSON": ("ls", kind, "--json")}
    done = alone(CALL, json.dumps(list(cases.values())), cwd=folder)
    assert done.returncode == 0, done.stderr
    places = [folder / str(number) for number in range(len(cases))]
    told = [
        (int((place / "code").read_text()), (place / "out").read_text(), (place / "err").read_text())
        for place in places
    ]
    return dict(zip(cases, told, strict=True))


@pytest.fixture(scope="module")
def attempts():
    done = alone(TRY)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", ["mechanism", "attack", "corpus"])
def test_whatever_lacks_an_extra_says_which_and_everything_else_works(attempts, kind):
    assert set(attempts[kind]) == set(registry.names(kind))
    for name, message in attempts[kind].items():
        card = registry.find(kind, name).card
        if card.needs:
            assert name in message
            assert install(card.needs) in message, message
        elif name not in OTHERWISE:
            assert message == "", (name, message)
        else:
            assert "pip install 'tedaudit" not in message, (name, message)


@pytest.mark.parametrize("kind", LISTS)
def test_lists_mark_what_is_not_installed(kind, called):
    (code, shown, errors), (json_code, told, json_errors) = called[kind], called[f"{kind} as JSON"]
    assert (code, json_code) == (0, 0), errors + json_errors
    marked = {
        block.split()[0] for block in re.split(r"\n(?=\S)", shown) if "not installed: pip install" in block
    }
    cards = json.loads(told)
    assert (
        marked
        == {card["name"] for card in cards if card["missing"]}
        == {c["name"] for c in cards if c["needs"]}
    )
    assert all(card["missing"] == card["needs"] for card in cards)


def test_lists_mark_nothing_that_is_installed(capsys):
    from tedaudit.cli.console import show_cards

    cards = [card for card in registry.cards("mechanism") if not missing_extras(card.needs)]
    if not any(card.needs for card in cards):
        pytest.skip("no extra is installed")
    show_cards([(card, []) for card in cards])
    assert "not installed" not in capsys.readouterr().out


COMMANDS = {
    "encoder": (("run", "-m", "identity", "--encoder", "some-encoder", "-t", "20"), "models"),
    "judge on a server": (
        ("run", "-m", "identity", "-a", "llm", "-t", "20", "--set", "llm.judge=openai:m@http://127.0.0.1:9/v1"),
        "judge",
    ),
    "a release": (("rewrite", "texts.txt", "-m", "dp-mlm", "-e", "5"), "models"),
    "a release of triples": (("rewrite", "texts.txt", "-m", "dp-st", "-e", "5"), "models,triples"),
    "a judge": (("judge",), "judge"),
    "classifier": (
        ("utility", "-c", "demo", "--task", "topic", "-m", "word-rr", "-e", "5", "--limit", "60",
         "--classifier", "some-encoder"), "models",
    ),
    "triples": (("corpus", "triples", "texts.txt", "table", "--extractor", "spacy:en",
                 "--encoder", "some-encoder"), "models,triples"),
    "experiment": (("reproduce", "tab-tokenization", "--scale", "smoke"), "models"),
}  # fmt: skip


@pytest.mark.parametrize("case", COMMANDS)
def test_every_command_says_what_to_install_in_one_line(case, called):
    code, _, errors = called[case]
    assert code == 2, errors
    assert "Traceback" not in errors
    assert f"pip install 'tedaudit[{COMMANDS[case][1]}]'" in errors
    assert [line for line in errors.splitlines() if line][-1].startswith("error: ")


def test_the_extras_are_those_of_the_package():
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    named = {
        extra: tuple(re.split(r"[<>=]", library)[0].replace("-", "_") for library in libraries)
        for extra, libraries in declared.items()
    }
    assert named == EXTRAS


def test_a_message_lists_what_is_missing_and_all_extras_that_bring_it(monkeypatch):
    for name in ("torch", "nltk", "spacy"):
        monkeypatch.setitem(sys.modules, name, None)
    assert explain_missing("It", "numpy") == ""
    assert explain_missing("It", "numpy", "spacy", instead="or wait") == (
        "It needs spacy, which is not installed. Install it with: pip install 'tedaudit[triples]'; or wait."
    )
    assert "needs torch, nltk and spacy, which are not" in explain_missing("It", "torch", "nltk", "spacy")
    assert "pip install 'tedaudit[models,triples]'." in explain_missing("It", "torch", "nltk", "spacy")
    with pytest.raises(ModelError, match="It needs spacy"):
        require("It", "spacy")


def test_a_library_that_cannot_be_found_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert not is_installed("torch")
    assert not is_installed("no_such_library.part")
    assert is_installed("numpy")
    assert missing_extras(["models", "an extra of somebody else"]) == ["models"]


def test_the_plugin_is_named_and_its_other_extras_too(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(EncoderError) as caught, name_needs("dp-st", ("triples",)):
        raise EncoderError("No encoder.")
    assert str(caught.value) == (
        "dp-st: No encoder. With default settings dp-st needs: pip install 'tedaudit[triples]'."
    )
    with pytest.raises(ModelError) as caught, name_needs("word-rr", ()):
        raise ModelError("No model.")
    assert str(caught.value) == "word-rr: No model."
