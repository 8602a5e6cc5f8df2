"""The command that says what an adversary that knows the mechanism learns."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tedaudit.cli import options
from tedaudit.cli.options import print_json, refuse_settings, show_folder
from tedaudit.cli.trust import Yes, confirm_code
from tedaudit.errors import SpecError

if TYPE_CHECKING:
    from tedaudit.results.findings import AuditResult
    from tedaudit.spec.model import AuditSpec

_ATTACK = "likelihood"  # whose margins are losses


def loss(
    run_directory: Annotated[Path | None, typer.Argument(help="A finished run.")] = None,
    mechanism: options.Mechanisms = None,
    epsilon: options.Epsilons = None,
    corpus: options.Corpus = None,
    trials: Annotated[int | None, typer.Option("--trials", "-t", help="Of a new run; 1,000.")] = None,
    out: options.RunFolder = None,
    engine: options.Engine = None,
    workers: options.Workers = None,
    address: options.Address = None,
    resource: options.Resources = None,
    assign: options.Assignments = None,
    redact: options.Redact = False,
    yes: Yes = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Say how much an adversary that knows the mechanism learns: the loss, which has no ceiling.

    Of a run that has likelihoods it is read from the tables. If it has none, the attack that computes them is
    added to it first, on the rewrites that are there: that is one more look at the run. With -m in the place
    of a run, texts are rewritten too.
    """
    from tedaudit import api
    from tedaudit.cli.console import progress_bar, say_redacted
    from tedaudit.preparing.own_folder import own_folder
    from tedaudit.results.losses import read_losses
    from tedaudit.spec.flags import merge_engine

    if (run_directory is None) == (not mechanism):
        raise SpecError("Name a run directory, or a mechanism with -m: the losses of one of them are told.")
    flags = {"epsilon": epsilon, "corpus": corpus, "trials": trials, "out": out}
    workforce = {"engine": engine, "workers": workers, "address": address, "resource": resource}
    spec: AuditSpec | None
    if run_directory is None:
        spec = _make_spec({"mechanism": mechanism, **flags}, assign)
    else:
        refuse_settings(run_directory, {**flags, "set": assign})
        result = api.load_run(run_directory)
        spec = None if read_losses(result) else _restore(result, yes=yes)
    if spec is not None:
        with own_folder(spec) as (placed, remark), progress_bar(quiet=quiet) as progress:

            def show_start() -> None:
                if spec is not None and not spec.out:
                    show_folder(placed.folder, remark, quiet=quiet, as_json=as_json)

            announce = (lambda _: None) if quiet else None
            work = merge_engine(None, workforce)
            result = api.run(placed, work, progress, announce=announce, started=show_start)
    if redact:
        api.report(result, redact=True)
    say_redacted(result.run)
    if not as_json:
        show_losses(result, redact=result.run.files.is_redacted)
        return
    print_json(list_losses(result))


def list_losses(result: "AuditResult") -> dict[str, Any]:
    """Return the losses of a run, and what contradicts them, safe for JSON."""
    from tedaudit.results.losses import find_contradictions

    rows = _read(result)
    told = [row.to_dict() for row in rows]
    return {"losses": told, "contradictions": list(find_contradictions(result, rows))}


def show_losses(result: "AuditResult", *, redact: bool = False) -> None:
    """Print the losses of a run."""
    from tedaudit.cli.console import show_section
    from tedaudit.reports.losses.table import describe_losses

    section = describe_losses(result, _read(result))
    show_section(section.redact() if redact else section)


def _read(result: "AuditResult") -> Any:
    from tedaudit.results.losses import read_losses

    rows = read_losses(result)
    if not rows:
        raise SpecError("No trial of this run has a likelihood, so there is no loss to read.")
    return rows


def _make_spec(flags: dict[str, Any], assign: list[str] | None) -> "AuditSpec":
    from tedaudit.spec.flags import merge_flags
    from tedaudit.spec.model import parse_spec

    return parse_spec(merge_flags({"attacks": [_ATTACK]}, flags, assign or []))


def _restore(result: "AuditResult", *, yes: bool) -> "AuditSpec":
    """Return the audit of a finished run with the attack that knows the mechanism beside its own."""
    from tedaudit.preparing.preparation import restore_audit
    from tedaudit.spec.code_names import list_code

    if any(not finding.complete for finding in result):
        raise SpecError("The run is not finished: run the same command again, then ask for its losses.")
    code = list_code(result.run.manifest()["spec"], "mechanisms", "attacks")
    confirm_code(code, result.folder, yes=yes)
    return add_likelihood(restore_audit(result.run))


def add_likelihood(spec: "AuditSpec") -> "AuditSpec":
    """Return an audit that has the attack that knows the mechanism, beside its own."""
    from tedaudit.spec.model import PluginSpec

    if all(plan.k != 2 for plan in spec.plans):
        raise SpecError("Losses need a plan with two candidates; run it with --k 2.")
    if any(attack.name == _ATTACK for attack in spec.attacks):
        return spec
    return spec.model_copy(update={"attacks": [*spec.attacks, PluginSpec(name=_ATTACK)]})
