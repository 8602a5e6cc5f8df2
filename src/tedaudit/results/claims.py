"""What was decided on a claim by everything that was tried against it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tedaudit.results.certain_losses import CertainLoss
from tedaudit.results.finding import Finding, claim_figures
from tedaudit.results.verdict import Verdict, refute_for_sure, strongest
from tedaudit.results.worst_pairs import TriedPair


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """What was decided on one claim by all attacks and plans together, and by pairs that were tried again.

    `witness` is the finding that decided it. If no finding refutes the claim and a pair does, `pair` decides,
    and before it a loss above the claim that is `certain`.
    """

    witness: Finding
    tests: int
    pairs: int = 0  # that were tried again
    pair: TriedPair | None = None
    certain: CertainLoss | None = None

    @property
    def verdict(self) -> Verdict:
        """The decision."""
        if self.certain is not None:
            return refute_for_sure(self.certain.reason)
        if self.pair is None:
            return self.witness.verdict
        first, second = self.pair.positions
        reason = f"tried on texts {first} and {second} alone (see Worst pairs), {self.pair.verdict.reason}"
        return replace(self.pair.verdict, reason=reason)

    @property
    def attack(self) -> str:
        """The attack that decided it."""
        if self.certain is not None:
            return self.certain.attack
        return self.witness.attack if self.pair is None else self.pair.attack

    @property
    def lower(self) -> float:
        """The bound that decided it, at the error that it shares."""
        if self.certain is not None:
            return self.certain.loss
        return self.witness.eps_emp if self.pair is None else self.pair.bound.lower

    def to_dict(self) -> dict[str, Any]:
        """Return the claim with its verdict, safe for JSON."""
        finding = self.witness
        return {
            "mechanism": finding.label, "epsilon": finding.epsilon.json,
            "claim": None if finding.claim is None else claim_figures(finding.claim),
            **self.verdict.to_dict(), "tests": self.tests, "pairs": self.pairs,
            "witness": {
                "plan": finding.plan if self.pair is None else None, "attack": self.attack,
                "pair": None if self.pair is None else list(self.pair.positions),
                "certain_loss": None if self.certain is None else self.certain.to_dict(),
            },
        }  # fmt: skip


def judge_claim(
    rows: Sequence[Finding], pairs: Sequence[TriedPair], certain: Sequence[CertainLoss]
) -> JudgedClaim:
    """Return what findings say of one claim, or what decides it if none of them refutes it."""
    witness = _find_witness(rows)
    if witness.verdict.is_violation:
        return JudgedClaim(witness, len(rows), len(pairs))
    refuting = [pair for pair in pairs if pair.verdict.is_violation]
    pair = min(refuting, key=lambda pair: pair.verdict.adjusted_p or 0.0, default=None)
    loss = max(certain, key=lambda loss: loss.loss, default=None)
    return JudgedClaim(witness, len(rows), len(pairs), pair if loss is None else None, loss)


def _find_witness(findings: Sequence[Finding]) -> Finding:
    deciding = strongest(finding.verdict for finding in findings)
    return next(finding for finding in findings if finding.verdict is deciding)
