"""The battery: tests that name what leaks, each a difference between sources, with one error for all.

At zero budget (epsilon near 0) any difference is structural: no noise could hide it. A mechanism that
takes no epsilon is tested as it is. A test at an epsilon with a claim rejects only what the claim does not
allow.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tedaudit.abilities import BringsTexts, HasOwnEpsilons, WritesOnce
from tedaudit.api import AnyMechanism, load_corpus
from tedaudit.corpora._given import Given
from tedaudit.errors import SpecError, TedauditError, did_you_mean, join_names
from tedaudit.estimators.multiplicity import holm
from tedaudit.nominal import NO_EPSILON, Nominal
from tedaudit.registry import build, describe_object, is_foreign
from tedaudit.seeding import derive
from tedaudit.spec.flags import parse_corpus
from tedaudit.spec.model import parse_spec
from tedaudit.trust.calls import Calls
from tedaudit.trust.fixes import find_fix
from tedaudit.trust.outcomes import LeakReport, NotRun, Outcome
from tedaudit.trust.processes import judge_processes
from tedaudit.trust.recognition import KnownPairs, TwinPairs
from tedaudit.trust.signs import allowed_rate, smallest_p_value
from tedaudit.trust.sources import SourcePairs, draw_pairs
from tedaudit.trust.state import judge_repeats, judge_state
from tedaudit.trust.twins import KINDS, build_twins
from tedaudit.types import Corpus, Draw, Mechanism

ERROR = 0.0025
ZERO = (1e-6, 1e-4, 1e-2, 0.1, 1.0)
_MOST_UNITS = 10_000  # if nothing bounds the units of a claim: no text here has more
_MODEL_TRIALS = 60
_SHORT = 40  # of the shorter half of the texts at least so many: twins of short texts are small examples
_SINGLE = 20  # pairs for a fresh process, which takes long to start
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is tried: `trials` rewrites for the pairs of texts, and in proportion for the rest."""

    trials: int = 200
    error: float = ERROR
    seed: int = 0

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
        """Pairs of texts that are rewritten often."""
        return max(12, self.trials // 8)

    @property
    def sequences(self) -> int:
        """Texts that are rewritten after one text and after another."""
        return max(32, self.trials // 5)


def find_leaks(
    mechanism: AnyMechanism,
    texts: str | Corpus | Sequence[str] | None = None,
    *,
    epsilon: float | None = None,
    claim: float | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> LeakReport:
    """Run the battery on a mechanism, a function or a table of rewrites, and name what leaks.

    `texts` is a list, a corpus or its name; without it those that the mechanism brings, or the demo.
    `epsilon` adds a second round at that epsilon to the one at zero budget. `claim` is the epsilon promised
    for a whole release, if the mechanism does not say it itself. `trials`, `error` and `seed` are the
    other settings.

    >>> "case" in find_leaks(str.strip, ["a cup of tea", "two of them", "Now or never"], trials=60).names
    True
    """
    [named] = parse_spec({"mechanisms": [mechanism]}).mechanisms
    plugin: Mechanism = build(named.reference("mechanism"))
    if plugin.card.needs:
        settings = {"trials": _MODEL_TRIALS, **settings}  # a model takes long, and its draws are independent
    chosen = _read_settings(settings)
    pool = _read_texts(texts, plugin)
    if isinstance(plugin, WritesOnce):
        battery = _Battery(plugin, pool, chosen, claim, progress)
        battery.read_recorded(epsilon)
        return battery.report(named.title)
    battery = _Battery(plugin, pool, chosen, claim, progress)
    budget = find_zero(plugin, pool, epsilon)
    battery.run_round(budget)
    battery.run_once(budget, _find_name(mechanism, plugin))
    if epsilon is not None and budget.is_given and budget != epsilon:
        battery.run_round(Nominal(epsilon))
    return battery.report(named.title)


class _Battery:
    """Collects outcomes of all rounds; `report` shares the error among them."""

    def __init__(
        self, plugin: Any, texts: Sequence[str], settings: Settings, claim: float | None,
        progress: Progress | None,
    ) -> None:  # fmt: skip
        self.plugin, self.texts, self.settings, self.claim = plugin, texts, settings, claim
        self.tell = progress or (lambda _: None)
        self.outcomes: list[Outcome] = []
        self.not_run: list[NotRun] = []
        self.rounds: dict[Nominal, str] = {}
        self.calls: list[Calls] = []

    def run_round(self, epsilon: Nominal) -> None:
        """Test pairs of texts and twins at one epsilon."""
        self.tell(f"rewriting at {epsilon.phrase or 'its only setting'}")
        seed, chosen = derive(self.settings.seed, "leaks", epsilon.name), self.settings
        calls, rate = self._start(epsilon, seed)
        shuffled = _shuffle_short(self.texts, seed)
        parts: list[Any] = [
            SourcePairs(calls, draw_pairs(self.texts, chosen.pairs, derive(seed, "pairs"))),
            KnownPairs(calls, draw_pairs(shuffled, chosen.known, derive(seed, "known"))),
        ]
        parts += [TwinPairs(calls, kind, build_twins(kind, shuffled, chosen.twins)) for kind in KINDS]
        calls.make()
        self.tell("comparing outputs")
        self.outcomes += [outcome for part in parts for outcome in part.judge(rate)]

    def run_once(self, epsilon: Nominal, name: str) -> None:
        """Test what has nothing to do with the budget: state between calls, and fresh processes."""
        if not is_foreign(self.plugin):
            reason = "built in: a contract test holds that a rewrite depends on its own text and key alone"
            self.not_run += [NotRun("state", reason), NotRun("determinism", reason)]
            return
        seed = derive(self.settings.seed, "once")
        if len(self.texts) < 3:
            self.not_run.append(NotRun("state", f"it needs 3 texts or more; there are {len(self.texts)}"))
        else:
            self.tell("calling in another order")
            calls, _ = self._start(epsilon, seed)
            self.outcomes += judge_state(calls, self.texts, self.settings.sequences, together=False)
            self.outcomes.append(judge_repeats(calls, self.texts, self.settings.sequences))
            if getattr(self.plugin, "batch", True):
                self.outcomes += judge_state(calls, self.texts, self.settings.sequences, together=True)
        if not name:
            reason = "a fresh process can only run what it can import: py:package.module:name"
            self.not_run.append(NotRun("determinism", reason))
            return
        self.tell("starting fresh processes")
        pairs, rate = draw_pairs(self.texts, _SINGLE, seed), self._find_rate(epsilon)
        found = judge_processes(name, epsilon, pairs, seed, rate)
        if isinstance(found, str):
            self.not_run.append(NotRun("determinism", found))
        else:
            self.outcomes.append(found)

    def read_recorded(self, asked: float | None) -> None:
        """Test a table of rewrites, one of each text, at each of its epsilons."""
        for epsilon in map(Nominal, self.plugin.epsilons(() if asked is None else (asked,))):
            able = self.plugin.available(self.texts, [epsilon])
            texts = [text for text, has in zip(self.texts, able, strict=True) if has]
            calls, rate = self._start(epsilon, derive(self.settings.seed, "recorded", epsilon.name))
            pairs = draw_pairs(texts, len(texts) // 2, calls.seed, once=True)
            part = SourcePairs(calls, pairs, draws=1)
            calls.make()
            self.outcomes += part.judge(rate)
        once = "a table has one rewrite of each text, and none of texts that were changed"
        self.not_run += [NotRun(part, once) for part in ("recognition", "twins", "state", "determinism")]

    def report(self, title: str) -> LeakReport:
        """Return all outcomes with adjusted p-values and fixes."""
        error = self.settings.error
        able = [smallest_p_value(o.signs.pairs, o.rate) <= error for o in self.outcomes]
        adjusted = iter(holm([o.signs.p_value for o, has in zip(self.outcomes, able, strict=True) if has]))
        judged = tuple(
            replace(
                outcome, adjusted=float(next(adjusted)) if has else 1.0, is_in_reach=has,
                fix=find_fix(self.plugin, outcome.part, outcome.name),
            )
            for outcome, has in zip(self.outcomes, able, strict=True)
        )  # fmt: skip
        outputs = [calls[i] for calls in self.calls for i in range(len(calls))]
        return LeakReport(
            title, tuple(self.rounds), tuple(self.rounds.values()), judged, tuple(self.not_run), error,
            len(outputs), sum(bool(output.error) for output in outputs), len(self.texts),
        )  # fmt: skip

    def _start(self, epsilon: Nominal, seed: int) -> tuple[Calls, float]:
        calls = Calls(self.plugin, epsilon, seed)
        self.calls.append(calls)
        return calls, self._find_rate(epsilon)

    def _find_rate(self, epsilon: Nominal) -> float:
        """Return how often a pair may follow its source by what is claimed at an epsilon."""
        claim = self.plugin.claim(epsilon)
        promised = self.claim if self.claim is not None else None if claim is None else claim.total
        words = "no claim" if promised is None else f"{promised:g} for a whole release"
        if promised is not None and math.isinf(promised) and epsilon.is_given:
            promised = epsilon * _MOST_UNITS
            words = f"{epsilon:g} for each unit, {promised:g} for {_MOST_UNITS:,} of them"
        self.rounds[epsilon] = words
        return allowed_rate(promised or 0.0)


def _shuffle_short(texts: Sequence[str], seed: int) -> list[str]:
    """Return the shorter half of the texts, or more if they are few, in an order drawn at random."""
    short = sorted(texts, key=len)[: max(_SHORT, len(texts) // 2)]
    return [short[i] for i in np.random.default_rng(seed).permutation(len(short))]


def find_zero(plugin: Any, texts: Sequence[str], asked: float | None) -> Nominal:
    """Return the smallest epsilon of a few at which a mechanism works; `NO_EPSILON` if it takes none."""
    if not takes_epsilon(plugin):
        return NO_EPSILON if asked is None else Nominal(asked)
    for epsilon in ZERO:
        draws = [Draw(text, epsilon, derive(0, "zero budget", i)) for i, text in enumerate(texts[:4])]
        try:
            if not all(output.error for output in plugin.rewrite(draws)):
                return Nominal(epsilon)
        except (TedauditError, ArithmeticError, ValueError):
            continue
    return Nominal(ZERO[0])


def takes_epsilon(plugin: Any) -> bool:
    """Return whether a mechanism takes an epsilon at all."""
    if not isinstance(plugin, HasOwnEpsilons):
        return True
    try:
        return any(Nominal(epsilon).is_given for epsilon in plugin.epsilons(()))
    except SpecError:  # a function that must be given one
        return True


def _read_settings(given: Mapping[str, Any]) -> Settings:
    allowed = ("trials", "error", "seed")
    for key in given:
        if key not in allowed:
            raise SpecError(
                f"`find_leaks` has no setting '{key}'.{did_you_mean(key, allowed)} It takes: "
                f"epsilon, claim, progress, {join_names(allowed)}."
            )
    return Settings(**given)


def _read_texts(texts: str | Corpus | Sequence[str] | None, plugin: Any) -> tuple[str, ...]:
    if texts is None and isinstance(plugin, BringsTexts):
        found: Sequence[str] = plugin.texts()
    elif texts is None or isinstance(texts, str):
        options = parse_corpus(texts or "demo")
        found = load_corpus(options.pop("name"), **options).texts
    else:
        found = Given(texts).load().texts
    if len(found) < 2:
        raise SpecError(f"There are {len(found)} texts; the battery compares texts, so it needs 2 or more.")
    return tuple(found)


def _find_name(mechanism: AnyMechanism, plugin: Any) -> str:
    """Return how a fresh process finds the mechanism; an empty string if it cannot."""
    if isinstance(mechanism, Mapping):
        return ""
    given = mechanism if isinstance(mechanism, str) else getattr(plugin, "function", mechanism)
    name = given if isinstance(given, str) else describe_object(given)
    return name if name.startswith("py:") and not name.startswith("py:builtins:") else ""
