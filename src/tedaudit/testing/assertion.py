"""All that the tool can say as one line of a test: it passes only if the claim was tested and not refuted.

An audit, the battery of `tedaudit leaks` and lint look at the rewriter. Audit and battery share one error.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from tedaudit.api import AnyMechanism, audit
from tedaudit.errors import SpecError, escape_control, shorten
from tedaudit.estimators.multiplicity import least_trials
from tedaudit.leaks.finder import find_leaks
from tedaudit.leaks.lint.linter import lint as look_at
from tedaudit.leaks.lint.notes import LintReport
from tedaudit.leaks.lint.source import SEEDS
from tedaudit.leaks.outcomes import LeakReport
from tedaudit.leaks.telling import format_strength, list_examples
from tedaudit.plugins.registry import Reference, build
from tedaudit.plugins.values import Claim, Corpus, Level, Note
from tedaudit.results.examples import rank_right
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.results.verdict import GATES, Verdict, any_named, strongest
from tedaudit.runs.spec.model import AuditSpec
from tedaudit.testing.listeners import tell

TRIALS = 2_000
_SHARE, _LEAST, _MOST, _MODEL = 10, 50, 200, 60  # the battery's trials: a tenth of the audit's, within limits
_LINTED = 6  # texts that lint may look at
_FLAGS = tuple(decision.flag for decision in GATES)


@dataclass(frozen=True, slots=True)
class PrivacyResult(AuditResult):
    """An audit, and what the battery and lint said of the same rewriter; None if they did not run."""

    leaks: LeakReport | None = None
    """What the battery of `find_leaks` found."""
    lint: LintReport | None = None
    """What `lint` noted; its errors do not pass, its warnings and infos do."""

    @property
    def not_looked_at(self) -> tuple[str, ...]:
        """What was not looked at, with the reason: that it passed says nothing of these."""
        found = [] if self.lint else ["source, settings and arithmetic: lint=False"]
        if self.leaks is None:
            what = "state between calls, noise and texts shared within a call, twins, fresh processes"
            return (*found, f"{what}: battery=False")
        far = sum(not outcome.is_in_reach for outcome in self.leaks.outcomes)
        if far:
            tests = f"{far} of {len(self.leaks.outcomes)} tests of the battery"
            found.append(
                f"{tests}: the claim would allow whatever they could find, or there are too few pairs"
            )
        return (*found, *(f"{part.part}: {part.reason}" for part in self.leaks.not_run))


class PrivacyError(AssertionError):
    """A rewriter that did not pass; `result` has the audit, the battery and lint, if there was an audit."""

    def __init__(self, message: str, result: AuditResult | None = None) -> None:
        super().__init__(message)
        self.result = result


class NotPrivateError(PrivacyError):
    """A claim or limit is refuted, something leaks, or the noise can be computed again: with an example."""


class NotTestedError(PrivacyError):
    """Nothing was shown: out of reach at these trials, or too many rewrites failed."""


def assert_private(
    rewriter: AnyMechanism,
    texts: str | Corpus | Sequence[str] | None = None,
    *,
    claim: float | Claim | None = None,
    fail_above: float | None = None,
    trials: int = TRIALS,
    battery: bool | Mapping[str, Any] = True,
    **settings: Any,
) -> PrivacyResult:
    """Audit a rewriter and raise a `PrivacyError` unless it passes; return what was found if it does.

    `claim` is the epsilon that it promises for a whole text, or a `Claim`. `fail_above` is the largest bound
    that is accepted, with or without a claim. At least one of them is needed. A claim or limit that these
    trials could not have refuted does not pass: the error says how many would. Neither does a rewriter that
    fails too often to be tested.

    The battery of `find_leaks` looks for what an audit cannot see, such as state between calls, and lint at
    source and settings. A leak that the claim or limit does not allow raises, and so does an error of lint:
    a promise that cannot hold or, if there is only a limit, a seed that can be guessed. Warnings of lint do
    not; they are in `lint` of the result. Audit and battery have half of the error each. `battery=False` and
    `lint=False` leave them out, and `not_looked_at` of the result says what that means; `battery` may also be
    settings of `find_leaks`, such as {"trials": 100, "processes": False}.

    A function that takes `epsilon` is given that of the claim, or `epsilon=` if there is only a limit.
    `redact=True` keeps texts out of the error. All other settings are those of `audit`.

    >>> assert_private(lambda text: "Thank you.", ["a b", "c d", "e f"], claim=1.0, trials=200).violated
    False
    """
    __tracebackhide__ = True
    if claim is None and fail_above is None:
        raise SpecError(
            "assert_private needs `claim`, `fail_above` or both; without them there is nothing to check."
        )
    if fail_above is not None and not 0 <= fail_above < float("inf"):
        raise SpecError(f"fail_above is {fail_above}; it must be 0 or larger, such as 2.0.")
    redact = bool(settings.pop("redact", False))
    lints = bool(settings.pop("lint", True))
    mechanism, epsilon = _state_claim(rewriter, claim, settings.pop("epsilon", None))
    settings.setdefault("announce", lambda _: None)
    alpha = settings.pop("alpha", AuditSpec.model_fields["alpha"].default)
    settings["alpha"] = alpha / 2 if battery else alpha
    audited = audit(mechanism, texts, epsilon=epsilon, trials=trials, **settings)
    if not audited.finished:
        raise NotTestedError(f"Not shown to be private: {audited.unfinished}.", audited)
    if not audited.findings:
        raise NotTestedError("Not shown to be private: there is no bound.", audited)
    promise = _Promise(rewriter=rewriter, mechanism=mechanism, epsilon=epsilon, claim=claim, limit=fail_above)
    shown = audited.run.corpus().texts
    chosen = {"error": alpha / 4, "seed": settings.get("seed", 0)}
    chosen |= dict(battery) if isinstance(battery, Mapping) else {}
    result = PrivacyResult(
        **{field.name: getattr(audited, field.name) for field in fields(audited)},
        leaks=promise.run_battery(shown, trials, chosen) if battery else None,
        lint=promise.run_lint(shown) if lints else None,
    )
    judged = [*_judge_claim(result, claim), *_judge_limit(result, fail_above)]
    tell(describe_audit(result, [verdict for _, _, verdict in judged]))
    _raise_refuted(judged, result, redact=redact)
    _raise_leaks(result, promise, redact=redact)
    _raise_untested(judged, result)
    return result


@dataclass(frozen=True, slots=True)
class _Promise:
    """A rewriter, as given and as audited, and what it is held to."""

    rewriter: AnyMechanism
    mechanism: AnyMechanism
    epsilon: float | tuple[()]
    claim: float | Claim | None
    limit: float | None

    @property
    def stated(self) -> Claim | None:
        """The claim as an object."""
        return Claim(self.claim, "document") if isinstance(self.claim, int | float) else self.claim

    @property
    def strictest(self) -> tuple[str, Claim]:
        """What must not be exceeded, in words and as a claim."""
        stated = self.stated
        if self.limit is None or (stated is not None and stated.total <= self.limit):
            assert stated is not None  # noqa: S101 - one of both is given
            return f"the claim of {stated}", stated
        delta = 0.0 if stated is None else stated.total_delta
        return f"the limit of {self.limit:g}", Claim(self.limit, "document", delta=delta)

    def run_battery(self, texts: Sequence[str], trials: int, settings: Mapping[str, Any]) -> LeakReport:
        """Run the battery; at zero budget too if the mechanism says itself what it promises there."""
        is_plugin, (_, strictest) = is_mechanism(self.rewriter), self.strictest
        states = is_plugin and strictest == self.stated
        most = _MODEL if is_plugin and _build(self.rewriter).card.needs else _MOST
        return find_leaks(
            self.mechanism, list(texts), epsilon=self.epsilon, claim=None if states else strictest,
            **{"zero_budget": states, "trials": min(most, max(_LEAST, trials // _SHARE)), **settings},
        )  # fmt: skip

    def run_lint(self, texts: Sequence[str]) -> LintReport:
        """Look at the rewriter without a sample."""
        epsilons = [self.epsilon] if isinstance(self.epsilon, int | float) and self.epsilon > 0 else []
        return look_at(self.mechanism, epsilons=epsilons, texts=texts[:_LINTED])


_Judged = tuple[str, Finding, Verdict]  # against what, the finding that decided, the decision


def describe_audit(result: PrivacyResult, verdicts: Sequence[Verdict]) -> str:
    """Return a result in one line: bound, ceiling, verdict, trials, and what battery and lint say."""
    best = result.largest or result.findings[0]
    decided = ", ".join(dict.fromkeys(verdict.name for verdict in verdicts))
    leaks, notes = result.leaks, result.lint
    battery = "battery not run"
    if leaks is not None:
        found = ", ".join(cause.finding.name for cause in leaks.causes)
        battery = f"{f'leaks: {found}' if found else 'no leak'} in {len(leaks.outcomes)} tests"
    levels: tuple[Level, ...] = ("error", "warning")
    counted = [(len(notes.at(level)), level) for level in levels] if notes else []
    counts = ", ".join(f"{count} {level}{'s' * (count > 1)}" for count, level in counted if count)
    return (
        f"{name_output(best)}: eps_emp {best.eps_emp:.2f} of at most {best.bound.ceiling:.2f} "
        f"({best.attack}), {decided}, {best.bound.trials:,} trials; {battery}"
        f"{f'; lint: {counts}' if counts else ''}"
    )


def is_mechanism(rewriter: AnyMechanism) -> bool:
    """Return whether a rewriter is a mechanism, or the name of one, and not a plain function."""
    return isinstance(rewriter, str | Mapping) or hasattr(rewriter, "card")


def name_output(finding: Finding) -> str:
    """Return which mechanism made the outputs, and at which epsilon."""
    return " at ".join(filter(None, [finding.label, finding.epsilon.phrase]))


def _state_claim(
    rewriter: AnyMechanism, claim: float | Claim | None, epsilon: float | None
) -> tuple[AnyMechanism, float | tuple[()]]:
    """Return the mechanism with what is claimed of it, and the epsilon at which it is run."""
    stated = Claim(claim, "document") if isinstance(claim, int | float) else claim
    if stated is not None and epsilon is not None and epsilon != stated.epsilon:
        raise SpecError(
            f"epsilon is {epsilon:g} and the claim is {stated}: the claim already says at which epsilon "
            "to run, so leave `epsilon` out."
        )
    if stated is None:
        return rewriter, () if epsilon is None else epsilon
    if not is_mechanism(rewriter):
        return _describe_function(rewriter, stated), stated.epsilon
    own = _build(rewriter).claim(stated.epsilon)
    if own is None or (own.total, own.total_delta) != (stated.total, stated.total_delta):
        raise SpecError(
            f"The test checks {stated}, but at epsilon {stated.epsilon:g} the mechanism promises "
            f"{own or 'nothing'}. Pass its own claim, such as claim=mechanism.claim({stated.epsilon:g}), "
            "or fail_above= for any limit."
        )
    return rewriter, stated.epsilon


def _describe_function(rewriter: Any, stated: Claim) -> dict[str, Any]:
    """Return a function with its claim as a spec holds it, under its own name."""
    if not callable(rewriter):
        raise SpecError(f"A rewriter is a function, a mechanism or a name, not a {type(rewriter).__name__}.")
    if stated.max_units is None:
        raise SpecError(f"The claim is {stated}, which promises nothing for a whole text. Give it max_units.")
    label = str(getattr(rewriter, "__name__", "function")).strip("<>")
    fields = {"unit": stated.unit, "max_units": stated.max_units, "delta": stated.delta}
    return {"name": "function", "function": rewriter, "label": label, **fields}


def _build(rewriter: Any) -> Any:
    if isinstance(rewriter, str):
        return build(Reference("mechanism", rewriter))
    if isinstance(rewriter, Mapping):
        options = {key: value for key, value in rewriter.items() if key != "name"}
        return build(Reference("mechanism", str(rewriter.get("name")), options))
    return rewriter


def _judge_claim(result: AuditResult, claim: float | Claim | None) -> list[_Judged]:
    if claim is None:
        return []
    return [
        (f"the claim of {judged.witness.claim}", judged.witness, judged.verdict) for judged in result.claims
    ]


def _judge_limit(result: AuditResult, limit: float | None) -> list[_Judged]:
    if limit is None:
        return []
    verdicts = result.judge_limit(limit)
    name = strongest(verdicts).name
    alike = [pair for pair in zip(result, verdicts, strict=True) if pair[1].name == name]
    finding, decided = max(alike, key=lambda pair: pair[0].eps_emp)
    if decided.trials_needed is None:
        decided = replace(decided, trials_needed=_find_trials(result, finding, limit))
    return [(f"the limit of {limit:g}", finding, decided)]


def _find_trials(result: AuditResult, finding: Finding, limit: float) -> int | None:
    """Return the trials whose ceiling is above a limit, None if it is so already or never."""
    row = finding.row
    if row is None or finding.bound.ceiling > limit:
        return None
    error = result.family.row_error
    return least_trials(
        lambda n: float(replace(row, counts=row.counts.all_right(n)).bound(error).ceiling <= limit), 0.5
    )


def _raise_refuted(judged: Sequence[_Judged], result: PrivacyResult, *, redact: bool) -> None:
    """Raise if the audit refutes a claim or finds a bound above a limit."""
    __tracebackhide__ = True  # a reader of pytest's output wants the line of the test
    for against, finding, verdict in judged:
        if verdict.is_violation:
            witness = describe_witness(result, finding, redact=redact)
            raise NotPrivateError(
                f"Not private: {name_output(finding)} {verdict.breaks} {against}. {finding.attack}: "
                f"{verdict.reason}; eps_emp {finding.eps_emp:.2f}.\n{witness}",
                result,
            )


def _raise_leaks(result: PrivacyResult, promise: _Promise, *, redact: bool) -> None:
    """Raise if the battery found a leak, or lint what is certain."""
    __tracebackhide__ = True
    rewriter, (against, _) = name_output(result.findings[0]), promise.strictest
    causes = result.leaks.causes if result.leaks else ()
    if causes:
        first, *others = causes
        finding = first.finding
        at = f" at {finding.epsilon.phrase}" if finding.epsilon.is_given else ""
        told = (
            f"Not private: {rewriter} leaks more than {against} allows. {finding.part}, {finding.name}{at}: "
            f"{finding.culprit}; in {format_strength(finding)} {finding.unit} {finding.counted}, adjusted p "
            f"{finding.adjusted:.2g}."
        )
        example = ["(Texts are left out.)"] if redact else map(escape_control, list_examples(finding))
        lines = [told, *example, f"Fix: {finding.fix}."]
        if others:
            lines.append(f"Also: {'; '.join(cause.finding.culprit for cause in others)}.")
        raise NotPrivateError("\n".join(lines), result)
    certain = _list_certain(result.lint, promise)
    if certain:
        lines = [f"{note.text}. Fix: {note.fix}." for note in certain]
        raise NotPrivateError("\n".join([f"Not private: {rewriter}, by lint.", *lines]), result)


def _list_certain(report: LintReport | None, promise: _Promise) -> list[Note]:
    """Return what lint is certain of; without a claim only that noise can be computed again."""
    errors = report.at("error") if report else ()
    return [note for note in errors if promise.claim is not None or note.rule in SEEDS]


def _raise_untested(judged: Sequence[_Judged], result: PrivacyResult) -> None:
    """Raise if nothing was shown."""
    __tracebackhide__ = True
    for against, finding, verdict in judged:
        if any_named([verdict], _FLAGS) or not verdict.has_claim:
            needed = f" That needs trials={verdict.trials_needed}." if verdict.trials_needed else ""
            raise NotTestedError(
                f"Not shown to be private: {name_output(finding)} against {against} is {verdict.name}: "
                f"{verdict.reason}.{needed}",
                result,
            )


# --- The clearest example of what an attack found: a source, its rewrite, and what it was told from.

_LONGEST = 300  # characters of a text that are shown
_CLEAREST = 20  # right guesses with the largest margin, of which the shortest texts are shown


def describe_witness(result: AuditResult, finding: Finding, *, redact: bool) -> str:
    """Return the shortest of the clearest right guesses in words; without texts if redacted."""
    plan = result.run.read_plan(finding.plan)
    columns = result.guesses(finding).read(["choice", "margin"])
    choice = columns["choice"]
    right = np.asarray(choice == plan.secret[: len(choice)], dtype=np.bool_)
    if not right.any():
        return "No guess was right."
    clearest = rank_right(right, columns["margin"], _CLEAREST)
    texts = result.run.corpus().texts
    row = int(min(clearest, key=lambda row: len(texts[plan.source[row]])))
    head = f"For example trial {row}, one of {int(right.sum()):,} right guesses"
    if redact:
        return f"{head} (texts are left out)."
    [(output, error)] = result.rewrites(finding).outputs(plan.source[[row]], plan.replicate[[row]])
    others = _name_others(plan.candidates, row, int(plan.source[row]), len(texts))
    shown = f"failed with the code '{error}'" if error else _quote(output)
    lines = [f"{head}:", f"  source   {_quote(texts[plan.source[row]])}", f"  rewrite  {shown}"]
    return "\n".join([*lines, *(f"  not      {_quote(texts[other])}" for other in others)])


def _name_others(candidates: Any, row: int, source: int, size: int) -> list[int]:
    """Return up to two candidates that were not the source."""
    everyone = range(size) if candidates is None else candidates[row].tolist()
    return [position for position in everyone if position != source][:2]


def _quote(text: str) -> str:
    return repr(escape_control(shorten(text, _LONGEST)))
