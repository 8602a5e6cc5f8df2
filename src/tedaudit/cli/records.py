"""The commands `records` (which are worst off; the worst pairs of `run --worst`) and `loss`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tedaudit.cli import options
from tedaudit.cli.options import option, print_json, refuse_settings, show_folder
from tedaudit.cli.trust import Yes, confirm_code
from tedaudit.errors import SpecError

if TYPE_CHECKING:
    from tedaudit.results.findings import AuditResult
    from tedaudit.results.section import Section
    from tedaudit.results.worst_pairs import WorstPairs
    from tedaudit.runs.spec.model import AuditSpec
    from tedaudit.studies.records import Record


def records(
    run_directory: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
    count: Annotated[
        int, option(options.OUTPUT, "--count", help="Records for each mechanism and epsilon.")
    ] = 20,
    trials: Annotated[
        int, option(options.STATISTICS, "--trials", "-t", help="Fresh trials for each record.")
    ] = 200,
    id_column: Annotated[
        str,
        option(
            options.AUDITED,
            "--id",
            metavar="NAME",
            help="The column that names records; 'id' if there is one, else positions.",
        ),
    ] = "",
    csv: Annotated[
        Path | None,
        option(options.OUTPUT, "--csv", metavar="FILE", help="Also write the table to this file."),
    ] = None,
    loss: Annotated[
        bool,
        option(options.STATISTICS, "--loss", help="By exact loss alone, from the tables: no fresh trials."),
    ] = False,
    engine: options.Engine = None,
    workers: options.Workers = None,
    address: options.Address = None,
    resource: options.Resources = None,
    redact: options.Redact = False,
    force: options.Force = False,
    yes: Yes = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Measure the risk of the records that a run named most surely, on fresh trials.

    Mechanism and attack run again. A table of rewrites has no fresh ones: its records are ranked by evidence.
    If the run has likelihoods of pairs, records are shown by exact loss too, over all of its own trials.
    """
    from tedaudit import api
    from tedaudit.cli.console import say_redacted, say_unfinished, show_section
    from tedaudit.results.section import store_section
    from tedaudit.runs.exported import check_target, write_exported
    from tedaudit.studies.record_losses import find_record_losses
    from tedaudit.studies.telling import describe_record_losses

    if csv is not None:
        check_target(csv, [run_directory], force=force)
    result = api.load_run(run_directory)
    if redact:
        result.run.note_redaction(redacted=True)
    redact = result.run.files.is_redacted
    say_unfinished(result.run, result.missing)
    sections: dict[str, Section] = {}
    told: dict[str, Any] = {"error": None, "records": []}
    tried: Sequence[Record] = ()
    if not loss:
        workforce = {"engine": engine, "workers": workers, "address": address, "resource": resource}
        flags = {"id": id_column, "redact": redact, "yes": yes, "quiet": quiet, **workforce}
        sections["records"], told, tried = _try_records(result, count, trials, flags)
    losses = find_record_losses(result, count, tried, id_column)
    if losses is not None:
        sections["records_loss"] = describe_record_losses(losses)
        told["losses"] = losses.to_dict(redact=redact)
    elif loss:
        raise SpecError(
            "No trial of this run has a likelihood of two candidates, so there is no loss to read; "
            "`tedaudit loss RUN` adds them if the mechanism can compute them."
        )
    for name, section in sections.items():
        store_section(result.run, name, section)
    api.report(result.run.root)
    say_redacted(result.run)
    if csv is not None:
        rows = told["losses"]["records"] if loss else told["records"]
        write_exported(csv, _make_csv(rows), [run_directory], force=force)
    if as_json:
        print_json(told)
        return
    for section in sections.values():
        show_section(section.redact() if redact else section)


def _try_records(
    result: "AuditResult", count: int, trials: int, flags: Mapping[str, Any]
) -> tuple["Section", dict[str, Any], Sequence["Record"]]:
    """Return the section of records on fresh trials, the same for JSON, and the records that were tried."""
    from tedaudit import api
    from tedaudit.cli.console import progress_bar
    from tedaudit.runs.opening import open_engine
    from tedaudit.runs.preparation import restore_audit
    from tedaudit.runs.spec.code_names import list_code
    from tedaudit.runs.spec.flags import merge_engine
    from tedaudit.studies.fresh import Study, choose_targets
    from tedaudit.studies.records import find_records, rank_evidence
    from tedaudit.studies.telling import describe_evidence, describe_records

    redact, quiet = flags["redact"], flags["quiet"]
    if not choose_targets(result) and any(finding.known_texts == "other" for finding in result):
        raise SpecError(
            "The trials of this run are about authors of whom other texts are known, not about records. Run "
            "the same audit without --knows other, or without --author."
        )
    if not choose_targets(result):
        evidence = rank_evidence(result, count, flags["id"])
        told = {"error": None, "records": [record.to_dict(redact=redact) for record in evidence]}
        return describe_evidence(evidence), told, ()
    code = list_code(result.run.manifest()["spec"], "mechanisms", "attacks")
    confirm_code(code, result.folder, yes=flags["yes"])
    spec, name = restore_audit(result.run), f"records-{count}x{trials}-{_count_rows(result)}"
    engine = merge_engine(None, flags)
    with progress_bar(quiet=quiet) as progress, open_engine(spec, engine, api.tell) as inner:
        study = Study(spec=spec, name=name, engine=inner, progress=progress)
        found = find_records(result, study, count, trials, flags["id"])
    return describe_records(found), found.to_dict(redact=redact), found.records


def try_worst(
    result: "AuditResult", spec: "AuditSpec", count: int, trials: int, *, quiet: bool
) -> tuple["AuditResult", "WorstPairs"]:
    """Try the worst pairs of a run again, and keep what came out; return the result that counts them too."""
    from tedaudit import api
    from tedaudit.cli.console import progress_bar
    from tedaudit.results.section import store_section
    from tedaudit.results.worst_pairs import PAIRS
    from tedaudit.studies.fresh import Study
    from tedaudit.studies.telling import describe_pairs
    from tedaudit.studies.worst_pairs import find_worst_pairs

    with progress_bar(quiet=quiet) as progress:
        study = Study(spec, f"{PAIRS}-{count}x{trials}-{_count_rows(result)}", progress=progress)
        worst = find_worst_pairs(result, study, count, trials)
    store_section(result.run, "pairs", describe_pairs(worst))
    return api.report(result.run.root), worst


def show_pairs(worst: "WorstPairs", *, redact: bool) -> None:
    """Print the worst pairs."""
    from tedaudit.cli.console import show_section
    from tedaudit.studies.telling import describe_pairs

    section = describe_pairs(worst)
    show_section(section.redact() if redact else section)


def _count_rows(result: "AuditResult") -> int:
    """Return the trials behind a run's findings: a longer run is another pilot."""
    return sum(finding.bound.trials for finding in result)


def _make_csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    from tedaudit.text.readers import csv_line

    lines = [*rows[:1], *(row.values() for row in rows)]
    return "".join(map(csv_line, lines)).encode("utf-8", "replace")


# --- The command that says what an adversary that knows the mechanism learns.

_ATTACK = "likelihood"  # whose margins are losses


def loss(
    run_directory: Annotated[Path | None, typer.Argument(metavar="RUN", help="A finished run.")] = None,
    mechanism: options.Mechanisms = None,
    epsilon: options.Epsilons = None,
    corpus: options.Corpus = None,
    trials: Annotated[
        int | None, option(options.STATISTICS, "--trials", "-t", help="Of a new run; 1,000.")
    ] = None,
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
    from tedaudit.cli.console import progress_bar, say_redacted, say_unfinished
    from tedaudit.results.losses import read_losses
    from tedaudit.runs.own_folder import own_folder
    from tedaudit.runs.spec.flags import merge_engine

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
        say_unfinished(result.run, result.missing)
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
    from tedaudit.results.telling_losses import tell_losses

    section = tell_losses(result, _read(result))
    show_section(section.redact() if redact else section)


def _read(result: "AuditResult") -> Any:
    from tedaudit.results.losses import read_losses

    rows = read_losses(result)
    if not rows:
        raise SpecError("No trial of this run has a likelihood, so there is no loss to read.")
    return rows


def _make_spec(flags: dict[str, Any], assign: list[str] | None) -> "AuditSpec":
    from tedaudit.runs.spec.flags import merge_flags
    from tedaudit.runs.spec.model import parse_spec

    return parse_spec(merge_flags({"attacks": [_ATTACK]}, flags, assign or []))


def _restore(result: "AuditResult", *, yes: bool) -> "AuditSpec":
    """Return the audit of a finished run with the attack that knows the mechanism beside its own."""
    from tedaudit.runs.preparation import restore_audit
    from tedaudit.runs.spec.code_names import list_code

    if not result.finished:
        raise SpecError("The run is not finished: run the same command again, then ask for its losses.")
    code = list_code(result.run.manifest()["spec"], "mechanisms", "attacks")
    confirm_code(code, result.folder, yes=yes)
    return add_likelihood(restore_audit(result.run))


def add_likelihood(spec: "AuditSpec") -> "AuditSpec":
    """Return an audit that has the attack that knows the mechanism, beside its own."""
    from tedaudit.runs.spec.model import PluginSpec

    if all(plan.k != 2 for plan in spec.plans):
        raise SpecError("Losses need a plan with two candidates; run it with --k 2.")
    if any(attack.name == _ATTACK for attack in spec.attacks):
        return spec
    return spec.model_copy(update={"attacks": [*spec.attacks, PluginSpec(name=_ATTACK)]})
