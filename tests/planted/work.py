"""What all parts of the tool say of one rewriter: an audit by all default attacks, the battery, lint.

Each is a function of small values with a small answer, so that other processes can do it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from planted.flaws import BY_NAME, FLAWS
from planted.nulls import NULLS
from planted.scripts import SCRIPTS, write_texts
from tedaudit.api import load_corpus
from tedaudit.leaks.finder import find_leaks
from tedaudit.leaks.lint.linter import lint
from tedaudit.mechanisms.function import Function
from tedaudit.results.findings import Finding
from tedaudit.testing.known import ERROR, audit_known

_TEXTS = 240


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is done in one piece of work: trials of an audit, and calls that the battery is sized by."""

    trials: int
    battery: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What one attack made of one mechanism."""

    attack: str
    bound: float
    found: bool
    by_certain: bool  # whether its most certain guesses decided, not all of them


@dataclass(frozen=True, slots=True)
class JudgedFlaw:
    """What all parts said of one mechanism on one corpus."""

    name: str
    texts: str
    attacks: tuple[Seen, ...]
    largest: float
    leaks: tuple[str, ...]
    lint: tuple[str, ...] = ()  # rules with a warning or an error, which need no sample

    @property
    def finders(self) -> tuple[str, ...]:
        """The parts that found something."""
        attacks = tuple(seen.attack for seen in self.attacks if seen.found)
        return attacks + (("leaks",) if self.leaks else ())

    @property
    def says_anything(self) -> bool:
        """Whether anything was said: a violation, a bound above 0, a finding."""
        return bool(self.finders) or self.largest > 0


def audit_null(number: int, effort: Effort) -> JudgedFlaw:
    """Audit a rewriter that reveals nothing, on texts of some script, and run the battery on it."""
    null = NULLS[number % len(NULLS)]
    script = (None, *SCRIPTS)[number // len(NULLS) % (1 + len(SCRIPTS))]
    texts = _read_texts(100) if script is None else write_texts(script, 100, number)
    rewriter = partial(null.rewrite)  # which no fresh process can import: that would take most of the time
    return _judge(null.name, script or "demo", Function(rewriter), 0.0, (texts, number), effort)


def audit_flaw(name: str, effort: Effort) -> JudgedFlaw:
    """Audit a planted flaw under its claim, and run the battery on it."""
    flaw = BY_NAME[name]
    judged = _judge(name, "demo", flaw.mechanism(), flaw.claim.epsilon, (_read_texts(), 0), effort)
    notes = lint(flaw.mechanism(), epsilons=[flaw.claim.epsilon], texts=()).notes
    return replace(judged, lint=tuple(dict.fromkeys(n.rule for n in notes if n.level != "info")))


def audit_twin(name: str, effort: Effort) -> JudgedFlaw:
    """Audit the repaired twin of a planted flaw, of which nothing may be said."""
    flaw, twin = BY_NAME[name], BY_NAME[name].twin()
    if twin is None:
        raise ValueError(f"'{name}' has no repaired twin")
    return _judge(f"{name} repaired", "demo", twin, flaw.claim.epsilon, (_read_texts(), 0), effort)


def list_twins(names: Sequence[str]) -> list[str]:
    """Return flaws whose repaired twins are all different: many flaws have the same one."""
    twins = {flaw.repaired(): flaw.name for flaw in FLAWS if flaw.name in names and flaw.repaired}
    return list(twins.values())


def _judge(
    name: str,
    title: str,
    mechanism: Function,
    epsilon: float,
    drawn: tuple[Sequence[str], int],
    effort: Effort,
) -> JudgedFlaw:
    texts, seed = drawn
    result = audit_known(mechanism, texts, epsilon, effort.trials, seed=seed)
    attacks = tuple(_describe(finding) for finding in result)
    leaks = find_leaks(
        mechanism, list(texts), epsilon=epsilon or None, claim=epsilon, trials=effort.battery, error=ERROR,
        seed=seed,
    )  # fmt: skip
    names = tuple(dict.fromkeys(finding.name for finding in leaks.findings))
    return JudgedFlaw(name, title, attacks, result.eps_emp, names)


def _describe(finding: Finding) -> Seen:
    by_certain = (
        finding.row is not None and finding.claim is not None and finding.row.decisive_part() is not None
    )
    return Seen(finding.attack, finding.eps_emp, finding.verdict.is_violation, by_certain)


def _read_texts(size: int = _TEXTS) -> list[str]:
    return list(load_corpus("demo", size=size).texts)
