"""The findings in plain words, for a reader who will not read the table."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tedaudit.reports.table import format_number
from tedaudit.results import verdict
from tedaudit.results.findings import AuditResult, Finding

_NONE = 0.005  # a bound that is printed as 0.00


def headline(result: AuditResult) -> str:
    """Return the outcome in one sentence."""
    if not result.findings:
        return "No attack has finished a block yet: there is nothing to estimate from."
    return verdict.headline(finding.verdict for finding in result)


def paragraphs(result: AuditResult, manifest: Mapping[str, Any]) -> list[str]:
    """Return what was audited, the largest bound, what it means, and the verdicts."""
    if not result.findings:
        return []
    opening = [
        _describe_audit(result, manifest),
        _describe_largest(max(result, key=lambda finding: finding.bound.lower)),
    ]
    return [*opening, *_describe_verdicts(result.findings), *_name_quiet(result)]


def tiles(result: AuditResult) -> list[dict[str, str]]:
    """Return the few numbers shown large at the top."""
    if not result.findings:
        return []
    claims = [finding for finding in result if finding.claim is not None]
    broken = sum(finding.verdict.is_violation for finding in claims)
    worst = max(result, key=lambda finding: finding.bound.lower)
    trials = sum(finding.bound.trials for finding in result)
    return [
        {"value": f"{worst.bound.lower:.2f}", "name": "largest eps_emp", "remark": _describe_setting(worst)},
        {
            "value": f"{broken} of {len(claims)}",
            "name": "claims violated",
            "remark": "one claim per mechanism, epsilon, attack and plan",
        },
        {
            "value": f"{worst.bound.ceiling:.2f}",
            "name": "ceiling",
            "remark": "the most these trials can show",
        },
        {
            "value": f"{trials:,}",
            "name": "trials",
            "remark": f"error of a bound at most {worst.bound.error:g}",
        },
    ]


def _describe_audit(result: AuditResult, manifest: Mapping[str, Any]) -> str:
    mechanisms = list(dict.fromkeys(finding.label for finding in result))
    attacks = list(dict.fromkeys(finding.attack for finding in result))
    sizes = sorted({finding.bound.candidates for finding in result})
    trials = sorted({finding.bound.trials for finding in result})
    corpus = manifest["corpus"]
    amount = f"{trials[0]:,}" if len(trials) == 1 else f"{trials[0]:,} to {trials[-1]:,}"
    return (
        f"{_count(len(mechanisms), 'mechanism')} ({_join_names(mechanisms)}) rewrote texts of the corpus "
        f"{corpus['name']} ({corpus['texts']:,} texts). "
        f"{_count(len(attacks), 'attack')} ({_join_names(attacks)}) saw each rewrite next to "
        f"{_join_sizes(sizes)} candidate texts and named the one that it came from, in {amount} trials at "
        "each setting."
    )


def _describe_largest(worst: Finding) -> str:
    bound = worst.bound
    if bound.lower < _NONE:
        return "No attack did provably better than chance: every bound is 0. This does not prove privacy."
    text = (
        f"The largest bound is eps_emp = {bound.lower:.2f}, for {_describe_setting(worst)}: the attack was "
        f"right in {bound.success:.1%} of trials, and blind guessing is right 1 time in "
        f"{bound.candidates:,}. So for some pair of texts, some outputs are at least "
        f"{_format_factor(bound.lower)} times likelier from one text than from the other; "
        f"this is wrong with probability at most {bound.error:g}."
    )
    if math.isclose(bound.lower, bound.ceiling, abs_tol=_NONE):
        text += " This is the ceiling: more trials or more candidates could show a larger loss."
    return text


def _format_factor(epsilon: float) -> str:
    factor = math.exp(min(epsilon, 700))
    return f"{factor:,.0f}" if factor >= 10 else f"{factor:.1f}"


def _describe_verdicts(findings: Sequence[Finding]) -> list[str]:
    claims = [finding for finding in findings if finding.claim is not None]
    broken = [finding for finding in claims if finding.verdict.is_violation]
    if not claims:
        return []
    if not broken:
        none = f"None of the {len(claims)} claims tested was refuted."
        return [f"{none} What stands has survived these attacks; a stronger one may still refute it."]
    worst: dict[str, Finding] = {}
    for finding in sorted(broken, key=lambda f: f.bound.lower - _get_total(f), reverse=True):
        worst.setdefault(finding.label, finding)
    named = "; ".join(
        f"{_describe_setting(f)} claims {f.claim} and leaks at least {format_number(f.bound.lower)}"
        for f in list(worst.values())[:4]
    )
    more = f"; and {len(worst) - 4} more mechanisms in the table" if len(worst) > 4 else ""
    return [
        f"{len(broken)} of {len(claims)} claims tested are violated. The worst by mechanism: {named}{more}."
    ]


def _get_total(finding: Finding) -> float:
    return 0.0 if finding.claim is None else finding.claim.total


def _name_quiet(result: AuditResult) -> list[str]:
    """Name the mechanisms for which no leak was shown at any epsilon."""
    best: dict[str, float] = {}
    for finding in result:
        best[finding.label] = max(best.get(finding.label, 0.0), finding.bound.lower)
    quiet = [label for label, lower in best.items() if lower < _NONE]
    if not quiet or len(quiet) == len(best):
        return []
    return [f"No leak was found for {_join_names(quiet)} at any epsilon; another attack may find one."]


def _describe_setting(finding: Finding) -> str:
    epsilon = f" at {finding.epsilon.phrase}" if finding.epsilon.is_given else ""
    return f"{finding.label}{epsilon} under the {finding.attack} attack"


def _count(amount: int, noun: str) -> str:
    words = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
    return f"{words[amount] if amount < len(words) else amount} {noun}{'s' * (amount != 1)}"


def _join_sizes(sizes: Sequence[int]) -> str:
    return " or ".join(f"{size:,}" for size in sizes)


def _join_names(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
