"""The command that measures what rewritten texts are still good for."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tedaudit.cli import options
from tedaudit.cli.gates import FailAbove, FailOnLimit, check_limit_gates, pass_limit
from tedaudit.cli.options import option, print_json
from tedaudit.cli.trust import Yes, confirm_code
from tedaudit.errors import SpecError

_FLAGS = {"mechanisms": "mechanism"}  # settings whose flag has another name
_SHARED = ("name", "corpus", "mechanisms", "epsilons", "seed")  # settings that a study takes from an audit


def utility(
    spec: Annotated[
        Path | None, typer.Argument(metavar="SPEC", help="A YAML file; flags override it.")
    ] = None,
    corpus: options.Corpus = None,
    task: options.Tasks = None,
    private: options.Private = None,
    mechanism: options.Mechanisms = None,
    epsilon: options.Epsilons = None,
    classifier: options.Classifier = None,
    learning_rate: Annotated[
        float | None, option(options.ADVERSARY, "--learning-rate", help="For training an encoder.")
    ] = None,
    limit: options.Limit = None,
    seeds: options.Repeats = None,
    test_split: options.TestSplit = None,
    hold_out: options.HoldOut = None,
    key: options.HoldOutKey = None,
    private_records: Annotated[
        int | None,
        option(options.ADVERSARY, "--private-records", help="Test texts to guess --private from; 1,000."),
    ] = None,
    alpha: Annotated[
        float | None, option(options.STATISTICS, "--alpha", help="Twice the error of all bounds; 0.01.")
    ] = None,
    seed: options.Seed = None,
    batch_size: options.BatchSize = None,
    note: Annotated[
        str | None,
        option(options.OUTPUT, "--note", metavar="TEXT", help="Printed below the table and the figure."),
    ] = None,
    name: Annotated[
        str | None, option(options.OUTPUT, "--name", metavar="NAME", help="Names the folder.")
    ] = None,
    out: Annotated[
        str | None,
        option(options.OUTPUT, "--out", "-o", metavar="FOLDER", help="runs/NAME-utility by default."),
    ] = None,
    assign: options.Assignments = None,
    run: Annotated[
        Path | None,
        option(
            options.AUDITED,
            "--run",
            metavar="RUN",
            help="An audit: its settings are used, and its report shows the result.",
        ),
    ] = None,
    fail_above: FailAbove = None,
    fail_on: FailOnLimit = None,
    yes: Yes = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Train classifiers on rewritten texts and test them on clean ones; the same command resumes it.

    Private columns are also guessed from rewritten test texts: gain, and a lower bound on epsilon.
    A name py:package.module:name runs that code; for one that comes from --run it is asked first.
    """
    from tedaudit.cli.console import progress_bar, say_redacted, say_unfinished, show_defaults, show_utility
    from tedaudit.runs.missing import find_missing
    from tedaudit.runs.spec.code_names import list_code
    from tedaudit.runs.spec.flags import merge_flags
    from tedaudit.studies.utility.settings import parse_utility
    from tedaudit.studies.utility.study import run_study
    from tedaudit.studies.utility.study_folder import check_run, write_study

    flags: dict[str, Any] = {
        "corpus": corpus, "tasks": task, "private": private, "mechanism": mechanism, "epsilon": epsilon,
        "classifier": classifier, "learning_rate": learning_rate, "limit": limit, "seeds": seeds,
        "test_split": test_split, "hold_out": hold_out, "key": key, "seed": seed,
        "batch_size": batch_size, "note": note, "name": name, "out": out,
        "private_records": private_records, "alpha": alpha,
    }  # fmt: skip
    check_limit_gates("utility", fail_on, fail_above)
    audit = None if run is None else check_run(run).manifest()["spec"]
    base = _choose_base(spec, audit, run, is_named=corpus is not None)
    if run is not None:
        say_unfinished(check_run(run), find_missing(check_run(run)))
    if run is not None and spec is None:
        taken = {key: value for key, value in base.items() if not flags.get(_FLAGS.get(key, key))}
        confirm_code(list_code(taken), run, yes=yes)
    settings = parse_utility(merge_flags(base, flags, assign or []))
    if fail_above is not None and not (settings.private and settings.private_records):
        raise SpecError(
            "--fail-above judges what rewrites tell of private columns: name one with --private, and let "
            "--private-records be above 0."
        )
    if not quiet:
        show_defaults(_list_defaults(settings))
    with progress_bar(quiet=quiet) as progress:
        result = run_study(settings, progress, None if quiet else lambda line: typer.echo(line, err=True))
    written = write_study(result, run)
    if run is not None:
        say_redacted(check_run(run))
    if as_json:
        print_json(result.to_dict())
    else:
        show_utility(result, written)
    if run is not None and not quiet and not as_json:
        typer.echo(f"To see privacy against utility: tedaudit report {run}")
    if fail_above is not None:
        pass_limit(result.judge_limit(fail_above), fail_on, fail_above)


def _choose_base(
    spec: Path | None, audit: dict[str, Any] | None, run: Path | None, *, is_named: bool
) -> dict[str, Any]:
    """Return the settings that flags override, the corpus if it `is_named`: of a file, an audit, or none."""
    from tedaudit.runs.spec.model import read_spec

    if spec is not None:
        return read_spec(spec)
    if audit is None or run is None:
        return {}
    if not is_named and (audit.get("corpus") or {}).get("name") == "given":
        raise SpecError(
            f"'{run}' was made from texts given in Python, which have no labels: name a corpus with --corpus."
        )
    taken = {key: audit[key] for key in _SHARED if audit.get(key) is not None}
    return {**taken, "out": str(run.resolve().with_name(f"{run.resolve().name}-utility"))}


def _list_defaults(settings: Any) -> dict[str, str]:
    """Return the models used from the zoo because nothing else is named."""
    from tedaudit.models.zoo import is_default
    from tedaudit.runs.spec.zoo_defaults import plugin_defaults

    taken = plugin_defaults([("mechanism", mechanism) for mechanism in settings.mechanisms])
    if is_default() and "classifier" not in settings.model_fields_set:
        taken["classifier"] = settings.classifier
    return taken
