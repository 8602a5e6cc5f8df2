"""The parts of the battery and how they run: rounds at each epsilon, and what has nothing to do with one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tedaudit.errors import SpecError
from tedaudit.estimators.multiplicity import holm
from tedaudit.leaks.calls import Calls, make_together
from tedaudit.leaks.coins import CoinPairs, find_suspects, judge_repeats, judge_sequences
from tedaudit.leaks.outcomes import LeakReport, LeakTest, NotRun
from tedaudit.leaks.processes import judge_processes
from tedaudit.leaks.signs import Allowed, allow, smallest_p_value
from tedaudit.leaks.sources import SourcePairs, draw_pairs
from tedaudit.leaks.twin_pairs import TwinPairs
from tedaudit.leaks.twins import KINDS, build_twins
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.protocols import DigestsMessages
from tedaudit.plugins.registry import is_foreign, variants
from tedaudit.plugins.values import Claim, Leak
from tedaudit.seeding import derive

ERROR = 0.0025
_MOST_UNITS = 10_000  # if nothing bounds the units of a claim: no text here has more
_SHORT = 40  # of the shorter half of the texts at least so many: twins of short texts are small examples
_SEQUENCES = 2  # pairs of texts on which coins are followed call by call
_SINGLE = 20  # pairs for a fresh process, which takes long to start
_ALLOWS = "allows every pair to follow its source, so nothing could be found"
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BatterySettings:
    """How much is tried: `trials` rewrites for the pairs of texts, and in proportion for the rest."""

    trials: int = 200
    error: float = ERROR
    seed: int = 0
    reachable_only: bool = False  # leave out rounds in which no test could find anything, whatever came out
    processes: bool = True  # whether fresh processes are started
    timing: bool = False  # whether it is looked at how long calls take

    def __post_init__(self) -> None:
        if self.trials < 50:
            raise SpecError(f"trials is {self.trials}; the battery needs 50 or more to find anything.")
        if not 0 < self.error < 1:
            raise SpecError(f"error is {self.error}; it must be above 0 and below 1.")

    @property
    def pairs(self) -> int:
        """Pairs of texts; each text is rewritten twice."""
        return self.trials // 2

    @property
    def twins(self) -> int:
        """Twins of each kind."""
        return max(12, self.trials // 5)

    @property
    def known(self) -> int:
        """Pairs of texts drawn at random of which the rewrites are told apart."""
        return max(6, self.trials // 16)

    @property
    def suspects(self) -> int:
        """Pairs with a text that stood out, of which the rewrites are told apart."""
        return max(2, self.trials // 50)

    @property
    def rows(self) -> int:
        """Rewrites of such a pair; half of them are learnt from."""
        return max(48, self.trials // 2)

    @property
    def screened(self) -> int:
        """Texts that are rewritten twice, if there are so many."""
        return 5 * self.trials // 2

    @property
    def most_pairs(self) -> int:
        """Pairs of the largest test of a round."""
        return max(2 * self.pairs, 2 * self.twins, (self.known + self.suspects) * self.rows // 2)

    @property
    def followed(self) -> int:
        """Calls that are made one after the other on the coins of a pair."""
        return max(240, 2 * self.trials)

    @property
    def repeated(self) -> int:
        """New texts that may be repeated."""
        return max(80, 4 * self.trials // 5)


class Battery:
    """Collects outcomes of all rounds; `report` shares the error among them."""

    def __init__(
        self, plugin: Any, texts: Sequence[str], settings: BatterySettings, claim: Claim | None,
        progress: Progress | None,
    ) -> None:  # fmt: skip
        self.plugin, self.texts, self.settings, self.claim = plugin, texts, settings, claim
        self.tell = progress or (lambda _: None)
        self.outcomes: list[LeakTest] = []
        self.not_run: list[NotRun] = []
        self.rounds: dict[Nominal, str] = {}
        self.calls: list[Calls] = []

    def run_rounds(self, epsilons: Sequence[Nominal]) -> None:
        """Test pairs of texts and twins at each epsilon: the same texts, with noise of their own."""
        rounds = []
        for epsilon in epsilons:
            allowed = self._find_allowed(epsilon)
            if self.settings.reachable_only and not self._is_in_reach(allowed):
                self.not_run.append(
                    NotRun(epsilon.phrase, f"the claim ({self.rounds.pop(epsilon)}) {_ALLOWS}")
                )
                continue
            calls = self._start(epsilon, derive(self.settings.seed, "leaks", epsilon.name))
            seed = derive(self.settings.seed, "leaks", epsilons[0].name)
            rounds.append((allowed, _Round(calls, self.texts, self.settings, seed)))
        self.tell(f"rewriting at {' and '.join(e.phrase or 'its only setting' for e in self.rounds)}")
        make_together(self.calls)
        for _, one in rounds:
            one.ask_suspects()
        make_together(self.calls)
        self.tell("comparing outputs")
        self.outcomes += [outcome for allowed, one in rounds for outcome in one.judge(allowed)]

    def _is_in_reach(self, allowed: Allowed) -> bool:
        """Return whether any test of a round could find anything at what the claim allows."""
        return smallest_p_value(self.settings.most_pairs, allowed) <= self.settings.error

    def run_once(self, epsilon: Nominal, name: str) -> None:
        """Test what has nothing to do with the budget: state between calls, and fresh processes."""
        if not is_foreign(self.plugin):
            reason = "built in: a contract test checks that a rewrite depends only on its own text and key"
            self.not_run += [NotRun("state", reason), NotRun("determinism", reason)]
            return
        seed = derive(self.settings.seed, "once")
        self.tell("calling in sequences of coins")
        calls, allowed = self._start(epsilon, seed), self._find_allowed(epsilon)
        self.outcomes += judge_sequences(
            calls, draw_pairs(self.texts, min(_SEQUENCES, len(self.texts) // 2), seed),
            self.settings.followed, allowed, in_lists=getattr(self.plugin, "batch", True),
            timing=self.settings.timing,
        )  # fmt: skip
        self.outcomes.append(judge_repeats(calls, self.texts, self.settings.repeated))
        if not self.settings.processes:
            self.not_run.append(NotRun("determinism", "fresh processes were left out: processes=False"))
            return
        if not name:
            reason = "a fresh process can only run what it can import: py:package.module:name"
            self.not_run.append(NotRun("determinism", reason))
            return
        self.tell("starting fresh processes")
        pairs = draw_pairs(self.texts, _SINGLE, seed)
        found = judge_processes(name, epsilon, pairs, seed, self._find_allowed(epsilon))
        if isinstance(found, str):
            self.not_run.append(NotRun("determinism", found))
        else:
            self.outcomes.append(found)

    def read_recorded(self, asked: Sequence[float]) -> None:
        """Test a table of rewrites, one of each text, at each of its epsilons."""
        for epsilon in map(Nominal, self.plugin.epsilons(asked)):
            able = self.plugin.available(self.texts, [epsilon])
            texts = [text for text, has in zip(self.texts, able, strict=True) if has]
            calls = self._start(epsilon, derive(self.settings.seed, "recorded", epsilon.name))
            allowed = self._find_allowed(epsilon)
            pairs = draw_pairs(texts, len(texts) // 2, calls.seed, once=True)
            part = SourcePairs(calls, pairs, draws=1)
            calls.make()
            self.outcomes += part.judge(allowed)
        once = "a table has one rewrite of each text, and none of changed texts"
        self.not_run += [NotRun(part, once) for part in ("recognition", "twins", "state", "determinism")]

    def report(self, title: str) -> LeakReport:
        """Return all outcomes with adjusted p-values and fixes."""
        error = self.settings.error
        able = [smallest_p_value(o.signs.pairs, o.allowed) <= error for o in self.outcomes]
        adjusted = iter(holm([o.signs.p_value for o, has in zip(self.outcomes, able, strict=True) if has]))
        judged = tuple(
            replace(
                outcome, adjusted=float(next(adjusted)) if has else 1.0, is_in_reach=has,
                fix=find_fix(self.plugin, outcome.part, outcome.name, learnt=bool(outcome.clue[0])),
            )
            for outcome, has in zip(self.outcomes, able, strict=True)
        )  # fmt: skip
        outputs = [calls[i] for calls in self.calls for i in range(len(calls))]
        return LeakReport(
            mechanism=title,
            epsilons=tuple(self.rounds),
            claims=tuple(self.rounds.values()),
            outcomes=judged,
            not_run=tuple(self.not_run),
            error=error,
            calls=len(outputs),
            failed=sum(bool(output.error) for output in outputs),
            texts=len(self.texts),
        )

    def _start(self, epsilon: Nominal, seed: int) -> Calls:
        plugin = self.plugin.with_digests() if isinstance(self.plugin, DigestsMessages) else self.plugin
        calls = Calls(plugin, epsilon, seed)
        self.calls.append(calls)
        return calls

    def _find_allowed(self, epsilon: Nominal) -> Allowed:
        """Return what is allowed by what is claimed at an epsilon; nothing is if nothing is claimed."""
        claim = self.plugin.claim(epsilon) if self.claim is None else self.claim
        self.rounds[epsilon] = "no claim" if claim is None else _write_promise(claim.total, claim.total_delta)
        if claim is None:
            return allow(0.0)
        if claim.max_units is None and epsilon.is_given:
            total, delta = _MOST_UNITS * claim.epsilon, min(1.0, _MOST_UNITS * claim.delta)
            words = f"{claim.epsilon:g} for each unit, {total:g} for {_MOST_UNITS:,} of them"
            self.rounds[epsilon] = words
            return allow(total, delta)
        return allow(claim.total, claim.total_delta)


class _Round:
    """The parts of a round; each asks for its rewrites first."""

    def __init__(self, calls: Calls, texts: Sequence[str], settings: BatterySettings, seed: int) -> None:
        self._calls, self._settings, shuffled = calls, settings, _shuffle_short(texts, seed)
        pairs = draw_pairs(texts, settings.pairs, derive(seed, "pairs"))
        self._sources = SourcePairs(calls, pairs)
        paired = {text for pair in pairs for text in pair}
        others = [text for text in texts if text not in paired][: max(0, settings.screened - len(paired))]
        self._screened = {text: calls.ask_often(text, 2) for text in others}
        self._coins = CoinPairs(calls, settings.rows)
        known = min(settings.known, len(texts) * (len(texts) - 1) // 2)
        self._coins.ask(draw_pairs(shuffled, known, derive(seed, "known")))
        self._twins = [TwinPairs(calls, kind, build_twins(kind, shuffled, settings.twins)) for kind in KINDS]

    def ask_suspects(self) -> None:
        """Ask for rewrites of pairs with texts that stand out by what was rewritten so far."""
        made = {text: [self._calls[t] for t in tickets] for text, tickets in self._screened.items()}
        made |= self._sources.list_outputs()
        self._coins.ask(find_suspects(made, self._settings.suspects, derive(self._calls.seed, "suspects")))

    def judge(self, allowed: Allowed) -> list[LeakTest]:
        """Return the outcomes of all parts."""
        parts: list[Any] = [self._sources, self._coins, *self._twins]
        return [outcome for part in parts for outcome in part.judge(allowed)]


def _write_promise(epsilon: float, delta: float) -> str:
    return f"{epsilon:g}{f', delta {delta:g},' if delta else ''} for a whole release"


def _shuffle_short(texts: Sequence[str], seed: int) -> list[str]:
    """Return the shorter half of the texts, or more if they are few, in an order drawn at random."""
    short = sorted(texts, key=len)[: max(_SHORT, len(texts) // 2)]
    return [short[i] for i in np.random.default_rng(seed).permutation(len(short))]


# --- What would stop a leak: the field that is set to leak, if the mechanism's card has it, or advice.

_GROUPS: Mapping[str, tuple[str, ...]] = {
    "length": ("length", "reversed length", "repeated length"),
    "copied words": (
        "common words", "rare words", "capitalised words", "words with digits", "first word", "middle words",
        "last word", "whole text",
    ),
}  # fmt: skip
"""What a leak may name in place of several tests."""
_EVERYTHING = "everything"  # a cut of what can be drawn shows in everything but failures
_OWN_NOISE = "let a text reach its output only through its own noise, with the same possible outputs for all"
_ADVICE = {
    "case": "take the case of letters from what is drawn, not from the text",
    "length": "draw a public number of words or tokens, whatever the text's length",
    "reversed length": "draw a public number of words or tokens, whatever the text's length",
    "repeated length": "draw a public number of words or tokens, whatever the text's length",
    "failure": "return an ordinary draw for every text: an error that depends on the text is an output too",
    "same output": (
        "draw enough noise, fresh for every text and call; never seed it with a constant, the clock or the "
        "text"
    ),
    "fresh process": "draw noise from the system's entropy; remove the seed that every process starts from",
    "whole text": "never return a text unchanged, not even one that cannot be handled",
    "trailing space": "build the output from what is drawn; copy no raw characters",
    "zero-width character": "build the output from what is drawn; copy no raw characters",
    "homoglyph": "build the output from what is drawn; copy no raw characters",
    "line break": "build the output from what is drawn; copy no raw characters",
    "punctuation": "draw punctuation like every other token",
    "sentences": "draw sentence ends like every other token",
    "word order": "draw every position of the output with its own noise",
    "two texts": _OWN_NOISE,
    "two texts in small calls": _OWN_NOISE,
    "equal texts in the same call": _OWN_NOISE,
    "equal texts in two calls": _OWN_NOISE,
    "place among outputs": _OWN_NOISE,
}
_SOUND = " (the variant 'sound' sets them all)"
_WORDS = "draw these words like all others: no word may get through without noise"


def find_fix(mechanism: Any, part: str, name: str, *, learnt: bool = False) -> str:
    """Return what to change: fields that leak as they are set, if the card has some, else advice.

    What was learnt says that outputs differ, and not that the thing itself comes back.
    """
    if part == "state":
        return "keep nothing between calls, and let no row of a call see another"
    card = mechanism.card
    leaks = [leak for leak in card.leaks if _explains(leak, name) and leak.is_set(mechanism)]
    if leaks:
        fixes = " and ".join(dict.fromkeys(leak.fix for leak in leaks))
        return f"{card.name}: set {fixes}{_SOUND if 'sound' in variants(type(mechanism)) else ''}"
    return _ADVICE["two texts" if learnt else name] if learnt or name in _ADVICE else _WORDS


def _explains(leak: Leak, test: str) -> bool:
    """Return whether a leak may be behind what a test found; any that shows may tell two texts apart."""
    tests = [name for shown in leak.shows for name in _GROUPS.get(shown, (shown,))]
    if test.startswith("two texts"):
        return bool(tests)
    return test in tests or (_EVERYTHING in tests and test != "failure")
