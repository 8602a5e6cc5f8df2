"""Refuses an attack that knows of audited rewrites what no adversary knows; part of the contract suite.

An adversary may run the mechanism as often as it likes, with keys of its own. It must not use the key of an
audited draw, which would repeat its noise, and nothing that the mechanism remembers of audited draws.
"""

from collections.abc import Sequence
from copy import copy, deepcopy
from typing import Any

from tedaudit.batches import Draws
from tedaudit.errors import ContractError, SpecError
from tedaudit.types import Draw, Mechanism


def copy_unused(mechanism: Mechanism) -> Mechanism:
    """Return a copy that knows nothing of what the mechanism does from now on."""
    try:
        return deepcopy(mechanism)
    except Exception as error:
        raise SpecError(
            f"'{mechanism.card.name}' cannot be copied ({type(error).__name__}: {error}), so that nobody can "
            "tell whether an attack uses what it remembers. Keep what cannot be copied out of its fields."
        ) from error


def guard_keys(mechanism: Mechanism, audited: Draws, attack: str) -> Mechanism:
    """Return the mechanism as an attack may use it: it refuses the keys of audited draws."""
    keys = frozenset(draw.key for draw in audited)
    kind: Any = type(mechanism)

    class Guarded(kind):  # type: ignore[misc]
        __slots__ = ()

        def rewrite(self, draws: Sequence[Draw]) -> Any:
            if any(draw.key in keys for draw in draws):
                raise ContractError(
                    f"'{attack}' asked the mechanism for a rewrite with the key of an audited draw: it would "
                    "repeat the very noise that hides the source. Draw with keys of your own "
                    "(`tedaudit.seeding.derive` with a purpose of its own)."
                )
            return super().rewrite(draws)

    Guarded.__module__, Guarded.__qualname__, Guarded.__name__ = (
        kind.__module__, kind.__qualname__, kind.__name__,
    )  # fmt: skip
    guarded = copy(mechanism)
    object.__setattr__(guarded, "__class__", Guarded)
    return guarded
