"""Calls of the battery: every ticket gets its own output, and the order tells nothing of the texts."""

import pytest

from tedaudit.errors import ContractError
from tedaudit.leaks.calls import Calls, make_together
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.values import Card, Rewrite


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


def test_a_built_in_mechanism_gets_all_draws_of_a_text_in_one_call_and_every_ticket_its_own_output(
    monkeypatch,
):
    mechanism, seen = WordRR(slots=3), []
    texts = [f"text number {number % 150}" for number in range(600)]

    def batches():
        made = [Calls(mechanism, epsilon, seed) for epsilon, seed in ((2.0, 1), (5.0, 2))]
        tickets = [[calls.ask(text) for text in texts] for calls in made]
        return made, tickets

    (alone, places), (together, _) = batches(), batches()
    for calls in alone:
        calls.make()
    rewrite = WordRR.rewrite

    def watch(self, draws):
        seen.append([draw.text for draw in draws])
        return rewrite(self, draws)

    monkeypatch.setattr(WordRR, "rewrite", watch)
    make_together(together)
    assert sum(map(len, seen)) == 1200
    assert sum(len(set(call)) for call in seen) == 150  # no text is in two calls
    for one, other, tickets in zip(alone, together, places, strict=True):
        assert [one[t].text for t in tickets] == [other[t].text for t in tickets]


def test_code_of_others_gets_its_draws_in_an_order_drawn_at_random_whoever_asks():
    watched = _Watched()
    calls = Calls(watched, 1.0, 5)
    tickets = [calls.ask(f"text {number}") for number in range(60)]
    make_together([calls])
    assert watched.seen[0] != sorted(watched.seen[0])
    assert [calls[ticket].text for ticket in tickets] == [f"text {number}!" for number in range(60)]


def test_a_missing_rewrite_is_an_error():
    calls = Calls(_Watched(lost=1), 1.0, 5)
    calls.ask("a")
    with pytest.raises(ContractError, match="given 1 draws and returned 0"):
        calls.make()
