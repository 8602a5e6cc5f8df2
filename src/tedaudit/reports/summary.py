"""The findings in plain words, for a reader who will not read the table."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tedaudit.nominal import Nominal
from tedaudit.results.findings import AuditResult, Finding, JudgedClaim
from tedaudit.results.verdict import Verdict, count_decisions, explain_decision
from tedaudit.types import DRAW


def describe_audit(result: AuditResult, manifest: Mapping[str, Any]) -> str:
    """Return what was audited, and how."""
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


def explain_error(result: AuditResult) -> str:
    """Return the error that all numbers of a run have together, or that none is promised and why."""
    if not result.family.look.noted:
        return (
            "These guesses were not complete when the run was last judged, so that no error is promised for "
            "the numbers together: `tedaudit report` judges them, and counts that look."
        )
    rows = len(result.family.rows)
    counted = "its one row and all looks" if rows == 1 else f"all {rows:,} rows of the run and all looks"
    error = f"has probability {result.alpha / 2:g} at most"
    return f"That any eps_emp here is too large {error}, {counted} counted."


def describe_claims(result: AuditResult) -> list[str]:
    """Return what was decided on the claims, each counted once whatever the number of its tests."""
    claims = result.claims
    if not claims:
        return ["Nothing was claimed, so no claim was tested."]
    counted = _join_decisions([claim.verdict for claim in claims])
    text = [f"{_count(len(claims), 'claim')}: {counted}."]
    broken = [claim for claim in claims if claim.verdict.is_violation]
    worst: dict[str, JudgedClaim] = {}
    for claim in sorted(broken, key=lambda claim: claim.lower - _get_total(claim.witness), reverse=True):
        worst.setdefault(claim.witness.label, claim)
    text += [
        f"{_describe_setting(claim.witness, claim.attack)} claims {claim.witness.claim}: "
        f"{claim.verdict.reason}."
        for claim in list(worst.values())[:4]
    ]
    if len(worst) > 4:
        text.append(f"{len(worst) - 4} more mechanisms in the table violate a claim.")
    explained = dict.fromkeys(c.verdict.decision for c in claims if not c.verdict.is_violation)
    text += [explain_decision(decision) for decision in explained]
    return [" ".join(text)]


def _join_decisions(verdicts: Sequence[Verdict]) -> str:
    return ", ".join(f"{number} {name}" for name, number in count_decisions(verdicts).items())


def _get_total(finding: Finding) -> float:
    return 0.0 if finding.claim is None else finding.claim.total


def _describe_setting(finding: Finding, attack: str = "") -> str:
    epsilon = f" at {finding.epsilon.phrase}" if finding.epsilon.is_given else ""
    return f"{finding.label}{epsilon} under the {attack or finding.attack} attack"


def _count(amount: int, noun: str) -> str:
    words = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
    return f"{words[amount] if amount < len(words) else amount} {noun}{'s' * (amount != 1)}"


def _join_sizes(sizes: Sequence[int]) -> str:
    return " or ".join(f"{size:,}" for size in sizes)


def _join_names(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


# --- The headline: where the sources of a mechanism's outputs can be named, in a sentence for each
# mechanism.
#
# It speaks of what was measured and never of safety: that no attack did better than guessing shows nothing
# about other attacks. Attacks on the text come first. What only an adversary finds that sees more than is
# published, the drawn tokens or the noisy latent, is told as that.

_CAUTION = "That no attack here did better than guessing does not show that none can."
_DRAWN = ("log-likelihood", "latent similarity", DRAW)  # scores of what the text may not show
_WHOEVER = "whoever sees what was drawn, tokens or latent"


def headlines(result: AuditResult) -> list[str]:
    """Return a sentence for each mechanism; first one on violated claims, last a caution, if they apply."""
    if not result.findings:
        return ["No attack has finished a block yet: there is nothing to estimate from."]
    labels = dict.fromkeys(finding.label for finding in result)
    named = []
    for label in labels:
        of_text = find_best(result, label, lambda finding: not sees_draw(finding))
        of_draw = find_best(result, label, sees_draw)
        named.append(_describe_mechanism(label, of_text, of_draw))
    best = [find_best(result, label, lambda _: True) for label in labels]
    if any(finding is not None and not finding.leaks for found in best for finding in found.values()):
        named.append(_CAUTION)
    broken = describe_violations(result)
    return [broken, *named] if broken else named


def describe_violations(result: AuditResult) -> str:
    """Return how many claims are violated, in a sentence; empty if none is."""
    claims = result.claims
    broken = sum(claim.verdict.is_violation for claim in claims)
    verb = "is" if broken == 1 else "are"
    return f"{broken} of {len(claims)} privacy claims {verb} violated." if broken else ""


def sees_draw(finding: Finding) -> bool:
    """Return whether an attack used what was drawn, tokens or latent, and not what was published alone."""
    return finding.score in _DRAWN


def find_best(
    result: AuditResult, label: str, is_meant: Callable[[Finding], bool]
) -> dict[Nominal, Finding | None]:
    """Return the strongest finding at each epsilon of a mechanism; None if no guess counts there."""
    best: dict[Nominal, Finding | None] = {}
    for finding in result:
        if finding.label != label or not is_meant(finding):
            continue
        known = best.setdefault(finding.epsilon, None)
        if not counts(finding):
            continue
        if known is None or finding.order > known.order:
            best[finding.epsilon] = finding
    return dict(sorted(best.items()))


def counts(finding: Finding) -> bool:
    """Return whether a finding says anything: not if most rewrites failed and the rest told nothing."""
    return not finding.unfit and (finding.leaks or 2 * finding.counts.failed <= finding.bound.guesses)


def _describe_mechanism(
    label: str, of_text: Mapping[Nominal, Finding | None], of_draw: Mapping[Nominal, Finding | None]
) -> str:
    """Return a sentence on the attacks on the text, and on what those on the draw find beyond them."""
    named = [finding for finding in of_text.values() if finding is not None and finding.leaks]
    told = {finding.epsilon for finding in named}
    further = [f for f in of_draw.values() if f is not None and f.leaks and f.epsilon not in told]
    told |= {finding.epsilon for finding in further}
    seen = {
        epsilon for found in (of_text, of_draw) for epsilon, finding in found.items() if finding is not None
    }
    parts = []
    if named:
        where = _join_epsilons([finding.epsilon for finding in named])
        parts.append(f"sources can be named{where} ({_describe_strongest(named)})")
    if further:
        where, how = _join_epsilons([finding.epsilon for finding in further]), _describe_strongest(further)
        also = "also " if named else ""
        parts.append(f"{_WHOEVER}, can {also}name {'them' if named else 'sources'}{where} ({how})")
    blind = sorted(seen - told)
    if blind:
        nobody = "no attack" if not told else "none"
        parts.append(f"{nobody} did provably better than guessing{_join_epsilons(blind)}")
    untold = sorted({*of_text, *of_draw} - seen)
    if untold:
        parts.append(f"nothing can be said{_join_epsilons(untold)}, since most rewrites failed")
    return f"{label}: {'; '.join(parts)}."


def _describe_strongest(named: Sequence[Finding]) -> str:
    return _describe_success(max(named, key=lambda finding: finding.order), named)


def _describe_success(finding: Finding, named: Sequence[Finding]) -> str:
    """Return how often the strongest attack was right, and at which epsilon if there are several."""
    at = f" at {finding.epsilon.phrase}" if len(named) > 1 and finding.epsilon.is_given else ""
    return f"{finding.attack}: {finding.evidence}{at}; blind guessing: 1 in {finding.bound.candidates:,}"


def _join_epsilons(epsilons: Sequence[Nominal]) -> str:
    given = [epsilon for epsilon in epsilons if epsilon.is_given]
    if not given:
        return ""
    names = [epsilon.label for epsilon in given]
    return " at epsilon " + (names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}")
