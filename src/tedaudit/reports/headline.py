"""The headline: where the sources of a mechanism's outputs can be named, in a sentence for each mechanism.

It speaks of what was measured and never of safety: that no attack did better than guessing shows
nothing about other attacks. Attacks on the text come first. What only an adversary finds that sees more than
is published, the drawn tokens or the noisy latent, is told as that.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tedaudit.nominal import Nominal
from tedaudit.results.findings import AuditResult, Finding

Tone = Literal["untold", "guessing", "sometimes", "mostly"]
_CAUTION = "That no attack here did better than guessing does not show that none can."
_DRAWN = ("log-likelihood", "latent similarity")  # scores of what was drawn, which the text may not show
_WHOEVER = "whoever sees what was drawn, tokens or latent"
_MOSTLY = 0.5  # share of the way from blind guessing to certainty


@dataclass(frozen=True, slots=True)
class Headline:
    """A sentence on what was measured, and how often sources were named, which gives it its colour."""

    text: str
    tone: Tone = "untold"


def headlines(result: AuditResult) -> list[Headline]:
    """Return a sentence for each mechanism; first one on violated claims, last a caution, if they apply."""
    if not result.findings:
        return [Headline("No attack has finished a block yet: there is nothing to estimate from.")]
    labels = dict.fromkeys(finding.label for finding in result)
    named = []
    for label in labels:
        of_text = find_best(result, label, lambda finding: not sees_draw(finding))
        of_draw = find_best(result, label, sees_draw)
        named.append(_describe_mechanism(label, of_text, of_draw))
    best = [find_best(result, label, lambda _: True) for label in labels]
    if any(finding is not None and not finding.leaks for found in best for finding in found.values()):
        named.append(Headline(_CAUTION))
    broken = sum(claim.verdict.is_violation for claim in result.claims)
    if not broken:
        return named
    many = f"{broken} of {len(result.claims)} privacy claims are violated."
    one = f"1 of {len(result.claims)} privacy claims is violated."
    return [Headline(one if broken == 1 else many, "mostly"), *named]


def _choose_tone(findings: Sequence[Finding | None]) -> Tone:
    told = [finding for finding in findings if finding is not None]
    if not told:
        return "untold"
    if max(map(_measure_advantage, told)) >= _MOSTLY:
        return "mostly"
    return "sometimes" if any(finding.leaks for finding in told) else "guessing"


def _measure_advantage(finding: Finding) -> float:
    """Return how far success is, at the error that all rows share, from blind guessing to certainty."""
    if not finding.leaks:
        return 0.0
    blind = 1 / finding.bound.candidates
    return (finding.bound.success_low - blind) / (1 - blind)


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
        if not _counts(finding):
            continue
        if known is None or finding.order > known.order:
            best[finding.epsilon] = finding
    return dict(sorted(best.items()))


def _counts(finding: Finding) -> bool:
    """Return whether a finding says anything: not if most rewrites failed and the rest told nothing."""
    return not finding.unfit and (finding.leaks or 2 * finding.counts.failed <= finding.bound.guesses)


def _describe_mechanism(
    label: str, of_text: Mapping[Nominal, Finding | None], of_draw: Mapping[Nominal, Finding | None]
) -> Headline:
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
    tone = _choose_tone(list((of_text or of_draw).values()))
    if further and tone in ("untold", "guessing"):
        tone = "sometimes"
    return Headline(f"{label}: {'; '.join(parts)}.", tone)


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
