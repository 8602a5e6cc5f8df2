"""Lint: what the card of a mechanism says of the values that its fields have."""

from collections.abc import Iterator
from typing import Any

from tedaudit.types import Note


def lint_fields(plugin: Any) -> Iterator[Note]:
    """Yield the fields with which no finite epsilon holds, and those that need public data."""
    for leak in plugin.card.leaks:
        if leak.is_set(plugin):
            yield Note("error", leak.rule or leak.field, leak.describe(plugin), leak.fix)
    for field, what in plugin.card.public:
        if getattr(plugin, field):
            text = f"the {what} was given; it must be public and not taken from private texts"
            yield Note(
                "info", "public data", text, f"{field}: leave out for the one that comes with tedaudit"
            )
