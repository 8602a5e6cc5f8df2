"""`tedaudit run --dry-run`."""

import json

import pytest

from command_line import SMALL, contents

SPEC = ("-m", "word-rr", "-e", "0.1", "-e", "3", "-t", "300", "-a", "lexical", "-a", "resample", *SMALL)


@pytest.mark.parametrize("wish", [("--ceiling", "5"), ("--success", "0.9")])
def test_a_wish_is_for_a_dry_run_alone(command, here, wish):
    before = contents(here)
    code, _, err = command("run", *SPEC, *wish)
    assert (code, f"{wish[0]}: ask for it with --dry-run" in err) == (2, True)
    assert contents(here) == before


def test_it_says_what_a_run_takes_and_could_show_and_writes_nothing(command, here):
    before = contents(here)
    code, out, _ = command("run", "--dry-run", *SPEC, "--worst", "2", "--loss", "--fail-above", "2")
    assert code == 0
    assert contents(here) == before
    assert max(map(len, out.splitlines())) <= 100
    plain = " ".join(out.split())
    assert "What 300 trials can show" in plain
    assert "│ 0.1 │ 1.6 │ yes │" in plain
    assert "│ 3 │ 48 │ never │" in plain
    assert "600 │ 1,200 │ 1,800 │ 1,200 │" not in plain  # own rewrites are as many as audited ones at most
    assert "│ word-rr │ 600 │" in plain
    assert "│ 1,800 │ 1,200 │" in plain  # guesses of three attacks, likelihoods of one
    assert "--worst adds up to" in plain
    assert "--fail-above 2 is in reach of 6 of 6 rows" in plain


def test_with_goals_it_tells_the_trials(command, here):
    code, out, _ = command("run", "--dry-run", *SPEC, "--ceiling", "7.54", "--success", "0.99")
    plain = " ".join(out.split())
    assert code == 0
    assert "9,97" in plain  # trials for a ceiling of 7.54
    assert max(map(len, out.splitlines())) <= 100


def test_json_has_the_counts_and_what_is_stored_is_gone_from_them(command, here):
    code, out, _ = command("run", "--dry-run", *SPEC, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["rewriting"][0]["audited"] == 600
    assert [part["rows"] for part in told["guessing"]] == [600, 600]
    assert [p["in_reach"] for p in told["prospects"]] == [True, False]
    assert command("run", *SPEC)[0] == 0
    before = contents(here)
    _, out, _ = command("run", "--dry-run", *SPEC, "--json")
    told = json.loads(out)
    assert told["rewriting"][0]["rows"] == 0
    assert [part["rows"] for part in told["guessing"]] == [0, 0]
    assert contents(here) == before


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--ceiling", "-1"), "ceiling is -1"),
        (("--success", "2"), "success is 2"),
        (("--worst", "-3"), "-3 pairs"),
    ],
)
def test_wrong_wishes_are_refused(command, here, flags, said):
    code, _, err = command("run", "--dry-run", *SPEC, *flags)
    assert code == 2
    assert said in err
