"""Help pages: groups, words for what options take, and examples that work; commands that are spelled anew."""

import csv
import shlex

import pytest
import typer

import tedaudit
from command_line import call
from tedaudit.cli import app
from tedaudit.runs.spec.example import EXAMPLE


def list_commands():
    """Return every command that is shown, by its words."""
    root = typer.main.get_command(app)
    shown = {name: command for name, command in root.commands.items() if not command.hidden}
    groups = {group: shown.pop(group).commands for group in ("corpus", "models")}
    alone = {(name,): one for name, one in shown.items()}
    return alone | {(group, name): one for group, inner in groups.items() for name, one in inner.items()}


COMMANDS = list_commands()
EXAMPLES = {words: command.epilog.split("\n\n")[1:] for words, command in COMMANDS.items()}
ELSEWHERE = {  # what takes a model or minutes, or goes on for ever, has tests of its own
    "tedaudit judge", "tedaudit judge --model model.gguf --port 0",
    "tedaudit reproduce fig-embedding --scale smoke",
    "tedaudit lint -m dp-mlm", "tedaudit lint -m dp-mlm --set variant=published",
    "tedaudit run -m dp-st -e 100 --set table=table --trials 100",
    "tedaudit models get opus-mt", "tedaudit models get smollm2 --from downloads/smollm2",
    "tedaudit models clip models/my-gpt2",
    "tedaudit models clip models:opus-mt/fr-en --texts french.txt --force",
    "tedaudit corpus triples public.txt table --encoder zoo:encoder --clusters 50",
}  # fmt: skip


def test_there_are_some_twenty_commands_each_in_a_group():
    root = typer.main.get_command(app)
    shown = {name: one for name, one in root.commands.items() if not one.hidden}
    assert len(shown) == 21
    assert {one.rich_help_panel for one in shown.values()} == {
        "Audit", "Read a run", "Choose an epsilon", "Texts", "Setting up",
    }  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_help_page_says_in_plain_words_what_options_take_and_ends_with_two_examples(words, capfd):
    assert call(*words, "--help") == 0
    page = capfd.readouterr().out
    assert "<list[" not in page
    assert "<bool>" not in page
    assert "<str>" not in page
    assert len(EXAMPLES[words]) == 2
    assert all(len(line) <= 78 for line in EXAMPLES[words])
    assert page.split("Examples")[1].split() == " ".join(EXAMPLES[words]).split()


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_an_option_has_one_long_name(words):
    for option in COMMANDS[words].params:
        assert sum(name.startswith("--") for name in option.opts) <= 1, option.opts


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What examples take for granted: texts, pairs, a spec and finished runs."""
    root = tmp_path_factory.mktemp("helped")
    demo = tedaudit.load_corpus("demo").splits["train"].texts[:200]
    (root / "texts.txt").write_text("\n".join(demo))
    (root / "audit.yaml").write_text(EXAMPLE.replace("trials: 10000", "trials: 100"))
    for name, rows in (
        ("reviews", [["text"], *([text] for text in demo)]),
        ("pairs", [["id", "original", "rewrite"], *([f"r{i}", t, t[::3]] for i, t in enumerate(demo))]),
    ):
        with (root / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        for name in ("demo", "old", "new"):
            small = ("-m", "word-rr", "-e", "8", "-t", "100", "--set", "corpus.size=200", "-a", "lexical")
            assert call("run", *small, "-a", "likelihood", "--name", name, "-q") == 0
        yield root


@pytest.mark.parametrize(
    "line", [line for lines in EXAMPLES.values() for line in lines if line not in ELSEWHERE]
)
def test_an_example_works(line, folder, capfd):
    *_, target = words = shlex.split(line)
    if "-o" in words or "init" in words:
        (folder / target).unlink(missing_ok=True)  # a file that another example reads
    if words[1] in ("calibrate", "frontier"):
        words += ["--trials", "200", "--attack", "lexical"]  # whether it works does not depend on them
    code = call(*words[1:])
    assert code in ((0, 1) if "--fail-" in line else (0,)), capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "now"),
    [
        ("plan audit.yaml --ceiling 5", "tedaudit run audit.yaml --ceiling 5 --dry-run"),
        ("schema", "tedaudit export --schema summary"),
        ("schema rows", "tedaudit export --schema rows"),
        ("card 'my run' -m word-rr", "tedaudit export 'my run' -m word-rr --format card"),
        ("disagree RUN llm lexical --examples 2", "tedaudit compare RUN -a llm -a lexical --examples 2"),
        ("disagree", "tedaudit compare RUN -a ATTACK -a ATTACK --examples 3"),
        ("triples build a b --clusters 5", "tedaudit corpus triples a b --clusters 5"),
        ("selftest --quick --nulls 3 -o page.md", "tedaudit.testing.selftest() in Python"),
    ],
)
def test_a_command_that_is_gone_says_how_it_is_spelled_now(words, now, capfd):
    assert call(*shlex.split(words)) == 2
    name = words.split()[0]
    assert capfd.readouterr().err == f"error: `tedaudit {name}` is gone. Use: {now}\n"
