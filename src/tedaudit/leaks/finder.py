"""The battery: tests that name what leaks, each a difference between sources, with one error for all.

At zero budget (epsilon near 0) any difference is structural: no noise could hide it. A mechanism that
takes no epsilon is tested as it is. A test at an epsilon with a claim rejects only what the claim does not
allow.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tedaudit.api import AnyMechanism, load_corpus
from tedaudit.corpora.files import Given
from tedaudit.errors import SpecError, TedauditError, did_you_mean, join_names
from tedaudit.leaks.battery import Battery, BatterySettings, Progress
from tedaudit.leaks.outcomes import LeakReport
from tedaudit.plugins.nominal import NO_EPSILON, Nominal
from tedaudit.plugins.protocols import BringsTexts, HasOwnEpsilons, WritesOnce
from tedaudit.plugins.registry import build, describe_object
from tedaudit.plugins.values import Claim, Corpus, Draw, Mechanism
from tedaudit.runs.spec.flags import parse_corpus
from tedaudit.runs.spec.model import parse_spec
from tedaudit.seeding import derive

ZERO = (1e-6, 1e-4, 1e-2, 0.1, 1.0)
_MODEL_TRIALS = 60
_NO_FIELDS = {"name", "label", "epsilons"}  # settings that are none of the mechanism's own
_STATED = {"function", "unit", "max_units", "delta"}  # of a function, without a say in what it returns


def find_leaks(
    mechanism: AnyMechanism,
    texts: str | Corpus | Sequence[str] | None = None,
    *,
    epsilon: float | Sequence[float] | None = None,
    claim: float | Claim | None = None,
    progress: Progress | None = None,
    zero_budget: bool = True,
    **settings: Any,
) -> LeakReport:
    """Run the battery on a mechanism, a function or a table of rewrites, and name what leaks.

    `texts` is a list, a corpus or its name; without it those that the mechanism brings, or the demo.
    `epsilon`, one or several, adds a round at each to the one at zero budget; `zero_budget=False` leaves that
    out. `claim` is the epsilon promised for a whole release, or a `Claim`, if the mechanism does not say it
    itself. `trials`, `error`, `seed`, `reachable_only`, which leaves out rounds in which nothing could be
    found, `processes`, whether fresh ones are started, and `timing`, whether calls are timed, are the other
    settings.

    >>> "case" in find_leaks(str.strip, ["a cup of tea", "two of them", "Now or never"], trials=60).names
    True
    """
    [named] = parse_spec({"mechanisms": [mechanism]}).mechanisms
    plugin: Mechanism = build(named.reference("mechanism"))
    if plugin.card.needs:
        settings = {"trials": _MODEL_TRIALS, **settings}  # a model takes long, and its draws are independent
    chosen = _read_settings(settings)
    pool = _read_texts(texts, plugin)
    asked = [] if epsilon is None else [epsilon] if isinstance(epsilon, int | float) else sorted(epsilon)
    stated = Claim(claim, "document") if isinstance(claim, int | float) else claim
    battery = Battery(plugin, pool, chosen, stated, progress)
    if isinstance(plugin, WritesOnce):
        battery.read_recorded(asked)
        return battery.report(named.title)
    epsilons = _choose_epsilons(plugin, pool, asked, zero_budget=zero_budget)
    battery.run_rounds(epsilons)
    battery.run_once(epsilons[0], _find_name(mechanism, plugin))
    return battery.report(named.title)


def _choose_epsilons(
    plugin: Any, texts: Sequence[str], asked: Sequence[float], *, zero_budget: bool
) -> list[Nominal]:
    """Return the epsilons of the rounds: zero budget first, then those asked for."""
    if asked and not zero_budget:
        return [Nominal(e) for e in (asked if takes_epsilon(plugin) else asked[:1])]
    budget = find_zero(plugin, texts, asked[0] if asked else None)
    return [budget, *(Nominal(e) for e in asked if e != budget and takes_epsilon(plugin))]


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


def _read_settings(given: Mapping[str, Any]) -> BatterySettings:
    allowed = ("trials", "error", "seed", "reachable_only", "processes", "timing")
    for key in given:
        if key not in allowed:
            raise SpecError(
                f"`find_leaks` has no setting '{key}'.{did_you_mean(key, allowed)} It takes: "
                f"epsilon, claim, progress, zero_budget, {join_names(allowed)}."
            )
    return BatterySettings(**given)


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
        is_function = mechanism.get("name") == "function"
        if not mechanism.keys() <= (_NO_FIELDS | _STATED if is_function else _NO_FIELDS):
            return ""
        mechanism = plugin.function if is_function else str(mechanism["name"])
    given = mechanism if isinstance(mechanism, str) else getattr(plugin, "function", mechanism)
    name = given if isinstance(given, str) else describe_object(given)
    return name if name.startswith("py:") and not name.startswith("py:builtins:") else ""
