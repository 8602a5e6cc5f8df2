"""Gates: exit code 1 for a violated claim or a limit, 70 for a fault; an outcome out of reach is said."""

import pytest

from command_line import SMALL
from helpers import strict

SHOUT = ("run", "-m", "py:my_plugins:shout", "-t", "60", *SMALL)
FAILING = "def fail(text):\n    raise ValueError(text)\n\ndef leave(text):\n    raise SystemError\n"


def test_a_limit_is_a_gate_for_a_rewriter_without_a_claim(command):
    code, out, told = command(*SHOUT, "--fail-above", "1")
    assert code == 1
    assert "violat" not in out + told  # nobody promised anything
    assert "--fail-above 1: shout, lexical: the bound is" in told
    assert command("report", "made", "--no-figures", "--fail-above", "1")[0] == 1
    assert command(*SHOUT)[0] == 0


def test_a_limit_that_is_kept_exits_with_0_and_says_what_was_measured(command):
    code, _, told = command("run", "-m", "constant", "-t", "60", *SMALL, "--fail-above", "1")
    assert code == 0
    assert "not found above the limit for 1: the bound is 0, not above 1" in told


def test_a_limit_above_the_ceiling_is_out_of_reach_and_said(command):
    code, _, told = command(*SHOUT, "--fail-above", "30")
    assert code == 0
    assert "out of reach for 1: these trials show at most 2." in told
    assert command(*SHOUT, "--fail-above", "30", "--fail-on", "out-of-reach")[0] == 1


def test_a_function_that_always_fails_passes_no_gate(command, here):
    (here / "failing.py").write_text(FAILING)
    failing = ("run", "-m", "py:failing:fail", "-e", "1", "-t", "60", *SMALL)
    code, out, told = command(*failing, "--fail-above", "1", "--json")
    assert code == 0
    assert "not tested" in told
    assert [claim["verdict"] for claim in strict(out)["claims"]] == ["not tested"]
    assert command(*failing, "--fail-above", "1", "--fail-on", "not-tested")[0] == 1
    assert command(*failing, "--fail-on", "not-tested")[0] == 1
    assert command(*failing, "--fail-on", "violated")[0] == 0


@pytest.mark.parametrize("gate", ["violated", "not-tested", "out-of-reach"])
def test_a_claim_fails_only_on_the_outcome_that_is_named(command, gate):
    huge = (*SHOUT, "-e", "50", "--fail-on", gate)
    assert command(*huge)[0] == (1 if gate == "out-of-reach" else 0)


def test_several_outcomes_may_be_named(command):
    assert command(*SHOUT, "-e", "50", "--fail-on", "violated", "--fail-on", "out-of-reach")[0] == 1


def test_nothing_to_fail_on_is_said(command):
    code, _, told = command(*SHOUT, "--fail-on", "violated")
    assert code == 0
    assert "nothing is claimed" in told


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (
            ("--fail-on", "violate"),
            "Did you mean 'violated'? It is one of: violated, not-tested, out-of-reach",
        ),
        (("--fail-above", "-1"), "--fail-above is -1.0; it must be 0 or larger"),
        (("--fail-above", "nan"), "--fail-above is nan"),
    ],
)
def test_a_wrong_gate_is_refused_before_any_work(command, here, flags, told):
    code, _, error = command(*SHOUT, *flags)
    assert code == 2
    assert told in error
    assert not (here / "made").exists()


def test_a_fault_is_never_taken_for_a_violation(command, monkeypatch):
    def crash(*_arguments, **_settings):
        raise RuntimeError("no luck")

    monkeypatch.setattr("tedaudit.api.run", crash)
    code, _, told = command(*SHOUT, "--fail-on", "violated")
    assert code == 70
    assert "RuntimeError: no luck" in told
    assert "This is a fault of tedaudit or of a plug-in" in told


def test_a_pair_that_alone_refutes_a_claim_fails_the_gate_now_and_later(command, here):
    (here / "rare.py").write_text("def rare(text):\n    return text if text.endswith(' 0') else 'nothing'\n")
    (here / "rare.txt").write_text("\n".join(f"word{i} of text {i}" for i in range(30)))
    audit = ("run", "-m", "py:rare:rare", "-e", "0.2", "-a", "lexical", "-c", "rare.txt", "-t", "60",
             "-o", "rare", "-q", "--lambda", "0", "--encoder", "lexical")  # fmt: skip
    assert command(*audit, "--fail-on", "violated")[0] == 0
    code, out, _ = command(*audit, "--worst", "2", "--worst-trials", "300", "--fail-on", "violated", "--json")
    told = strict(out)
    assert (code, told["violated"], told["claims"][0]["verdict"]) == (1, True, "violated")
    assert command("report", "rare", "--no-figures", "--fail-on", "violated")[0] == 1
    assert "violated" in command("report", "rare", "--no-figures")[1]
    code, _, said = command("report", "rare", "--no-figures", "--fail-above", "0.3")
    assert code == 1
    assert "the bound of a pair is" in said
    assert "not found above" not in said
