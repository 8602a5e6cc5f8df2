"""Shared by mechanisms that draw from clipped logits: what finite numbers do to their probabilities."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from tedaudit.models.sampling.exponential import Clip
from tedaudit.plugins.values import Floats, Note

_LEAST_COIN = 2.0**-106  # of the coins in `models/sampling/exponential.py` and `seeding.rare`
FORMATS: Mapping[str, float] = {"float32": 2.0**-149, "bfloat16": 2.0**-133, "float16": 2.0**-24}
"""The smallest number above 0 of each format."""
_SPAN_ONE = 2.0  # the epsilon at which exponents span 1


class ClipsLogits(Protocol):
    """A mechanism that clips the logits of a model to a range and draws from all of them, or from the first.

    `low` and `high` are what was given by hand.
    """

    @property
    def low(self) -> float | None: ...

    @property
    def high(self) -> float | None: ...

    @property
    def length(self) -> str: ...

    def cautions(self) -> Sequence[str]: ...

    def first_token(self, texts: Sequence[str], epsilon: float) -> Floats: ...


def zeros_from(number_format: str) -> float:
    """Return the epsilon from which a softmax over logits of the full clip range has exact zeros.

    The exponents span epsilon / 2, and a number below half of the smallest is rounded to 0.

    >>> round(zeros_from("float32"))
    208
    """
    return -2 * math.log(FORMATS[number_format] / 2)


def describe_arithmetic(
    mechanism: ClipsLogits, clip: Clip, epsilons: Sequence[float], texts: Sequence[str]
) -> Iterator[Note]:
    """Yield what is known of a clip range, of the probabilities in it, and of the logits of some texts."""
    given = mechanism.low is not None or mechanism.high is not None
    if given:
        text = "the clip range was given by hand; it must not have been measured on private texts"
        yield Note(
            level="info",
            rule="public data",
            text=text,
            fix="leave out low and high for the range stored with the model",
        )
    source, cautions = "given by hand" if given else "measured on this model", mechanism.cautions()
    told = f"logits are clipped to [{clip.low:.4g}, {clip.high:.4g}] ({source})"
    yield Note("info", "clip range", cautions[0] if cautions else told)
    if mechanism.length == "input":
        text = (
            f"the release computes probabilities in float32, whose softmax has exact zeros from epsilon "
            f"{zeros_from('float32'):.0f} on: pure epsilon is false there. Here they are computed in float64"
        )
        yield Note(
            level="warning",
            rule="float32 softmax",
            text=text,
            fix="compute probabilities in float64 or better yourself",
        )
    yield _check_least(clip, max(epsilons))
    if texts:
        yield from _observe_logits(mechanism.first_token(texts, _SPAN_ONE))


def _check_least(clip: Clip, epsilon: float) -> Note:
    """Return whether the least likely item can be drawn at an epsilon."""
    if clip.top_k:
        text = (
            "items are drawn with 53-bit random numbers: those of probability below 2^-53 become impossible"
        )
        return Note(level="warning", rule="smallest probability", text=text, fix="top_k=0")
    least = math.exp(-epsilon / 2) if epsilon < 1400 else 0.0
    coin = "which a draw exact to 2^-106 keeps" if least > _LEAST_COIN else "raised to 2^-106 in total"
    text = (
        f"at epsilon {epsilon:g} the least likely item has e^-{epsilon / 2:g} times the probability of the "
        f"likeliest, {coin}"
    )
    return Note("info", "smallest probability", f"{text}: every item can be drawn")


def _observe_logits(table: Floats) -> Iterator[Note]:
    """Yield how much of the clip range the logits of some texts use, one row of exponents for each text."""
    rows = table[np.isfinite(table).any(axis=1)]
    if not len(rows):
        return
    finite = np.where(np.isfinite(rows), rows, np.nan)
    spans = np.nanmax(finite, axis=1) - np.nanmin(finite, axis=1)
    used = f"{spans.min():.0%} to {spans.max():.0%}"
    text = f"in {len(rows)} texts, the clipped logits of the first draw span {used}"
    flat = bool(spans.min() < 1e-6)
    more = ": for some text all logits lie outside, so every token is equally likely" if flat else ""
    yield Note(
        level="warning" if flat else "info",
        rule="observed logits",
        text=f"{text} of the clip range{more}",
        fix="low, high" if flat else "",
    )
