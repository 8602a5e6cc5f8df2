"""From a question to its answer: checks what is asked, searches, confirms, and writes what was found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tedaudit.api import DEFAULT_ATTACKS, AnyMechanism, TemporaryFolder, merge_plan, report, tell
from tedaudit.corpora.files import Given
from tedaudit.errors import RunDirectoryError, SpecError, join_names
from tedaudit.estimators.likelihood_check import LIKELIHOOD
from tedaudit.plugins.protocols import HasOwnEpsilons, WritesOnce
from tedaudit.plugins.registry import build
from tedaudit.plugins.values import Corpus
from tedaudit.results.reading import read_result
from tedaudit.results.redaction import rename_labels
from tedaudit.results.section import store_section
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.opening import open_engine
from tedaudit.runs.preparation import choose_attacks, explain_misfit, load_texts
from tedaudit.runs.spec.model import AuditSpec, parse_spec
from tedaudit.seeding import derive
from tedaudit.studies.calibrate.result import Calibrated
from tedaudit.studies.calibrate.rounds import SearchSettings, find_epsilons
from tedaudit.studies.calibrate.runs import RunSource, Workshop
from tedaudit.studies.calibrate.search import Grid
from tedaudit.studies.calibrate.target import Target, parse_targets
from tedaudit.studies.calibrate.telling import tell as tell_answers
from tedaudit.studies.calibrate.telling import write_curves

SEARCHED = (0.01, 10_000.0)
TRIALS = 2000
NAME = "calibrate"  # of the run directory, and of the section in its report
_VISITED = "calibrated-points"


def calibrate(
    mechanism: AnyMechanism | Sequence[AnyMechanism],
    corpus: str | Corpus | Sequence[str] | Mapping[str, Any] | None = None,
    *,
    target: float | Sequence[float],
    by: str = "success",
    attack: str | Sequence[Any] | None = None,
    **settings: Any,
) -> Calibrated:
    """Find the nominal epsilons at which mechanisms reach a measured target on these texts.

    `by` is `success`, the expected one of the strongest attack, or `loss@DELTA`, of the exact losses. A
    target below 1 is a success rate, one from 1 on the epsilon that a success rate stands for. Without
    `attack` it is `lexical`, `resample`, `trained` and `text-likelihood`, as far as they fit. `trials` are
    the fresh ones at each end (2,000), `searched` the least and the largest epsilon to look at (0.01 and
    10,000), and `alpha` the error of each answer (0.01). Any other setting is as for `audit`; `page=False`
    writes no page.

    >>> calibrate("word-rr", "demo", target=2.0, attack="likelihood").of("word-rr").answer
    <Answer.INTERVAL: 'interval'>
    """
    asked = prepare_question(mechanism, corpus, by, attack, settings)
    targets = (by, target if isinstance(target, Sequence) else [target])
    calibrated = run_calibration(asked.spec, targets, asked.searched, asked.helpers, page=asked.page)
    return replace(calibrated, keeper=asked.keeper)


@dataclass(frozen=True)
class Question:
    """What Python asks for, as the command line would."""

    spec: AuditSpec
    searched: tuple[float, float]
    helpers: Mapping[str, Any]
    page: bool
    keeper: object


def prepare_question(
    mechanism: AnyMechanism | Sequence[AnyMechanism],
    corpus: str | Corpus | Sequence[str] | Mapping[str, Any] | None,
    by: str,
    attack: str | Sequence[Any] | None,
    settings: dict[str, Any],
) -> Question:
    """Return the audit behind a calibration that is asked for from Python; without `out` it is temporary."""
    merge_plan(settings)
    texts: Any = corpus
    if corpus is not None and not isinstance(corpus, str | Mapping):
        texts = {"name": "given", "live": Given(corpus)}
    searched, page = settings.pop("searched", SEARCHED), settings.pop("page", True)
    helpers = {name: settings.pop(name, None) for name in ("engine", "progress", "announce")}
    named = list(mechanism) if isinstance(mechanism, list | tuple) else [mechanism]
    whole = {"name": NAME, "trials": TRIALS, **settings, "mechanisms": named, "corpus": texts}
    if attack is not None or by.startswith("loss"):
        whole["attacks"] = "likelihood" if attack is None else attack
    folder = None if whole.get("out") else TemporaryFolder()
    if folder is not None:
        whole["out"] = str(folder.path / "run")
    spec = choose_attacks(parse_spec(whole), DEFAULT_ATTACKS)
    return Question(
        spec=spec, searched=searched, helpers=helpers, page=page and folder is None, keeper=folder
    )


def run_calibration(
    spec: AuditSpec,
    asked: tuple[str, Sequence[float]],
    searched: tuple[float, float] = SEARCHED,
    helpers: Mapping[str, Any] | None = None,
    *,
    page: bool = True,
) -> Calibrated:
    """Calibrate all mechanisms of a spec to all targets, or go on with it; the spec's trials are fresh ones.

    `asked` is by what targets are told, and their values. Helpers are an engine, progress and announce.
    Nothing is run for a target that these trials cannot reach.
    """
    check_spec(spec)
    targets = read_targets(spec, *asked)
    attacks = match_attacks(spec, targets[0])
    given = {name: value for name, value in (helpers or {}).items() if value is not None}
    announce = given.get("announce", tell)
    settings = SearchSettings(
        targets=targets, grid=Grid.between(*searched), trials=spec.trials, error=spec.alpha, attacks=attacks
    )
    search = seed_search(spec)
    if RunDirectory(spec.folder).exists():
        with RunDirectory(spec.folder).locked():  # which clears what a killed process left, fresh trials too
            pass
    with open_engine(spec, given.get("engine"), announce) as engine:
        workshop = Workshop(engine, given.get("progress", lambda *_: None), announce)
        source = RunSource(
            spec=search, attacks=attacks, searched=(float(searched[0]), float(searched[1])), workshop=workshop
        )
        answers = source.add_bounds(find_epsilons(settings, source))
    calibrated = Calibrated(spec.folder, _name_corpus(spec), answers)
    if any(answer.points for answer in answers):
        write_answers(calibrated, page=page)
    return calibrated


def seed_search(spec: AuditSpec) -> AuditSpec:
    """Return the audit of the search, with a seed of its own, unless its folder holds another audit.

    Points that were added to an audit would be looks at it, and spend the error of its verdicts.
    """
    store, seed = RunDirectory(spec.folder), derive(spec.seed, "calibrate", "search")
    if store.exists() and store.manifest()["spec"].get("seed") != seed:
        raise RunDirectoryError(
            f"'{spec.folder}' holds an audit, or a calibration with another seed. A calibration needs a "
            "run directory of its own: name another with `out` (--out)."
        )
    return spec.model_copy(update={"seed": seed})


def write_answers(calibrated: Calibrated, *, page: bool = True) -> list[Path]:
    """Keep the answers in the run of the search: a section of its report, and the curves as a figure."""
    run = RunDirectory(calibrated.folder)
    for name, section in zip((NAME, _VISITED), tell_answers(calibrated), strict=True):
        store_section(run, name, section)
    written = write_curves(rename_answers(calibrated, run), run, NAME)
    if page:
        report(run.root)
    return written


def rename_answers(calibrated: Calibrated, run: RunDirectory) -> Calibrated:
    """Return the answers with labels as the run shows them: in a redacted one, long ones are numbers."""
    if not run.files.is_redacted:
        return calibrated
    labels = [finding.label for finding in read_result(run)]  # numbered as in its report
    names = rename_labels("mechanism", [*labels, *(answer.label for answer in calibrated)])
    answers = tuple(replace(answer, label=names[answer.label]) for answer in calibrated)
    return replace(calibrated, answers=answers)


def read_targets(spec: AuditSpec, by: str, values: Sequence[float]) -> tuple[Target, ...]:
    """Return the targets; the number of candidates may be that of all texts."""
    k = spec.plans[0].k
    return parse_targets(by, values, len(load_texts(spec.corpus, {}).texts) if k == "all" else k)


def check_spec(spec: AuditSpec) -> None:
    """Refuse what cannot be calibrated: several plans, epsilons of one's own, mechanisms that take none."""
    if len(spec.plans) != 1 or spec.plans[0].chosen_estimator.rows_per_trial != 1:
        raise SpecError("A calibration needs a single plan with one rewrite per trial (the reduced form).")
    if spec.epsilons or any(m.epsilons for m in spec.mechanisms):
        raise SpecError(
            "A calibration finds the epsilons itself: leave `epsilons` out, and set the limits of the "
            "search instead."
        )
    for named in spec.mechanisms:
        plugin = build(named.reference("mechanism"))
        if isinstance(plugin, WritesOnce):
            raise SpecError(
                f"'{named.title}' is a table with one rewrite of each text: its epsilon can no longer be "
                "chosen."
            )
        if isinstance(plugin, HasOwnEpsilons) and list(plugin.epsilons([1.0, 2.0])) != [1.0, 2.0]:
            raise SpecError(f"'{named.title}' takes no epsilon, so there is nothing to find.")


def match_attacks(spec: AuditSpec, target: Target) -> dict[str, tuple[str, ...]]:
    """Return the attacks that fit each mechanism; one that none fits is refused."""
    attacks = {attack.title: build(attack.reference("attack")) for attack in spec.attacks}
    others = [title for title, plugin in attacks.items() if plugin.card.score != LIKELIHOOD]
    if target.is_loss and (others or len(attacks) != 1):
        raise SpecError(
            "For a target of loss only the attack 'likelihood' is used: leave out "
            f"{join_names(others or attacks)}."
        )
    fitting = {}
    for named in spec.mechanisms:
        mechanism = build(named.reference("mechanism"))
        reasons = {title: explain_misfit(plugin, mechanism) for title, plugin in attacks.items()}
        fitting[named.title] = tuple(title for title, reason in reasons.items() if not reason)
        if not fitting[named.title]:
            other = "Measure the target by success" if target.is_loss else "Name another with --attack"
            raise SpecError(
                f"No attack of this calibration fits '{named.title}': {next(iter(reasons.values()), '')} "
                f"{other}, or leave the mechanism out."
            )
    return fitting


def _name_corpus(spec: AuditSpec) -> str:
    return "demo" if spec.corpus is None else spec.corpus.title
