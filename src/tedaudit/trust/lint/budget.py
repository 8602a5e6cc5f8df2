"""Lint: the epsilon that a mechanism says it gives, and the number of units that are really released."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from tedaudit.seeding import derive
from tedaudit.types import Draw, Note

GRID = (0.1, 0.5, 1.0, 10.0, 50.0, 100.0, 250.0, 750.0, 1000.0, 2500.0)
_SLACK = 1.001


def lint_max_units(plugin: Any, epsilon: float) -> Iterator[Note]:
    """Yield that nothing bounds the units of a claim; a mechanism without a claim has nothing wrong."""
    claim = plugin.claim(epsilon)
    if claim is not None and claim.max_units is None:
        text = f"nothing bounds the number of {claim.unit}s, so a whole release has no finite epsilon"
        fixes = [leak.fix for leak in plugin.card.leaks if "length" in leak.shows and leak.is_set(plugin)]
        yield Note("error", "max_units", text, fixes[0] if fixes else "max_units")


def lint_units(plugin: Any, texts: Sequence[str], epsilon: float) -> Iterator[Note]:
    """Yield whether some rewrites, of a very long text too, draw more units than the claim counts."""
    claim = plugin.claim(epsilon)
    if claim is None or claim.max_units is None:
        return
    tried = [*texts, " ".join([*texts] * 20)]
    draws = [Draw(text, epsilon, derive(0, "lint", i)) for i, text in enumerate(tried)]
    counts = [output.units for output in plugin.rewrite(draws) if output.units is not None]
    most = max(counts, default=0)
    if most > claim.max_units:
        text = f"a rewrite drew {most} (unit: {claim.unit}); the claim counts {claim.max_units}"
        yield Note("error", "max_units", text, f"max_units of the claim, or a cap of {claim.max_units}")
    elif counts:
        text = f"{len(counts)} rewrites drew at most {most} (unit: {claim.unit}); the claim counts "
        yield Note("info", "max_units", f"{text}{claim.max_units}")


def lint_actual(plugin: Any, epsilons: Sequence[float]) -> Iterator[Note]:
    """Yield whether a mechanism itself says that it gives another epsilon than it promises."""
    wrong = []
    for epsilon in epsilons:
        claim = plugin.claim(epsilon)
        if claim is not None and claim.actual is not None and claim.actual > claim.epsilon * _SLACK:
            real = "unbounded" if math.isinf(claim.actual) else f"really {claim.actual:.4g}"
            wrong.append(f"{claim.epsilon:g} is {real}")
    if wrong:
        yield Note(
            "error", "claim", f"the mechanism says itself that epsilon {', '.join(wrong)}", "its noise"
        )
