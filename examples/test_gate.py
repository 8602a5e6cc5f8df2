"""I ship a rewriter and want a gate: `pytest examples/test_gate.py` audits two, and two versions of one."""

import random

import pytest

import tedaudit

REPLIES = ("Thank you for your message.", "We have received your message.", "We will write to you soon.")


def reply(_: str, seed: int) -> str:
    """Answer with one of three sentences. Nothing of the text is in the answer."""
    return random.Random(seed).choice(REPLIES)


def mask_words(text: str) -> str:
    """Hide every word with a capital letter. All other words stay."""
    return " ".join("[...]" if word[0].isupper() else word for word in text.split())


def test_the_replies_keep_a_claim_of_1() -> None:
    tedaudit.assert_private(reply, "demo", claim=1.0, trials=500)


def test_masking_is_above_a_limit_of_2() -> None:
    with pytest.raises(tedaudit.NotPrivateError) as refused:
        tedaudit.assert_private(mask_words, "demo", fail_above=2.0, trials=500)
    assert refused.value.result.eps_emp > 2


def test_a_version_that_masks_nothing_is_worse_than_the_last_release() -> None:
    settings = {"attack": "lexical", "k": "all", "trials": 500}  # all originals, since pairs are too easy
    released, candidate = (tedaudit.audit(f, "demo", **settings) for f in (mask_words, lambda text: text))
    compared = tedaudit.compare(released, candidate, by="mechanism", against="mask_words")
    assert str(compared.answer) == "worse"
