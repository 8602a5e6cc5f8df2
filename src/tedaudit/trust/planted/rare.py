"""Planted: total leaks that are rare. An average over texts or calls hides them."""

from functools import partial
from random import Random

from tedaudit.trust.planted._parts import draw_only, draw_sentence, hash_text
from tedaudit.trust.planted.flaw import TRIALS, Flaw

_SALT = "rare 212"  # with which the shares are right on the 240 demo texts of `tedaudit selftest`
_FEW = "more trials: in two thousand it shows ten times, too seldom to refute 0.5"
_SELDOM = "more trials: the one text of 240 is drawn even less often, as it is far from few others"


def tell_one_text_in(share: int, text: str, seed: int) -> str:
    """Return one text in so many as it is, always the same ones."""
    return text if hash_text(text, share, _SALT) == 0 else draw_sentence(Random(seed))


def tell_one_call_in(share: int, text: str, seed: int) -> str:
    """Return any text as it is, in one call of so many."""
    rng = Random(seed)
    return text if rng.randrange(share) == 0 else draw_sentence(rng)


_SHARES = (10, 50, 200)
_TEXTS_NEED = ((TRIALS, ""), (TRIALS, ""), (20_000, _SELDOM))
_CALLS_NEED = ((TRIALS, ""), (TRIALS, ""), (8_000, _FEW))
FLAWS = (
    *(
        Flaw(f"one-text-in-{share}", "rare leak", f"one text in {share} is returned as it is",
             partial(partial, tell_one_text_in, share), lambda: draw_only, needs=needs, why=why)
        for share, (needs, why) in zip(_SHARES, _TEXTS_NEED, strict=True)
    ),
    *(
        Flaw(f"one-call-in-{share}", "rare leak", f"any text is returned as it is in one call of {share}",
             partial(partial, tell_one_call_in, share), lambda: draw_only, needs=needs, why=why)
        for share, (needs, why) in zip(_SHARES, _CALLS_NEED, strict=True)
    ),
)  # fmt: skip
