"""What an experiment costs: rewrites and guesses."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tedaudit.estimators import DEFAULT_ESTIMATOR, find_estimator
from tedaudit.paper.definition import AUDITS, Experiment, corpus_name
from tedaudit.results.section import Column, Section, Table

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
                    CostShare(
                        corpus=corpus_name(corpus),
                        mechanism=mechanism,
                        attacks=attacks,
                        epsilons=len(epsilons),
                        rows=rows * len(epsilons),
                    )
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


def _as_mapping(plugin: Any) -> dict[str, Any]:
    return dict(plugin) if isinstance(plugin, Mapping) else {"name": plugin}
