"""Lint: what is wrong with a mechanism can often be seen without a sample.

Card, fields, claims, arithmetic and source code are read; a few texts are rewritten to see how many units are
drawn and which logits there are.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tedaudit.api import AnyMechanism, load_corpus
from tedaudit.errors import SpecError
from tedaudit.leaks.lint.model import lint_model
from tedaudit.leaks.lint.notes import LintReport
from tedaudit.leaks.lint.source import lint_source
from tedaudit.plugins.extras import name_needs
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.protocols import CallsUserCode, HasOwnEpsilons, KnowsArithmetic, WritesOnce
from tedaudit.plugins.registry import build, is_foreign
from tedaudit.plugins.values import Draw, Note
from tedaudit.runs.spec.model import parse_spec
from tedaudit.seeding import derive

__all__ = ["LintReport", "Note", "lint", "lint_model"]
_TEXTS = 6


def lint(
    mechanism: AnyMechanism, *, epsilons: Sequence[float] = (), texts: Sequence[str] | None = None
) -> LintReport:
    """Return what can be seen of a mechanism or a function without a sample.

    `epsilons` are those at which it is used; without them, those of the paper. `texts` are a few to look at
    lengths and logits; without them, some of the demo; an empty list rewrites nothing.

    >>> lint("word-rr").at("error")
    ()
    """
    [named] = parse_spec({"mechanisms": [mechanism]}).mechanisms
    plugin = build(named.reference("mechanism"))
    for epsilon in epsilons:
        if not 0 < epsilon < float("inf"):
            raise SpecError(f"epsilon is {epsilon}; it must be a number above 0.")
    shown = load_corpus("demo").texts[:_TEXTS] if texts is None else texts
    with name_needs(plugin.card.name, plugin.card.needs):
        return LintReport.of(named.title, _look(plugin, _choose_epsilons(plugin, epsilons), shown))


def _look(plugin: Any, epsilons: Sequence[float], texts: Sequence[str]) -> Iterator[Note]:
    if isinstance(plugin, WritesOnce):
        yield Note("info", "recorded", "a table of rewrites has no settings to look at")
        return
    if isinstance(plugin, CallsUserCode) and _is_own(plugin) and not hasattr(plugin, "function"):
        yield Note("info", "source", "it runs a program whose code is not read: use `tedaudit leaks`")
    elif is_foreign(plugin):
        yield from lint_source(_find_code(plugin))
    own = [*lint_fields(plugin), *_ask_arithmetic(plugin, epsilons, texts)]
    yield from own
    if epsilons:
        if not (isinstance(plugin, KnowsArithmetic) and any(note.level == "error" for note in own)):
            yield from lint_actual(plugin, epsilons)  # else it has said itself why its epsilon is another
        yield from lint_max_units(plugin, epsilons[0])
        if texts and not is_foreign(plugin):
            yield from lint_units(plugin, texts, epsilons[0])


def _ask_arithmetic(plugin: Any, epsilons: Sequence[float], texts: Sequence[str]) -> Iterable[Note]:
    """Return what a mechanism itself knows of its noise, its budget and its probabilities."""
    return plugin.arithmetic(epsilons, texts) if isinstance(plugin, KnowsArithmetic) else ()


def _is_own(plugin: Any) -> bool:
    return type(plugin).__module__.startswith("tedaudit.")


def _find_code(plugin: Any) -> Any:
    """Return the function behind a plug-in, or its method that rewrites."""
    from tedaudit.plugins.registry import import_object

    function = getattr(plugin, "function", None)
    if isinstance(function, str):
        return import_object(function)
    return type(plugin) if function is None else function


def _choose_epsilons(plugin: Any, asked: Sequence[float]) -> list[float]:
    """Return the epsilons to look at; none if the mechanism takes none."""
    wanted = sorted(asked or GRID)
    if not isinstance(plugin, HasOwnEpsilons) or isinstance(plugin, WritesOnce):
        return wanted
    return [epsilon for epsilon in plugin.epsilons(wanted) if Nominal(epsilon).is_given]


# --- Lint: the epsilon that a mechanism says it gives, and the number of units that are really released.

GRID = (0.1, 0.5, 1.0, 10.0, 50.0, 100.0, 250.0, 750.0, 1000.0, 2500.0)
_SLACK = 1.001


def lint_max_units(plugin: Any, epsilon: float) -> Iterator[Note]:
    """Yield that nothing bounds the units of a claim; a mechanism without a claim has nothing wrong."""
    claim = plugin.claim(epsilon)
    if claim is not None and claim.max_units is None:
        text = f"nothing bounds the number of {claim.unit}s, so a whole release has no finite epsilon"
        fixes = [leak.fix for leak in plugin.card.leaks if "length" in leak.shows and leak.is_set(plugin)]
        yield Note(level="error", rule="max_units", text=text, fix=fixes[0] if fixes else "max_units")


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
        yield Note(
            level="error",
            rule="max_units",
            text=text,
            fix=f"max_units of the claim, or a cap of {claim.max_units}",
        )
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
            level="error",
            rule="claim",
            text=f"the mechanism says itself that epsilon {', '.join(wrong)}",
            fix="its noise",
        )


# --- Lint: what the card of a mechanism says of the values that its fields have.


def lint_fields(plugin: Any) -> Iterator[Note]:
    """Yield the fields with which no finite epsilon holds, and those that need public data."""
    for leak in plugin.card.leaks:
        if leak.is_set(plugin):
            yield Note(level="error", rule=leak.rule or leak.field, text=leak.describe(plugin), fix=leak.fix)
    for field, what in plugin.card.public:
        if getattr(plugin, field):
            text = f"the {what} is not the default: it must be public and not made from private texts"
            yield Note(
                level="info",
                rule="public data",
                text=text,
                fix=f"leave {field} out to use the one that comes with tedaudit",
            )
