"""The probe of mechanisms that add noise to a latent: the norms of the latent and of the noise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tedaudit.errors import SpecError
from tedaudit.mechanisms._latent import Latent
from tedaudit.paper.definition import Experiment, Outcome, Workspace
from tedaudit.paper.probe_inputs import (
    Subject,
    corpora,
    epsilon_axis,
    options_of,
    sample_texts,
    subjects,
)
from tedaudit.reports.writers.figures import (
    GREY,
    STYLES,
    draw_panels,
    escape_label,
    figures_missing,
)
from tedaudit.results.section import Column, Section, Table
from tedaudit.seeding import derive

_FORMULAS = {
    "gaussian": "the classical Gaussian formula",
    "analytic_gaussian": "the analytic Gaussian calibration",
    "laplace": "the Laplace formula",
}

_OF = (Column("mechanism", "label", 0), Column("corpus", "label", 0))
_LATENTS = (
    *_OF, Column("texts", "number", 2), Column("mean", "number", 0), Column("standard deviation", "number"),
    Column("most that clipping allows", "number"),
)  # fmt: skip
_NOISE = (
    *_OF, Column("epsilon per sentence", "number", 0), Column("noise, measured", "number", 0),
    Column("standard deviation", "number", 2), Column("noise, expected", "number"),
    Column("latent / noise", "number"), Column("in the paper", "number"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Level:
    """The result at one epsilon: the norm of the noise, measured and expected, and latent over noise."""

    epsilon: float
    measured: float
    measured_spread: float
    expected: float
    ratio: float


@dataclass(frozen=True, slots=True)
class Lengths:
    """The result for one mechanism on one corpus."""

    label: str
    corpus: str
    formula: str  # by which the noise is scaled
    texts: int
    norm: float
    spread: float
    largest: float
    levels: tuple[Level, ...]

    @property
    def title(self) -> str:
        """Its name in figures and notes."""
        return f"{self.label}, {self.corpus}"

    @property
    def exponent(self) -> float:
        """The power of epsilon with which the ratio grows, by least squares of the logarithms."""
        x = np.log([level.epsilon for level in self.levels])
        return float(np.polyfit(x, np.log([level.ratio for level in self.levels]), 1)[0])


def noise(experiment: Experiment, _place: Workspace) -> Outcome:
    """Measure latents after clipping and the noise that is added to them, by the mechanism's own code."""
    options = options_of(experiment, count=500, draws=20, seed=42, reported={})
    samples = {
        name: sample_texts(corpus, int(options["count"]), int(options["seed"]))
        for name, corpus in corpora(experiment)
    }
    keys = [derive(int(options["seed"]), "noise", number) for number in range(int(options["draws"]))]
    lengths = [
        _measure_lengths(subject, name, texts, keys)
        for subject in subjects(experiment)
        for name, texts in samples.items()
    ]
    return Outcome(
        _tell_norms(lengths, options["reported"]),
        {} if figures_missing() else {"norms": figure(lengths)},
        _write_notes(lengths, options["reported"]),
    )


def _measure_lengths(subject: Subject, corpus: str, texts: Sequence[str], keys: Sequence[int]) -> Lengths:
    mechanism = subject.mechanism
    if not isinstance(mechanism, Latent):
        raise SpecError(f"'{subject.label}' adds no noise to a latent; this experiment is for those that do.")
    norms = np.linalg.norm(np.asarray(mechanism.encode(texts), dtype=np.float64), axis=1)
    norm = float(norms.mean())
    levels = []
    for epsilon in subject.epsilons:
        drawn = np.linalg.norm(mechanism.noise_of(keys, epsilon), axis=1)
        expected = mechanism.noise_norm(epsilon)
        levels.append(
            Level(
                epsilon=epsilon,
                measured=float(drawn.mean()),
                measured_spread=float(drawn.std()),
                expected=expected,
                ratio=norm / expected,
            )
        )
    spread, largest = float(norms.std()), mechanism.largest_norm()
    formula = _FORMULAS[mechanism.noise]
    return Lengths(
        label=subject.label,
        corpus=corpus,
        formula=formula,
        texts=len(texts),
        norm=norm,
        spread=spread,
        largest=largest,
        levels=tuple(levels),
    )


def _tell_norms(lengths: Sequence[Lengths], reported: Mapping[str, Any]) -> tuple[Section, ...]:
    latents = tuple((n.label, n.corpus, n.texts, n.norm, n.spread, n.largest) for n in lengths)
    rows = tuple(
        (
            norms.label, norms.corpus, at.epsilon, at.measured, at.measured_spread, at.expected, at.ratio,
            _find_reported(reported, norms.label, at.epsilon),
        )
        for norms in lengths
        for at in norms.levels
    )  # fmt: skip
    return (
        Section("L2 norm of the latent after clipping", Table(_LATENTS, latents)),
        Section("L2 norm of the noise", Table(_NOISE, rows)),
    )


def _find_reported(reported: Mapping[str, Any], label: str, epsilon: float) -> float | None:
    """Return the ratio that the paper reports, or None if it reports none."""
    of_label = {float(key): float(value) for key, value in reported.get(label, {}).items()}
    return of_label.get(epsilon)


def _write_notes(lengths: Sequence[Lengths], reported: Mapping[str, Any]) -> tuple[str, ...]:
    notes = []
    for norms in lengths:
        notes.append(f"{norms.title}: the noise that ran here is by {norms.formula}.")
        notes.append(
            f"{norms.title}: the norm after clipping is {norms.norm:.2f}, {norms.norm / norms.largest:.0%} "
            "of the most that clipping allows; its standard deviation is "
            f"{norms.spread / norms.norm:.1%} of it."
        )
        worst = max(abs(at.measured / at.expected - 1) for at in norms.levels)
        notes.append(
            f"{norms.title}: measured noise is within {worst:.2%} of its expected norm at every epsilon."
        )
        if len(norms.levels) > 1:
            proportion = "in" if abs(norms.exponent - 1) < 0.005 else "not in"
            notes.append(
                f"{norms.title}: the ratio grows as epsilon to the power of {norms.exponent:.2f}, "
                f"{proportion} proportion to epsilon."
            )
        pairs = [(at, _find_reported(reported, norms.label, at.epsilon)) for at in norms.levels]
        ratios = [f"{at.ratio:.2f} and {value:.2f} at {at.epsilon:g}" for at, value in pairs if value]
        if ratios:
            notes.append(f"{norms.title}: ratio here and in the paper: {', '.join(ratios)}.")
    return tuple(notes)


def figure(lengths: Sequence[Lengths]) -> Any:
    """Draw the norms, and beside them their ratio."""
    with draw_panels(2, (4.2, 3.6)) as (drawn, (norms, ratios)):
        for number, drawn_lengths in enumerate(lengths):
            _draw_lengths(norms, ratios, drawn_lengths, number)
        ratios.axhline(1.0, linestyle="--", color=GREY, linewidth=1)
        labels = (("L2 norm", "(a) latent after clipping, and noise"), ("latent / noise", "(b) their ratio"))
        for axes, (label, title) in zip((norms, ratios), labels, strict=True):
            axes.set(yscale="log", ylabel=label)
            axes.set_title(title, fontsize=9)
            epsilon_axis(axes, [at.epsilon for each in lengths for at in each.levels], "sentence")
        norms.legend(frameon=False, fontsize=8)
    return drawn


def _draw_lengths(norms: Any, ratios: Any, lengths: Lengths, number: int) -> None:
    """Draw one mechanism on one corpus: expected noise as a line, measured noise as marks."""
    colour, marker = STYLES[number % len(STYLES)]
    levels, norm, title = lengths.levels, lengths.norm, lengths.title
    epsilons = [at.epsilon for at in levels]
    norms.plot(epsilons, [at.expected for at in levels], color=colour, label=escape_label(f"{title}: noise"))
    norms.plot(epsilons, [at.measured for at in levels], color=colour, marker=marker, linestyle="")
    norms.plot(
        epsilons, [norm] * len(epsilons), color=colour, linestyle=":", label=escape_label(f"{title}: latent")
    )
    low, high = max(norm - lengths.spread, norm / 10), norm + lengths.spread
    norms.fill_between(epsilons, low, high, color=colour, alpha=0.2, linewidth=0)
    ratios.plot(epsilons, [at.ratio for at in levels], color=colour, marker=marker, label=escape_label(title))
