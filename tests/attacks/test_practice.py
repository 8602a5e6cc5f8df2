"""The adversary's own rewrites: noise that no audited draw has."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from helpers import Failing, Recording, sentences, within
from tedaudit.attacks import _practice
from tedaudit.attacks._practice import Practice, make_exercises, make_rewrites
from tedaudit.models import calling as retries
from tedaudit.plugins.values import Card, Observation, Rewrite
from tedaudit.seeding import key_numbers
from tedaudit.trials.judge import Wanted, make_draws

TEXTS = tuple(sentences(12))
MIDDLE = sorted(map(len, TEXTS))[6]
REPLICATES = 400


def audited_keys(seed):
    """Return the keys of all audited draws of these texts, for so many replicates."""
    text = np.repeat(np.arange(len(TEXTS), dtype=np.int32), REPLICATES)
    replicate = np.tile(np.arange(REPLICATES, dtype=np.int32), len(TEXTS))
    draws = make_draws(TEXTS, Wanted(text, replicate, np.ones(len(text))), seed)
    return set(key_numbers(draws.keys))


def test_keys_of_own_rewrites_are_never_those_of_audited_draws():
    mechanism = Recording()
    make_rewrites(mechanism, 1.0, TEXTS, REPLICATES)
    make_exercises(mechanism, 1.0, TEXTS, REPLICATES)
    own = {draw.key for draw in mechanism.draws}
    assert {draw.text for draw in mechanism.draws} == set(TEXTS)
    assert len(own) == REPLICATES
    for seed in (0, 1, 42):
        assert not own & audited_keys(seed)


def test_every_own_rewrite_has_noise_of_its_own():
    mechanism = Recording()
    make_rewrites(mechanism, 1.0, TEXTS[:1], 50)
    assert len({draw.key for draw in mechanism.draws}) == 50


def test_exercises_do_not_depend_on_how_many_are_drawn_together(monkeypatch):
    together = make_exercises(Recording(), 1.0, TEXTS, 50)
    monkeypatch.setattr(_practice, "_COINS", 30)
    assert make_exercises(Recording(), 1.0, TEXTS, 50) == together
    assert {len(set(exercise.seen.candidates)) for exercise in together} == {4}
    assert len({exercise.seen.candidates for exercise in together}) > 45


def test_failed_rewrites_are_practised_on_too():
    rewrites = make_rewrites(Failing(0.5), 1.0, TEXTS, REPLICATES)
    assert len(rewrites) == REPLICATES
    assert within(sum(rewrite.error == "out-of-luck" for _, rewrite in rewrites), REPLICATES, 0.5)
    assert all(rewrite.text == ("" if rewrite.error else text) for text, rewrite in rewrites)


def _practise(mechanism, count=200):
    """Return what is learnt of a mechanism without a look at any output."""
    practice = Practice(lambda seen: [np.zeros((len(o.candidates), 1)) for o in seen], count, TEXTS)
    return practice, practice.learn(mechanism, 1.0)


@dataclass(frozen=True)
class FailsOnLong:
    """Says nothing, but fails on long texts."""

    card: ClassVar[Card] = Card(name="fails-on-long", summary="Fails on long texts.")

    def rewrite(self, draws):
        return [Rewrite("", error="too-long") if len(d.text) >= MIDDLE else Rewrite("done") for d in draws]


def test_both_a_failure_and_its_absence_tell_which_texts_are_likely():
    practice, learnt = _practise(FailsOnLong())
    assert set(learnt.weights) == {"", "too-long"}
    candidates = ("a short one", "a candidate of quite some length, all in all")
    failed, done = (Observation(Rewrite("", error=code), candidates, 0) for code in ("too-long", ""))
    guesses = practice.guess(learnt, [failed, done])
    assert np.diff(guesses[0].scores)[0] > 1 > -1 > np.diff(guesses[1].scores)[0]


def test_the_look_of_a_text_counts_only_if_a_rewrite_failed_in_practice():
    practice, learnt = _practise(Recording())
    assert not learnt.looks
    [guess] = practice.guess(learnt, [Observation(Rewrite("x"), ("short", "longer " * 9), 0)])
    assert guess.usable
    assert guess.scores.tolist() == [0, 0]


def test_an_outcome_that_never_occurred_in_practice_gets_no_answer():
    practice, learnt = _practise(FailsOnLong())
    [guess] = practice.guess(learnt, [Observation(Rewrite("", error="other-code"), ("a", "b"), 0)])
    assert not guess.usable


def test_an_error_of_the_machine_is_tried_again_in_practice(monkeypatch):
    monkeypatch.setattr(retries, "PAUSES", (0.0,))
    calls = []

    class Flaky(Recording):
        def rewrite(self, draws):
            calls.append(len(draws))
            if len(calls) == 1:
                raise TimeoutError
            return super().rewrite(draws)

    assert len(make_rewrites(Flaky(), 1.0, TEXTS, 30)) == 30
    assert calls == [30, 30]
