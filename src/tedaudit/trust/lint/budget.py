"""Lint: the epsilon that the noise really gives, and the number of units that are really released."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from tedaudit.mechanisms._latent import Latent
from tedaudit.mechanisms._noise import sigma_for, true_epsilon
from tedaudit.seeding import derive
from tedaudit.trust.lint.notes import Note
from tedaudit.types import Draw

GRID = (0.1, 0.5, 1.0, 10.0, 50.0, 100.0, 250.0, 750.0, 1000.0, 2500.0)
_SLACK = 1.001


def lint_budget(plugin: Any, epsilons: Sequence[float]) -> Iterator[Note]:
    """Yield what is wrong with a claim at these epsilons; a mechanism without a claim has nothing wrong."""
    if isinstance(plugin, Latent):
        yield from _check_formula(plugin, epsilons)
        yield from _check_sensitivity(plugin, epsilons)
    else:
        yield from _check_actual(plugin, epsilons)
    claim = plugin.claim(epsilons[0])
    if claim is not None and claim.max_units is None:
        text = f"nothing bounds the number of {claim.unit}s, so a whole release has no finite epsilon"
        yield Note("error", "max_units", text, "length=fixed" if hasattr(plugin, "length") else "max_units")


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


def _check_formula(plugin: Latent, epsilons: Sequence[float]) -> Iterator[Note]:
    """Yield whether the formula for the noise is used beyond what was proven for it."""
    if plugin.noise != "gaussian":
        return
    real = {e: true_epsilon(1.0, sigma_for("gaussian", 1.0, e, plugin.delta), plugin.delta) for e in epsilons}
    wrong = {e: value for e, value in real.items() if value > e * _SLACK}
    if wrong:
        listed = ", ".join(f"{e:g} is really {value:.4g}" for e, value in wrong.items())
        text = f"the classical Gaussian formula is proven for epsilon < 1; at delta {plugin.delta:g} {listed}"
        yield Note("error", "Gaussian formula", text, "noise=analytic_gaussian")


def _check_sensitivity(plugin: Latent, epsilons: Sequence[float]) -> Iterator[Note]:
    """Yield whether the noise is scaled for another distance than two latents can have."""
    epsilon = epsilons[-1]
    scaled_for = _find_scaled_for(plugin, epsilon)
    distance = plugin.sensitivity()
    if distance <= scaled_for * _SLACK:
        return
    if plugin.noise == "laplace":
        real, norm = epsilon * distance / scaled_for, "L1"
    else:
        real, norm = true_epsilon(distance, plugin.noise_scale(epsilon), plugin.delta), "L2"
    clipped = "norm" if plugin.clipping == "norm" else "value"
    text = (
        f"two latents clipped by {clipped} can be {distance:.4g} apart ({norm}), and the noise is scaled for "
        f"{scaled_for:.4g}: epsilon {epsilon:g} is really {real:.4g}"
    )
    wrong = getattr(plugin, "laplace_sensitivity", "") == "l2"
    yield Note("error", "sensitivity", text, "laplace_sensitivity=l1" if wrong else "noised_for_clip=0")


def _find_scaled_for(plugin: Latent, epsilon: float) -> float:
    """Return the sensitivity that the scale of the noise stands for."""
    return plugin.noise_scale(epsilon) / sigma_for(plugin.noise, 1.0, epsilon, plugin.delta)


def _check_actual(plugin: Any, epsilons: Sequence[float]) -> Iterator[Note]:
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
