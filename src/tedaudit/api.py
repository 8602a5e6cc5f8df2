"""The short ways in from Python: they compose execution, results and reports."""

import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tedaudit.corpora.files import Given, assemble
from tedaudit.errors import RunInUseError, SpecError, join_names
from tedaudit.estimators import Bound, reduced_form
from tedaudit.plugins.registry import Reference, build
from tedaudit.plugins.values import Corpus, Mechanism, Rewrite
from tedaudit.reports.figures import write_figures
from tedaudit.reports.files import write_reports
from tedaudit.reports.loss_figures import write_loss_figures
from tedaudit.reports.result import Result
from tedaudit.results.comparison import MARGIN, Compared, DifferenceScale, compare_runs
from tedaudit.results.confirmed_losses import confirm_losses
from tedaudit.results.findings import AuditResult
from tedaudit.results.lineups import Axis
from tedaudit.results.reading import read_result
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.engines import Announce
from tedaudit.runs.looks import earlier_looks, find_look, note_look
from tedaudit.runs.opening import Wanted, open_engine
from tedaudit.runs.own_folder import own_folder
from tedaudit.runs.preparation import choose_attacks
from tedaudit.runs.release import Order, choose_epsilon, release
from tedaudit.runs.runner import Part, Progress, Started, execute_part, executed
from tedaudit.runs.spec.model import AuditSpec, parse_spec

AnyMechanism = str | Mechanism | Callable[..., Any] | Mapping[str, Any]
_PLAN_SETTINGS = ("k", "lambda_", "strategy", "top", "estimator", "author", "texts", "knows", "releases")
_AUTHOR = "author"  # the column of authors that are given as a list
DEFAULT_ATTACKS = ("lexical", "resample", "trained", "text-likelihood")
_SINGULAR = {"mechanisms": "mechanism", "epsilons": "epsilon", "attacks": "attack"}


def audit(
    mechanism: AnyMechanism,
    corpus: str | Corpus | Sequence[str] | Mapping[str, Any] | None = None,
    *,
    epsilon: float | Sequence[float] = (),
    attack: str | Sequence[Any] | None = None,
    trials: int = 1000,
    **settings: Any,
) -> Result:
    """Audit one mechanism and return the result.

    `mechanism` is a name, a plug-in, or a plain function from text to text (or list to list);
    `corpus` a name or a list of texts; without it, those that the mechanism brings, or the demo. Without
    `attack` it is `lexical`, `resample`, `trained` and `text-likelihood`, as far as they fit the mechanism.
    With `author`, the name of a column or a list with the author of each text, the secret is an author of
    whom the adversary sees several rewrites (`texts` at most); with `releases`, it sees so many of one text.
    Any other setting of `AuditSpec` may be given, `k`, `lambda_`, `strategy`, `top`, `estimator` or `knows`
    for the plan, and `engine`, `progress` and `announce` as for `run`. Without `out` the run directory is a
    temporary one that lives as long as the result; `result.save(path)` keeps it.

    >>> audit(str.upper, ["a b", "c d", "e f"], epsilon=1.0, trials=200).violated
    True
    """
    for plural, singular in _SINGULAR.items():
        if plural in settings:
            raise SpecError(f"`audit` has no setting '{plural}': give one or several as `{singular}`.")
    merge_plan(settings)
    engine: Wanted | None = settings.pop("engine", None)
    progress: Progress | None = settings.pop("progress", None)
    announce: Announce | None = settings.pop("announce", None)
    corpus = _add_authors(corpus, settings)
    texts: Any = corpus
    if corpus is not None and not isinstance(corpus, str | Mapping):
        texts = {"name": "given", "live": Given(corpus)}
    settings |= {"mechanisms": [mechanism], "corpus": texts, "trials": trials, "epsilons": epsilon}
    settings |= {} if attack is None else {"attacks": attack}
    if settings.get("out"):
        spec = choose_attacks(parse_spec(settings), DEFAULT_ATTACKS)
        return run(spec, engine, progress, announce=announce)
    folder = TemporaryFolder()
    try:
        spec = choose_attacks(parse_spec(settings | {"out": str(folder.path / "run")}), DEFAULT_ATTACKS)
        result = run(spec, engine, progress, page=False, announce=announce)
    except BaseException:  # whoever keeps the error would keep the folder too
        folder.remove()
        raise
    return replace(result, keeper=folder)


def _add_authors(corpus: Any, settings: dict[str, Any]) -> Any:
    """Return a corpus with the authors that were given as a list, beside a list of texts."""
    plan = settings["plans"][0] if settings.get("plans") else {}
    authors = plan.get("author", "") if isinstance(plan, Mapping) else ""
    if isinstance(authors, str):
        return corpus
    if not isinstance(corpus, Sequence) or isinstance(corpus, str) or len(corpus) != len(authors):
        number = f"{len(corpus):,} texts" if isinstance(corpus, list | tuple) else "no list of texts"
        raise SpecError(
            f"`author` has {len(authors):,} entries beside {number}: give the author of each text, or the "
            "name of a column of the corpus."
        )
    settings["plans"] = [{**plan, "author": _AUTHOR}]
    return assemble("given", {"train": (list(corpus), {_AUTHOR: list(authors)})})


def merge_plan(settings: dict[str, Any]) -> None:
    """Put the settings of a plan that were given by themselves (`k`, `lambda_` and so on) into `plans`."""
    plan = {key.rstrip("_"): settings.pop(key) for key in _PLAN_SETTINGS if key in settings}
    if not plan:
        return
    if "plans" in settings:
        raise SpecError(f"Both `plans` and {join_names(plan)} were given: put them into one of the plans.")
    settings["plans"] = [plan]


class TemporaryFolder:
    """A folder that goes, without a warning, with the last object that refers to this one."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="tedaudit-"))
        self.remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def run(
    spec: AuditSpec | Mapping[str, Any],
    engine: Wanted | None = None,
    progress: Progress | None = None,
    *,
    page: bool = True,
    announce: Announce | None = None,
    started: Started = lambda: None,
) -> Result:
    """Run an audit, or go on with it, and return the result; `page` says whether to write report.html.

    Without `out` and `name` the run directory is one of its own below runs/ (`result.folder` says which); the
    same audit, also with more trials, goes on in the one that it has.
    The engine does the model work: "serial", "processes" or "ray", a mapping such as {"name": "processes",
    "workers": 4}, or an object; without it, the spec's, which is this process if nothing is said. `progress`
    is called with what is being done, how much of it is done and how much there is. If the run calls a
    function of the user's or a server, `announce` is told in one line how often it will; by default it is
    written to standard error. `started` is called once all settings have been checked.
    """
    given = spec if isinstance(spec, AuditSpec) else parse_spec(spec)
    said = announce or tell
    with own_folder(given) as (placed, remark):
        if remark:
            said(remark)
        advance = progress or (lambda *_: None)
        with (
            open_engine(placed, engine, said) as worker,
            executed(placed, worker, advance, said, started) as store,
        ):
            result = read_result(store)
            named = {plugin.title: plugin.reference("mechanism") for plugin in placed.mechanisms}
            if confirm_losses(result, named, advance):
                result = read_result(store)
            write_reports(result, page=page)
    return Result.of(result)


def run_part(
    spec: AuditSpec | Mapping[str, Any],
    part: Part,
    engine: Wanted | None = None,
    progress: Progress | None = None,
    *,
    announce: Announce | None = None,
) -> tuple[Path, int]:
    """Do one part of the steps of a run, and return its folder and how many rewrites and guesses are left.

    Parts may go on at the same time, one after the other, or on machines that have a copy of the folder:
    what each makes is put together by copying its files back. The run itself, called once more, does what is
    left and tells the result. Guesses on trials wait until all of them are rewritten, whoever does that.
    """
    given = spec if isinstance(spec, AuditSpec) else parse_spec(spec)
    said, advance = announce or tell, progress or (lambda *_: None)
    with own_folder(given) as (placed, _), open_engine(placed, engine, said) as worker:
        store, left = execute_part(placed, worker, advance, said, part)
    return store.root, left


def tell(line: str) -> None:
    """Write a line for the user to standard error."""
    sys.stderr.write(f"{line}\n")


def load_run(path: str | Path, alpha: float | None = None, delta: float | None = None) -> Result:
    """Return the result of a run directory from its tables; no model is loaded."""
    return Result.of(read_result(RunDirectory(Path(path)), alpha, delta))


def judge_run(path: str | Path) -> Result:
    """Return the result of a run directory; guesses that were not judged before are judged now.

    That is a look at the run and counted as one.
    """
    return _judge(RunDirectory(Path(path)))


def _judge(store: RunDirectory) -> Result:
    look = find_look(store)
    if not look.noted and not look.lost:
        _count_look(store)
    return Result.of(read_result(store))


def compare(
    *runs: str | Path | AuditResult,
    by: Axis | None = None,
    against: str | None = None,
    alpha: float = 0.01,
    scale: DifferenceScale | None = None,
    margin: float = MARGIN,
) -> Compared:
    """Compare runs, or the attacks or mechanisms of one, trial by trial if they share a plan.

    `answer` of what is returned says whether the others are worse than the reference, no worse than by
    `margin`, or whether that cannot be told.
    """
    stores = [run.run if isinstance(run, AuditResult) else RunDirectory(Path(run)) for run in runs]
    return compare_runs(stores, by, against, alpha, scale, margin)


def report(
    run: str | Path | AuditResult, *, redact: bool = False, full: bool = False, figures: bool = False
) -> Result:
    """Write the reports of a run again, and its figures if asked for; return the result as they show it.

    `redact` leaves every text out, and is noted: whatever is written for this run from now on has none,
    until `full` takes it back. Without either it stays as it is. Guesses that were not judged before are
    judged now, which is a look at the run and counted as one.
    """
    if redact and full:
        raise SpecError("`redact` and `full` (--redact, --full) cannot be combined: name one.")
    store = run.run if isinstance(run, AuditResult) else RunDirectory(Path(run))
    if redact or full:
        store.note_redaction(redacted=redact)
    judged = isinstance(run, AuditResult) and find_look(store).noted
    result = run if isinstance(run, AuditResult) and judged else _judge(store)
    shown = write_reports(result)
    if figures:
        write_figures(shown)
        write_loss_figures(shown)
    return Result.of(shown)


def _count_look(store: RunDirectory) -> None:
    """Note that the tables are judged as they are, unless a process is still writing to them."""
    try:
        with store.locked():
            store.write_manifest(note_look(store, {"looks": earlier_looks(store), **store.manifest()}))
    except RunInUseError:
        return


def rewrite(
    mechanism: AnyMechanism,
    texts: Sequence[str],
    epsilon: float | None = None,
    *,
    draws: int = 1,
    seed: int | None = None,
) -> list[Rewrite]:
    """Rewrite texts for release, with secret noise; several draws of a text follow each other.

    `epsilon` may be left out for a mechanism that takes none, such as a redactor.

    A seed makes the noise repeatable, and known to whoever knows the seed: for experiments only.
    """
    [named] = parse_spec({"mechanisms": [mechanism]}).mechanisms
    plugin = build(named.reference("mechanism"))
    order = Order(choose_epsilon(plugin, epsilon), draws, seed)
    return [released.rewrite for released in release(plugin, texts, order)]


def estimate(
    correct: int, trials: int, candidates: int = 2, alpha: float = 0.01, delta: float = 0.0
) -> Bound:
    """Return the bound for counts alone: right guesses among trials with a number of candidates."""
    return reduced_form(correct, trials, candidates, alpha, delta)


def load_corpus(name: str, **options: Any) -> Corpus:
    """Return a corpus by the name of its loader."""
    corpus: Corpus = build(Reference("corpus", name, options)).load()
    return corpus
