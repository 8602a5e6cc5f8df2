"""The command that plans an audit: it takes the flags of `run`, so that one word makes a dry run of it."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

from tedaudit.cli.audit import Wishes, make_spec, name_embedded, run, show_plan
from tedaudit.cli.gates import check_gates

Ceiling = Annotated[
    float | None, typer.Option(help="Also tell the trials with which eps_emp can be this large.")
]
Success = Annotated[
    float | None,
    typer.Option(help="Also tell the trials in which an attack that is right so often is found."),
]
NoTiming = Annotated[
    bool, typer.Option("--no-timing", help="Rewrite and guess nothing: no minutes, no disk.")
]
_OWN = {"ceiling": (Ceiling, None), "success": (Success, None), "no_timing": (NoTiming, False)}
_LEFT_OUT = ("dry_run",)  # what `plan` is


def plan(**given: Any) -> None:
    """Say what an audit would take and could show, without running it; takes the flags of `run`.

    Rows of model work, minutes on this machine by a short timing, disk, claims in reach and the trials for a
    ceiling. Nothing is written. A name py:package.module:name runs that code: plan no spec that you do not
    trust.
    """
    check_gates(given["fail_on"], given["fail_above"])
    wishes = Wishes(
        work=given["work"], pairs=given["worst"], pair_trials=given["worst_trials"],
        limit=given["fail_above"], ceiling=given["ceiling"], success=given["success"],
        timing=not given["no_timing"], base=name_embedded(given["spec"], given),
    )  # fmt: skip
    show_plan(make_spec(given["spec"], given, given["assign"], loss=given["loss"]), wishes,
              as_json=given["as_json"])  # fmt: skip


def _take_flags(command: Callable[..., None], other: Callable[..., None]) -> None:
    """Give a command the flags of another one, before its own."""
    hints = get_type_hints(other, include_extras=True)
    taken = [p for p in inspect.signature(other).parameters.values() if p.name not in _LEFT_OUT]
    own = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=hint)
        for name, (hint, default) in _OWN.items()
    ]
    parameters = [*(p.replace(annotation=hints[p.name]) for p in taken), *own]
    command.__signature__ = inspect.Signature(parameters, return_annotation=None)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}


_take_flags(plan, run)
