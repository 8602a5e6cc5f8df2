"""The README is short, its figure can be made again, and what it shows is what is printed."""

import re
import shlex
import sys

import pytest

from command_line import call
from doc_pages import PROJECT, read_blocks

README = PROJECT / "README.md"
FIGURE = PROJECT / "docs" / "figures" / "loss.svg"


def test_it_has_at_most_120_lines_and_1000_words():
    text = README.read_text("utf-8")
    assert len(text.splitlines()) <= 120
    assert len(text.split()) <= 1000


def test_its_four_doors_are_those_of_the_documentation():
    doors = re.findall(r"^\*\*(I [^*]+)\*\*", README.read_text("utf-8"), re.MULTILINE)
    assert len(doors) == 4
    assert doors == re.findall(
        r"^- \*\*(I [^*]+)\*\*", (PROJECT / "docs" / "README.md").read_text("utf-8"), re.MULTILINE
    )


def test_the_output_that_it_shows_is_what_the_command_prints(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    blocks = read_blocks(README)
    shown = next(number for number, (language, _) in enumerate(blocks) if not language)
    command, output = blocks[shown - 1][1], blocks[shown][1]
    assert call(*shlex.split(command)[1:], "--quiet") == 0
    printed = "\n".join(line.rstrip() for line in capfd.readouterr().out.splitlines())
    assert output.rstrip() in printed


def test_the_lines_of_its_figure_are_named_and_have_colours_for_light_and_dark():
    drawn = FIGURE.read_text("utf-8")
    assert "prefers-color-scheme: dark" in drawn
    names = re.findall(r'<text class="\w+ name"[^>]*>([^<]+)<', drawn)
    assert names == [
        "claimed for any two texts",
        "most possible for a drawn pair",
        "at least 1 in 20 draws loses more",
        "at least 1 in 20 texts loses more",
        "shown by attacks, model known",
        "shown by attacks, model unknown",
    ]
    assert "at delta 0.05" in drawn


@pytest.mark.parametrize(("attacks", "lines"), [("-a lexical", 4), ("-a lexical -a text-likelihood", 6)])
def test_its_figure_is_drawn_from_any_run_with_losses(tmp_path, monkeypatch, attacks, lines):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(FIGURE.parent))
    options = ("-m", "word-rr", "-e", "2", "-e", "4", "-e", "8", "--delta", "0.05", *attacks.split())
    assert call("run", *options, "--loss", "--trials", "200", "--encoder", "lexical", "--out", "run") == 0
    from draw_loss import main

    main(tmp_path / "run", tmp_path / "loss.svg")
    drawn = (tmp_path / "loss.svg").read_text("utf-8")
    assert drawn.count("<path") == lines
    assert "nan" not in drawn
    assert "inf" not in drawn
    sys.modules.pop("draw_loss")


@pytest.mark.parametrize(
    "word", ["py:", "`command`", "private texts", 'No verdict says "private"', "--redact"]
)
def test_it_says_what_to_know_before_a_run(word):
    assert word in README.read_text("utf-8")
