"""What an audit found: one finding per plan, mechanism, epsilon and attack."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tedaudit.errors import RunDirectoryError
from tedaudit.nominal import Nominal
from tedaudit.results.certain_losses import CertainLoss
from tedaudit.results.claims import JudgedClaim, judge_claim
from tedaudit.results.family import Family, judge_gate
from tedaudit.results.finding import Finding
from tedaudit.results.verdict import Verdict, any_violation
from tedaudit.results.worst_pairs import TriedPair
from tedaudit.store.directory import RunDirectory
from tedaudit.store.guesses import GuessTable
from tedaudit.store.rewrites import RewriteTable

__all__ = ["SCHEMA", "AuditResult", "Finding", "post_processing"]
SCHEMA = "urn:tedaudit:summary:2"  # the shape of `AuditResult.to_dict`, published in reports/export/schemas


@dataclass(frozen=True, slots=True)
class AuditResult:
    """All findings of a run, in order of plan, mechanism, epsilon and attack."""

    name: str
    """Name of the run."""
    run: RunDirectory
    """Its run directory, with all tables."""
    findings: tuple[Finding, ...]
    """One for each plan, mechanism, epsilon and attack."""
    notes: tuple[str, ...]
    """What a reader of the results should know."""
    family: Family
    """All rows of the run at this look: they share one error."""
    models: tuple[Mapping[str, str], ...] = ()
    """The checkpoints behind the results: who uses which, with its checksum."""
    pairs: tuple[TriedPair, ...] = ()
    """Pairs of texts that were tried again on fresh trials, each study with the error of its own look."""
    certain: tuple[CertainLoss, ...] = ()
    """Outputs whose loss was computed twice, one for each setting that has one; some are above a claim."""
    keeper: object = field(default=None, repr=False, compare=False)
    """Keeps a temporary run directory alive as long as the result."""

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def folder(self) -> Path:
        """The run directory."""
        return self.run.root

    @property
    def alpha(self) -> float:
        """Twice the one-sided error of all bounds together, and of all verdicts together."""
        return self.family.alpha

    @property
    def violated(self) -> bool:
        """Whether any claim is refuted, at an error of alpha / 2 for all of them and all looks together."""
        return any_violation(claim.verdict for claim in self.claims)

    @property
    def largest(self) -> Finding | None:
        """The finding with the largest eps_emp."""
        fit = [finding for finding in self.findings if not finding.unfit]
        return max(fit, key=lambda finding: finding.eps_emp, default=None)

    @property
    def eps_emp(self) -> float:
        """The largest eps_emp of all rows, at an error of alpha / 2 for all rows and looks together."""
        return 0.0 if self.largest is None else self.largest.eps_emp

    @property
    def claims(self) -> tuple[JudgedClaim, ...]:
        """The verdict on every claim: one for each mechanism and epsilon, however many attacks tested it."""
        tests: dict[tuple[str, Nominal], list[Finding]] = {}
        for finding in self.findings:
            if finding.claim is not None:
                tests.setdefault((finding.label, finding.epsilon), []).append(finding)
        return tuple(
            judge_claim(
                rows,
                [pair for pair in self.pairs if (pair.label, pair.epsilon) == key],
                [loss for loss in self.certain if (loss.label, loss.epsilon) == key and loss.refutes_claim],
            )
            for key, rows in tests.items()
        )

    def judge_limit(self, limit: float) -> list[Verdict]:
        """Return, for each finding, whether its bound at the shared error is above a limit."""
        rows = [finding.row for finding in self.findings if finding.row is not None]
        return judge_gate(rows, self.family.row_error, limit)

    def guesses(self, finding: Finding) -> GuessTable:
        """Return the table of guesses behind a finding."""
        return self.run.guesses(finding.plan, finding.label, finding.epsilon, finding.attack)

    def rewrites(self, finding: Finding) -> RewriteTable:
        """Return the table of the rewrites that a finding's attack saw."""
        return self.run.rewrites(finding.label, finding.epsilon)

    def save(self, path: str | Path) -> Path:
        """Copy the run directory to a new folder, from which the run can be read, reported and extended."""
        target = Path(path)
        if target.exists():
            raise RunDirectoryError(f"'{target}' exists already; name a new folder, or remove it first.")
        target.mkdir(mode=0o700, parents=True)  # before a text is in it
        shutil.copytree(self.folder, target, dirs_exist_ok=True)
        return target

    def to_dict(self) -> dict[str, Any]:
        """Return the result safe for JSON."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "alpha": self.alpha,
            "violated": self.violated,
            "eps_emp": self.eps_emp,
            "error": self.alpha / 2,
            "look": self.family.look.number,
            "claims": [claim.to_dict() for claim in self.claims],
            "models": [dict(model) for model in self.models],
            "notes": list(self.notes),
            "findings": [finding.to_dict() for finding in self.findings],
            "post_processing": post_processing(self),
        }


def post_processing(result: AuditResult) -> list[dict[str, Any]]:
    """Return what the decoder hides: eps_emp on the latent less eps_emp on the text, per plan and epsilon.

    The attack on latents that found most is compared with the first one by sentence embeddings.
    """
    rows = []
    for setting in dict.fromkeys(finding.setting for finding in result):
        findings = [finding for finding in result if finding.setting == setting]
        inner = [finding for finding in findings if finding.score == "latent similarity"]
        outer = [finding for finding in findings if finding.score == "cosine"]
        if inner and outer:
            best = max(inner, key=lambda finding: finding.eps_emp)
            rows.append(
                {
                    "plan": setting[0], "mechanism": setting[1], "epsilon": setting[2].json,
                    "internal": best.eps_emp, "external": outer[0].eps_emp,
                    "effect": best.eps_emp - outer[0].eps_emp, "empty": best.measures.empty,
                }
            )  # fmt: skip
    return rows
