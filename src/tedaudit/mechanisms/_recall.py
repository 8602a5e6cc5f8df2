"""Values that were computed before: a likelihood attack asks for the same texts over and over."""

from collections.abc import Callable, Sequence
from typing import TypeVar

Value = TypeVar("Value")
_MOST_KNOWN = 20_000


def recall(
    known: dict[str, Value], keys: Sequence[str], compute: Callable[[list[str]], list[Value]]
) -> dict[str, Value]:
    """Return a value per distinct key, computing those not in the cache; the cache has a maximum size."""
    new = [key for key in dict.fromkeys(keys) if key not in known]
    fresh = dict(zip(new, compute(new), strict=True)) if new else {}
    values = {key: fresh[key] if key in fresh else known[key] for key in dict.fromkeys(keys)}
    if len(known) + len(fresh) > _MOST_KNOWN:
        known.clear()
    known.update(list(fresh.items())[:_MOST_KNOWN])
    return values
