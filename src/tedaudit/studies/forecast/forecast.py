"""A dry run: what an audit would take and could show. The run directory is read and never written to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tedaudit.runs.calls import describe_calls
from tedaudit.runs.own_folder import foresee_folder
from tedaudit.runs.preparation import prepare
from tedaudit.runs.spec.model import AuditSpec, parse_spec
from tedaudit.studies.forecast.prospects import Goals, Prospect, make_outlook
from tedaudit.studies.forecast.work import Beyond, FreshWork, Work, count_fresh, count_work
from tedaudit.text.plain_data import pick


@dataclass(frozen=True)
class Forecast:
    """What an audit would take and could show."""

    spec: AuditSpec
    work: Work
    prospects: tuple[Prospect, ...]
    rows: int  # of findings, this run's and those that are stored besides: they share one error
    look: int  # the number of the look that it would be
    goals: Goals
    texts: int
    calls: str = ""  # how often functions and servers would be called
    worst: tuple[FreshWork, ...] = ()
    limit: tuple[float, int, int] | None = None  # a gate, and how many of how many rows could pass it

    def to_dict(self) -> dict[str, Any]:
        """Return the forecast safe for JSON."""
        work, spec = self.work, self.spec
        return {
            "out": str(spec.folder), "trials": spec.trials, **pick(self, "texts, rows, look, goals"),
            "rewriting": list(map(pick, work.rewriting)), "guessing": list(map(pick, work.guessing)),
            "encoded": pick(work, "sets_encoded as candidate_sets, pool_encoded as pool, encoded as total"),
            **pick(self, "prospects, calls, worst as worst_pairs"),
            "limit": self.limit and dict(zip(("above", "rows_in_reach", "rows"), self.limit, strict=True)),
        }  # fmt: skip


def plan_audit(
    spec: AuditSpec | Mapping[str, Any],
    *,
    ceiling: float | None = None,
    success: float | None = None,
    beyond: Beyond | None = None,
) -> Forecast:
    """Return what an audit would take and could show, without running it.

    `spec` is what `tedaudit.run` takes. `ceiling` asks for the trials with which eps_emp can be that large,
    `success` for those in which an attack that is right so often is told from the claim. Nothing is
    rewritten and nobody guesses; an encoder reads the texts if candidates are drawn by it. What the run
    directory holds already is not counted, and nothing is written to it.
    """
    checked = foresee_folder(spec if isinstance(spec, AuditSpec) else parse_spec(spec))
    goals, more = Goals(ceiling, success), beyond or Beyond()
    audit = prepare(checked)
    counted, outlook = count_work(audit), make_outlook(audit)
    prospects, family = outlook.foresee(goals), outlook.family
    limit = None
    if more.limit is not None:
        limit = (more.limit, outlook.limit_in_reach(more.limit), len(outlook.settings))
    return Forecast(
        spec=checked,
        work=counted,
        prospects=prospects,
        rows=len(family.rows),
        look=family.look.number,
        goals=goals,
        texts=len(audit.corpus.texts),
        calls=describe_calls(audit),
        worst=count_fresh(audit, more),
        limit=limit,
    )
