"""Calls of the mechanism that the battery makes: collected first, then made in an order drawn at random.

The order is part of the tests: whatever a mechanism remembers of its earlier calls, which of two texts came
first is a coin of ours. Built-in mechanisms remember nothing, so their draws go by text: what a model does
for a text, whatever the noise and the epsilon, it then does once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tedaudit.errors import ContractError
from tedaudit.models.calling import retry
from tedaudit.plugins.extras import name_needs
from tedaudit.plugins.registry import is_foreign
from tedaudit.plugins.values import Draw, Mechanism, Rewrite
from tedaudit.seeding import derive

_AT_ONCE = 256


@dataclass
class Calls:
    """Asks for rewrites by ticket; `make` does all that were asked for since."""

    mechanism: Mechanism
    epsilon: float
    seed: int
    _asked: list[str] = field(default_factory=list)
    _outputs: list[Rewrite] = field(default_factory=list)

    def ask(self, text: str) -> int:
        """Return the ticket of one rewrite of this text, with noise of its own."""
        self._asked.append(text)
        return len(self._asked) - 1

    def ask_often(self, text: str, times: int) -> list[int]:
        """Return the tickets of several rewrites of this text."""
        return [self.ask(text) for _ in range(times)]

    def make(self) -> None:
        """Rewrite all that was asked for, in an order drawn at random."""
        done = len(self._outputs)
        waiting = np.random.default_rng(derive(self.seed, "order", done)).permutation(
            np.arange(done, len(self._asked))
        )
        found: dict[int, Rewrite] = {}
        for start in range(0, len(waiting), _AT_ONCE):
            tickets = [int(ticket) for ticket in waiting[start : start + _AT_ONCE]]
            found |= zip(tickets, self._rewrite(tickets), strict=True)
        self.take(found)

    def take(self, outputs: Mapping[int, Rewrite]) -> None:
        """Take in all outputs that are missing, by ticket."""
        self._outputs += [outputs[ticket] for ticket in range(len(self._outputs), len(self._asked))]

    def draws(self) -> list[tuple[int, Draw]]:
        """Return what was asked for and is not there yet, with tickets."""
        return [(ticket, self._draw(ticket)) for ticket in range(len(self._outputs), len(self._asked))]

    def follow(self, texts: Sequence[str], *, together: bool) -> list[Rewrite]:
        """Rewrite texts now and in this order: all in one call, or each in a call of its own."""
        self.make()
        tickets = [self.ask(text) for text in texts]
        groups = [tickets] if together else [[ticket] for ticket in tickets]
        self._outputs += [output for group in groups for output in self._rewrite(group)]
        return [self[ticket] for ticket in tickets]

    def __getitem__(self, ticket: int) -> Rewrite:
        return self._outputs[ticket]

    def __len__(self) -> int:
        return len(self._asked)

    def _draw(self, ticket: int) -> Draw:
        return Draw(self._asked[ticket], self.epsilon, derive(self.seed, "leaks", ticket))

    def _rewrite(self, tickets: Sequence[int]) -> list[Rewrite]:
        return _rewrite(self.mechanism, [self._draw(ticket) for ticket in tickets])


def make_together(batches: Sequence[Calls]) -> None:
    """Make all calls that several batches asked of one mechanism: by text, unless it is code of others."""
    waiting = [calls for calls in batches if calls.draws()]
    if not waiting or is_foreign(waiting[0].mechanism):
        for calls in waiting:
            calls.make()
        return
    rows = [(number, *row) for number, calls in enumerate(waiting) for row in calls.draws()]
    rows.sort(key=lambda row: row[2].text)
    found: list[dict[int, Rewrite]] = [{} for _ in waiting]
    start = 0
    while start < len(rows):
        stop = min(start + _AT_ONCE, len(rows))
        while stop < len(rows) and rows[stop][2].text == rows[stop - 1][2].text:
            stop += 1  # all draws of a text are made in one call
        made = _rewrite(waiting[0].mechanism, [draw for *_, draw in rows[start:stop]])
        for (number, ticket, _), output in zip(rows[start:stop], made, strict=True):
            found[number][ticket] = output
        start = stop
    for calls, outputs in zip(waiting, found, strict=True):
        calls.take(outputs)


def _rewrite(mechanism: Mechanism, draws: Sequence[Draw]) -> list[Rewrite]:
    card = mechanism.card
    with name_needs(card.name, card.needs):
        rewrites = list(retry(lambda: mechanism.rewrite(draws), card.name))
    if len(rewrites) != len(draws):
        raise ContractError(
            f"'{card.name}' was given {len(draws)} draws and returned {len(rewrites)} rewrites."
        )
    return rewrites
