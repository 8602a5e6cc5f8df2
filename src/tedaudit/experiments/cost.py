"""What an experiment costs: rewrites and guesses, and minutes on this machine by a short timing.

Minutes of another machine would say nothing here, so none are stored: each mechanism rewrites some texts of
the demo corpus, each attack guesses on them, and rows times seconds is what is told.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tedaudit.estimators import DEFAULT_ESTIMATOR, find_estimator
from tedaudit.experiments.definition import AUDITS, Experiment, corpus_name
from tedaudit.forecast.forecast import Forecast, plan_audit
from tedaudit.reports.section import Column, Section, Table
from tedaudit.spec.model import MechanismSpec, PluginSpec

_TIMED = {
    "corpus": {"name": "demo", "size": 200}, "epsilons": [10, 1000], "plans": [{"k": 2, "lambda": 0}],
    "trials": 200,
}  # fmt: skip

_PLAN = (
    Column("corpus", "label", 0), Column("mechanism", "label", 0), Column("epsilons", "number"),
    Column("rewrites at most", "number"), Column("guesses at most", "number"),
)  # fmt: skip


@dataclass(frozen=True)
class CostShare:
    """Rewrites of one mechanism on one corpus in an experiment, and the attacks that guess on each."""

    corpus: str
    mechanism: Mapping[str, Any]
    attacks: tuple[Mapping[str, Any], ...]
    epsilons: int
    rows: int


@dataclass(frozen=True)
class Minutes:
    """Minutes of an experiment here; `untimed` names what they leave out."""

    value: float
    untimed: tuple[str, ...] = ()


def list_shares(experiment: Experiment) -> list[CostShare]:
    """Return what an experiment asks for if nothing is stored yet; nothing if it is no audit."""
    if experiment.kind not in AUDITS:
        return []
    shares = []
    for audit in _list_audits(experiment):
        plans = [find_estimator(plan.get("estimator", DEFAULT_ESTIMATOR)) for plan in audit["plans"]]
        rows = sum(plan.rows_per_trial for plan in plans) * sum(audit["trials"])
        attacks = tuple(map(_as_mapping, audit["attacks"]))
        for corpus in audit["corpora"]:
            for mechanism in map(_as_mapping, experiment.mechanisms_on(corpus, audit["mechanisms"])):
                epsilons = mechanism.pop("epsilons", None) or audit["epsilons"]
                shares.append(
                    CostShare(corpus_name(corpus), mechanism, attacks, len(epsilons), rows * len(epsilons))
                )
    return shares


def _list_audits(experiment: Experiment) -> Iterator[dict[str, Any]]:
    """Yield the settings of every audit of an experiment: those for all mechanisms, and those for some."""
    given = [experiment.trials] if "trials" in experiment.changed else []
    main = {
        "corpora": experiment.corpora, "mechanisms": experiment.mechanisms, "epsilons": experiment.epsilons,
        "plans": experiment.plans, "attacks": experiment.attacks,
        "trials": sorted({*experiment.options.get("trials", [experiment.trials]), *given}),
    }  # fmt: skip
    yield main
    also = dict(experiment.options.get("also", {}))
    if also:
        also["trials"] = [also.get("trials", experiment.trials)]
        yield {**main, **also}


def tabulate_plan(experiment: Experiment) -> Section:
    """Return what an experiment would run, corpus by corpus; rewrites are counted for audits alone."""
    rows: list[tuple[str, Mapping[str, Any], int, int | None, int | None]] = [
        (share.corpus, share.mechanism, share.epsilons, share.rows, share.rows * len(share.attacks))
        for share in list_shares(experiment)
    ]
    if experiment.kind not in AUDITS:
        studies = [study["corpus"] for study in experiment.options.get("studies", [])]
        rows = [
            (corpus_name(corpus), one, len(one.get("epsilons", experiment.epsilons)), None, None)
            for corpus in studies or experiment.corpora
            for one in map(_as_mapping, experiment.mechanisms_on(corpus))
        ]
    titled = [(corpus, one.get("label", one["name"]), *counts) for corpus, one, *counts in rows]
    title = f"{experiment.id} at scale {experiment.scale}"
    return Section(title, Table(_PLAN, tuple(titled)), sentences=experiment.remarks)


def count_rewrites(experiment: Experiment) -> int | None:
    """Return how many rewrites an audit takes at most; None if the experiment is no audit."""
    shares = list_shares(experiment)
    return sum(share.rows for share in shares) if shares else None


def count_guesses(experiment: Experiment) -> int | None:
    """Return how many guesses an audit takes at most; None if the experiment is no audit."""
    shares = list_shares(experiment)
    return sum(share.rows * len(share.attacks) for share in shares) if shares else None


def time_experiments(experiments: Sequence[Experiment]) -> dict[str, Minutes]:
    """Return the minutes of every audit among some experiments, each mechanism and attack timed once."""
    shares = {experiment.id: list_shares(experiment) for experiment in experiments}
    every = [share for own in shares.values() for share in own]
    mechanisms = _number([share.mechanism for share in every], "m")
    attacks = _number([attack for share in every for attack in share.attacks], "a")
    forecast = plan_audit({
        **_TIMED, "name": "timing",
        "mechanisms": [{**json.loads(key), "label": label} for key, label in mechanisms.items()],
        "attacks": [{**json.loads(key), "label": label} for key, label in attacks.items()],
    })  # fmt: skip
    return {name: _add_up(own, forecast, mechanisms, attacks) for name, own in shares.items() if own}


def _add_up(
    shares: Sequence[CostShare], forecast: Forecast, mechanisms: Mapping[str, str], attacks: Mapping[str, str]
) -> Minutes:
    assert forecast.timing is not None  # noqa: S101 - it was asked for
    seconds, begun = 0.0, set()
    untimed: dict[str, None] = {}
    for share in shares:
        label = mechanisms[_key(share.mechanism)]
        pace = forecast.timing.rewriting[label]
        seconds += share.rows * pace.per_row + (0.0 if label in begun else pace.start)
        begun.add(label)
        for attack in share.attacks:
            title = attacks[_key(attack)]
            found = [pace for (m, _, a), pace in forecast.timing.guessing.items() if (m, a) == (label, title)]
            if found:
                seconds += share.rows * found[0].guesses.per_row
            elif _guesses_on(forecast, label, title):
                untimed[f"{PluginSpec(**attack).title} on {MechanismSpec(**share.mechanism).title}"] = None
    return Minutes(seconds / 60, tuple(untimed))


def _guesses_on(forecast: Forecast, label: str, attack: str) -> bool:
    """Return whether an attack guesses on a mechanism at all: one on latents needs a latent."""
    return any((part.label, part.attack) == (label, attack) and part.rows for part in forecast.work.guessing)


def _number(plugins: Sequence[Mapping[str, Any]], letter: str) -> dict[str, str]:
    """Return a label for every distinct plug-in, by its settings."""
    distinct = dict.fromkeys(map(_key, plugins))
    return {key: f"{letter}{number}" for number, key in enumerate(distinct)}


def _key(plugin: Mapping[str, Any]) -> str:
    return json.dumps({name: value for name, value in plugin.items() if name != "label"}, sort_keys=True)


def _as_mapping(plugin: Any) -> dict[str, Any]:
    return dict(plugin) if isinstance(plugin, Mapping) else {"name": plugin}
