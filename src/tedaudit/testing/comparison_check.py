"""Refuses a mechanism whose `compare` contradicts its own likelihoods; part of the contract suite."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tedaudit.abilities import HasLikelihood, can_compare
from tedaudit.batches import Rewrites
from tedaudit.errors import ContractError
from tedaudit.types import Draw

_ROUNDING = 1e-5  # of a figure: logits are kept to seven digits


def check_comparison(mechanism: Any, name: str, texts: Sequence[str], epsilon: float) -> None:
    """Hold what `compare` says of neighbouring texts against likelihoods, terms and the largest loss."""
    if not can_compare(mechanism):
        return
    pairs = list(zip(texts, [*texts[1:], *texts[:1]], strict=True))
    done = Rewrites.of(mechanism.rewrite([Draw(text, epsilon, i) for i, (text, _) in enumerate(pairs)]))
    has_tokens = isinstance(mechanism, HasLikelihood)
    released = [rewrite.tokens if has_tokens else rewrite.latent for rewrite in done]
    given = [i for i, part in enumerate(released) if part is not None and not done.errors[i]]
    scores, losses = mechanism.compare([released[i] for i in given], [pairs[i] for i in given], epsilon)
    for place, i in enumerate(given):
        if has_tokens:
            own = mechanism.log_likelihood(released[i], pairs[i], epsilon)
        else:
            own = mechanism.log_density(released[i], mechanism.encode(pairs[i]), epsilon)
        _hold(name, np.asarray(scores[place]), np.asarray(own), losses[place])


def _hold(name: str, compared: Any, own: Any, loss: Any) -> None:
    """Refuse one pair's figures that cannot all be true."""
    if not np.allclose(compared, own, rtol=_ROUNDING, atol=_ROUNDING):
        raise ContractError(
            f"'{name}': `compare` gives a pair of texts the log-likelihoods {compared.tolist()}, and "
            f"`log_likelihood` or `log_density` gives {own.tolist()}; they must be the same."
        )
    size = _ROUNDING * (1 + float(np.abs(np.where(np.isfinite(own), own, 0.0)).max()))
    with np.errstate(invalid="ignore"):
        gap = float(own[0] - own[1])
    if loss.terms is not None and not abs(float(np.sum(loss.terms)) - gap) <= size:
        raise ContractError(
            f"'{name}': the terms of a pair add up to {float(np.sum(loss.terms)):.6g}, and its "
            f"log-likelihoods differ by {gap:.6g}; they must be the same."
        )
    if abs(gap) > loss.largest + size:  # never if the largest loss is not known
        raise ContractError(
            f"'{name}': an output has a loss of {abs(gap):.6g}, above the {loss.largest:.6g} that `compare` "
            "calls the largest of any."
        )
