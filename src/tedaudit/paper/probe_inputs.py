"""What the probes share: mechanisms to examine, texts to try them on, and options."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from tedaudit.errors import SpecError, did_you_mean, join_names
from tedaudit.models.encoders.sentence import load_encoder
from tedaudit.paper.definition import Experiment
from tedaudit.plugins.registry import build
from tedaudit.plugins.values import Corpus, Draw, Rewrite
from tedaudit.reports.writers.figures import mark_epsilons
from tedaudit.runs.preparation import epsilons_of
from tedaudit.runs.spec.model import MechanismSpec, PluginSpec, distinct_titles
from tedaudit.seeding import derive, uniforms

Spec = TypeVar("Spec", bound=PluginSpec)


@dataclass(frozen=True, slots=True)
class Subject:
    """A mechanism to probe: its name in results, and the epsilons to try."""

    label: str
    mechanism: Any
    epsilons: tuple[float, ...]


def options_of(experiment: Experiment, **defaults: Any) -> dict[str, Any]:
    """Return a probe's options, with defaults for those that are not given; unknown ones are refused."""
    for name in experiment.options:
        if name not in defaults:
            raise SpecError(
                f"Experiment '{experiment.id}' has no option '{name}'.{did_you_mean(name, defaults)} "
                f"It takes: {join_names(defaults)}."
            )
    return {**defaults, **experiment.options}


def subjects(experiment: Experiment) -> Iterator[Subject]:
    """Yield the mechanisms one by one, so that only one has its models in memory."""
    specs = [_read_spec(MechanismSpec, given, experiment) for given in experiment.mechanisms]
    try:
        distinct_titles("mechanisms", [spec.title for spec in specs])
    except ValueError as error:
        raise SpecError(f"Experiment '{experiment.id}': {error}.") from error
    for spec in specs:
        mechanism = build(spec.reference("mechanism"))
        epsilons = epsilons_of(spec, mechanism, experiment.epsilons)
        yield Subject(spec.title, mechanism, tuple(sorted(epsilons)))


def corpora(experiment: Experiment) -> Iterator[tuple[str, Corpus]]:
    """Yield an experiment's corpora by title."""
    for given in experiment.corpora:
        spec = _read_spec(PluginSpec, given, experiment)
        yield spec.title, build(spec.reference("corpus")).load()


def _read_spec(kind: type[Spec], given: Any, experiment: Experiment) -> Spec:
    """Return the spec of a plug-in that a definition names."""
    try:
        return kind.model_validate(given)
    except ValueError as error:
        raise SpecError(
            f"Experiment '{experiment.id}': {given!r} is not a plug-in; it must be a name, or a name "
            "and fields."
        ) from error


def choose_texts(experiment: Experiment, wanted: Sequence[str | int]) -> list[str]:
    """Return the wanted texts: given in full, or by position in the first corpus."""
    if not isinstance(wanted, list) or not wanted:
        raise SpecError(
            f"Experiment '{experiment.id}': option 'texts' is {wanted!r}; it must be a list of texts, or of "
            "positions in the first corpus."
        )
    pool: tuple[str, ...] = ()
    if any(isinstance(text, int) for text in wanted):
        first = next(corpora(experiment), None)
        if first is None:
            raise SpecError(
                f"Experiment '{experiment.id}' names texts by position but no corpus; add a corpus."
            )
        pool = first[1].texts
    for text in wanted:
        if isinstance(text, int) and not 0 <= text < len(pool):
            raise SpecError(
                f"Experiment '{experiment.id}': there is no text {text}; the corpus has {len(pool):,}."
            )
    return [pool[text] if isinstance(text, int) else text for text in wanted]


def sample_texts(corpus: Corpus, count: int, seed: int) -> list[str]:
    """Return `count` texts of a corpus, drawn without replacement; all if it has no more."""
    coins = uniforms([derive(seed, "probe texts")], len(corpus.texts))[0]
    return [corpus.texts[i] for i in np.argsort(coins, kind="stable")[:count]]


def draws_for(texts: Sequence[str], epsilons: Sequence[float], seed: int, purpose: str) -> list[Draw]:
    """Return a draw per text and epsilon; the epsilons of a text share one noise."""
    keys = {text: derive(seed, purpose, text) for text in texts}
    return [Draw(text, epsilon, keys[text]) for text in texts for epsilon in epsilons]


def format_rewrite(rewrite: Rewrite) -> str:
    """Return a rewrite as a table shows it: a failed or empty one is marked, not left blank."""
    if rewrite.error:
        return f"(failed: {rewrite.error})"
    return rewrite.text or "(empty)"


def cosines(encoder: str, first: Sequence[str], second: Sequence[str]) -> list[float]:
    """Return the cosine of each pair of texts; 1 for equal texts, empty ones included."""
    loaded = load_encoder(encoder)
    cosines = np.asarray((loaded.encode(list(first)) * loaded.encode(list(second))).sum(axis=1)).ravel()
    pairs = zip(first, second, cosines.tolist(), strict=True)
    return [1.0 if left == right else float(cosine) for left, right, cosine in pairs]


def mean(values: Sequence[float]) -> float:
    """Return the mean; nan for an empty list."""
    return sum(values) / len(values) if values else float("nan")


def epsilon_axis(axes: Any, epsilons: Sequence[float], unit: str) -> None:
    """Give a panel a logarithmic axis with a mark at every epsilon tried, and a light frame."""
    mark_epsilons(axes, sorted(set(epsilons)), rf"nominal $\epsilon$ per {unit}")
    axes.grid(axis="y", color="#dddddd", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
