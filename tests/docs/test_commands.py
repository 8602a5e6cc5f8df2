"""Every command that the documentation shows is run here, or is marked as needing more than a test has.

Those that are marked, and those in the text, are taken apart by the real command line: every flag and every
setting that they name is there.
"""

import ast
import csv
import importlib.util
import re
import shutil
import sys
from functools import cache

import pytest
import typer
import yaml

import tedaudit
from command_line import call
from doc_pages import (
    MARKS,
    PROJECT,
    Command,
    list_pages,
    name_page,
    read_blocks,
    read_commands,
    read_inline_commands,
)
from tedaudit.cli import app
from tedaudit.errors import did_you_mean
from tedaudit.estimators import clopper_pearson
from tedaudit.estimators.bound import success_from_epsilon
from tedaudit.estimators.paired import PairedCounts, trials_within
from tedaudit.plugins.registry import find, names, parameters, variants
from tedaudit.runs.spec.example import EXAMPLE
from tedaudit.runs.spec.model import parse_spec

PAGES = list_pages()
COMMANDS = [command for page in PAGES for command in read_commands(page)]
INLINE = [command for page in PAGES for command in read_inline_commands(page)]
RUN = [command for command in COMMANDS if command.words[0] == "tedaudit" and not command.is_marked]
PLUGINS = {name: find(kind, name) for kind in ("mechanism", "attack") for name in names(kind)}
MODULES = {
    "rewriter": 'import re\ndef mask_names(text):\n    return re.sub(r"[A-Z][a-z]+", "[...]", text)\n',
    "rewriters": 'def hide(text):\n    return "A message was sent."\n',
    "mine": "def f(text):\n    return text[::2]\n",
    "package/module": 'def rewrite(text):\n    return "A message was sent."\n',
    "money_flag": (PROJECT / "examples" / "money_flag.py").read_text("utf-8"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What the pages take for granted: texts, pairs, rewriters and finished runs, all of them small."""
    root = tmp_path_factory.mktemp("reader")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setattr(sys, "path", [str(root), *sys.path])
        for name, code in MODULES.items():
            path = root / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(code, encoding="utf-8")
            patch.delitem(sys.modules, name.split("/")[0], raising=False)
        demo = tedaudit.load_corpus("demo").splits["train"]
        with (root / "pairs.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "original", "rewrite", "gender", "author"])
            for number, text in enumerate(demo.texts[:1000]):
                gender, author = demo.columns["gender"][number], f"a{number % 50}"
                writer.writerow([f"r{number}", text, text.upper()[::3], gender, author])
        (root / "texts.txt").write_text("\n".join(demo.texts[:200]))
        for name in ("texts", "reviews"):
            with (root / f"{name}.csv").open("w", newline="") as file:
                csv.writer(file).writerows([["text"], *([text] for text in demo.texts[:200])])
        for name in ("demo", "mine", "a", "b"):
            small = ("-m", "word-rr", "-e", "8", "-t", "100", "--set", "corpus.size=200", "-a", "lexical")
            assert call("run", *small, "-a", "likelihood", "--name", name, "-q") == 0
        yield root


def take_fewer_trials(words):
    """Return a run with a tenth of its trials: whether it works does not depend on their number."""
    if words[0] != "run":
        return words
    before = [None, *words]
    return [
        str(max(60, int(word) // 10)) if flag in ("-t", "--trials") else word
        for flag, word in zip(before, words, strict=False)
    ]


def take_fewer_trials_in(path):
    """Have an audit take a tenth of its trials."""
    text, count = re.subn(
        r"^trials: (\d+)",
        lambda found: f"trials: {int(found[1]) // 10}",
        path.read_text(),
        flags=re.MULTILINE,
    )
    assert count == 1
    path.write_text(text)


@pytest.mark.parametrize("page", sorted({command.page for command in RUN}))
def test_the_commands_of_a_page_work_in_their_order(page, folder, capfd):
    for left in ("example", "pairs-link"):  # by the page before
        shutil.rmtree(folder / "runs" / left, ignore_errors=True)
    (folder / "audit.yaml").write_text(EXAMPLE)
    take_fewer_trials_in(folder / "audit.yaml")
    for command in [command for command in RUN if command.page == page]:
        code = call(*take_fewer_trials(command.words[1:]))
        allowed = (0, 1) if "--fail-" in command.text else (0,)
        assert code in allowed, f"{command}\n{capfd.readouterr().err}"


@cache
def find_commands():
    return typer.main.get_command(app)


def explain(command: Command) -> str:
    """Return what is wrong with the flags and settings of a command, or ""."""
    group = find_commands()
    words = [word for word in command.words[1:] if word != "..."]
    while hasattr(group, "commands") and words and not words[0].startswith("-"):
        if words[0] not in group.commands:
            return "" if not words[0].islower() else f"no such command: {words[0]}"
        group = group.commands[words[0]]
        words.pop(0)
    flags = {flag for option in group.params for flag in (*option.opts, *option.secondary_opts)}
    unknown = [
        word for word in words if re.fullmatch(r"--[a-z-]+(=.*)?|-[a-zA-Z]", word)
        and word.partition("=")[0] not in flags | {"--help"}
    ]  # fmt: skip
    settings = [words[i + 1] for i, word in enumerate(words[:-1]) if word == "--set"]
    return ", ".join([*unknown, *filter(None, map(explain_setting, settings))])


def explain_setting(assignment: str) -> str:
    """Return what is wrong with `--set LABEL.KEY=VALUE`, or ""; labels that are no names may be anything."""
    label, _, key = assignment.strip("'\"").partition("=")[0].rpartition(".")
    if label not in PLUGINS or not key:
        return ""
    plugin = PLUGINS[label]
    allowed = [*parameters(plugin), *(["variant"] if variants(plugin) else [])]
    return "" if key in allowed else f"'{label}' has no '{key}'.{did_you_mean(key, allowed)}"


def test_every_flag_and_setting_that_is_shown_exists():
    shown = [command for command in COMMANDS + INLINE if command.words[:1] == ["tedaudit"]]
    assert len(shown) > 250
    assert [(str(command), wrong) for command in shown if (wrong := explain(command))] == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("tedaudit run audit.yaml --trails 5", "--trails"),
        ("tedaudit rnu audit.yaml", "no such command: rnu"),
        ("tedaudit run -m dp-mlm --set dp-mlm.slot=3", "'dp-mlm' has no 'slot'. Did you mean 'slots'?"),
        ("tedaudit run -m dp-mlm --set dp-mlm.variant=sound", ""),
    ],
)
def test_a_flag_or_setting_that_is_not_there_is_found(text, wrong):
    assert explain(Command("page.md", text, is_marked=False)) == wrong


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.words[0] in ("make", "python")], ids=str)
def test_what_else_is_called_is_there(command):
    first, *words = command.words
    if first == "make":
        assert re.search(rf"^{words[0]}:", (PROJECT / "Makefile").read_text("utf-8"), re.MULTILINE)
    elif words[0] == "-m":
        own = importlib.util.find_spec(words[1].partition(".")[0]) is not None
        assert own or command.is_marked, "say with a mark that it needs a server"
    elif not words[0].startswith("-"):
        assert (PROJECT / words[0]).is_file()


def test_the_fast_tests_that_make_checks_are_there():
    told = re.search(
        r"FAST := \$\(addprefix tests/,(.*?)\)", (PROJECT / "Makefile").read_text("utf-8"), re.DOTALL
    )
    names = told[1].replace("\\", " ").split()
    assert len(names) > 5
    assert [name for name in names if not (PROJECT / "tests" / name).exists()] == []


def test_the_marks_are_explained_to_readers():
    text = (PROJECT / "docs" / "README.md").read_text("utf-8")
    assert all(f"`{mark}`" in text for mark in MARKS)


def test_most_guides_have_commands_that_are_run():
    """Or the marks have spread so far that this file tests nothing."""
    assert len(RUN) >= 20
    assert {"README.md", "docs/link.md", "docs/gate.md", "docs/data.md"} <= {c.page for c in RUN}


PYTHON = [
    (name_page(page), number, code)
    for page in PAGES
    for number, (language, code) in enumerate(read_blocks(page))
    if language == "python"
]


def test_python_that_is_shown_is_python():
    assert PYTHON
    for page, number, code in PYTHON:
        ast.parse(code, f"{page}, block {number}")


@pytest.mark.parametrize("page", ["docs/commands.md", "docs/link.md", "docs/leaks.md", "docs/gate.md"])
def test_python_that_begins_with_an_import_runs_as_it_is(page, folder):
    """With what readers have: a rewriter, and texts."""
    texts = tedaudit.load_corpus("demo").texts[:200]
    own = {"my_texts": texts, "texts": texts, "rewrite": lambda text: "A message was sent."}
    blocks = [code for name, _, code in PYTHON if name == page and code.startswith("import tedaudit")]
    assert blocks
    for code in blocks:
        exec(compile(code, page, "exec"), own)


def test_the_worked_example_of_a_likelihood_keeps_its_contract_and_prints_what_the_page_shows(capsys):
    blocks = read_blocks(PROJECT / "docs" / "tutorial-mechanism-author.md")
    own = {"__name__": __name__}
    for name in ("class ThreeWords", "class HowMany"):
        first = next(number for number, (_, code) in enumerate(blocks) if name in code)
        for _, code in blocks[first : first + 2]:
            exec(code, own)
        assert capsys.readouterr().out == blocks[first + 2][1]


def test_the_gate_of_the_page_tells_a_worse_release_from_an_equal_one(tmp_path):
    blocks = read_blocks(PROJECT / "docs" / "gate.md")
    own = {}
    exec(next(code for _, code in blocks if "def check_release" in code), own)
    kept = {"released": 0, "equal": 0, "worse": 30}  # characters of a text

    def audit(name):
        def rewrite(text):
            return f"A message. {text[: kept[name]]}"

        settings = {"trials": 200, "attack": "lexical", "encoder": "lexical", "announce": lambda _: None}
        return tedaudit.audit(rewrite, "demo", **settings).save(tmp_path / name)

    runs = {name: audit(name) for name in kept}
    own["check_release"](runs["released"], runs["equal"], margin=0.05)
    for candidate, margin, told in (
        ("worse", 0.05, "worse in 1 of 1"),
        ("equal", 0.01, "not told in 1 of 1"),
    ):
        with pytest.raises(AssertionError, match=told):
            own["check_release"](runs["released"], runs[candidate], margin=margin)


def test_the_trials_that_the_page_of_gates_tells_are_enough():
    page = (PROJECT / "docs" / "gate.md").read_text("utf-8").partition("| margin | no trial |")[2]
    rows = re.findall(r"^\| (0\.\d+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|", page, re.MULTILINE)
    assert len(rows) == 3
    for margin, *told in rows:
        for apart, trials in zip((0, 10, 50, 150), told, strict=True):
            counts = PairedCounts(1000 - 2 * apart, apart, apart, 0)
            exact = trials_within(counts, float(margin), 0.01, clopper_pearson)
            assert f"{float(f'{exact:.2g}'):,.0f}" == trials


def test_the_table_of_what_a_number_means_is_the_formula_above_it():
    page = (PROJECT / "docs" / "reading-a-bound.md").read_text("utf-8")
    table = page.partition("| if the true loss were |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+)", table, re.MULTILINE)
    assert len(rows) == 10
    for epsilon, told in rows:
        digits = len(told.partition(".")[2])
        assert told == f"{100 * success_from_epsilon(float(epsilon)):.{digits}f}"


SPECS = [
    (name_page(page), code)
    for page in PAGES
    for language, code in read_blocks(page)
    if language == "yaml" and "mechanisms:" in code
]


@pytest.mark.parametrize(("page", "code"), SPECS, ids=[page for page, _ in SPECS])
def test_specs_that_are_shown_are_specs(page, code):
    spec = parse_spec(yaml.safe_load(code))
    for mechanism in spec.mechanisms:
        assert set(mechanism.params) <= {*parameters(PLUGINS[mechanism.name]), "variant"}
