"""What a run ends with on a screen: 80 columns, words that are whole, and the old table on request."""

import io

import pytest
from rich.console import Console

from helpers import SharedWords, make_spec
from tedaudit.api import run
from tedaudit.cli import console as module
from tedaudit.cli.console import show_result

LONG = "a rewriter of which somebody wrote the name in [bold]many :smile: words"


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    short = {"name": "word-rr", "slots": 4}
    return run(
        make_spec(
            tmp_path_factory.mktemp("run") / "r",
            epsilons=[0.5, 3, 9, 27],
            attacks=["lexical", SharedWords(), "likelihood"],
            mechanisms=["identity", short, {**short, "slots": 2, "label": LONG}],
            plans=[{"k": 2, "lambda": 0}, {"k": 3, "lambda": 0}],
        )
    )


def in_terminal(monkeypatch, result, width, **more):
    """Return the lines that a terminal of this width would show."""
    stream = io.StringIO()

    def made(*, error=False):
        plain = {"color_system": None, "highlight": False, "markup": False, "emoji": False}
        return Console(file=stream, width=width, force_terminal=True, **plain)

    monkeypatch.setattr("tedaudit.cli.console.console", made)
    monkeypatch.setattr(module, "console", made)
    show_result(result, **more)
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal_but_for_paths(monkeypatch, result, width):
    lines = in_terminal(monkeypatch, result, width, losses=True)
    long = [line for line in lines if len(line) > min(width, 120)]
    assert all(str(result.folder) in line for line in long)
    assert any("*" in line for line in lines)


def test_without_a_terminal_it_is_80_columns_wide(capsys, result):
    show_result(result)
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines if str(result.folder) not in line)
    assert lines[0].startswith("eps_emp by nominal epsilon; adversary knows nothing of the mechanism")
    assert "│" not in "\n".join(lines)
    assert "[bold]many:smile:words" in "".join("".join(lines).split())  # as it is, on several lines


def test_losses_come_first_so_that_the_attacks_are_what_it_ends_with(capsys, result):
    show_result(result, losses=True)
    out = capsys.readouterr().out
    assert (
        0
        <= out.index("loss of what was drawn by nominal epsilon, at delta 0.05")
        < out.index("eps_emp by nominal epsilon")
    )


@pytest.mark.parametrize(("table", "expected"), [("full", True), ("pivot", False), ("none", False)])
def test_a_column_is_explained_only_below_the_table_that_has_it(capsys, result, table, expected):
    show_result(result, table)
    assert ("mean posterior of the likeliest source" in " ".join(capsys.readouterr().out.split())) == expected


def test_the_whole_table_and_no_table_are_there_on_request(capsys, result):
    show_result(result, "full")
    full = capsys.readouterr().out
    assert "│" in full  # the table of all rows has lines between its columns
    assert "wrong with probability at most 0.005 per row" in " ".join(full.split())
    assert "eps_emp by nominal epsilon" not in full
    show_result(result, "none")
    words = capsys.readouterr().out
    assert "eps_emp by nominal epsilon" not in words
    assert "finds most for" in words
    assert str(result.folder) in words


@pytest.mark.parametrize("table", ["pivot", "full"])
def test_names_that_a_terminal_cannot_print_are_spelled_out(tmp_path, monkeypatch, table):
    named = {"name": "identity", "label": "identité"}
    found = run(make_spec(tmp_path / "r", epsilons=(), attacks=["lexical"], mechanisms=[named]))
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stream)
    show_result(found, table)
    stream.flush()
    told = stream.buffer.getvalue().decode("ascii")
    assert r"identit\xe9" in told
