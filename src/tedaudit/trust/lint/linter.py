"""Lint: what is wrong with a mechanism can often be seen without a sample.

Card, fields, claims, arithmetic and source code are read; a few texts are rewritten to see how many units are
drawn and which logits there are.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tedaudit.abilities import CallsUserCode, HasOwnEpsilons, KnowsArithmetic, WritesOnce
from tedaudit.api import AnyMechanism, load_corpus
from tedaudit.errors import SpecError
from tedaudit.extras import name_needs
from tedaudit.nominal import Nominal
from tedaudit.registry import build, is_foreign
from tedaudit.spec.model import parse_spec
from tedaudit.trust.lint.budget import GRID, lint_actual, lint_max_units, lint_units
from tedaudit.trust.lint.fields import lint_fields
from tedaudit.trust.lint.model import lint_model
from tedaudit.trust.lint.notes import LintReport
from tedaudit.trust.lint.source import lint_source
from tedaudit.types import Note

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
        yield Note("info", "recorded", "a table of rewrites has no settings that could be looked at")
        return
    if isinstance(plugin, CallsUserCode) and _is_own(plugin) and not hasattr(plugin, "function"):
        yield Note("info", "source", "it runs a program, whose code is not read: try it with a sample")
    elif is_foreign(plugin):
        yield from lint_source(_find_code(plugin))
    own = [*lint_fields(plugin), *_ask_arithmetic(plugin, epsilons, texts)]
    yield from own
    if epsilons:
        if all(note.level != "error" for note in own):  # else they say why its epsilon is another
            yield from lint_actual(plugin, epsilons)
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
    from tedaudit.registry import import_object

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
