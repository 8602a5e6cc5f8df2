"""Which run, mechanism or attack the others are compared with, if none is named.

The choice looks at what was tried and never at how it came out: a reference that was picked by its results
would make differences out of luck.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tedaudit.errors import SpecError, did_you_mean, join_names
from tedaudit.results.lineups import Axis, LineUp, put_first


@dataclass(frozen=True, slots=True)
class Reference:
    """What others are compared with, and in how many settings; `named` if somebody asked for it."""

    member: str
    settings: int
    named: bool = False


def choose_reference(
    groups: Sequence[LineUp], axis: Axis, against: str | None
) -> tuple[list[LineUp], tuple[Reference, ...]]:
    """Return the line-ups with the reference first, and what it is.

    It is the member of most line-ups; of equals, the first by run, then by name. Line-ups that lack it have
    one of their own, by the same rule. If one is named, line-ups without it are left out.
    """
    if against is not None:
        return _take_named(groups, axis, against)
    left, references = list(groups), []
    ordered: dict[int, LineUp] = {}
    while left:
        member = _find_commonest(left)
        own = [group for group in left if _has(group, member)]
        ordered |= {id(group): put_first(group, member) for group in own}
        references.append(Reference(member, len(own)))
        left = [group for group in left if not _has(group, member)]
    return [ordered[id(group)] for group in groups], tuple(references)


def _take_named(
    groups: Sequence[LineUp], axis: Axis, against: str
) -> tuple[list[LineUp], tuple[Reference, ...]]:
    names = {side.member for group in groups for side in group.sides}
    if against not in names:
        raise SpecError(
            f"There is no {axis} '{against}' to compare with.{did_you_mean(against, names)} "
            f"There are: {join_names(names)}."
        )
    own = [put_first(group, against) for group in groups if _has(group, against)]
    return own, (Reference(against, len(own), named=True),)


def _find_commonest(groups: Sequence[LineUp]) -> str:
    settings: dict[str, int] = {}
    first: dict[str, int] = {}
    for group in groups:
        for side in group.sides:
            first[side.member] = min(first.get(side.member, side.run.number), side.run.number)
        for member in {side.member for side in group.sides}:
            settings[member] = settings.get(member, 0) + 1
    return min(settings, key=lambda member: (-settings[member], first[member], member))


def _has(group: LineUp, member: str) -> bool:
    return any(side.member == member for side in group.sides)
