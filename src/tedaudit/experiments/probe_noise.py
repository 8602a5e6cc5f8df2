"""The probe of mechanisms that add noise to a latent: how long the latent is, and how long the noise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tedaudit.errors import SpecError
from tedaudit.experiments.definition import Experiment
from tedaudit.experiments.outcome import Outcome, Table
from tedaudit.experiments.place import Place
from tedaudit.experiments.probe_inputs import (
    Subject,
    corpora,
    epsilon_axis,
    options_of,
    sampled_texts,
    subjects,
)
from tedaudit.mechanisms._latent import Latent
from tedaudit.reports.figures import STYLES, figures_missing, plain
from tedaudit.seeding import derive


@dataclass(frozen=True, slots=True)
class Level:
    """What was found at one epsilon: norms of clipped latents and of the noise, measured and expected."""

    epsilon: float
    measured: float
    measured_spread: float
    expected: float
    ratio: float


@dataclass(frozen=True, slots=True)
class Lengths:
    """What was found for one mechanism on one corpus."""

    label: str
    corpus: str
    texts: int
    norm: float
    spread: float
    largest: float
    levels: tuple[Level, ...]

    @property
    def title(self) -> str:
        """How figures and notes call it."""
        return f"{self.label}, {self.corpus}"

    @property
    def exponent(self) -> float:
        """The power of epsilon with which the ratio grows, by least squares of the logarithms."""
        x = np.log([level.epsilon for level in self.levels])
        return float(np.polyfit(x, np.log([level.ratio for level in self.levels]), 1)[0])


def noise(experiment: Experiment, _place: Place) -> Outcome:
    """Measure latents after clipping and the noise that is added to them, by the mechanism's own code."""
    options = options_of(experiment, count=500, draws=20, seed=42, reported={})
    samples = {
        name: sampled_texts(corpus, int(options["count"]), int(options["seed"]))
        for name, corpus in corpora(experiment)
    }
    keys = [derive(int(options["seed"]), "noise", number) for number in range(int(options["draws"]))]
    found = [
        _lengths(subject, name, texts, keys)
        for subject in subjects(experiment)
        for name, texts in samples.items()
    ]
    return Outcome(
        _tables(found, options["reported"]),
        {} if figures_missing() else {"norms": figure(found)},
        _notes(found, options["reported"]),
    )


def _lengths(subject: Subject, corpus: str, texts: Sequence[str], keys: Sequence[int]) -> Lengths:
    mechanism = subject.mechanism
    if not isinstance(mechanism, Latent):
        raise SpecError(f"'{subject.label}' adds no noise to a latent; this experiment is for those that do.")
    norms = np.linalg.norm(mechanism.encode(texts).astype(np.float64), axis=1)
    norm = float(norms.mean())
    levels = []
    for epsilon in subject.epsilons:
        drawn = np.linalg.norm(mechanism.noise_of(keys, epsilon), axis=1)
        expected = mechanism.noise_norm(epsilon)
        levels.append(Level(epsilon, float(drawn.mean()), float(drawn.std()), expected, norm / expected))
    spread, largest = float(norms.std()), mechanism.largest_norm()
    return Lengths(subject.label, corpus, len(texts), norm, spread, largest, tuple(levels))


def _tables(found: Sequence[Lengths], reported: Mapping[str, Any]) -> tuple[Table, ...]:
    latents = Table(
        "L2 norm of the latent after clipping",
        ("mechanism", "corpus", "texts", "mean", "standard deviation", "most that clipping allows"),
        tuple((one.label, one.corpus, one.texts, one.norm, one.spread, one.largest) for one in found),
    )
    rows = [
        (
            one.label, one.corpus, at.epsilon, at.measured, at.measured_spread, at.expected, at.ratio,
            _reported(reported, one.label, at.epsilon),
        )
        for one in found
        for at in one.levels
    ]  # fmt: skip
    headings = (
        "mechanism", "corpus", "epsilon per sentence", "noise, measured", "standard deviation",
        "noise, expected", "latent / noise", "in the paper",
    )  # fmt: skip
    return latents, Table("L2 norm of the noise", headings, tuple(rows))


def _reported(reported: Mapping[str, Any], label: str, epsilon: float) -> float | None:
    """Return the ratio that the paper gives, where it gives one."""
    of_label = {float(key): float(value) for key, value in reported.get(label, {}).items()}
    return of_label.get(epsilon)


def _notes(found: Sequence[Lengths], reported: Mapping[str, Any]) -> tuple[str, ...]:
    notes = []
    for one in found:
        notes.append(
            f"{one.title}: the norm after clipping is {one.norm:.2f}, {one.norm / one.largest:.0%} of the "
            f"most that clipping allows; its standard deviation is {one.spread / one.norm:.1%} of it."
        )
        worst = max(abs(at.measured / at.expected - 1) for at in one.levels)
        notes.append(
            f"{one.title}: measured noise is within {worst:.2%} of its expected norm at every epsilon."
        )
        if len(one.levels) > 1:
            proportion = "in" if abs(one.exponent - 1) < 0.005 else "not in"
            notes.append(
                f"{one.title}: the ratio grows as epsilon to the power of {one.exponent:.2f}, "
                f"{proportion} proportion to epsilon."
            )
        pairs = [(at, _reported(reported, one.label, at.epsilon)) for at in one.levels]
        told = [f"{at.ratio:.2f} and {value:.2f} at {at.epsilon:g}" for at, value in pairs if value]
        if told:
            notes.append(f"{one.title}: ratio here and in the paper: {', '.join(told)}.")
    return tuple(notes)


def figure(found: Sequence[Lengths]) -> Any:
    """Draw the norms, and beside them their ratio."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"pdf.fonttype": 42, "font.size": 9}):
        drawn = Figure(figsize=(8.4, 3.6), layout="constrained")
        norms, ratios = drawn.subplots(1, 2)
        for number, one in enumerate(found):
            _draw(norms, ratios, one, number)
        ratios.axhline(1.0, linestyle="--", color="#666666", linewidth=1)
        labels = (("L2 norm", "(a) latent after clipping, and noise"), ("latent / noise", "(b) their ratio"))
        for axes, (label, title) in zip((norms, ratios), labels, strict=True):
            axes.set(yscale="log", ylabel=label)
            axes.set_title(title, fontsize=9)
            epsilon_axis(axes, [at.epsilon for one in found for at in one.levels], "sentence")
        norms.legend(frameon=False, fontsize=8)
    return drawn


def _draw(norms: Any, ratios: Any, one: Lengths, number: int) -> None:
    """Draw one mechanism on one corpus: the noise as a line where expected, as marks where measured."""
    colour, marker = STYLES[number % len(STYLES)]
    epsilons = [at.epsilon for at in one.levels]
    norms.plot(epsilons, [at.expected for at in one.levels], color=colour, label=plain(f"{one.title}: noise"))
    norms.plot(epsilons, [at.measured for at in one.levels], color=colour, marker=marker, linestyle="")
    norms.plot(
        epsilons, [one.norm] * len(epsilons), color=colour, linestyle=":", label=plain(f"{one.title}: latent")
    )
    low, high = max(one.norm - one.spread, one.norm / 10), one.norm + one.spread
    norms.fill_between(epsilons, low, high, color=colour, alpha=0.2, linewidth=0)
    ratios.plot(
        epsilons, [at.ratio for at in one.levels], color=colour, marker=marker, label=plain(one.title)
    )
