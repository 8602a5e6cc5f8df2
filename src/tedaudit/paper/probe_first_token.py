"""The probe of mechanisms that write token by token: the distribution of the first token, by epsilon.

The distribution is the mechanism's own and exact; nothing is sampled.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tedaudit.errors import SpecError
from tedaudit.mechanisms._generator import Autoregressive
from tedaudit.paper.definition import Experiment, Outcome, Workspace
from tedaudit.paper.probe_inputs import (
    Subject,
    choose_texts,
    corpora,
    epsilon_axis,
    options_of,
    sample_texts,
    subjects,
)
from tedaudit.plugins.values import Floats
from tedaudit.reports.writers.figures import (
    STYLES,
    draw_panels,
    escape_label,
    figures_missing,
)
from tedaudit.results.section import Cell, Column, Section, Table

NEGLIGIBLE = 0.01  # mass on the source's first token below which notes call it negligible

_LEVELS = (
    Column("mechanism", "label", 0), Column("epsilon per token", "number", 0), Column("texts", "number", 2),
    Column("likeliest token", "number"), Column("source's first token", "number"),
    Column("source's tokens", "number"), Column("another text's tokens", "number"),
    Column("entropy (bits)", "number"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Level:
    """The distribution of the first token at one epsilon, averaged over texts."""

    epsilon: float
    average: Floats  # probability of every token
    likeliest: float
    first: float  # mass on the source's own first token
    own: float  # on all tokens of the source
    others: float | None  # on all tokens of another of the texts
    entropy: float


@dataclass(frozen=True, slots=True)
class Start:
    """The result for one mechanism; `refused` texts are too long for it and have no distribution."""

    label: str
    texts: int
    refused: int
    levels: tuple[Level, ...]
    spelled: tuple[tuple[int, str], ...]


def first_token(experiment: Experiment, _place: Workspace) -> Outcome:
    """Compute the distribution of the first token for a few texts and average it."""
    options = options_of(experiment, texts=[], count=5, top=8, seed=42)
    if options["texts"]:
        texts = choose_texts(experiment, options["texts"])
    else:
        loaded = [corpus for _, corpus in corpora(experiment)]
        texts = [t for c in loaded for t in sample_texts(c, int(options["count"]), int(options["seed"]))]
    starts = [_measure_start(subject, texts, int(options["top"])) for subject in subjects(experiment)]
    return Outcome(
        (_tabulate_levels(starts), *map(_tabulate_likeliest, starts)),
        {} if figures_missing() else {"first-token": figure(starts)},
        tuple(note for start in starts for note in _write_notes(start)),
    )


def _measure_start(subject: Subject, texts: Sequence[str], top: int) -> Start:
    mechanism = subject.mechanism
    if not isinstance(mechanism, Autoregressive):
        raise SpecError(
            f"'{subject.label}' does not write token by token; this experiment is for those that do."
        )
    accepted = list(texts)
    levels: list[Level] = []
    for epsilon in subject.epsilons:
        table = mechanism.first_token(accepted, epsilon)
        finite = np.asarray(np.isfinite(table).any(axis=1))
        accepted = [text for text, known in zip(accepted, finite, strict=True) if known]
        table = table[finite]
        if not accepted:
            raise SpecError(
                f"'{subject.label}' refuses all {len(texts)} texts as over-long; give shorter ones."
            )
        levels.append(_measure_level(epsilon, table, [mechanism.source_tokens(text) for text in accepted]))
    best = np.argsort(-levels[-1].average, kind="stable")[:top]
    spelled = tuple((int(token), repr(mechanism.piece(int(token)))) for token in best)
    return Start(
        label=subject.label,
        texts=len(accepted),
        refused=len(texts) - len(accepted),
        levels=tuple(levels),
        spelled=spelled,
    )


def _measure_level(epsilon: float, table: Floats, sources: Sequence[tuple[tuple[int, ...], ...]]) -> Level:
    """Return what the distributions (logarithms, a row per text) say about the texts' own tokens."""
    chances = np.exp(table)
    own = [sorted({token for tokens in source for token in tokens}) for source in sources]
    first = [sorted({tokens[0] for tokens in source if tokens}) for source in sources]
    mass = np.array([chances[:, tokens].sum(axis=1) for tokens in own])  # [whose tokens, whose distribution]
    count = len(sources)
    others = float((mass.sum() - np.trace(mass)) / (count * (count - 1))) if count > 1 else None
    information = np.where(chances > 0, chances * np.where(chances > 0, table, 0.0), 0.0)
    return Level(
        epsilon=epsilon,
        average=chances.mean(axis=0),
        likeliest=float(chances.max(axis=1).mean()),
        first=float(np.mean([chances[row, tokens].sum() for row, tokens in enumerate(first)])),
        own=float(np.trace(mass) / count),
        others=others,
        entropy=float(-information.sum(axis=1).mean() / np.log(2)),
    )


def _tabulate_levels(starts: Sequence[Start]) -> Section:
    rows = tuple(
        (start.label, at.epsilon, start.texts, at.likeliest, at.first, at.own, at.others, at.entropy)
        for start in starts
        for at in start.levels
    )
    return Section("Probability of the first token", Table(_LEVELS, rows))


def _tabulate_likeliest(start: Start) -> Section:
    """Return the tokens that lead at the largest epsilon; they may be words of the source."""
    columns = (
        Column("token", "text", 0), *(Column(f"epsilon {at.epsilon:g}", "number") for at in start.levels)
    )  # fmt: skip
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (text, *(float(at.average[token]) for at in start.levels)) for token, text in start.spelled
    )
    title = f"{start.label}: likeliest first tokens, mean of {start.texts} texts"
    return Section(title, Table(columns, rows))


def _write_notes(start: Start) -> list[str]:
    low, high = start.levels[0], start.levels[-1]
    peak = max(start.levels, key=lambda at: at.first)
    change = "concentrates" if high.entropy < low.entropy else "does not concentrate"
    seen = "seen" if peak.first < NEGLIGIBLE else "not seen"
    span = f"{start.label}: from epsilon {low.epsilon:g} to {high.epsilon:g}"
    likeliest = f"the likeliest first token goes from {low.likeliest:.2g} to {high.likeliest:.2g}"
    entropy = f"the entropy from {low.entropy:.1f} to {high.entropy:.1f} bits"
    most = f"at most {peak.first:.2g} (at epsilon {peak.epsilon:g})"
    rule = f"That it stays negligible (below {NEGLIGIBLE:g}) at every epsilon is {seen}."
    notes = [
        f"{span} {likeliest} and {entropy}: the distribution {change}.",
        f"{start.label}: the source's own first token has {most}. {rule}",
    ]
    if high.others is not None:
        masses = f"the source's tokens have {high.own:.2g}, those of another text {high.others:.2g}"
        notes.append(
            f"{start.label}: at epsilon {high.epsilon:g} {masses}. "
            "If the two are similar, the first token says little about the source."
        )
    if start.refused:
        notes.append(
            f"{start.label}: {start.refused} texts were refused as over-long and are not in the means."
        )
    return notes


def figure(starts: Sequence[Start]) -> Any:
    """Draw probabilities and entropy against epsilon; no token is named, so that no text is revealed."""
    with draw_panels(2, (4.2, 3.6)) as (drawn, (chances, entropy)):
        for number, start in enumerate(starts):
            colour, marker = STYLES[number % len(STYLES)]
            epsilons = [at.epsilon for at in start.levels]
            lines = (("likeliest", "-"), ("own", "--"), ("first", ":"))
            names = ("likeliest token", "source's tokens", "source's first token")
            for (part, dashes), name in zip(lines, names, strict=True):
                values = [getattr(at, part) for at in start.levels]
                chances.plot(
                    epsilons,
                    values,
                    dashes,
                    color=colour,
                    marker=marker,
                    label=escape_label(f"{start.label}: {name}"),
                )
            entropy.plot(epsilons, [at.entropy for at in start.levels], color=colour, marker=marker)
        chances.set(yscale="log", ylabel="probability at the first position")
        entropy.set(ylabel="entropy (bits)", ylim=(0, None))
        for axes in (chances, entropy):
            epsilon_axis(axes, [at.epsilon for start in starts for at in start.levels], "token")
        chances.legend(frameon=False, fontsize=8)
    return drawn
