"""The rule on what tokens are: a likelihood is one of the whole release only if they say all of it."""

from collections.abc import Sequence
from typing import Any

from tedaudit.abilities import HasLikelihood
from tedaudit.errors import ContractError
from tedaudit.types import Rewrite


def check_tokens_tell_all(name: str, plugin: Any, rewrites: Sequence[Rewrite]) -> None:
    """Refuse a mechanism with likelihoods whose tokens leave open which text was released."""
    if not isinstance(plugin, HasLikelihood):
        return
    texts: dict[tuple[int, ...], str] = {}
    for rewrite in rewrites:
        if rewrite.tokens is None or rewrite.error:
            continue
        text = texts.setdefault(rewrite.tokens, rewrite.text)
        if text != rewrite.text:
            raise ContractError(
                f"'{name}' released {text[:60]!r} and {rewrite.text[:60]!r} with the same tokens "
                f"({rewrite.tokens[:8]}). It has `log_likelihood`, which is of the tokens: they must say all "
                "that is released, also words that are kept, letters' case and copied texts."
            )
