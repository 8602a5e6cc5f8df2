"""Prints what an audit would take and could show, for `plan` and for `run --dry-run`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tedaudit.cli.options import print_json

if TYPE_CHECKING:
    from tedaudit.spec.model import AuditSpec

_WIDTH = 100  # columns of a terminal that is not one


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is to be planned beside the audit itself, as flags say it."""

    work: Path | None = None
    pairs: int = 0
    pair_trials: int = 200
    limit: float | None = None
    ceiling: float | None = None
    success: float | None = None
    timing: bool = True
    base: str = ""  # of the folder, for an audit that comes with tedaudit


def show_plan(spec: "AuditSpec", wishes: Wishes, *, as_json: bool) -> None:
    """Make the plan of an audit and print it; nothing is written."""
    from tedaudit.cli.console import console, escape_text
    from tedaudit.forecast.forecast import plan_audit
    from tedaudit.forecast.fresh import Beyond
    from tedaudit.forecast.text import describe_forecast
    from tedaudit.preparing.own_folder import foresee_folder

    forecast = plan_audit(
        foresee_folder(spec, wishes.base), ceiling=wishes.ceiling, success=wishes.success,
        timing=wishes.timing, work=wishes.work, beyond=Beyond(wishes.pairs, wishes.pair_trials, wishes.limit),
    )  # fmt: skip
    if as_json:
        print_json(forecast.to_dict())
        return
    out = console()
    if not out.is_terminal:
        out.width = _WIDTH
    for section in describe_forecast(forecast):
        for table in section.to_rich(out.width):
            out.print(table)
        for remark in section.remarks:
            out.print(escape_text(remark), style="dim")
