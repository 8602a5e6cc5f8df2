"""The data of the chart of eps_emp against nominal epsilon."""

import math
from collections.abc import Mapping
from typing import Any

from tedaudit.estimators import find_estimator
from tedaudit.reports.figures import axis_top, epsilon_grid, labels_with_room, success_marks
from tedaudit.reports.headline import sees_draw
from tedaudit.reports.table import format_cells, plans
from tedaudit.results.findings import AuditResult, Finding


def plan_words(name: str, manifest: Mapping[str, Any]) -> str:
    """Return a plan as a reader would say it: candidates, how they were drawn, estimator."""
    info = manifest["plans"][name]
    if info["strategy"] is None:
        how = "every text a candidate"
    elif info["lambda"] is not None:
        how = f"lambda = {float(info['lambda']):g}"
    elif info["top"] is None:
        how = "given sets"
    else:
        how = f"{info['strategy']} {info['top']}"
    return f"k = {info['k']:,}, {how}, {find_estimator(info['estimator']).title}"


def chart_plans(result: AuditResult, manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the plans in the order of the spec, with the data of their charts."""
    charts = []
    for name in (name for name in manifest["plans"] if name in plans(result)):
        findings = [finding for finding in result if finding.plan == name]
        ceiling = max(finding.bound.ceiling for finding in findings)
        epsilons, top = epsilon_grid(findings), axis_top(ceiling)
        totals = sorted({total for total in map(get_total, findings) if total is not None})
        charts.append({
            "name": name, "words": plan_words(name, manifest), "ceiling": ceiling, "top": top,
            "successes": success_marks(findings[0].bound.candidates, top), "epsilons": epsilons,
            "labelled": labels_with_room(epsilons, 0.065),
            "labelled_narrow": labels_with_room(epsilons, 0.18),
            "takes_epsilon": any(finding.epsilon.is_given for finding in findings),
            "totals": totals, "totals_labelled": labels_with_room(totals, 0.1) if totals else [],
            "totals_labelled_narrow": labels_with_room(totals, 0.24) if totals else [],
        })  # fmt: skip
    return charts


def chart_finding(finding: Finding) -> dict[str, Any]:
    """Return a finding as the chart and the table of a page show it."""
    claim = "none" if finding.claim is None else str(finding.claim)
    return {**finding.to_dict(), "claim": claim, "cells": format_cells(finding), "complete": finding.complete,
            "is_violation": finding.verdict.is_violation, "total": get_total(finding),
            "sees_draw": sees_draw(finding)}  # fmt: skip


def get_total(finding: Finding) -> float | None:
    """Return what is claimed for a whole text, if a logarithmic axis has a place for it."""
    total = 0.0 if finding.claim is None else finding.claim.total
    return float(total) if total > 0 and math.isfinite(total) else None
