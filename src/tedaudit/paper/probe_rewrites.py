"""Probes that show rewrites: examples side by side, the spread over seeds, and how texts are tokenized."""

import math
from collections.abc import Sequence
from itertools import combinations

from tedaudit.paper.definition import Experiment, Outcome, Workspace
from tedaudit.paper.probe_inputs import (
    Subject,
    choose_texts,
    cosines,
    draws_for,
    format_rewrite,
    mean,
    options_of,
    subjects,
)
from tedaudit.plugins.protocols import CutsTexts
from tedaudit.plugins.values import Draw, Rewrite
from tedaudit.results.section import Cell, Column, Section, Table
from tedaudit.seeding import derive

Row = tuple[Cell, ...]
_TEXT, _MECHANISM = Column("text", rank=0), Column("mechanism", "label", 0)
_EPSILON = Column("epsilon", "number", 0)


def examples(experiment: Experiment, _place: Workspace) -> Outcome:
    """Rewrite a few texts with every mechanism at every epsilon, and measure the similarity to the source."""
    options = options_of(experiment, texts=[], seed=42, encoder="lexical")
    texts = choose_texts(experiment, options["texts"])
    shown: list[Row] = [(f"text {n}", "(source)", None, "", text) for n, text in enumerate(texts, 1)]
    numbers: list[tuple[str, float, str, float, int]] = []
    for subject in subjects(experiment):
        draws = draws_for(texts, subject.epsilons, int(options["seed"]), "examples")
        rewrites = subject.mechanism.rewrite(draws)
        for draw, rewrite in zip(draws, rewrites, strict=True):
            place = f"text {texts.index(draw.text) + 1}"
            shown.append(
                (
                    place,
                    subject.label,
                    draw.epsilon,
                    _describe_claim(subject, draw.epsilon),
                    format_rewrite(rewrite),
                )
            )
        for epsilon in subject.epsilons:
            pairs = [(d.text, r) for d, r in zip(draws, rewrites, strict=True) if d.epsilon == epsilon]
            values = cosines(options["encoder"], [t for t, _ in pairs], [r.text for _, r in pairs])
            empty = sum(not rewrite.text for _, rewrite in pairs)
            numbers.append((subject.label, epsilon, _describe_claim(subject, epsilon), mean(values), empty))
    shown.sort(key=_get_text_number)
    measured = (Column(f"mean cosine ({options['encoder']})", "number"), Column("empty or failed", "number"))
    rewritten = (_TEXT, _MECHANISM, _EPSILON, Column("claim"), Column("rewrite", "text"))
    likeness = (_MECHANISM, _EPSILON, Column("claim"), *measured)
    return Outcome(
        (
            Section("Rewrites", Table(rewritten, tuple(shown))),
            Section("Likeness to the source", Table(likeness, tuple(numbers))),
        ),
        notes=_describe_spread(numbers),
    )


def _get_text_number(row: Row) -> int:
    """Return the number of the text that a row is about, to sort rows by text."""
    return int(str(row[0]).removeprefix("text "))


def _describe_spread(numbers: Sequence[tuple[str, float, str, float, int]]) -> tuple[str, ...]:
    """Say how far apart the mechanisms are at each epsilon: the same number need not mean the same thing."""
    notes = []
    for epsilon in sorted({row[1] for row in numbers}):
        cosines = sorted((row[3], row[0]) for row in numbers if row[1] == epsilon)
        (low, least), (high, most) = cosines[0], cosines[-1]
        notes.append(
            f"At nominal epsilon {epsilon:g}, in every mechanism's own unit, the mean cosine to the source "
            f"goes from {low:.2f} ({least}) to {high:.2f} ({most}): a spread of {high - low:.2f}."
        )
    return tuple(notes)


def _describe_claim(subject: Subject, epsilon: float) -> str:
    claim = subject.mechanism.claim(epsilon)
    return "none" if claim is None else str(claim)


def variance(experiment: Experiment, _place: Workspace) -> Outcome:
    """Rewrite texts with several seeds, and say whether a text's rewrites agree less at a high epsilon."""
    options = options_of(experiment, texts=[], seeds=[42, 1234, 101], encoder="lexical")
    texts = choose_texts(experiment, options["texts"])
    shown: list[Row] = []
    numbers: list[Row] = []
    notes: list[str] = []
    for subject in subjects(experiment):
        by_setting = _rewrite_by_seed(subject, texts, options["seeds"])
        for (place, epsilon), rewrites in by_setting.items():
            for seed, rewrite in zip(options["seeds"], rewrites, strict=True):
                shown.append(
                    (subject.label, f"text {place + 1}", epsilon, str(seed), format_rewrite(rewrite))
                )
        own = [
            (
                subject.label,
                f"text {place + 1}",
                epsilon,
                *_measure_agreement(options["encoder"], texts[place], rewrites),
            )
            for (place, epsilon), rewrites in by_setting.items()
        ]
        numbers += own
        notes += _describe_trend(subject, [(row[2], row[5]) for row in own])
    cosine = f"cosine between rewrites ({options['encoder']})"
    measured = [Column(one, "number") for one in ("rewrites", "distinct", cosine, "cosine to the source")]
    by_seed = (_MECHANISM, _TEXT, _EPSILON, Column("seed", rank=0), Column("rewrite", "text"))
    sources: list[Row] = [("(source)", f"text {n}", None, "", text) for n, text in enumerate(texts, 1)]
    return Outcome(
        (
            Section("Rewrites by seed", Table(by_seed, (*sources, *shown))),
            Section(
                "Agreement of a text's rewrites",
                Table((_MECHANISM, _TEXT, _EPSILON, *measured), tuple(numbers)),
            ),
        ),
        notes=tuple(notes),
    )


def _rewrite_by_seed(
    subject: Subject, texts: Sequence[str], seeds: Sequence[int]
) -> dict[tuple[int, float], list[Rewrite]]:
    """Return the rewrites of every text (by position) and epsilon, one per seed."""
    draws = [
        Draw(text, epsilon, derive(seed, "variance", text))
        for text in texts
        for epsilon in subject.epsilons
        for seed in seeds
    ]
    rewrites = iter(subject.mechanism.rewrite(draws))
    return {
        (place, epsilon): [next(rewrites) for _ in seeds]
        for place in range(len(texts))
        for epsilon in subject.epsilons
    }


def _measure_agreement(
    encoder: str, source: str, rewrites: Sequence[Rewrite]
) -> tuple[int, int, float, float]:
    """Return how many rewrites there are, how many differ, and cosines: to each other, to the source."""
    texts = [rewrite.text for rewrite in rewrites]
    pairs = list(combinations(texts, 2))
    between = cosines(encoder, [a for a, _ in pairs], [b for _, b in pairs]) if pairs else []
    return len(texts), len(set(texts)), mean(between), mean(cosines(encoder, [source] * len(texts), texts))


def _describe_trend(subject: Subject, cosines: Sequence[tuple[float, float]]) -> list[str]:
    """Say whether rewrites of a text agree less at the largest epsilon than at the smallest."""
    low, high = subject.epsilons[0], subject.epsilons[-1]
    if low == high:
        return []
    before, after = (mean([c for epsilon, c in cosines if epsilon == level]) for level in (low, high))
    if math.isnan(before):  # one rewrite per text: nothing to compare
        return []
    change = "less" if after < before else "more" if after > before else "just as much"
    seen = "seen" if after < before else "not seen"
    values = f"(mean cosine {before:.2f}, then {after:.2f})"
    span = f"{subject.label}: from epsilon {low:g} to {high:g}"
    return [
        f"{span} rewrites of a text agree {change} {values}. More spread at the larger epsilon is {seen}."
    ]


def tokenization(experiment: Experiment, _place: Workspace) -> Outcome:
    """Show how every mechanism cuts a text into pieces, next to its rewrites."""
    options = options_of(experiment, texts=[], seed=42)
    texts = choose_texts(experiment, options["texts"])
    shown: list[Row] = [(f"text {n}", "(source)", None, text) for n, text in enumerate(texts, 1)]
    counts: list[tuple[str, str, str, int | None, int]] = []
    for subject in subjects(experiment):
        draws = draws_for(texts, subject.epsilons, int(options["seed"]), "tokenization")
        rewrites = iter(subject.mechanism.rewrite(draws))
        for number, text in enumerate(texts, 1):
            pieces = subject.mechanism.pieces(text) if isinstance(subject.mechanism, CutsTexts) else None
            if pieces is not None:
                shown.append((f"text {number}", f"{subject.label}, pieces", None, "|".join(pieces)))
            shown += [
                (f"text {number}", subject.label, e, format_rewrite(next(rewrites))) for e in subject.epsilons
            ]
            size = None if pieces is None else len(pieces)
            counts.append((f"text {number}", subject.label, _get_unit(subject), size, len(text.split())))
    shown.sort(key=_get_text_number)
    measured = (Column("pieces", "number", 0), Column("words between spaces", "number"))
    cut = (_TEXT, _MECHANISM, Column("unit of epsilon"), *measured)
    rewritten = (_TEXT, _MECHANISM, _EPSILON, Column("shown", "text"))
    return Outcome(
        (
            Section("Pieces", Table(cut, tuple(counts))),
            Section("Pieces and rewrites", Table(rewritten, tuple(shown))),
        ),
        notes=_describe_pieces(counts, len(texts)),
    )


def _get_unit(subject: Subject) -> str:
    claim = subject.mechanism.claim(subject.epsilons[0])
    return "none" if claim is None else claim.unit


def _describe_pieces(counts: Sequence[tuple[str, str, str, int | None, int]], texts: int) -> tuple[str, ...]:
    """Say how much the budget of a whole text differs between mechanisms that spend epsilon per piece."""
    notes = []
    for number in range(1, texts + 1):
        rows = [row for row in counts if row[0] == f"text {number}" and row[2] in ("token", "word")]
        sizes = sorted((row[3], row[1]) for row in rows if row[3] is not None)
        if len(sizes) > 1:
            (low, least), (high, most) = sizes[0], sizes[-1]
            notes.append(
                f"Text {number}: mechanisms that spend epsilon per token or word cut it into {low} ({least}) "
                f"to {high} ({most}) pieces. At one draw a piece, the same epsilon costs "
                f"{high / max(low, 1):.2f} times as much in one as in the other."
            )
    return tuple(notes)
