"""What the mechanisms share that run an anonymiser of somebody else: no epsilon, one text at a time."""

import importlib.metadata
from collections.abc import Callable, Sequence
from functools import partial

from tedaudit.errors import InfrastructureError
from tedaudit.models.calling import retry
from tedaudit.plugins.batches import Draws, Rewrites
from tedaudit.plugins.nominal import NO_EPSILON
from tedaudit.plugins.values import Claim, Rewrite


class WithoutEpsilon:
    """Takes no epsilon and promises nothing: an audit says what its outputs tell, and gives no verdict."""

    def claim(self, epsilon: float) -> Claim | None:  # noqa: ARG002 - takes no epsilon
        """Promise nothing."""
        return None

    def epsilons(self, asked: Sequence[float]) -> Sequence[float]:  # noqa: ARG002
        """Return the only setting."""
        return (NO_EPSILON,)


def rewrite_each(name: str, draws: Draws, call: Callable[[str, int], str], *, is_fixed: bool) -> Rewrites:
    """Return what `call` makes of every text and key; whatever it raises is a failed rewrite.

    `is_fixed` if the key has no influence: every text of the batch is then done once.
    """
    known: dict[tuple[str, int], Rewrite] = {}
    wanted = [(draw.text, 0 if is_fixed else draw.key) for draw in draws]
    for text, key in wanted:
        if (text, key) not in known:
            known[text, key] = _rewrite_one(name, partial(call, text, key))
    return Rewrites.of([known[item] for item in wanted])


def _rewrite_one(name: str, call: Callable[[], str]) -> Rewrite:
    try:
        return Rewrite(retry(call, name))
    except InfrastructureError:
        raise
    except Exception as error:  # what a package does with a text is an output, failures included
        return Rewrite("", error=f"raised-{type(error).__name__}")


def read_versions(*packages: str) -> dict[str, str]:
    """Return the versions of installed packages, by name: another version may redact otherwise."""
    return {package: importlib.metadata.version(package) for package in packages}
