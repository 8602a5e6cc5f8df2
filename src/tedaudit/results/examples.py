"""One trial that makes the point, for the top of the page: a source, its rewrite, and who named it.

It is chosen, and the page says so and by which rule: a single trial shows how a leak looks, not how often
there is one. There is none if no attack on the text did better than guessing, since a right guess is then
luck, and none on a redacted page.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.plugins.values import Plan
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.results.lead import count_words
from tedaudit.results.redaction import safe_json
from tedaudit.results.summary import rank_strength
from tedaudit.seeding import derive, uniforms
from tedaudit.text.characters import cut_text
from tedaudit.text.plain_data import PlainData
from tedaudit.text.words import split_words

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

    Findings of attacks on the text that did better than guessing are gone through, the strongest first: the
    one that the page begins with.
    """
    found = [finding for finding in result if finding.leaks and not finding.sees_draw]
    found.sort(key=rank_strength, reverse=True)
    trials = _Trials(result)
    copied: tuple[Finding, Plan, int] | None = None
    for finding in found[:_TRIED]:
        plan = result.run.read_plan(finding.plan)
        if not shows_source(finding, plan):
            continue
        rows = trials.rank(finding, plan)
        at = _find_changed(trials, finding, plan, rows.tolist())
        if at is not None:
            return _describe(trials, finding, plan, at, _CHANGED)
        if copied is None and len(rows):
            copied = finding, plan, int(rows[0])
    return None if copied is None else _describe(trials, *copied, _ANY)


def shows_source(finding: Finding, plan: Plan) -> bool:
    """Return whether a guess was made from one rewrite, whose source is a candidate: then it can be shown."""
    return finding.rewrites == 1 and plan.released is None


def _find_changed(trials: "_Trials", finding: Finding, plan: Plan, rows: Sequence[int]) -> int | None:
    """Return the first of these rows whose rewrite succeeded and keeps few of its source's words."""
    texts, ordered = trials.texts, np.sort(np.asarray(rows, dtype=np.int64))
    made = dict(zip(ordered.tolist(), trials.read_outputs(finding, plan, ordered), strict=True))
    for row in rows:
        text, error = made[row]
        if text and not error and share_of_words(texts[int(plan.source[row])], text) <= _KEPT:
            return row
    return None


def _describe(trials: "_Trials", finding: Finding, plan: Plan, row: int, rule: str) -> Example:
    result, texts = trials.result, trials.texts
    rows = np.asarray([row], dtype=np.int64)
    [output] = trials.read_outputs(finding, plan, rows)
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
        story=_tell_story(finding, right, wrong),
        choice=_explain_choice(finding, rule),
        output=shorten_text(output[0]),
        candidates=shown,
        left_out=finding.bound.candidates - len(shown),
    )


def _ask_attacks(result: AuditResult, chosen: Finding, plan: Plan, row: int) -> tuple[list[str], list[str]]:
    """Return which attacks on the text named the source of a row, and which did not."""
    right: list[str] = [chosen.attack]
    wrong: list[str] = []
    for finding in result:
        if finding.setting != chosen.setting or finding.attack == chosen.attack or finding.sees_draw:
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
        f"{finding.label}{at} rewrote a text. Shown the rewrite and {count_words(finding.bound.candidates)} "
        f"candidates, the {_join(right)} {attacks} named the source{missed}."
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


# --- How much a rewrite gives away of its source, in words: for ordering examples, and for nothing else.
#
# A cosine is largest for the shortest texts. What convinces a reader is what a rewrite has in common with
# its source and with no other candidate, and a rare word says more than a common one.

BY_WORDS = frozenset({"cosine", "word cosine"})
"""Scores of attacks whose margins are no evidence by themselves."""
_COUNTED = 50_000  # texts in which words are counted
_READ = 100_000  # characters of a text whose words are read: the same long text may be in a thousand trials


class WordWeigher:
    """Weighs words by how few texts of a corpus have them."""

    def __init__(self, texts: Sequence[str]) -> None:
        counted = texts[:_COUNTED]
        self._texts = len(counted)
        self._with = Counter(word for text in counted for word in _split(text))

    def weigh(self, output: str, source: str, others: Sequence[str]) -> float:
        """Return the weight, in nats, of what an output shares with its source and with no other text."""
        shared = _split(output) & _split(source)
        alone = shared.difference(*map(_split, others))
        weights = (math.log((1 + self._texts) / (1 + self._with[word])) for word in alone)
        return math.fsum(weights)  # the same in whatever order a set has its words


def _split(text: str) -> frozenset[str]:
    return frozenset(split_words(text[:_READ].casefold()))


def share_of_words(source: str, output: str) -> float:
    """Return which share of the distinct words of a source its rewrite has too; 1 if the source has none."""
    words = _split(source)
    return len(words & _split(output)) / len(words) if words else 1.0


# --- A sample of trials that fits into a page: the worst leaks of every table first, then random trials.
#
# A run may have millions of trials; a page has room for some thousands. Every table of guesses gets
# the same share: half of it right guesses with the most evidence, half drawn uniformly from the rest.
# Evidence is the margin, unless scores are cosines, which are large for short texts: there it is what the
# rewrite shares with its source alone, rare words more than common ones (see `evidence`).
# If long texts would still make the page too large, the last trials of every table are dropped.

PER_TABLE = 200
TOTAL = 6_000
BYTES = 3_000_000
LONGEST = 600  # characters of a text that are shown
_SHOWN = 10  # candidates of a trial that are shown
_RANKED = 1_000  # right guesses whose evidence is weighed: those with the largest margins

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sample(PlainData):
    """Trials for the page, a table of columns for each finding.

    Each text and each set of candidates is there once. A trial names its rewrite by its place in `texts`, and
    its candidates by their place in `sets`: which of them is the source, then their positions in the corpus.
    `corpus` has the places of those texts. The first `worst` trials of a table are its worst leaks.
    """

    texts: list[str]
    corpus: dict[int, int]
    sets: list[tuple[int, ...]]
    tables: list[dict[str, Any]]
    of: int  # guesses in the run
    per_table: int
    cut: bool  # whether a text was cut to its beginning


def take_sample(result: AuditResult, *, redacted: bool = False) -> Sample:
    """Return a sample of the trials behind the findings; without any text if it is redacted.

    It is empty if texts are gone.
    """
    findings, has_texts = result.findings, result.has_texts
    per_table = max(2, min(PER_TABLE, TOTAL // max(1, len(findings))))
    plans = {name: result.run.read_plan(name) for name in {finding.plan for finding in findings}}
    texts = result.run.corpus().texts if has_texts and not redacted else ()
    trials = _Trials(result)
    tables = [
        _sample_table(
            trials,
            number,
            finding,
            plans[finding.plan],
            per_table if has_texts and shows_source(finding, plans[finding.plan]) else 0,
        )
        for number, finding in enumerate(findings)
    ]
    keeper = _Keeper(texts, redacted=redacted)
    for trial in (trial for round_ in zip_longest(*tables) for trial in round_ if trial is not None):
        if not keeper.keep(trial):
            break
    of = sum(finding.bound.guesses for finding in findings)
    columns = [_make_columns(keeper.tables[number]) for number in range(len(findings))]
    return Sample(
        texts=list(keeper.places),
        corpus=keeper.corpus,
        sets=list(keeper.sets),
        tables=columns,
        of=of,
        per_table=per_table,
        cut=keeper.cut,
    )


def _make_columns(trials: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the trials of a table as columns, the worst leaks first; what few of them have, by place."""
    trials = sorted(trials, key=lambda trial: trial.get("worst", len(trials)))
    sets = [trial["candidates"] for trial in trials]
    return {
        "worst": sum("worst" in trial for trial in trials),
        **{name: [trial[name] for trial in trials] for name in ("row", "output", "margin", "set")},
        "scores": [[one["score"] for one in candidates] for candidates in sets],
        "guess": [_find_place(candidates, "guess") for candidates in sets],
        "rank": {n: trial["rank"] for n, trial in enumerate(trials) if trial["left_out"]},
        "error": {n: trial["error"] for n, trial in enumerate(trials) if trial["error"]},
        "unusable": [n for n, trial in enumerate(trials) if not trial["usable"]],
    }  # fmt: skip


def _find_place(candidates: Sequence[dict[str, Any]], mark: str) -> int:
    """Return which candidate has a mark, or -1."""
    return next((place for place, one in enumerate(candidates) if one[mark]), -1)


def rank_right(right: npt.NDArray[np.bool_], margin: npt.NDArray[Any], size: int) -> Rows:
    """Return so many rows of right guesses, those with the largest margin first."""
    rows = np.flatnonzero(right)
    order = np.argsort(-np.nan_to_num(margin[rows].astype(np.float64), nan=-1.0), kind="stable")
    return rows[order[:size]]


def choose(right: npt.NDArray[np.bool_], worst: Rows, size: int, key: int) -> tuple[Rows, Rows]:
    """Return the rows of the worst leaks, and a uniform draw of the others in random order."""
    worst = worst[: size // 2]
    coins = uniforms([key], max(1, len(right)))[0]  # of rows: the same ones for every attack on a setting
    others = np.setdiff1d(np.arange(len(right)), worst, assume_unique=True)
    return worst, others[np.argsort(coins[others], kind="stable")[: size - len(worst)]]


def _sample_table(
    trials: "_Trials", number: int, finding: Finding, plan: Plan, size: int
) -> Iterator[dict[str, Any]]:
    """Yield a table's share, leaks and random trials in turn, so that a cut anywhere keeps some of both."""
    if not size:
        return iter(())
    setting = (finding.label, finding.epsilon.name)
    guesses = trials.result.guesses(finding)
    choice = guesses.read(["choice"])["choice"]
    right = choice == plan.secret[: len(choice)]
    key = derive(0, "report", finding.plan, *setting)
    ranked = trials.rank(finding, plan)
    worst, chance = choose(right, ranked, size, key)
    rows = np.sort(np.concatenate([worst, chance]))
    outputs = trials.read_outputs(finding, plan, rows)
    shown = {
        int(row): describe_trial(number, int(row), plan, guess, output)
        for row, guess, output in zip(rows, guesses.fetch(rows), outputs, strict=True)
    }
    for place, row in enumerate(worst.tolist()):
        shown[row]["worst"] = place
    pairs = zip_longest(worst.tolist(), chance.tolist())
    return (shown[row] for pair in pairs for row in pair if row is not None)


class _Trials:
    """The trials of a run; what the attacks on one setting share is opened once."""

    def __init__(self, result: AuditResult) -> None:
        self.result = result
        self._open = lru_cache(maxsize=1)(result.run.rewrites)  # findings of one setting follow each other

    @cached_property
    def texts(self) -> Sequence[str]:
        """The texts of the corpus."""
        return self.result.run.corpus().texts

    @cached_property
    def _weigher(self) -> WordWeigher:  # only if an attack needs it
        return WordWeigher(self.texts)

    def read_outputs(self, finding: Finding, plan: Plan, rows: Rows) -> list[tuple[str, str]]:
        """Return the rewrites of rows, each with its error."""
        return self._open(finding.label, finding.epsilon).outputs(plan.source[rows], plan.replicate[rows])

    def rank(self, finding: Finding, plan: Plan) -> Rows:
        """Return the right guesses with the largest margins, those with the most evidence first."""
        columns = self.result.guesses(finding).read(["choice", "margin"])
        right = columns["choice"] == plan.secret[: len(columns["choice"])]
        ranked = rank_right(right, columns["margin"], _RANKED)
        if finding.score in BY_WORDS and plan.candidates is not None and len(ranked):
            return self._rank_by_words(finding, plan, ranked)
        return ranked

    def _rank_by_words(self, finding: Finding, plan: Plan, rows: Rows) -> Rows:
        """Return rows by what their rewrites share with the source alone, the most first."""
        ordered = np.sort(rows)  # as outputs are read
        sets, evidence = plan.candidates, dict[int, float]()
        outputs = self.read_outputs(finding, plan, ordered)
        for row, output in zip(ordered.tolist(), outputs, strict=True):
            source = int(plan.source[row])
            others = [] if sets is None else [self.texts[int(at)] for at in sets[row] if at != source]
            evidence[row] = self._weigher.weigh(output[0], self.texts[source], others)
        return rows[np.argsort([-evidence[row] for row in rows.tolist()], kind="stable")]


def describe_trial(
    number: int, row: int, plan: Plan, guess: dict[str, Any], output: tuple[str, str]
) -> dict[str, Any]:
    """Return one trial; of many candidates those that matter: the best, the source and the guess."""
    secret, choice = int(plan.secret[row]), int(guess["choice"])
    best = guess.get("best")
    scores = dict(zip(range(len(guess["scores"])) if best is None else best, guess["scores"], strict=True))
    ranked = sorted(scores, key=lambda i: -scores[i])[:_SHOWN]
    shown = sorted({*ranked, secret, *([choice] if choice >= 0 else [])})
    return {
        "finding": number,
        "row": row,
        "usable": bool(guess["usable"]),
        "margin": to_json_number(guess["margin"]),
        "rank": int(guess["rank"]),
        "left_out": plan.candidates is None or plan.candidates.shape[1] > len(shown),
        "output": output[0],
        "error": output[1],
        "candidates": [
            {
                "at": i if plan.candidates is None else int(plan.candidates[row, i]),
                "score": to_json_number(scores.get(i)),
                "source": i == secret,
                "guess": i == choice,
            }
            for i in shown
        ],
    }


def to_json_number(value: float | None) -> float | None:
    """Return a number that JSON can represent, with the digits that a page shows; None if it cannot."""
    return round(float(value), 4) if value is not None and np.isfinite(value) else None


def shorten_text(text: str) -> str:
    """Return a text as a page shows it: a long one is cut, and no character of it in two."""
    return text if len(text) <= LONGEST else f"{cut_text(text, LONGEST)} …"


class _Keeper:
    """Keeps trials, each text once, until the page is full."""

    def __init__(self, texts: Sequence[str], *, redacted: bool) -> None:
        self._texts, self._redacted = texts, redacted
        self.places: dict[str, int] = {}
        self.corpus: dict[int, int] = {}
        self.sets: dict[tuple[int, ...], int] = {}
        self.tables: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)  # by finding
        self.cut = False
        self._bytes = 0

    def keep(self, trial: dict[str, Any]) -> bool:
        """Keep a trial and return True, or return False if there is no room."""
        self._bytes += 24 + 16 * len(trial["candidates"])
        if self._redacted:
            trial["output"] = None
        else:
            trial["output"] = self._place(trial["output"])
            for candidate in trial["candidates"]:
                self.corpus[candidate["at"]] = self._place(self._texts[candidate["at"]])
        if self._bytes > BYTES:
            return False
        candidates = trial["candidates"]
        members = (_find_place(candidates, "source"), *(one["at"] for one in candidates))
        trial["set"] = self.sets.setdefault(members, len(self.sets))
        self.tables[trial["finding"]].append(trial)
        return True

    def _place(self, text: str) -> int:
        self.cut |= len(text) > LONGEST
        text = shorten_text(text)
        if text not in self.places:
            self.places[text] = len(self.places)
            self._bytes += len(safe_json(text).encode()) + 4
        return self.places[text]
