"""`assert_private`: what passes, what does not, and what is said of it."""

import random
import sys
from dataclasses import dataclass
from typing import ClassVar

import pytest

import tedaudit
from helpers import sentences
from planted.flaws import BY_NAME
from planted.nulls import NULLS
from tedaudit.errors import SpecError
from tedaudit.plugins.values import Card, Claim, Rewrite
from tedaudit.testing.assertion import (
    NotPrivateError,
    NotTestedError,
    PrivacyError,
    assert_private,
)
from tedaudit.testing.listeners import listening

TEXTS = sentences(60)
ATTACKS = ["lexical", {"name": "trained", "encoder": "lexical"}]
FAST = {"attack": ATTACKS, "encoder": "lexical", "trials": 300, "battery": {"processes": False}}
UNSEEN = (
    "previous-text-told", "repeats-told", "previous-length-told", "noise-shared-in-call", "duplicates-merged",
    "neighbour-told",
)  # fmt: skip


def say_thanks(text):
    return "Thank you."


def shout(text):
    return text.upper()


def respond(text, seed, epsilon):
    rng = random.Random(seed)
    truth = len(text) % 2
    return ["even", "odd"][truth if rng.random() < 1 / (1 + 2.718281828**-epsilon) else 1 - truth]


def raised(kind, *arguments, **settings):
    with pytest.raises(kind) as caught:
        assert_private(*arguments, **{**FAST, **settings})
    return caught.value


def test_a_rewriter_that_reveals_nothing_passes_and_its_audit_is_returned():
    result = assert_private(say_thanks, TEXTS, claim=0.5, **FAST)
    assert isinstance(result, tedaudit.AuditResult)
    assert {finding.attack for finding in result} == {"lexical", "trained"}
    assert result.findings[0].label == "say_thanks"


def test_a_rewriter_that_keeps_its_claim_passes_and_is_given_the_epsilon_of_the_claim():
    assert_private(respond, TEXTS, claim=1, **FAST)


def test_a_broken_claim_is_an_assertion_with_mechanism_attack_bound_claim_source_and_rewrite():
    error = raised(NotPrivateError, shout, TEXTS, claim=0.5)
    message = str(error)
    assert isinstance(error, AssertionError)
    assert isinstance(error, PrivacyError)
    for part in ("shout", "the claim of 0.5 per document", "lexical", "300 of 300", "eps_emp"):
        assert part in message
    source = next(text for text in TEXTS if f"source   {text!r}" in message)
    assert f"rewrite  {source.upper()!r}" in message
    assert "not      " in message
    assert error.result.violated


def test_texts_stay_out_of_the_message_if_it_is_redacted():
    message = str(raised(NotPrivateError, shout, TEXTS, claim=0.5, redact=True))
    assert "texts are left out" in message
    assert not any(text in message or text.upper() in message for text in TEXTS)


def test_a_claim_out_of_reach_does_not_pass_and_the_trials_that_it_needs_do_reach_it():
    message = str(raised(NotTestedError, say_thanks, TEXTS, claim=4.5))
    needed = int(message.rpartition("trials=")[2].rstrip("."))
    assert needed > 300
    assert_private(say_thanks, TEXTS, claim=4.5, **{**FAST, "trials": needed})
    raised(NotTestedError, say_thanks, TEXTS, claim=4.5, trials=needed - 1)


def test_of_several_attacks_above_a_limit_the_message_names_the_one_that_proves_most():
    def keep_some(text, seed):
        rng = random.Random(seed)
        kept = [word for word in text.split() if rng.random() < 0.4]
        return " ".join([*kept, str(sum(map(ord, text)))])

    attacks = ["lexical", "resample"]
    error = raised(NotPrivateError, keep_some, TEXTS, fail_above=0.1, attack=attacks, battery=False)
    first, most = error.result.findings[0], error.result.largest
    assert 0.1 < first.eps_emp < most.eps_emp
    assert f"{most.attack}: " in str(error)
    assert f"eps_emp {most.eps_emp:.2f}" in str(error)


def test_a_limit_out_of_reach_does_not_pass_and_the_trials_that_it_needs_do_reach_it():
    message = str(raised(NotTestedError, say_thanks, TEXTS, fail_above=4.5))
    needed = int(message.rpartition("trials=")[2].rstrip("."))
    assert_private(say_thanks, TEXTS, fail_above=4.5, **{**FAST, "trials": needed})
    raised(NotTestedError, say_thanks, TEXTS, fail_above=4.5, trials=needed - 1)


def test_a_limit_needs_no_claim():
    assert_private(say_thanks, TEXTS, fail_above=0.5, **FAST)
    message = str(raised(NotPrivateError, shout, TEXTS, fail_above=0.5))
    assert "is above the limit of 0.5" in message
    assert "breaks" not in message
    assert "violat" not in message


def test_a_claim_that_holds_does_not_excuse_a_bound_above_the_limit():
    assert_private(respond, TEXTS, claim=3, **{**FAST, "attack": "lexical"})
    message = str(raised(NotPrivateError, shout, TEXTS, claim=3.0, fail_above=0.1))
    assert "the claim of 3" in message  # what is worse comes first


def test_a_rewriter_that_fails_on_more_than_half_of_the_texts_does_not_pass():
    def fail(text, seed):
        if seed % 10 < 7:
            raise ValueError("no")
        return "fine"

    message = str(raised(NotTestedError, fail, TEXTS, claim=0.5))
    assert "not tested" in message
    assert "rewrites failed" in message
    raised(NotTestedError, fail, TEXTS, fail_above=0.5)


def test_a_rewriter_must_be_held_to_something():
    with pytest.raises(SpecError, match="claim"):
        assert_private(say_thanks, TEXTS)
    with pytest.raises(SpecError, match="fail_above is -1"):
        assert_private(say_thanks, TEXTS, fail_above=-1)


def test_a_number_is_the_claim_for_a_whole_text_so_a_mechanism_that_promises_another_is_refused():
    with pytest.raises(SpecError, match=r"promises 0\.1 per word x 16 = 1\.6"):
        assert_private("word-rr", TEXTS, claim=0.1)
    claim = Claim(0.1, "word", max_units=16)
    assert assert_private("word-rr", TEXTS, claim=claim, **FAST).claims[0].witness.claim == claim
    with pytest.raises(SpecError, match="promises nothing"):
        assert_private("identity", TEXTS, claim=1)


def test_a_claim_says_at_which_epsilon_to_run():
    with pytest.raises(SpecError, match="leave `epsilon` out"):
        assert_private(respond, TEXTS, claim=1, epsilon=2.0)


def test_a_claim_with_delta_is_tested_with_it():
    result = assert_private(say_thanks, TEXTS, claim=Claim(0.5, "document", delta=0.01), **FAST)
    assert result.findings[0].claim.delta == 0.01


def test_every_audit_is_told_in_one_line_whether_it_passes_or_not():
    lines = []
    with listening(lines.append):
        assert_private(say_thanks, TEXTS, claim=0.5, **FAST)
        raised(NotPrivateError, shout, TEXTS, claim=0.5)
    assert_private(say_thanks, TEXTS, claim=0.5, **FAST)
    assert len(lines) == 2
    assert "say_thanks" in lines[0]
    assert "no violation found, 300 trials" in lines[0]
    assert "violated, 300 trials" in lines[1]


@pytest.mark.parametrize("name", ["stop-words-kept", "word-count-kept", "raw-without-triple"])
def test_a_planted_flaw_does_not_pass_and_its_repaired_twin_does(name):
    flaw = BY_NAME[name]
    texts = tedaudit.load_corpus("demo", size=60).texts
    raised(NotPrivateError, flaw.build(), texts, claim=flaw.claim)
    assert_private(flaw.repaired(), texts, claim=flaw.claim, **FAST)


@pytest.mark.parametrize("name", UNSEEN)
def test_a_leak_that_no_attack_sees_does_not_pass_and_without_the_battery_it_is_said_what_was_not_seen(name):
    flaw = BY_NAME[name]
    texts = tedaudit.load_corpus("demo", size=240).texts
    alone = assert_private(flaw.build(), texts, claim=flaw.claim, **FAST | {"battery": False})
    assert any("state between calls" in part and "battery=False" in part for part in alone.not_looked_at)
    assert alone.leaks is None
    error = raised(
        NotPrivateError, flaw.build(), texts, claim=flaw.claim, battery={"trials": 200, "processes": False}
    )
    assert not error.result.violated
    assert len(error.result.leaks.causes) == 1
    assert error.result.leaks.causes[0].finding.culprit in str(error)
    assert "the claim of 0.5 per document" in str(error)


@pytest.mark.parametrize("null", NULLS, ids=lambda null: null.name)
def test_a_rewriter_that_reveals_nothing_passes_with_battery_and_lint(null):
    result = assert_private(null.rewrite, TEXTS, claim=0.5, **FAST)
    assert result.leaks.findings == ()
    assert result.lint.at("error") == ()
    assert "determinism: fresh processes were left out: processes=False" in result.not_looked_at
    [far] = [part for part in result.not_looked_at if "tests of the battery" in part]
    assert far.startswith(f"{sum(not o.is_in_reach for o in result.leaks.outcomes)} of ")


def test_audit_and_battery_have_half_of_the_error_each():
    both = assert_private(say_thanks, TEXTS, claim=0.5, **FAST)
    assert (both.alpha, both.leaks.error) == (0.005, 0.0025)
    alone = assert_private(say_thanks, TEXTS, claim=0.5, **FAST | {"battery": False})
    assert alone.alpha == 0.01
    own = assert_private(say_thanks, TEXTS, claim=0.5, alpha=0.04, **FAST)
    assert (own.alpha, own.leaks.error) == (0.02, 0.01)


def test_the_message_on_a_leak_shows_an_example_unless_it_is_redacted():
    flaw = BY_NAME["previous-text-told"]
    message = str(raised(NotPrivateError, flaw.build(), TEXTS, claim=0.5))
    assert "after '" in message
    assert "what differs: '" in message
    assert any(text in message for text in TEXTS)
    redacted = str(raised(NotPrivateError, flaw.build(), TEXTS, claim=0.5, redact=True))
    assert "Texts are left out" in redacted
    assert not any(text in redacted or text.split()[-1] in redacted for text in TEXTS)


def test_a_leak_that_the_battery_finds_counts_against_a_limit_too():
    message = str(raised(NotPrivateError, BY_NAME["neighbour-told"].build(), TEXTS, fail_above=0.5))
    assert "leaks more than the limit of 0.5 allows" in message
    strict = {"claim": 3.0, "fail_above": 0.5}
    assert "the limit of 0.5" in str(
        raised(NotPrivateError, BY_NAME["neighbour-told"].build(), TEXTS, **strict)
    )


def test_what_delta_allows_is_no_leak():
    def leave_some(text, seed):
        rng = random.Random(seed)
        return text if rng.random() < 0.05 else " ".join(rng.choices("abcdefgh", k=9))

    settings = FAST | {"battery": {"trials": 200, "processes": False}}
    assert_private(leave_some, TEXTS, claim=Claim(0.1, "document", delta=0.05), **settings)
    raised(NotPrivateError, leave_some, TEXTS, claim=Claim(0.1, "document"), **settings)


def test_a_function_is_held_to_its_claim_alone_and_not_to_less():
    def respond_at_least(text, seed, epsilon):
        return respond(text, seed, max(epsilon, 1.0))

    result = assert_private(respond_at_least, TEXTS, claim=1.0, **FAST)
    assert [epsilon.json for epsilon in result.leaks.epsilons] == [1.0]


@dataclass(frozen=True)
class _KeepLength:
    card: ClassVar[Card] = Card("keep-length", "Draws as many words as there are.")

    def claim(self, epsilon):
        return Claim(epsilon, "document")

    def rewrite(self, draws):
        return [
            Rewrite(" ".join(random.Random(d.key).choices("abcdef", k=len(d.text.split())))) for d in draws
        ]


def test_a_mechanism_is_held_to_what_it_promises_at_zero_budget_too():
    texts = tedaudit.load_corpus("demo", size=100).texts
    error = raised(NotPrivateError, _KeepLength(), texts, claim=3.4, attack="lexical", fail_above=None)
    assert not error.result.violated
    assert "length at epsilon 1e-06" in str(error)


MODULE = """
import random, secrets
NOISE = random.Random(7)
def seeded(text):
    return NOISE.choice(["a", "b"])
def fresh(text):
    return secrets.choice(["a", "b"])
def hinted(text):
    return secrets.choice(["a", "b"]) if text.isupper() else secrets.choice(["b", "a"])
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module with a generator that is seeded by a constant, which one of its functions uses."""
    import importlib

    monkeypatch.delitem(sys.modules, "seeded_rewriters", raising=False)
    (tmp_path / "seeded_rewriters.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    return importlib.import_module("seeded_rewriters")


@pytest.mark.parametrize("held", [{"claim": 0.5}, {"fail_above": 0.5}])
def test_an_error_of_lint_does_not_pass_unless_lint_is_left_out(module, held):
    error = raised(NotPrivateError, module.seeded, TEXTS, **held)
    assert "by lint" in str(error)
    assert "line 3: Random is given a constant" in str(error)
    assert error.result.lint.rules == {"fixed seed"}
    left = assert_private(module.seeded, TEXTS, lint=False, **held, **FAST)
    assert any("lint=False" in part for part in left.not_looked_at)
    assert_private(module.fresh, TEXTS, **held, **FAST)


def test_a_warning_of_lint_passes_and_is_in_the_result(module):
    assert assert_private(module.hinted, TEXTS, claim=0.5, **FAST).lint.rules == {"case"}


def test_without_a_claim_only_a_seed_is_an_error():
    from tedaudit.leaks.lint.notes import LintReport, Note
    from tedaudit.testing.assertion import _list_certain, _Promise

    kept, seeded = Note("error", "stop words", "kept"), Note("error", "fixed seed", "5")
    report = LintReport.of("x", [kept, seeded, Note("warning", "fixed seed", "6")])
    assert _list_certain(report, _Promise("x", "x", 1.0, None, 2.0)) == [seeded]
    assert _list_certain(report, _Promise("x", "x", 1.0, 1.0, None)) == [kept, seeded]
