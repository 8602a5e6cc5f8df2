"""What the battery returns: one outcome per test, findings by their cause, and all of it as data."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tedaudit.leaks.signs import CHANCE, Allowed, Signs, judge_signs
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.values import Rewrite, fold_text
from tedaudit.text.plain_data import PlainData, pick, to_data

Back = tuple[tuple[str, ...], tuple[str, ...]]
"""What of either text came back in its own output, as the text has it."""
WHOLE, REPEATED = "whole text", "same output"  # tests of which others are a consequence
TIMING = "timing"  # the part that looks at the clock: told, and never a finding


@dataclass(frozen=True, slots=True)
class Compared:
    """A pair that was judged: its margin, its texts and outputs.

    `repeats` says whether an output is one that its text had before.
    """

    margin: float
    texts: tuple[str, str]
    outputs: tuple[Rewrite, Rewrite]
    repeats: bool = False

    @property
    def has_copy(self) -> bool:
        """Whether an output is its own text, but for case and white space."""
        return any(is_copy(*one) for one in zip(self.texts, self.outputs, strict=True))


def is_copy(text: str, output: Rewrite) -> bool:
    """Return whether an output is the text, but for case and white space."""
    return not output.error and fold_text(output.text).casefold() == fold_text(text).casefold()


@dataclass(frozen=True, slots=True)
class TwinExample(PlainData):
    """Two texts, what became of them, and what of either came back or tells the outputs apart."""

    texts: tuple[str, str]
    outputs: tuple[str, str]
    back: Back = ((), ())
    differs: Back = ((), ())
    in_json: ClassVar[str] = "texts, outputs, back as came_back, differs"


@dataclass(frozen=True, slots=True)
class LeakTest(PlainData):
    """One test: what was looked at, how often the outputs followed their sources, and an example.

    `name` identifies the test, `culprit` says what would be wrong in plain words, and `counted` what a pair
    is that follows its source. `clue` is what tells the outputs apart, if the test learnt it: how it looked
    at them, and the most telling trait. `rests` are p-values of what is left of the test without the pairs in
    which another leak shows, by the name of that leak's test.
    """

    part: str
    name: str
    culprit: str
    counted: str
    epsilon: Nominal
    signs: Signs
    allowed: Allowed = CHANCE
    example: TwinExample | None = None
    clue: tuple[str, str] = ("", "")
    rests: Mapping[str, float] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    adjusted: float = 1.0
    is_in_reach: bool = True
    fix: str = ""
    in_json: ClassVar[str] = (
        "part, name, culprit, counted, epsilon, signs.pairs, signs.followed, signs.against, signs.same, "
        "signs.share as strength, signs.interval, signs.clearest, signs.right as clearest_right, "
        "allowed.rate as allowed_rate, signs.p_value, adjusted as adjusted_p, is_in_reach as in_reach, "
        "figures, clue, fix, example"
    )

    @property
    def unit(self) -> str:
        """What is counted: guesses of coins, or pairs of outputs."""
        return "guesses" if self.part in ("recognition", "state", TIMING) else "pairs"

    def to_dict(self, *, redact: bool = False) -> dict[str, Any]:
        """Return it as JSON holds it; `redact` leaves out texts and pieces of them."""
        kind, value = self.clue
        told = pick(self) | {"clue": {"kind": kind, "value": None if redact else value} if kind else None}
        return told | {"example": None} if redact else told


@dataclass(frozen=True, slots=True)
class Cause:
    """A leak that was found: its most certain test, and the others in which it shows."""

    finding: LeakTest
    others: tuple[LeakTest, ...] = ()


@dataclass(frozen=True, slots=True)
class NotRun:
    """A part of the battery that could not be run, and why."""

    part: str
    reason: str


@dataclass(frozen=True)
class LeakReport(PlainData):
    """All tests of one battery.

    `findings` are the tests that found what is no chance, at the error of all together; `causes` are the
    leaks behind them, each with the tests that it explains.
    """

    mechanism: str
    epsilons: tuple[Nominal, ...]
    claims: tuple[str, ...]
    outcomes: tuple[LeakTest, ...]
    not_run: tuple[NotRun, ...]
    error: float
    calls: int
    failed: int
    texts: int
    in_json: ClassVar[str] = "mechanism, epsilons, claims, error, texts, calls, failed"

    @property
    def findings(self) -> tuple[LeakTest, ...]:
        """The tests that found something, the most certain first; one for each thing, by its plainest."""
        found = [o for o in self._judged if o.part != TIMING]
        plain = {(o.part, o.name, o.epsilon) for o in found if not o.clue[0]}
        kept = [o for o in found if not o.clue[0] or (o.part, o.name, o.epsilon) not in plain]
        return tuple(sorted(kept, key=lambda o: (o.epsilon, o.adjusted, -o.signs.share)))

    @property
    def timings(self) -> tuple[LeakTest, ...]:
        """Tests of how long calls take that chance does not explain: they depend on the machine as well."""
        return tuple(outcome for outcome in self._judged if outcome.part == TIMING)

    @property
    def _judged(self) -> list[LeakTest]:
        return [o for o in self.outcomes if o.is_in_reach and o.adjusted <= self.error]

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The leaks that were found: tests with one cause are one leak.

        A test that finds nothing without the texts that come back whole is explained by them. So is one that
        tells outputs apart, and finds nothing without outputs that come again, by those. Otherwise what has
        the same fix has the same cause. What names the thing that leaks comes before what was learnt.
        """
        groups: dict[str, list[LeakTest]] = {}
        for finding in sorted(self.findings, key=lambda found: (found.epsilon, bool(found.clue[0]))):
            groups.setdefault(self._find_cause(finding), []).append(finding)
        leading = [next((o for o in group if o.name == name), group[0]) for name, group in groups.items()]
        return tuple(
            Cause(first, tuple(other for other in group if other is not first))
            for first, group in zip(leading, groups.values(), strict=True)
        )

    def _find_cause(self, finding: LeakTest) -> str:
        """Return the test that explains a finding, or what would fix it."""
        found = {(o.name, o.epsilon) for o in self.findings}
        for name in (WHOLE, REPEATED):
            if finding.name == name or (
                (name, finding.epsilon) in found and finding.rests.get(name, 0.0) > self.error
            ):
                return name
        return finding.fix

    @property
    def names(self) -> frozenset[str]:
        """The names of the tests that found something."""
        return frozenset(finding.name for finding in self.findings)

    def to_dict(self, *, redact: bool = False) -> dict[str, Any]:
        """Return it as JSON holds it; `redact` leaves out texts and pieces of them."""
        findings = [
            finding.to_dict(redact=redact) | {"cause": number}
            for number, cause in enumerate(self.causes, 1)
            for finding in (cause.finding, *cause.others)
        ]
        return pick(self) | {
            "findings": findings,
            "timings": [outcome.to_dict(redact=True) for outcome in self.timings],
            "tests": [outcome.to_dict(redact=True) for outcome in self.outcomes],
            "not_run": to_data(self.not_run),
        }


def judge_pairs(
    words: tuple[str, str, str, str],
    pairs: Sequence[Compared],
    epsilon: Nominal,
    allowed: Allowed = CHANCE,
    *,
    mark: Callable[[Compared], Back] | None = None,
    **more: Any,
) -> LeakTest:
    """Return the outcome of a test whose part, name, culprit and count are given in words.

    `mark` says what came back in a pair; `more` are other fields of the outcome.
    """
    signs = judge_signs([pair.margin for pair in pairs], allowed)
    example = _pick_example(pairs, mark)
    rests = {}
    if words[0] != "state":  # there the texts are those that came before, whose outputs are not judged
        rests[WHOLE] = judge_signs([p.margin for p in pairs if not p.has_copy], allowed).p_value
        if any(pair.repeats for pair in pairs):
            rests[REPEATED] = judge_signs([p.margin for p in pairs if not p.repeats], allowed).p_value
    return LeakTest(*words, epsilon, signs, allowed, example, rests=rests, **more)


def show(output: Rewrite) -> str:
    """Return an output as an example shows it."""
    return f"(failed: {output.error})" if output.error else output.text


def _pick_example(pairs: Sequence[Compared], mark: Callable[[Compared], Back] | None) -> TwinExample | None:
    """Return the shortest of the pairs that follow their sources most clearly; None if none does."""
    largest = max((pair.margin for pair in pairs), default=0.0)
    if largest <= 0:
        return None
    clear = [pair for pair in pairs if pair.margin >= largest / 2 and not math.isnan(pair.margin)]
    shortest = min(clear, key=lambda pair: sum(map(len, pair.texts)))
    first, second = shortest.outputs
    back = mark(shortest) if mark else ((), ())
    return TwinExample(shortest.texts, (show(first), show(second)), back)
