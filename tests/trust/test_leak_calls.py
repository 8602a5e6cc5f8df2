"""Calls of the battery: every ticket gets its own output, and the order tells nothing of the texts."""

import pytest

from tedaudit.errors import ContractError
from tedaudit.trust.calls import Calls
from tedaudit.types import Card, Rewrite


class _Watched:
    card = Card("watched", "Notes what it is called with.")

    def __init__(self, lost=0):
        self.seen, self.lost = [], lost

    def rewrite(self, draws):
        self.seen.append([draw.text for draw in draws])
        return [Rewrite(f"{draw.text}!") for draw in draws][self.lost :]


def test_tickets_get_their_outputs_although_calls_come_in_another_order():
    watched = _Watched()
    calls = Calls(watched, 1.0, 5)
    asked = [f"text {number}" for number in range(60)]
    tickets = [calls.ask(text) for text in asked]
    calls.make()
    assert [calls[ticket].text for ticket in tickets] == [f"{text}!" for text in asked]
    [order] = watched.seen
    assert order != asked
    assert sorted(order) == sorted(asked)
    half = sum(order.index(f"text {2 * i}") < order.index(f"text {2 * i + 1}") for i in range(30))
    assert 5 < half < 25


def test_what_follows_is_called_in_order_alone_or_together():
    watched = _Watched()
    calls = Calls(watched, 1.0, 5)
    waiting = calls.ask("before")
    assert [output.text for output in calls.follow(["a", "b"], together=False)] == ["a!", "b!"]
    calls.follow(["c", "d"], together=True)
    assert watched.seen == [["before"], ["a"], ["b"], ["c", "d"]]
    assert calls[waiting].text == "before!"


def test_every_call_has_noise_of_its_own():
    keys = []

    class Keyed(_Watched):
        def rewrite(self, draws):
            keys.extend(draw.key for draw in draws)
            return super().rewrite(draws)

    calls = Calls(Keyed(), 1.0, 5)
    calls.ask_often("same", 20)
    calls.make()
    calls.follow(["same", "same"], together=True)
    assert len(set(keys)) == 22


def test_a_missing_rewrite_is_an_error():
    calls = Calls(_Watched(lost=1), 1.0, 5)
    calls.ask("a")
    with pytest.raises(ContractError, match="given 1 draws and returned 0"):
        calls.make()
