"""What the chart of eps_emp against nominal epsilon needs, as plain data."""

import math
import re
from collections.abc import Mapping
from typing import Any

from tedaudit.reports.figures import grid, height, room_for, success_marks
from tedaudit.reports.table import cells, plans
from tedaudit.results.reading import AuditResult, Finding


def plan_words(name: str, manifest: Mapping[str, Any]) -> str:
    """Return a plan as a reader would say it: candidates, how they were drawn, estimator."""
    info = manifest["plans"][name]
    base = name.partition("@")[0]  # a table of recorded rewrites has a plan of its own: plan@LABEL
    how = base.removesuffix("-baseline").partition("-")[2]
    how = re.sub(r"^lambda", "lambda = ", how)
    how = re.sub(r"^(nearest|furthest)(\d+)$", r"\1 \2", how)
    how = "every text a candidate" if base == "k-all" else how
    estimator = "baseline" if info["estimator"] == "baseline" else "reduced form"
    return f"k = {info['k']:,}, {how}, {estimator}"


def chart_plans(result: AuditResult, manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the plans in the order in which they were asked for, with what their charts need."""
    found = []
    for name in (name for name in manifest["plans"] if name in plans(result)):
        mine = [finding for finding in result if finding.plan == name]
        ceiling = max(finding.bound.ceiling for finding in mine)
        epsilons, top = grid(mine), height(ceiling)
        found.append({
            "name": name, "words": plan_words(name, manifest), "ceiling": ceiling, "top": top,
            "successes": success_marks(mine[0].bound.candidates, top), "epsilons": epsilons,
            "labelled": room_for(epsilons, 0.065), "labelled_narrow": room_for(epsilons, 0.18),
            "takes_epsilon": any(not math.isinf(finding.epsilon) for finding in mine),
        })  # fmt: skip
    return found


def chart_finding(finding: Finding) -> dict[str, Any]:
    """Return a finding as the chart and the table of a page show it."""
    claim = "none" if finding.claim is None else str(finding.claim)
    return {**finding.to_dict(), "claim": claim, "cells": cells(finding), "complete": finding.complete}
