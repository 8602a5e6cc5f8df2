"""The paper's claims, and whether the tables of an experiment show them.

`claims.yaml` is the list: what the paper says, with its value if its text has one, and checks, each of which
names numbers on the page of an experiment and what they must be. Rules compare what stands in a table: a TeDA
bound is wrong with the error of its row.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from tedaudit.results.section import Column, Section, Table

Verdict = Literal["seen", "not seen", "not tried"]
Group = dict[float | None, float]  # numbers by epsilon; None: the table has none

_LABELS = ("mechanism", "attack", "text", "task", "settings")
_EPSILON = re.compile(r"epsilon|nominal eps")
_ORDERS = ("pairs in the same order", "in the other", "not told apart")
_COLUMNS = (
    Column("the paper says", rank=0), Column("its value", rank=0), Column("here", rank=0),
    Column("verdict", rank=0), Column("seen if", rank=1),
)  # fmt: skip


class Check(BaseModel):
    """Numbers on a page, and what they must be for the claim to be seen there."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    page: str = Field(description="The experiment.")
    table: str = Field(default="TeDA bound (*", description="Its title without the corpus; * for any.")
    value: str = Field(default="[0-9]*", description="The column; by default one for each epsilon.")
    less: str = Field(default="", description="Another column, which is subtracted from it.")
    of: list[str] = Field(default_factory=list, description="Mechanisms, as published; all if none is named.")
    attack: str = ""
    task: str = ""
    corpora: list[str] = Field(default_factory=list, description="All if none is named.")
    at: list[float | Literal["last"]] = Field(default_factory=list, description="Epsilons; all if none.")
    seen_if: dict[str, Any] = Field(min_length=1, max_length=1, description="A rule and its argument.")


class Claim(BaseModel):
    """Something that the paper says."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    says: str
    value: str = Field(default="", description="The paper's own, if its text has one.")
    checks: list[Check] = Field(default_factory=list)
    untried: str = Field(default="", description="Why there is no check.")


@dataclass(frozen=True)
class Judged:
    """What a page shows of a claim."""

    claim: Claim
    check: Check
    verdict: Verdict
    here: str = ""


@cache
def list_claims() -> tuple[Claim, ...]:
    """Return the paper's claims, in the order of their numbers."""
    file = resources.files("tedaudit.paper") / "claims.yaml"
    return tuple(Claim(**one) for one in yaml.safe_load(file.read_text(encoding="utf-8")))


def judge(page: Mapping[str, Any]) -> list[Judged]:
    """Return what a page shows of the paper's claims; a page is what `reproduce` writes as JSON."""
    name = page["experiment"]
    return [_judge(c, check, page) for c in list_claims() for check in c.checks if check.page == name]


def tell_claims(judged: Sequence[Judged]) -> Section:
    """Return the claims as a section."""
    rows = tuple((j.claim.says, j.claim.value, j.here, j.verdict, describe_rule(j.check)) for j in judged)
    return Section("What the paper claims", Table(_COLUMNS, rows))


def describe_rule(check: Check) -> str:
    """Return when a check is passed, in words."""
    [(rule, argument)] = check.seen_if.items()
    words = _RULES[rule].words.format(", ".join(argument) if isinstance(argument, list) else argument)
    words = words.removesuffix(" by more than 0")
    what = check.value.strip("* ")
    if check.less:
        what = f"difference between {what} and {check.less}"
    elif check.table.startswith("TeDA bound"):
        what = "bound"
    return f"{what}{f' under {check.attack}' if check.attack else ''} {words}"


# --- Lines: the numbers of one mechanism under one attack on one corpus, by epsilon.


@dataclass(frozen=True)
class Line:
    """Numbers by epsilon, as they stand in a row or a column of a table."""

    corpus: str
    values: Group
    ceiling: float


def _read_lines(check: Check, page: Mapping[str, Any]) -> list[Line]:
    """Return the numbers that a check is about."""
    settings = page["settings"]
    named = [one for one in settings["mechanisms"] if isinstance(one, Mapping)]
    published = [one for one in named if one.get("variant") == "published"]
    mechanisms = set(_list_titles(published, check.of))
    attacks = set(_list_titles(settings["attacks"], [check.attack])) if check.attack else None
    lines: dict[tuple[Any, ...], Line] = {}
    for table in page["tables"]:
        corpus, _, title = table["title"].rpartition(": ")
        if not fnmatchcase(title, check.table) or (check.corpora and corpus not in check.corpora):
            continue
        ceiling = float((re.findall(r"ceiling ([\d.]+)", title) or [0])[0])
        for row in table["rows"]:
            cells = dict(zip(table["headings"], row, strict=True))
            if "mechanism" in cells and cells["mechanism"] not in mechanisms:
                continue
            if attacks is not None and cells.get("attack") not in attacks:
                continue
            if check.task and not fnmatchcase(str(cells.get("task")), check.task):
                continue
            key = corpus, *(cells.get(label) for label in _LABELS)
            for column, epsilon, value in _read_values(check, cells):
                lines.setdefault((*key, column), Line(corpus, {}, ceiling)).values[epsilon] = value
    return list(lines.values())


def _list_titles(given: Sequence[Any], names: Sequence[str]) -> Iterator[str]:
    """Yield what results call the plug-ins of some names, or all of them."""
    for one in given:
        plugin = one if isinstance(one, Mapping) else {"name": one}
        if not names or plugin["name"] in names:
            yield plugin.get("label") or plugin["name"]


def _read_values(check: Check, cells: Mapping[str, Any]) -> Iterator[tuple[str, float | None, float]]:
    """Yield column, epsilon and number of a row; a column for each epsilon is one column."""
    own = next((_to_number(cell) for name, cell in cells.items() if _EPSILON.match(name)), None)
    has_own = any(_EPSILON.match(name) for name in cells)
    for name, cell in cells.items():
        value = _to_number(cell)
        if value is None or not fnmatchcase(name, check.value):
            continue
        if check.less:
            value = abs(value - (_to_number(cells[check.less]) or 0.0))
        epsilon = own if has_own else _to_number(name)
        yield (name if has_own or epsilon is None else ""), epsilon, value


def _to_number(cell: Any) -> float | None:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None


# --- Rules: whether each of some numbers is as it must be, and these numbers in words.

Told = tuple[list[bool], str]


@dataclass(frozen=True)
class Rule:
    """`holds` says of every part of the numbers whether it is as it must be, and tells them."""

    words: str
    holds: Callable[[Check, Any, Mapping[str, Any]], Told]


def _judge(claim: Claim, check: Check, page: Mapping[str, Any]) -> Judged:
    [(rule, argument)] = check.seen_if.items()
    held, here = _RULES[rule].holds(check, argument, page)
    if not held:
        return Judged(claim, check, "not tried")
    return Judged(claim=claim, check=check, verdict="seen" if all(held) else "not seen", here=here)


def _compare_each(good: Callable[[float, float, float], bool]) -> Callable[..., Told]:
    """Return a rule on every number by itself; `good` is given the number, the argument and the ceiling."""

    def holds(check: Check, argument: float, page: Mapping[str, Any]) -> Told:
        lines = _read_lines(check, page)
        by_epsilon: dict[float | None, list[tuple[float, bool]]] = {}
        for line in lines:
            for epsilon in _choose(check, line):
                value = line.values[epsilon]
                by_epsilon.setdefault(epsilon, []).append((value, good(value, argument, line.ceiling)))
        held = {e: all(ok for _, ok in found) for e, found in sorted(by_epsilon.items(), key=_get_epsilon)}
        told = {e: _tell_span([value for value, _ in by_epsilon[e]]) for e in held}
        return list(held.values()), _tell_by_epsilon(told, held)

    return holds


def _compare_groups(check: Check, others: list[str], page: Mapping[str, Any]) -> Told:
    """Return whether the least number of some mechanisms is above the largest of others, by epsilon."""
    these = _read_lines(check, page)
    those = _read_lines(check.model_copy(update={"of": others}), page)
    held: dict[float | None, bool] = {}
    told = {}
    for epsilon in sorted({e for line in these for e in _choose(check, line)}, key=lambda e: e or 0.0):
        places = {line.corpus for line in these if epsilon in line.values}
        sides = [[[n.values[epsilon] for n in side if n.corpus == place and epsilon in n.values]
                  for place in sorted(places)] for side in (these, those)]  # fmt: skip
        pairs = [(a, b) for a, b in zip(*sides, strict=True) if a and b]
        if pairs:
            held[epsilon] = all(min(a) > max(b) for a, b in pairs)
            above, below = ([value for pair in pairs for value in pair[n]] for n in (0, 1))
            told[epsilon] = f"{_tell_span(above)} over {_tell_span(below)}"
    return list(held.values()), _tell_by_epsilon(told, held)


def _compare_ends(good: Callable[[float, float], bool], *, each: bool = False) -> Callable[..., Told]:
    """Return a rule on the change from the first epsilon to the last, or on the change at each."""

    def holds(check: Check, argument: float, page: Mapping[str, Any]) -> Told:
        lines = [[line.values[e] for e in _choose(check, line)] for line in _read_lines(check, page)]
        epsilons = next((_choose(check, line) for line in _read_lines(check, page)), [])
        lines = [line for line in lines if len(line) > 1]
        pairs = [list(pairwise(v)) if each else [(v[0], v[-1])] for v in lines]
        held = [all(good(after - before, argument) for before, after in steps) for steps in pairs]
        if not held:
            return [], ""
        told = [f"{_tell_span([line[n] for line in lines])} at {epsilons[n]:g}" for n in (0, -1)]
        some = f"; holds for {sum(held)} of {len(held)}" if 0 < sum(held) < len(held) else ""
        return held, ", ".join(told) + some

    return holds


def _compare_proportion(check: Check, share: float, page: Mapping[str, Any]) -> Told:
    """Return whether numbers grow in proportion to epsilon, up to a share of them."""
    lines = _read_lines(check, page)
    per_epsilon = [[line.values[e] / (e or 1.0) for e in _choose(check, line)] for line in lines]
    held = [max(ratios) <= (1 + share) * min(ratios) for ratios in per_epsilon if len(ratios) > 1]
    told = {e: _tell_span([n.values[e] for n in lines]) for n in lines for e in _choose(check, n)}
    return held, _tell_by_epsilon(told, {})


def _compare_orders(check: Check, share: float, page: Mapping[str, Any]) -> Told:
    """Return whether hardly any two mechanisms are told apart in opposite orders under two settings."""
    counts = [
        sum(sum(line.values.values()) for line in _read_lines(check.model_copy(update={"value": name}), page))
        for name in _ORDERS
    ]
    same, other, untold = map(int, counts)
    told = f"of {same + other + untold} pairs {same} in the same order, {other} in the other"
    return ([other <= share * (same + other)] if same + other else []), told


_RULES = {
    "at most": Rule("at most {}", _compare_each(lambda value, most, _: value <= most)),
    "at least": Rule("at least {}", _compare_each(lambda value, least, _: value >= least)),
    "near the ceiling": Rule(
        "at least {} of the ceiling", _compare_each(lambda value, part, top: value >= part * top)
    ),
    "above": Rule("above {}", _compare_groups),
    "rises": Rule("rises by more than {}", _compare_ends(lambda change, least: change > least)),
    "falls": Rule("falls by more than {}", _compare_ends(lambda change, least: -change > least)),
    "never falls": Rule("never falls by more than {}", _compare_ends(lambda c, most: c >= -most, each=True)),
    "flat": Rule("changes by at most {}", _compare_ends(lambda change, most: abs(change) <= most)),
    "in proportion": Rule("in proportion to epsilon, up to {} of it", _compare_proportion),
    "same order": Rule("turned round for at most {} of the pairs told apart", _compare_orders),
}  # fmt: skip


def _choose(check: Check, line: Line) -> list[float | None]:
    """Return the epsilons of a line that a check is about, in order."""
    known = sorted(line.values, key=lambda e: e or 0.0)
    wanted = [known[-1] if e == "last" else e for e in check.at]
    return [e for e in known if not wanted or e in wanted]


def _get_epsilon(item: tuple[float | None, Any]) -> float:
    return item[0] or 0.0


def _tell_by_epsilon(told: Mapping[float | None, str], held: Mapping[float | None, bool]) -> str:
    """Return "0 at 10, 50; 1.16 to 2.91 at 250", and where it holds if not everywhere."""
    same: dict[str, list[float]] = {}
    for epsilon, words in told.items():
        same.setdefault(words, []).extend([] if epsilon is None else [epsilon])
    parts = [f"{words} at {_tell_epsilons(at)}" if at else words for words, at in same.items()]
    at = [epsilon for epsilon, good in held.items() if good and epsilon is not None]
    some = f"; holds at {_tell_epsilons(at)}" if at and not all(held.values()) else ""
    return "; ".join(parts) + some


def _tell_epsilons(epsilons: Sequence[float]) -> str:
    return ", ".join(f"{epsilon:g}" for epsilon in epsilons)


def _tell_span(values: Sequence[float]) -> str:
    low, high = _tell_number(min(values)), _tell_number(max(values))
    return low if low == high else f"{low} to {high}"


def _tell_number(value: float) -> str:
    """Return a number with two decimals, or two figures if it is small; whole ones without."""
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 0.01 else f"{value:.2g}"
