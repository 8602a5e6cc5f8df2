"""The findings in plain words, for a reader who will not read the table."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.values import Knows
from tedaudit.results.findings import AuditResult, Finding, JudgedClaim
from tedaudit.results.verdict import Verdict, count_decisions, explain_decision
from tedaudit.runs.spec.model import AuditSpec

NO_FINDINGS = "No block of guesses is complete: there is nothing to estimate from."
"""What is said of a run without a finding."""
_UNNAMED = AuditSpec.model_fields["name"].default
_TOLD = 3  # mechanisms that a title names


def title_run(result: AuditResult, manifest: Mapping[str, Any], *, redact: bool) -> str:
    """Return the name of a run; if nobody gave it one, its mechanisms and its corpus."""
    labels = list(dict.fromkeys(finding.label for finding in result))
    if result.name != _UNNAMED or not labels:
        return result.name
    name, named = manifest["corpus"]["name"], manifest["spec"].get("corpus") or {}
    source = named.get("path") or named.get("dataset")
    if isinstance(source, str) and not redact:
        name = Path(source).name.partition(".")[0] or name
    return f"{_join_names(labels, _TOLD)} on {'given texts' if name == 'given' else name}"


def describe_audit(result: AuditResult, manifest: Mapping[str, Any]) -> str:
    """Return what was audited, and how."""
    mechanisms = list(dict.fromkeys(finding.label for finding in result))
    attacks = list(dict.fromkeys(finding.attack for finding in result))
    sizes = sorted({finding.bound.candidates for finding in result})
    trials = sorted({finding.bound.trials for finding in result})
    corpus = manifest["corpus"]
    amount = f"{trials[0]:,}" if len(trials) == 1 else f"{trials[0]:,} to {trials[-1]:,}"
    among = f"{_join_sizes(sizes)} candidate"
    seen = f"saw each rewrite next to {among} texts and named the one that it came from"
    if any(finding.series for finding in result):
        who = "authors" if any(finding.known_texts for finding in result) else "texts"
        seen = f"saw one rewrite or several and named one of {among} {who}"
    return (
        f"{_count(len(mechanisms), 'mechanism')} ({_join_names(mechanisms)}) rewrote texts of the corpus "
        f"{corpus['name']} ({corpus['texts']:,} texts). "
        f"{_count(len(attacks), 'attack')} ({_join_names(attacks)}) {seen}, in {amount} trials at each "
        "setting."
    )


def explain_error(result: AuditResult) -> str:
    """Return the error that all numbers of a run have together, or that none is promised and why."""
    if result.family.look.lost:
        return (
            "Guesses that were judged are gone, so that no error is promised for the numbers that are left."
        )
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


# --- Who finds most: one finding, which every writer of a run names first.
#
# Whoever has the text alone cannot do what somebody does who sees the draw. So what the text gives away is
# told first, and what was drawn beside it.

NONE_CAN = "which does not show that none can"
_NONE = "did provably better than guessing"


@dataclass(frozen=True, slots=True)
class Adversary:
    """Who attacks: a name for a column, what they know as a sentence goes on, and who they are."""

    name: str
    knows: str
    who: str

    def has(self, finding: Finding) -> bool:
        """Return whether a finding is theirs."""
        return find_adversary(finding) is self


ADVERSARIES = (
    Adversary("knows nothing", "knows nothing of the mechanism", "whoever reads the text"),
    Adversary("can call it", "can call the mechanism", "whoever can call the mechanism"),
    Adversary(
        "knows model",
        "knows the mechanism's model and settings",
        "whoever knows the mechanism's model and settings",
    ),
    Adversary(
        "sees draw", "sees what was drawn, tokens or latent", "whoever sees what was drawn (tokens, latent)"
    ),
)
"""All of them see what is published; the last one sees more."""


def find_adversary(finding: Finding) -> Adversary:
    """Return who a finding is by."""
    return ADVERSARIES[-1 if finding.sees_draw else get_args(Knows).index(finding.knows)]


def rank_strength(finding: Finding) -> tuple[float, float, int, bool]:
    """Return what makes one finding stronger than another: eps_emp, then how often it was right.

    Of equals whoever knows least comes first, and then a mechanism that takes an epsilon, because it
    promises something.
    """
    return (*finding.order, -ADVERSARIES.index(find_adversary(finding)), finding.epsilon.is_given)


def find_strongest(findings: Iterable[Finding]) -> Finding | None:
    """Return the strongest finding on the text alone, or of who sees the draw if nobody else finds anything.

    If nobody does, it is what comes closest; None if nothing can be concluded from any finding.
    """
    telling = [finding for finding in findings if finding.tells]
    leaking = [finding for finding in telling if finding.leaks] or telling
    of_text = [finding for finding in leaking if not finding.sees_draw]
    return max(of_text or leaking, key=rank_strength, default=None)


def describe_strongest(findings: Sequence[Finding]) -> str:
    """Return who finds most, where and how surely; empty if nothing can be concluded."""
    best = find_strongest(findings)
    if best is None:
        return ""
    if not best.leaks:
        return f"No attack {_NONE}, {NONE_CAN}."
    beside, adversary = describe_beside(findings, best), find_adversary(best)
    who = adversary.who if best.sees_draw or not beside else f"from the text alone, whoever {adversary.knows}"
    rivals = {
        finding.setting[1:]
        for finding in findings
        if finding.leaks and finding.sees_draw == best.sees_draw and _show(finding) == _show(best)
    }
    others = len(rivals) - 1
    also = f"; {others} other {'setting has' if others == 1 else 'settings have'} the same bound"
    proof = _describe_proof(best) + also * (others > 0)
    told = f"{_capitalise(who)} finds most for {_name_output(best)}: eps_emp {_show(best)} ({proof})."
    return " ".join(filter(None, [beside, told] if best.sees_draw else [told, beside]))


def describe_beside(findings: Iterable[Finding], best: Finding) -> str:
    """Return what stands beside the strongest finding, in a sentence; empty if there is nothing.

    It is what who sees the draw finds, or that nobody finds anything who does not.
    """
    others = [finding for finding in findings if finding.tells and finding.sees_draw != best.sees_draw]
    if best.sees_draw:
        return f"No attack on the text alone {_NONE}, {NONE_CAN}." if others else ""
    most = max((finding for finding in others if finding.leaks), key=rank_strength, default=None)
    if most is None:
        return ""
    who = _capitalise(ADVERSARIES[-1].who)
    return f"{who} finds eps_emp {_show(most)} for {_name_output(most)} ({_describe_proof(most)})."


def _describe_proof(finding: Finding) -> str:
    return f"{finding.attack}: {finding.evidence}; blind guessing: 1 in {finding.bound.candidates:,}"


def _show(finding: Finding) -> str:
    return f"{finding.eps_emp:.2f}"


def _name_output(finding: Finding) -> str:
    """Return whose outputs a finding is of, and how many of them are seen if it is more than one."""
    at = f" at {finding.epsilon.phrase}" if finding.epsilon.is_given else ""
    return f"{finding.label}{at}{f', {finding.rewrites} rewrites together' if finding.rewrites > 1 else ''}"


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]


# --- The headline: where the sources of a mechanism's outputs can be named, in a sentence for each
# mechanism.
#
# It speaks of what was measured and never of safety: that no attack did better than guessing shows nothing
# about other attacks. Who knows least comes first; of those who know more, it is told what they find beyond.

_CAUTION = "That no attack here did better than guessing does not show that none can."


def headlines(result: AuditResult) -> list[str]:
    """Return a sentence on who finds most, and one for each mechanism.

    First comes what is missing and what is violated, last a caution, if they apply.
    """
    missing = [f"{result.unfinished}."] if result.missing else []
    if not result.findings:
        return [*missing, NO_FINDINGS]
    labels = dict.fromkeys(finding.label for finding in result)
    most = find_strongest(result)
    strongest = most if most is not None and most.leaks else None
    named = [describe_strongest(result.findings)] if strongest else []
    named += [_describe_mechanism(result, label, strongest) for label in labels]
    best = [find_best(result, label, lambda _: True) for label in labels]
    if any(finding is not None and not finding.leaks for found in best for finding in found.values()):
        named.append(_CAUTION)
    broken = describe_violations(result)
    return [*missing, broken, *named] if broken else [*missing, *named]


def describe_violations(result: AuditResult) -> str:
    """Return how many claims are violated, in a sentence; empty if none is."""
    claims = result.claims
    broken = sum(claim.verdict.is_violation for claim in claims)
    verb = "is" if broken == 1 else "are"
    return f"{broken} of {len(claims)} privacy claims {verb} violated." if broken else ""


def find_best(
    result: AuditResult, label: str, is_meant: Callable[[Finding], bool]
) -> dict[Nominal, Finding | None]:
    """Return the strongest finding at each epsilon of a mechanism; None if no guess counts there."""
    best: dict[Nominal, Finding | None] = {}
    for finding in result:
        if finding.label != label or not is_meant(finding):
            continue
        known = best.setdefault(finding.epsilon, None)
        if finding.tells and (known is None or rank_strength(finding) > rank_strength(known)):
            best[finding.epsilon] = finding
    return dict(sorted(best.items()))


def _describe_mechanism(result: AuditResult, label: str, strongest: Finding | None) -> str:
    """Return a sentence on who can name sources, and what those who know more find beyond the others.

    The counts of the strongest finding of all have been told.
    """
    parts, told, seen = list[str](), set[Nominal](), set[Nominal]()
    tried: set[Nominal] = set()
    for adversary in ADVERSARIES:
        best = find_best(result, label, adversary.has)
        tried |= best.keys()
        seen |= {epsilon for epsilon, finding in best.items() if finding is not None}
        named = [f for f in best.values() if f is not None and f.leaks and f.epsilon not in told]
        if named:
            where = _join_epsilons([finding.epsilon for finding in named])
            what = "also name them" if told else "name sources"
            most = max(named, key=rank_strength)
            counted = "" if most is strongest else f" ({_describe_success(most, named)})"
            parts.append(f"{adversary.who} can {what}{where}{counted}")
            told |= {finding.epsilon for finding in named}
    blind = sorted(seen - told)
    if blind:
        nobody = "no attack" if not told else "none"
        parts.append(f"{nobody} did provably better than guessing{_join_epsilons(blind)}")
    untold = sorted(tried - seen)
    if untold:
        parts.append(f"nothing can be said{_join_epsilons(untold)}, since most rewrites failed")
    return f"{label}: {'; '.join(parts)}."


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
