"""Lint: what finite numbers do to a probability, in our own code and in the releases that it follows."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tedaudit.abilities import HasCautions
from tedaudit.mechanisms._latent import Latent
from tedaudit.trust.lint.notes import Note

_LEAST_COIN = 2.0**-106  # of the coins in `inference/sampling.py` and `seeding.rare`
FORMATS: Mapping[str, float] = {"float32": 2.0**-149, "bfloat16": 2.0**-133, "float16": 2.0**-24}
"""The smallest number above 0 of each format."""


def zeros_from(number_format: str) -> float:
    """Return the epsilon from which a softmax over logits of the full clip range has exact zeros.

    The exponents span epsilon / 2, and a number below half of the smallest is rounded to 0.

    >>> round(zeros_from("float32"))
    208
    """
    return -2 * math.log(FORMATS[number_format] / 2)


def lint_numerics(plugin: Any, epsilons: Sequence[float], texts: Sequence[str]) -> Iterator[Note]:
    """Yield what is known of the arithmetic of a built-in mechanism."""
    if isinstance(plugin, Latent):
        yield from _check_tails(plugin)
    elif "clip range" in (marks := _read_marks(plugin)):
        yield from _check_clip(plugin, marks["clip range"])
        yield from _check_softmax(plugin, epsilons)
        yield from _observe_logits(plugin, texts)
    elif plugin.card.name == "word-rr":
        text = "each slot is redrawn by a coin that is exact far below 2^-53; no item becomes impossible"
        yield Note("info", "smallest probability", text)


def _read_marks(plugin: Any) -> Mapping[str, str]:
    found: Mapping[str, str] = plugin.fingerprint() if hasattr(plugin, "fingerprint") else {}
    return found


def _check_tails(plugin: Latent) -> Iterator[Note]:
    size = len(plugin.noise_of([0], 1.0)[0])
    missing = size * 2.0**-53
    text = f"noise from uniforms of 53 bits: {size:,} components leave out tails of mass {missing:.2g} in all"
    beyond = plugin.noise != "laplace" and missing > plugin.delta
    yield Note("warning" if beyond else "info", "smallest probability", text, "delta" if beyond else "")
    if plugin.noise == "laplace":
        text = (
            "pure epsilon by Laplace noise, rounded to float32: which numbers can occur depends on the text. "
            "It matters if the latent itself is released; the decoded text is what is released here"
        )
        yield Note("warning", "rounding", text, "noise=analytic_gaussian, with a delta")


def _check_clip(plugin: Any, written: str) -> Iterator[Note]:
    low, high = (float(end) for end in written.split(" to "))
    if not math.isfinite(high - low):
        text = f"logits are clipped to [{low:g}, {high:g}], which is no bound: the sensitivity is infinite"
        yield Note("error", "clip range", text, "low and high, both finite")
        return
    for caution in plugin.cautions() if isinstance(plugin, HasCautions) else ():
        yield Note("info", "clip range", caution)
        return
    given = plugin.low is not None or plugin.high is not None
    source = "given by hand" if given else "measured on this model"
    yield Note("info", "clip range", f"logits are clipped to [{low:.4g}, {high:.4g}] ({source})")


def _check_softmax(plugin: Any, epsilons: Sequence[float]) -> Iterator[Note]:
    largest = max(epsilons)
    if getattr(plugin, "length", "") == "input":
        text = (
            f"the release computes probabilities in float32, whose softmax has exact zeros from epsilon "
            f"{zeros_from('float32'):.0f} on: pure epsilon is false there. Here they are computed in float64"
        )
        yield Note("warning", "float32 softmax", text, "a release of your own needs float64 or more")
    if getattr(plugin, "top_k", 0):
        text = "items are drawn by inverting 53-bit uniforms: masses below 2^-53 become impossible"
        yield Note("warning", "smallest probability", text, "top_k=0")
        return
    least = math.exp(-largest / 2) if largest < 1400 else 0.0
    coin = "which a coin exact to 2^-106 keeps" if least > _LEAST_COIN else "raised to 2^-106 in all"
    text = (
        f"at epsilon {largest:g} the least likely item has e^-{largest / 2:g} of the likeliest's mass, {coin}"
    )
    yield Note("info", "smallest probability", f"{text}: none becomes impossible")


def _observe_logits(plugin: Any, texts: Sequence[str]) -> Iterator[Note]:
    """Yield how much of the clip range the logits of some texts use."""
    if not texts or not hasattr(plugin, "first_token"):
        return
    epsilon = 2.0  # exponents then span 1
    table = plugin.first_token(texts, epsilon)
    rows = table[np.isfinite(table).any(axis=1)]
    if not len(rows):
        return
    finite = np.where(np.isfinite(rows), rows, np.nan)
    spans = np.nanmax(finite, axis=1) - np.nanmin(finite, axis=1)
    used = f"{spans.min():.0%} to {spans.max():.0%}"
    text = f"over {len(rows)} texts clipped logits of what is drawn first span {used}"
    flat = bool(spans.min() < 1e-6)
    more = ": all logits of some text lie outside, and every token is as likely" if flat else ""
    yield Note(
        "warning" if flat else "info",
        "observed logits",
        f"{text} of the clip range{more}",
        "low, high" if flat else "",
    )
