"""One trial that makes the point, for the top of the page: a source, its rewrite, and who named it.

It is chosen, and the page says so and by which rule: a single trial shows how a leak looks, not how often
there is one. There is none if no attack on the text did better than guessing, since a right guess is then
luck, and none on a redacted page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tedaudit.reports.evidence import WordWeigher, share_of_words
from tedaudit.reports.headline import sees_draw
from tedaudit.reports.sample import describe_trial, rank_evidence, shorten_text
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.text.plain_data import PlainData
from tedaudit.types import Plan

_TRIED = 20  # findings whose guesses are looked through, those with the largest bounds first
_KEPT = 0.5  # a rewrite that keeps more of its source's words makes no point: anybody would know it
_CHANGED = " whose rewrite keeps at most half of the words of its source"
_ANY = ", and none was found whose rewrite keeps at most half of the words of its source"


@dataclass(frozen=True)
class Example(PlainData):
    """A trial with its texts, and in words what happened and why it was chosen."""

    story: str
    choice: str
    output: str
    candidates: tuple[dict[str, Any], ...]  # text, score, and whether it is the source or the guess
    left_out: int  # candidates that are not shown


def choose_example(result: AuditResult) -> Example | None:
    """Return the right guess with the most evidence whose rewrite is not nearly its source, if there is one.

    Findings of attacks on the text that did better than guessing are gone through by their bound; mechanisms
    that take an epsilon come first, because they promise something.
    """
    found = [finding for finding in result if finding.leaks and not sees_draw(finding)]
    found.sort(key=lambda finding: (finding.epsilon.is_given, *finding.order), reverse=True)
    weigher = cache(lambda: WordWeigher(result.run.corpus().texts))
    copied: tuple[Finding, Plan, int] | None = None
    for finding in found[:_TRIED]:
        plan = result.run.read_plan(finding.plan)
        rows = rank_evidence(result, finding, plan, weigher)
        at = _find_changed(result, finding, plan, rows.tolist())
        if at is not None:
            return _describe(result, finding, plan, at, _CHANGED)
        if copied is None and len(rows):
            copied = finding, plan, int(rows[0])
    return None if copied is None else _describe(result, *copied, _ANY)


def _find_changed(result: AuditResult, finding: Finding, plan: Plan, rows: Sequence[int]) -> int | None:
    """Return the first of these rows whose rewrite succeeded and keeps few of its source's words."""
    texts, ordered = result.run.corpus().texts, np.sort(np.asarray(rows, dtype=np.int64))
    outputs = result.rewrites(finding).outputs(plan.source[ordered], plan.replicate[ordered])
    made = dict(zip(ordered.tolist(), outputs, strict=True))
    for row in rows:
        text, error = made[row]
        if text and not error and share_of_words(texts[int(plan.source[row])], text) <= _KEPT:
            return row
    return None


def _describe(result: AuditResult, finding: Finding, plan: Plan, row: int, rule: str) -> Example:
    texts = result.run.corpus().texts
    rows = np.asarray([row], dtype=np.int64)
    [output] = result.rewrites(finding).outputs(plan.source[rows], plan.replicate[rows])
    [guess] = result.guesses(finding).fetch(rows)
    trial = describe_trial(0, row, plan, guess, output)
    shown = tuple(
        {
            "text": shorten_text(texts[candidate["at"]]), "score": candidate["score"],
            "source": candidate["source"], "guess": candidate["guess"],
        }
        for candidate in trial["candidates"]
    )  # fmt: skip
    right, wrong = _ask_attacks(result, finding, plan, row)
    return Example(
        _tell_story(finding, right, wrong), _explain_choice(finding, rule), shorten_text(output[0]), shown,
        finding.bound.candidates - len(shown),
    )  # fmt: skip


def _ask_attacks(result: AuditResult, chosen: Finding, plan: Plan, row: int) -> tuple[list[str], list[str]]:
    """Return which attacks on the text named the source of a row, and which did not."""
    right: list[str] = [chosen.attack]
    wrong: list[str] = []
    for finding in result:
        if finding.setting != chosen.setting or finding.attack == chosen.attack or sees_draw(finding):
            continue
        choice = result.guesses(finding).read(["choice"])["choice"]
        if row < len(choice):
            (right if choice[row] == plan.secret[row] else wrong).append(finding.attack)
    return right, wrong


def _tell_story(finding: Finding, right: Sequence[str], wrong: Sequence[str]) -> str:
    unit = "" if finding.claim is None else f" per {finding.claim.unit}"
    at = f" at {finding.epsilon.phrase}{unit}" if finding.epsilon.is_given else ""
    missed = f"; {_join(wrong)} did not" if wrong else ""
    attacks = "attack" if len(right) == 1 else "attacks"
    return (
        f"{finding.label}{at} rewrote a text. Shown the rewrite and {finding.bound.candidates:,} candidates, "
        f"the {_join(right)} {attacks} named the source{missed}."
    )


def _explain_choice(finding: Finding, rule: str) -> str:
    bound = finding.bound
    return (
        "This trial was chosen to make the point and is not typical: of the right guesses of "
        f"{finding.attack} it is the one with the most evidence{rule}. In all, {finding.attack} was right in "
        f"{bound.correct:,} of {bound.guesses:,} guesses here; blind guessing is right in 1 of "
        f"{bound.candidates:,}. One right guess proves nothing; the table says what all prove together."
    )


def _join(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
