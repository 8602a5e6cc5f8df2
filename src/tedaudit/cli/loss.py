"""The command that says what an adversary that knows the mechanism learns."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tedaudit.cli.options import Assignments, Corpus, Epsilons, Json, Mechanisms, Quiet, print_json
from tedaudit.cli.trust import Yes, confirm_code
from tedaudit.errors import SpecError

if TYPE_CHECKING:
    from tedaudit.results.findings import AuditResult
    from tedaudit.spec.model import AuditSpec

_ATTACK = "likelihood"  # whose margins are losses


def loss(
    run_directory: Annotated[Path | None, typer.Argument(help="A finished run.")] = None,
    mechanism: Mechanisms = None,
    epsilon: Epsilons = None,
    corpus: Corpus = None,
    trials: Annotated[int | None, typer.Option("--trials", "-t", help="Of a new run; 1,000.")] = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Of a new run: runs/loss.")] = None,
    assign: Assignments = None,
    redact: Annotated[bool, typer.Option("--redact", help="Leave every text out.")] = False,
    yes: Yes = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Say how much an adversary that knows the mechanism learns: the loss, which has no ceiling.

    Of a run that has likelihoods it is read from the tables. If it has none they are computed first, of the
    rewrites that are there. With -m in the place of a run, texts are rewritten too.
    """
    from tedaudit import api
    from tedaudit.cli.console import progress_bar
    from tedaudit.results.losses import find_contradictions, read_losses

    if (run_directory is None) == (not mechanism):
        raise SpecError("Name a run directory, or a mechanism with -m: the losses of one of them are told.")
    if run_directory is None:
        flags = {"mechanism": mechanism, "epsilon": epsilon, "corpus": corpus, "trials": trials, "out": out}
        spec: Any = _make_spec(flags, assign)
    else:
        result = api.load_run(run_directory)
        spec = None if read_losses(result) else _add_likelihoods(result, yes=yes)
    if spec is not None:
        with progress_bar(quiet=quiet) as progress:
            result = api.run(spec, progress=progress, announce=(lambda _: None) if quiet else None)
    if not as_json:
        show_losses(result, redact=redact)
        return
    rows = _read(result)
    told = {"losses": [row.to_dict() for row in rows]}
    print_json(told | {"contradictions": list(find_contradictions(result, rows))})


def show_losses(result: "AuditResult", *, redact: bool = False) -> None:
    """Print the losses of a run."""
    from tedaudit.cli.console import show_section
    from tedaudit.reports.losses import describe_losses

    section = describe_losses(result, _read(result))
    show_section(section.redact() if redact else section)


def _read(result: "AuditResult") -> Any:
    from tedaudit.results.losses import read_losses

    rows = read_losses(result)
    if not rows:
        raise SpecError(_explain_none(result))
    return rows


def _make_spec(flags: dict[str, Any], assign: list[str] | None) -> Any:
    from tedaudit.spec.flags import merge_flags
    from tedaudit.spec.model import parse_spec

    return parse_spec(merge_flags({"name": "loss", "attacks": [_ATTACK]}, flags, assign or []))


def _add_likelihoods(result: Any, *, yes: bool) -> Any:
    """Return the audit of a run with the attack that knows the mechanism beside its own."""
    from tedaudit.corpora._given import Given
    from tedaudit.spec.code_names import list_code
    from tedaudit.spec.model import parse_spec

    stored = result.run.manifest()["spec"]
    confirm_code(list_code(stored, "mechanisms", "attacks"), result.folder, yes=yes)
    texts = {"name": "given", "live": Given(result.run.corpus())}  # as the run has them, whatever changed
    return add_likelihood(parse_spec({**stored, "corpus": texts, "out": str(result.folder)}))


def add_likelihood(spec: "AuditSpec") -> "AuditSpec":
    """Return an audit that has the attack that knows the mechanism, beside its own."""
    from tedaudit.spec.model import PluginSpec

    if any(attack.name == _ATTACK for attack in spec.attacks):
        return spec
    return spec.model_copy(update={"attacks": [*spec.attacks, PluginSpec(name=_ATTACK)]})


def _explain_none(result: Any) -> str:
    if all(finding.bound.candidates != 2 for finding in result):
        return "Losses need a plan with two candidates; run it with --k 2."
    if any(not finding.complete for finding in result):
        return "The run is not finished: run the same command again, then ask for its losses."
    return (
        "No mechanism of this run can compute its own probabilities, so there is no loss to read. Those that "
        "can have `log_likelihood` or a latent: see `tedaudit ls mechanisms`."
    )
