"""An audit as one line of a test: it passes only if the claim was tested and not refuted."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tedaudit.api import AnyMechanism, audit
from tedaudit.errors import SpecError
from tedaudit.estimators.power import least_trials
from tedaudit.registry import Reference, build, names
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.results.verdict import GATES, Verdict, any_named, strongest
from tedaudit.trust.listeners import tell
from tedaudit.trust.witness import describe_witness
from tedaudit.types import Claim, Corpus

ATTACKS = ("lexical", "resample", "trained")
TRIALS = 2_000
_FLAGS = tuple(decision.flag for decision in GATES)


class PrivacyError(AssertionError):
    """A rewriter that did not pass; `result` is the audit, if there was one."""

    def __init__(self, message: str, result: AuditResult | None = None) -> None:
        super().__init__(message)
        self.result = result


class NotPrivateError(PrivacyError):
    """The claim is refuted, or a bound is above the limit: the message shows a witness."""


class NotTestedError(PrivacyError):
    """Nothing was shown: out of reach at these trials, or too many rewrites failed."""


def default_attacks() -> list[str]:
    """Return the attacks that are run unless others are named."""
    return [name for name in ATTACKS if name in names("attack")]


def assert_private(
    rewriter: AnyMechanism,
    texts: str | Corpus | Sequence[str] | None = None,
    *,
    claim: float | Claim | None = None,
    fail_above: float | None = None,
    trials: int = TRIALS,
    **settings: Any,
) -> AuditResult:
    """Audit a rewriter and raise a `PrivacyError` unless it passes; return the audit if it does.

    `claim` is the epsilon that it promises for a whole text, or a `Claim`. `fail_above` is the largest bound
    that is accepted, with or without a claim. At least one of them is needed. A claim or limit that these
    trials could not have refuted does not pass: the error says how many would. Neither does a rewriter that
    fails too often to be tested.

    A function that takes `epsilon` is given that of the claim, or `epsilon=` if there is only a limit.
    `redact=True` keeps texts out of the error. All other settings are those of `audit`.

    >>> assert_private(lambda text: "Thank you.", ["a b", "c d", "e f"], claim=1.0, trials=200).violated
    False
    """
    __tracebackhide__ = True
    if claim is None and fail_above is None:
        raise SpecError("assert_private needs `claim`, `fail_above` or both: there is nothing to hold it to.")
    if fail_above is not None and not 0 <= fail_above < float("inf"):
        raise SpecError(f"fail_above is {fail_above}; it must be 0 or larger, such as 2.0.")
    redact = bool(settings.pop("redact", False))
    mechanism, epsilon = _state_claim(rewriter, claim, settings.pop("epsilon", None))
    settings.setdefault("attack", default_attacks())
    settings.setdefault("announce", lambda _: None)
    result = audit(mechanism, texts, epsilon=epsilon, trials=trials, **settings)
    if not result.findings:
        raise NotTestedError("Not shown to be private: there is no bound.", result)
    judged = [*_judge_claim(result, claim), *_judge_limit(result, fail_above)]
    tell(describe_audit(result, [verdict for _, _, verdict in judged]))
    _raise_first(judged, result, redact=redact)
    return result


_Judged = tuple[str, Finding, Verdict]  # against what, the finding that decided, the decision


def describe_audit(result: AuditResult, verdicts: Sequence[Verdict]) -> str:
    """Return an audit in one line: bound, ceiling, verdict, trials."""
    best = result.largest or result.findings[0]
    decided = ", ".join(dict.fromkeys(verdict.name for verdict in verdicts))
    return (
        f"{name_output(best)}: eps_emp {best.joint.lower:.2f} of at most {best.joint.ceiling:.2f} "
        f"({best.attack}), {decided}, {best.bound.trials:,} trials"
    )


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
            f"epsilon is {epsilon:g} and the claim is {stated}: a claim says at which epsilon to run, so "
            "leave `epsilon` out."
        )
    is_plugin = isinstance(rewriter, str | Mapping) or hasattr(rewriter, "card")
    if stated is None:
        return rewriter, () if epsilon is None else epsilon
    if not is_plugin:
        return _describe_function(rewriter, stated), stated.epsilon
    own = _build(rewriter).claim(stated.epsilon)
    if own is None or (own.total, own.total_delta) != (stated.total, stated.total_delta):
        raise SpecError(
            f"The test holds the mechanism to {stated}, and at epsilon {stated.epsilon:g} it promises "
            f"{own or 'nothing'}. Give what it promises, such as claim=mechanism.claim({stated.epsilon:g}), "
            "or fail_above= for any limit."
        )
    return rewriter, stated.epsilon


def _describe_function(rewriter: Any, stated: Claim) -> dict[str, Any]:
    """Return a function with its claim as a spec holds it, under its own name."""
    if not callable(rewriter):
        raise SpecError(f"A rewriter is a function, a mechanism or a name, not a {type(rewriter).__name__}.")
    if stated.max_units is None:
        raise SpecError(f"The claim is {stated}: nothing is promised for a whole text. Give it max_units.")
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
    decided = strongest(verdicts)
    finding = next(f for f, verdict in zip(result, verdicts, strict=True) if verdict is decided)
    if decided.trials_needed is None:
        decided = replace(decided, trials_needed=_find_trials(result, finding, limit))
    return [(f"the limit of {limit:g}", finding, decided)]


def _find_trials(result: AuditResult, finding: Finding, limit: float) -> int | None:
    """Return the trials whose ceiling is above a limit, None if it is so already or never."""
    row = finding.row
    if row is None or finding.joint.ceiling > limit:
        return None
    error = result.family.row_error
    return least_trials(
        lambda n: float(replace(row, counts=row.counts.all_right(n)).bound(error).ceiling <= limit), 0.5
    )


def _raise_first(judged: Sequence[_Judged], result: AuditResult, *, redact: bool) -> None:
    """Raise for what is refuted before what was not tested."""
    __tracebackhide__ = True  # a reader of pytest's output wants the line of the test
    for against, finding, verdict in judged:
        if verdict.is_violation:
            witness = describe_witness(result, finding, redact=redact)
            raise NotPrivateError(
                f"Not private: {name_output(finding)} breaks {against}. {finding.attack}: {verdict.reason}; "
                f"eps_emp {finding.bound.lower:.2f}.\n{witness}",
                result,
            )
    for against, finding, verdict in judged:
        if any_named([verdict], _FLAGS) or not verdict.has_claim:
            needed = f" It takes trials={verdict.trials_needed}." if verdict.trials_needed else ""
            raise NotTestedError(
                f"Not shown to be private: {name_output(finding)} against {against} is {verdict.name}: "
                f"{verdict.reason}.{needed}",
                result,
            )
