"""The first lines of a report: how often the strongest attack was right, counted, and what that proves.

They tell the strongest finding in words that need no statistics. If its surest guesses prove that number,
they are what is counted. If a run answers another question than what its attacks found, as that of a
calibration does, they tell that answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tedaudit.results.findings import AuditResult, Finding
from tedaudit.results.section import Section
from tedaudit.results.summary import (
    NO_FINDINGS,
    describe_beside,
    describe_violations,
    explain_error,
    find_adversary,
    find_strongest,
)
from tedaudit.results.telling_audit import describe_plan
from tedaudit.text.plain_data import PlainData

Tone = Literal["untold", "guessing", "sometimes", "mostly"]
"""What was found, as a colour shows it: nothing to tell, no more than guessing, some leak, mostly right."""
_MOSTLY = 0.5  # share of the way from blind guessing to certainty
_DECISIVE = 100.0  # a lambda so large that the most or the least similar texts are drawn nearly always
_UNFINISHED = "This run is not finished, or has lost something: the notes say what."
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True, slots=True)
class Lead(PlainData):
    """What a reader sees first: a headline that counts, and a line that says what it proves."""

    headline: str
    detail: str = ""
    tone: Tone = "untold"


def tell_lead(result: AuditResult, manifest: Mapping[str, Any], leading: Sequence[Section] = ()) -> Lead:
    """Return the first lines: those of a section that leads, if any does, or of the strongest finding.

    `manifest` names plans as the result does.
    """
    lead = Lead(leading[0].headline) if leading else _tell_best(result, manifest)
    return lead if result.finished else replace(lead, headline=f"{_UNFINISHED} {lead.headline}")


def _tell_best(result: AuditResult, manifest: Mapping[str, Any]) -> Lead:
    if not result.findings:
        return Lead(NO_FINDINGS)
    best = find_strongest(result)
    if best is None:
        nothing = "Nothing can be concluded: most rewrites failed, or the notes below say why not."
        return Lead(nothing, describe_violations(result))
    plan = manifest["plans"][best.plan]
    tried = [other for other in result if other.tells and other.setting == best.setting]
    rivals = [other for other in tried if other.sees_draw == best.sees_draw]
    alone = " on the text alone" if len(rivals) < len(tried) and not best.sees_draw else ""
    told = f"{_describe_shown(best, plan)}, {_describe_outcome(best, len(rivals), alone)}"
    if not best.leaks:
        told = f"No attack did provably better than guessing. At best: {_uncapitalise(told)}"
    headline = f"{told}. {describe_choice(plan)}".rstrip()
    beside = describe_beside(result, best) if best.leaks else ""
    proven = (*_explain(result, best, plan), beside, describe_violations(result))
    return Lead(headline, " ".join(filter(None, proven)), _choose_tone(best))


def _describe_shown(best: Finding, plan: Mapping[str, Any]) -> str:
    """Return what the attack was shown."""
    unit = "" if best.claim is None else f" per {best.claim.unit}"
    at = f" at {best.epsilon.phrase}{unit}" if best.epsilon.is_given else ""
    number = best.bound.candidates
    among = f"{count_words(number)} possible originals"
    if plan["strategy"] is None:
        among = f"all {number:,} texts of the corpus"
    if plan["strategy"] == "author":
        known = "other texts" if plan["knows"] == "other" else "the originals"
        among = f"{known} of {count_words(number)} possible authors"
    several = "" if plan["strategy"] == "author" else " of one text"
    shown = "a rewrite" if best.rewrites == 1 else f"{count_words(best.rewrites)} rewrites{several}"
    return f"Shown {shown} by {best.label}{at} and {among}"


def _describe_outcome(best: Finding, tried: int, alone: str) -> str:
    """Return who was right how often, among so many attacks, and how often blind guessing is."""
    who = f"the {best.attack} attack" if tried == 1 else f"the best of {count_words(tried)} attacks"
    who += alone
    knows = _describe_knowledge(best)
    who += f", which {knows}," if knows else ""
    sure = best.surest
    right, guesses = (best.bound.correct, best.bound.guesses) if sure is None else (sure.right, sure.size)
    if sure is None:
        done = f"picked the right one {right:,} {'time' if right == 1 else 'times'} in {guesses:,}"
    else:
        done = f"was right in {right:,} of its {guesses:,} surest guesses"
    blind = "a coin" if best.bound.candidates == 2 else "blind guessing"
    return f"{who} {done}; {blind} gets {_expect(guesses, best.bound.candidates)}"


def _describe_knowledge(finding: Finding) -> str:
    """Return what an attack knows beside the rewrite and the candidates; empty if nothing."""
    if finding.score == "latent similarity":
        return "sees the latent that the mechanism drew"
    if finding.sees_draw:
        return "knows the mechanism and sees what it drew"
    return "" if finding.knows == "nothing" else find_adversary(finding).knows


def _expect(guesses: int, candidates: int) -> str:
    """Return how many guesses are right by chance, on average."""
    if guesses < candidates:
        return "less than 1"
    whole, rest = divmod(guesses, candidates)
    return f"about {whole + (2 * rest >= candidates):,}" if rest else f"{whole:,}"


def describe_choice(plan: Mapping[str, Any]) -> str:
    """Return how the candidates of a plan were chosen, in a sentence; empty if all texts are candidates."""
    what = "pairs" if plan["k"] == 2 else "candidates"
    if plan["strategy"] is None:
        return ""
    if plan["strategy"] == "author":
        return "The tool drew the authors at random, and as many texts of each."
    if plan["lambda"] is not None:
        how = _describe_lambda(float(plan["lambda"]), what)
    elif plan["top"] is None:
        how = f"The settings of the run name the {what}"
    else:
        side = "most similar to" if plan["strategy"] == "nearest" else "most different from"
        one = "the text" if plan["top"] == 1 else f"one of the {plan['top']:,} texts"
        others = "it" if plan["k"] == 2 else "those before"
        how = f"The tool put each text together with {one} {side} {others}"
    if not plan.get("mechanism"):
        return f"{how}."
    return f"{how}, each text in one {'pair' if plan['k'] == 2 else 'set'} only."  # one rewrite of each


def _describe_lambda(strength: float, what: str) -> str:
    if strength == 0:
        return f"The tool drew the {what} at random"
    kind = "different" if strength < 0 else "similar"
    if abs(strength) < _DECISIVE:
        return f"The tool drew the {what} at random, {kind} ones more often"
    return f"The tool chose the {what} to be very {kind}"


def _explain(result: AuditResult, best: Finding, plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield the attack and its candidates, and what the counts prove with which error."""
    yield f"Attack: {best.attack}; {describe_plan(plan)}."
    if not best.complete:
        yield f"So far {best.counts.trials:,} of {best.planned:,} trials are done."
    if best.surest is not None:
        yield f"Of all {best.bound.guesses:,} guesses, {best.bound.correct:,} were right."
    if not best.leaks:
        yield "This does not show that no attack can do better."
        return
    delta = f" (delta {best.bound.delta:.2g})" if best.bound.delta else ""
    if not result.family.look.noted:
        yield f"eps_emp is {best.eps_emp:.2f}{delta}. {explain_error(result)}"
        return
    alike = sum(best.sees_draw or not other.sees_draw for other in result)
    among = "" if alike == 1 else f", the largest of {alike:,} rows"
    among += " that see the text alone" if 1 < alike < len(result) else ""
    what = "a whole text"
    if best.rewrites > 1:
        what = f"{count_words(best.rewrites)} rewrites together"
    each = f", and for one of them at least {best.eps_emp / best.rewrites:.2f}" if best.rewrites > 1 else ""
    yield (
        f"So the true epsilon for {what}{delta} is at least {best.eps_emp:.2f} at error "
        f"{result.error:g} (eps_emp{among}){each}."
    )
    if best.bound.is_at_ceiling:
        yield "More trials could show more: this is the most that so many can."


def _choose_tone(best: Finding) -> Tone:
    if not best.leaks:
        return "guessing"
    blind = 1 / best.bound.candidates
    advantage = (best.bound.success_low - blind) / (1 - blind)  # at the error that all rows share
    return "mostly" if advantage >= _MOSTLY else "sometimes"


def count_words(number: int) -> str:
    """Return a small number in words."""
    return _NUMBERS[number] if number < len(_NUMBERS) else f"{number:,}"


def _uncapitalise(text: str) -> str:
    return text[:1].lower() + text[1:]
