"""What the command line shows: nothing that it is given can change how it is shown."""

import io
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tedaudit.cli.console import (
    console,
    escape_text,
    progress_bar,
    show_bound,
    show_cards,
    show_replay,
    show_result,
)
from tedaudit.estimators import baseline, reduced_form
from tedaudit.plugins.nominal import NO_EPSILON, Nominal
from tedaudit.plugins.values import Card, Rewrite
from tedaudit.results.findings import AuditResult
from tedaudit.runs.directory import RunDirectory
from tedaudit.studies.replay import Replayed

NASTY = [
    "[bold]x[/bold]",
    "[/]",
    "[/nothing]",
    "[link=x]",
    "\\[bold]",
    "a\\",
    "[",
    "]",
    ":smile:",
    "[@click]",
]
TRIAL = Replayed(
    plan="k2", label="mine", epsilon=Nominal(2), attack="lexical", row=0,
    candidates=("one text", "another text"), positions=(4, 7), secret=0,
    stored=Rewrite("out"), again=Rewrite("out"), scores=(0.5, 0.25), choice=0, right=True,
)  # fmt: skip


def printed(text):
    """Return what a terminal would get."""
    with redirect_stdout(io.StringIO()) as stream:
        console().print(escape_text(text))
    return stream.getvalue().removesuffix("\n")


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.text(max_size=60), st.lists(st.sampled_from([*NASTY, " ", "b", "/"]), max_size=6).map("".join)
    )
)
def test_a_text_is_shown_as_it_is_and_has_no_power_over_the_terminal(text):
    found = printed(text)
    assert found.isprintable()
    if text.isprintable():
        assert found == text


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("a\rb\nc\td", "a\\rb\\nc\\td"),
        ("\u202eabc", "\\u202eabc"),
        ("\x00\x07", "\\x00\\x07"),
    ],
)
def test_control_characters_are_spelled_out(text, spelled):
    assert printed(text) == spelled


def test_what_the_terminal_cannot_print_is_spelled_out(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stream)
    show_replay([replace(TRIAL, candidates=("caf\u00e9 \u65e5", "b"), label="\u00fcber")])
    stream.flush()
    told = stream.buffer.getvalue().decode("ascii")
    assert "caf\\xe9 \\u65e5  source guess" in told
    assert told.startswith("\\xfcber at epsilon 2")


@pytest.mark.parametrize("text", NASTY)
def test_texts_of_a_trial_are_shown_as_they_are(text, capsys):
    trial = replace(
        TRIAL, candidates=(f"{text} one", f"two {text}"), label=text, stored=Rewrite(f"out {text}"),
        again=Rewrite(f"again {text}"), attack=f"by {text}",
    )  # fmt: skip
    show_replay([trial])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{text} at epsilon 2, by {text}: right"
    assert lines[1].rstrip() == f"     1.  0.50000  {text} one  source guess"
    assert lines[2].rstrip() == f"     2.  0.25000  two {text}"
    assert lines[3:] == [f"  output: out {text}", f"  rewriting it again gives: again {text}"]


def test_an_escape_sequence_in_a_text_does_not_reach_the_terminal(capsys):
    evil = "\x1b]0;gone\x07\x1b[2J"
    show_replay([replace(TRIAL, candidates=(evil, "b"), stored=Rewrite(evil), again=Rewrite(evil + "!"))])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\x07" not in out
    assert out.count("\\x1b]0;gone\\x07\\x1b[2J") == 3


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"choice": 1, "right": False}, "mine at epsilon 2, lexical: wrong"),
        ({"choice": -1, "right": False}, "mine at epsilon 2, lexical: unusable"),
        ({"epsilon": NO_EPSILON}, "mine at epsilon any, lexical: right"),
        ({"stored": Rewrite("", error="raised-KeyError")}, "  output: (failed: raised-KeyError)"),
        ({"stored": Rewrite(""), "again": Rewrite("")}, "  output: (empty)"),
        ({"again": Rewrite("", error="late")}, "  rewriting it again gives: late"),
    ],
)
def test_the_outcome_of_a_trial_is_printed(change, line, capsys):
    show_replay([replace(TRIAL, **change)])
    assert line in capsys.readouterr().out.splitlines()


def test_of_many_candidates_the_best_the_source_and_the_guess_are_shown(capsys):
    scores = tuple(float(n) for n in range(40))
    texts = tuple(f"text {n}" for n in range(40))
    show_replay([replace(TRIAL, candidates=texts, scores=scores, secret=3, choice=39, right=False)])
    out = capsys.readouterr().out
    assert "(40 candidates; the best five, the source and the guess)" in out
    shown_texts = [line.split("  ")[-2 if line.rstrip() != line else -1] for line in out.splitlines()[2:-1]]
    assert {text.strip() for text in shown_texts} == {f"text {n}" for n in (3, 35, 36, 37, 38, 39)}
    assert "text 3  source" in out
    assert "text 39  guess" in out


def test_a_bound_is_shown_with_its_error_and_what_it_does_not_say(capsys):
    show_bound(reduced_form(900, 1000, 4, 0.02, 0.001))
    out = capsys.readouterr().out
    assert out.startswith("reduced form: 900 of 1,000 right, 4 candidates, delta 0.001\n")
    assert "one-sided error 0.01" in out
    assert "of this attack's success: no attack proves privacy" in out
    assert "had every guess been right" in out
    assert "Bayes leakage (k p)" in out
    show_bound(baseline(1000, 0, 1000))
    out = capsys.readouterr().out
    assert out.startswith("baseline: 2,000 of 2,000 right, 2 candidates, delta 0\n")
    assert "one-sided error 0.01" in out
    assert out.count(" inf ") == 2


def test_a_run_without_findings_says_so_and_an_odd_note_is_shown_as_it_is(capsys):
    show_result(AuditResult("empty", RunDirectory(Path("[bold]folder")), (), ("a [/] note",), 0.01))
    out = capsys.readouterr().out
    assert "nothing to estimate from" in out
    assert "- a [/] note" in out
    assert "[bold]folder" in out


def test_a_card_is_shown_with_everything_that_it_says(capsys):
    card = Card("mine[/]", "Does [it].", paper="A 2024", claim="none", departures=("one", "two"))
    show_cards([(card, ["slots", "words[]"]), (Card("bare", "Nothing."), [])])
    out = capsys.readouterr().out
    assert out.splitlines() == [
        "mine[/]  Does [it].", "    paper: A 2024", "    claim: none", "    takes: slots, words[]",
        "    note: one", "    note: two", "bare  Nothing.",
    ]  # fmt: skip


def test_progress_can_be_turned_off(capsys):
    with progress_bar(quiet=True) as progress:
        assert progress is None
    assert capsys.readouterr() == ("", "")


def test_progress_goes_to_standard_error_and_takes_any_label(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress_bar(quiet=False) as progress:
        progress("[/] x: rewriting", 3, 10)
        progress("", 7, 10)
    out, err = capsys.readouterr()
    assert out == ""
    assert "[/] x: rewriting" in err
    assert "7/10" in err
