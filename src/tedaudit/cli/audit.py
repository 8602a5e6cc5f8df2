"""The commands that start an audit: `init` writes a spec, `run` runs it or says what it would take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tedaudit.cli import options
from tedaudit.cli.gates import FailAbove, FailOn, check_gates, pass_gates
from tedaudit.cli.options import option, print_json, show_folder
from tedaudit.cli.records import add_likelihood, list_losses, show_losses, show_pairs, try_worst
from tedaudit.errors import SpecError, join_names

if TYPE_CHECKING:
    from tedaudit.results.findings import AuditResult
    from tedaudit.runs.spec.model import AuditSpec

_ATTACKS = ("lexical", "text-likelihood")  # of a run that names none, as far as they fit


def run(
    spec: Annotated[
        Path | None, typer.Argument(metavar="SPEC", help="A YAML file; without it, the embedded audit.")
    ] = None,
    mechanism: options.Mechanisms = None,
    epsilon: options.Epsilons = None,
    corpus: options.Corpus = None,
    column: options.Column = "",
    assign: options.Assignments = None,
    attack: options.Attacks = None,
    k: options.Candidates = None,
    lambda_: options.Lambda = None,
    strategy: options.Strategy = None,
    top: Annotated[
        int | None, option(options.ADVERSARY, "--top", help="nearest, furthest: uniform among this many.")
    ] = None,
    encoder: options.Encoder = None,
    author: options.Author = None,
    texts: options.TextsOfAuthor = None,
    knows: options.Knows = None,
    releases: Annotated[
        int | None,
        option(options.ADVERSARY, "--releases", help="Up to so many rewrites of one text are seen."),
    ] = None,
    worst: Annotated[
        int,
        option(
            options.ADVERSARY, "--worst", help="Also try so many of the worst pairs again, on fresh trials."
        ),
    ] = 0,
    worst_trials: Annotated[
        int, option(options.ADVERSARY, "--worst-trials", help="Fresh trials for each of the worst pairs.")
    ] = 200,
    loss: Annotated[
        bool,
        option(
            options.ADVERSARY, "--loss", help="Also tell what an adversary that knows the mechanism learns."
        ),
    ] = False,
    trials: Annotated[
        int | None, option(options.STATISTICS, "--trials", "-t", help="Fixed in advance; 1,000.")
    ] = None,
    estimator: Annotated[
        str | None,
        option(options.STATISTICS, "--estimator", metavar="NAME", help="reduced (one rewrite), or baseline."),
    ] = None,
    alpha: Annotated[
        float | None, option(options.STATISTICS, "--alpha", help="Twice the error of a bound; 0.01.")
    ] = None,
    delta: Annotated[
        float | None, option(options.STATISTICS, "--delta", help="Use this instead of the claim's delta.")
    ] = None,
    seed: options.Seed = None,
    dry_run: options.DryRun = False,
    ceiling: Annotated[
        float | None,
        option(options.WORK, "--ceiling", help="--dry-run: the trials with which eps_emp can be this large."),
    ] = None,
    success: Annotated[
        float | None,
        option(
            options.WORK, "--success", help="--dry-run: trials in which an attack right so often is found."
        ),
    ] = None,
    batch_size: options.BatchSize = None,
    engine: options.Engine = None,
    workers: options.Workers = None,
    address: options.Address = None,
    resource: options.Resources = None,
    part: Annotated[
        str | None,
        option(
            options.WORK, "--part", metavar="I/N",
            help="Do one of N parts of the work, here or in a copy of the folder; at the end run without it.",
        ),
    ] = None,
    name: options.Name = None,
    out: options.RunFolder = None,
    table: options.TableChoice = "pivot",
    fail_on: FailOn = None,
    fail_above: FailAbove = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:  # fmt: skip
    """Run an audit; the same command resumes one that was stopped.

    A name py:package.module:name, in a spec or a flag, runs that code. Do not run a spec that you do not
    trust.
    """
    from tedaudit import api
    from tedaudit.cli.console import mention_charts, progress_bar, say_redacted, show_defaults, show_result
    from tedaudit.results.exposure import list_exposures
    from tedaudit.runs.own_folder import own_folder
    from tedaudit.runs.spec.zoo_defaults import list_defaults

    check_gates("run", fail_on, fail_above)
    flags: dict[str, Any] = {
        "mechanism": mechanism, "epsilon": epsilon, "corpus": corpus, "attack": attack, "trials": trials,
        "column": column or None,
        "k": k, "lambda_": lambda_, "strategy": strategy, "top": top, "estimator": estimator,
        "author": author, "texts": texts, "knows": knows, "releases": releases,
        "encoder": encoder, "alpha": alpha, "delta": delta, "seed": seed, "batch_size": batch_size,
        "name": name, "out": out,
        "engine": engine, "workers": workers, "address": address, "resource": resource,
    }  # fmt: skip
    _refuse_wishes(dry_run=dry_run, ceiling=ceiling, success=success)
    settings, base = _make_spec(spec, flags, assign, loss=loss), _name_embedded(spec, flags)
    if dry_run:
        wishes = Wishes(
            pairs=worst,
            pair_trials=worst_trials,
            limit=fail_above,
            ceiling=ceiling,
            success=success,
            base=base,
        )
        show_plan(settings, wishes, as_json=as_json)
        return
    if part is not None:
        do_part(settings, part, base, quiet=quiet)
        return
    with own_folder(settings, base) as (placed, remark):

        def show_start() -> None:
            if not settings.out:
                show_folder(placed.folder, remark, quiet=quiet, as_json=as_json)
            if not quiet:
                show_defaults(list_defaults(placed))
                mention_charts()

        announce = (lambda _: None) if quiet else api.tell
        with progress_bar(quiet=quiet) as progress:
            result: AuditResult = api.run(placed, None, progress, announce=announce, started=show_start)
        redact, pairs = result.run.files.is_redacted, None
        if worst:
            result, pairs = try_worst(result, placed, worst, worst_trials, quiet=quiet)
    if as_json:
        told = result.to_dict() | list_exposures(result) | (list_losses(result) if loss else {})
        print_json(told | ({} if pairs is None else {"worst_pairs": pairs.to_dict(redact=redact)}))
    else:
        if loss and table == "full":
            show_losses(result, redact=redact)
        show_result(result, table, losses=loss)
        if pairs is not None:
            show_pairs(pairs, redact=redact)
    say_redacted(result.run)
    pass_gates(result, fail_on, fail_above)


def _make_spec(
    path: Path | None, flags: Mapping[str, Any], assign: Sequence[str] | None, *, loss: bool
) -> "AuditSpec":
    """Return the audit of a file, or the embedded one, with what flags say."""
    from tedaudit.runs.preparation import choose_attacks
    from tedaudit.runs.spec.flags import embedded_audit, merge_flags, parse_k
    from tedaudit.runs.spec.model import parse_spec, read_spec

    base = read_spec(path) if path else {} if flags["mechanism"] else embedded_audit()
    given = {**flags, "k": None if flags["k"] is None else parse_k(flags["k"])}
    settings = choose_attacks(parse_spec(merge_flags(base, given, assign or [])), _ATTACKS)
    return add_likelihood(settings) if loss else settings


def _name_embedded(path: Path | None, flags: Mapping[str, Any]) -> str:
    """Return how the folder of the embedded audit is called, unless a flag names one; "" for other audits."""
    from tedaudit.runs.spec.flags import embedded_audit

    is_other = path is not None or flags["mechanism"] or flags["name"] or flags["out"]
    return "" if is_other else str(embedded_audit()["name"])


def _refuse_wishes(*, dry_run: bool, **wishes: Any) -> None:
    """Refuse what only a dry run can answer."""
    given = [f"--{name.replace('_', '-')}" for name, value in wishes.items() if value not in (None, False)]
    if given and not dry_run:
        raise SpecError(f"{join_names(given)}: ask for it with --dry-run, which runs nothing.")


def do_part(settings: "AuditSpec", text: str, base: str, *, quiet: bool) -> None:
    """Do one part of the steps of a run, and say what is left."""
    from tedaudit import api
    from tedaudit.cli.console import progress_bar
    from tedaudit.runs.own_folder import own_folder
    from tedaudit.runs.runner import Part

    part = Part.parse(text)
    announce = (lambda _: None) if quiet else api.tell
    with own_folder(settings, base) as (placed, _), progress_bar(quiet=quiet) as progress:
        folder, left = api.run_part(placed, part, None, progress, announce=announce)
    if left:
        then = "Do the other parts; the same command without --part then does the rest and tells the result."
    else:
        then = "The same command without --part tells the result."
    done = f"Part {part.number} of {part.of} is done in {folder}"
    typer.echo(f"{done}: {left:,} rewrites and guesses are left. {then}")


def init(
    path: Annotated[Path, typer.Argument(help="Where to write it.")] = Path("audit.yaml"),
    schema: Annotated[
        bool, option(options.OUTPUT, "--schema", help="Print the JSON schema of a spec instead.")
    ] = False,
) -> None:
    """Write a spec to start from."""
    from tedaudit.runs.spec.example import EXAMPLE
    from tedaudit.runs.spec.model import AuditSpec

    if schema:
        print_json(AuditSpec.model_json_schema(by_alias=True))
        return
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(EXAMPLE)
    except FileExistsError as error:
        raise SpecError(f"'{path}' already exists; name another file, or remove it first.") from error
    except OSError as error:
        raise SpecError(
            f"'{path}' cannot be written ({error.strerror}); name a file in another folder."
        ) from error
    typer.echo(f"Wrote {path}. Edit it, then: tedaudit run {path}")


# --- Prints what an audit would take and could show.

_WIDTH = 100  # columns of a terminal that is not one


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is to be planned beside the audit itself, as flags say it."""

    pairs: int = 0
    pair_trials: int = 200
    limit: float | None = None
    ceiling: float | None = None
    success: float | None = None
    base: str = ""  # of the folder, for an audit that comes with tedaudit


def show_plan(spec: "AuditSpec", wishes: Wishes, *, as_json: bool) -> None:
    """Make the plan of an audit and print it; nothing is written."""
    from tedaudit.cli.console import mention_charts, show_section
    from tedaudit.runs.own_folder import foresee_folder
    from tedaudit.studies.forecast.forecast import plan_audit
    from tedaudit.studies.forecast.telling import describe_forecast
    from tedaudit.studies.forecast.work import Beyond

    forecast = plan_audit(
        foresee_folder(spec, wishes.base), ceiling=wishes.ceiling, success=wishes.success,
        beyond=Beyond(wishes.pairs, wishes.pair_trials, wishes.limit),
    )  # fmt: skip
    if as_json:
        print_json(forecast.to_dict())
        return
    for section in describe_forecast(forecast):
        show_section(section, _WIDTH)
    mention_charts()
