"""`assert_private`: what passes, what does not, and what is said of it."""

import random

import pytest

import tedaudit
from helpers import sentences
from tedaudit.errors import SpecError
from tedaudit.trust.assertion import (
    NotPrivateError,
    NotTestedError,
    PrivacyError,
    assert_private,
    default_attacks,
)
from tedaudit.trust.listeners import listening
from tedaudit.trust.planted.flaws import find_flaw
from tedaudit.types import Claim

TEXTS = sentences(60)
FAST = {"attack": ["lexical", {"name": "trained", "encoder": "lexical"}], "encoder": "lexical", "trials": 300}


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


def test_a_limit_out_of_reach_does_not_pass_and_the_trials_that_it_needs_do_reach_it():
    message = str(raised(NotTestedError, say_thanks, TEXTS, fail_above=4.5))
    needed = int(message.rpartition("trials=")[2].rstrip("."))
    assert_private(say_thanks, TEXTS, fail_above=4.5, **{**FAST, "trials": needed})
    raised(NotTestedError, say_thanks, TEXTS, fail_above=4.5, trials=needed - 1)


def test_a_limit_needs_no_claim():
    assert_private(say_thanks, TEXTS, fail_above=0.5, **FAST)
    assert "the limit of 0.5" in str(raised(NotPrivateError, shout, TEXTS, fail_above=0.5))


def test_a_claim_that_holds_does_not_excuse_a_bound_above_the_limit():
    assert_private(respond, TEXTS, claim=3, **{**FAST, "attack": "lexical"})
    message = str(raised(NotPrivateError, shout, TEXTS, claim=3.0, fail_above=0.1))
    assert "the claim of 3" in message  # what is worse comes first


def test_a_rewriter_that_fails_on_more_than_half_of_the_texts_does_not_pass():
    def fail(text, seed):
        if seed % 10 < 7:
            raise ValueError(text)
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


def test_the_default_attacks_are_those_that_are_there():
    assert {"lexical", "trained"} <= set(default_attacks())


@pytest.mark.parametrize("name", ["stop-words-kept", "word-count-kept", "raw-without-triple"])
def test_a_planted_flaw_does_not_pass_and_its_repaired_twin_does(name):
    flaw = find_flaw(name)
    texts = tedaudit.load_corpus("demo", size=60).texts
    raised(NotPrivateError, flaw.build(), texts, claim=flaw.claim)
    assert_private(flaw.repaired(), texts, claim=flaw.claim, **FAST)
