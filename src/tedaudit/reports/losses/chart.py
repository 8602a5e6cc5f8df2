"""The data of the chart of claims, losses and attacks against nominal epsilon."""

import math
from collections.abc import Sequence
from typing import Any

from tedaudit.estimators.loss import DELTAS
from tedaudit.results.losses import LossRow

DELTA = DELTAS[0]


def chart_losses(rows: Sequence[LossRow]) -> dict[str, Any]:
    """Return losses as the chart of a page shows them; None for what is infinite or unknown."""
    return {
        "delta": DELTA,
        "attacks": list(dict.fromkeys(row.finding.attack for row in rows)),
        "rows": [_describe(row) for row in rows],
    }


def _describe(row: LossRow) -> dict[str, Any]:
    claim, at, supremum = row.finding.claim, row.epsilons[0], row.supremum
    return {
        "plan": row.finding.plan, "mechanism": row.finding.label, "epsilon": row.finding.epsilon.json,
        "claim": None if claim is None else _finite(claim.total), "refuted": row.refuted,
        "slack": None if row.slack is None else row.slack.at_most,
        "supremum": None if supremum is None or row.refuted else _finite(supremum.epsilon(DELTA)),
        **{name: None if row.refuted else _finite(getattr(at, name)) for name in ("point", "lower", "upper")},
    }  # fmt: skip


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
