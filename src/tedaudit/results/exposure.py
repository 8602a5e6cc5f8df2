"""What ever more rewrites of one secret, an author or a text, give away together: the rows of a run by n."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from tedaudit.estimators.exposure import FEWEST_TRIALS, known_from
from tedaudit.plugins.nominal import Nominal
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.runs.spec.model import ORIGINALS
from tedaudit.text.plain_data import Count, PlainData, Unbounded


@dataclass(frozen=True, slots=True)
class ExposurePoint(PlainData):
    """What n rewrites give away."""

    finding: Finding
    """The row of the run."""
    in_json: ClassVar[str] = (
        "finding.plan, rewrites, finding.bound.correct as right, finding.bound.trials, "
        "eps_emp, per_rewrite, claimed"
    )

    @property
    def rewrites(self) -> Count:
        """How many rewrites are seen: n."""
        return self.finding.rewrites

    @property
    def eps_emp(self) -> float | None:
        """The bound for all n rewrites together; None of texts that were not rewritten, which are counted."""
        return None if self.finding.label == ORIGINALS else self.finding.eps_emp

    @property
    def per_rewrite(self) -> float | None:
        """What at least one of the rewrites has lost: eps_emp over n."""
        return None if self.eps_emp is None else self.eps_emp / self.rewrites

    @property
    def claimed(self) -> Unbounded | None:
        """What is promised for all n together; None if nothing is."""
        return None if self.finding.claim is None else self.finding.claim.total


@dataclass(frozen=True, slots=True)
class Exposure(PlainData):
    """Success and bound of one attack against n."""

    label: str
    """The mechanism, as the run calls it."""
    epsilon: Nominal
    """The nominal epsilon of a text."""
    attack: str
    """The attack."""
    known_texts: Literal["", "same", "other"]
    """If the secret is an author: whether the texts that were rewritten are known, or others of theirs."""
    candidates: Count
    """Candidates of a trial: k."""
    points: tuple[ExposurePoint, ...]
    """By n."""
    error: float
    """The probability that `known_from` is too small; all curves of a run share theirs."""
    enough: bool
    """Whether there are enough complete trials to say from how many rewrites on a secret is known."""
    known_from: int | None
    """The smallest n at which, as at all larger ones, success is shown to be above .95; null if none is."""
    in_json: ClassVar[str] = (
        "label as mechanism, epsilon, attack, known_texts, candidates, known_from, enough, error, points"
    )

    @property
    def is_author(self) -> bool:
        """Whether the secret is an author, and not a text."""
        return self.known_texts != ""

    @property
    def last(self) -> Finding:
        """The row with the most rewrites."""
        return self.points[-1].finding


def read_exposures(result: AuditResult) -> tuple[Exposure, ...]:
    """Return every curve of a run, in the order of its rows."""
    curves: dict[tuple[str, str, Nominal, str], list[Finding]] = {}
    for finding in (*result, *result.originals):
        if finding.series:
            key = finding.series, finding.label, finding.epsilon, finding.attack
            curves.setdefault(key, []).append(finding)
    return tuple(_read_curve(rows, result.alpha / len(curves)) for rows in curves.values())


def _read_curve(rows: list[Finding], alpha: float) -> Exposure:
    rows = sorted(rows, key=lambda finding: finding.rewrites)
    last = rows[-1]
    trials = {finding.bound.trials for finding in rows}
    settled = all(finding.complete and not finding.unfit and not finding.bound.any_time for finding in rows)
    enough = settled and len(trials) == 1 and min(trials) >= FEWEST_TRIALS
    right = {finding.rewrites: finding.bound.correct for finding in rows}
    return Exposure(
        label=last.label,
        epsilon=last.epsilon,
        attack=last.attack,
        known_texts=last.known_texts,
        candidates=last.bound.candidates,
        points=tuple(map(ExposurePoint, rows)),
        error=alpha / 2,
        enough=enough,
        known_from=known_from(right, last.bound.trials, alpha) if enough else None,
    )


def list_exposures(result: AuditResult) -> dict[str, Any]:
    """Return the curves of a run as its summary tells them; nothing if there are none."""
    curves = [curve.to_dict() for curve in read_exposures(result)]
    return {"exposures": curves} if curves else {}
