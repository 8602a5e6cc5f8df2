"""An attack that is fed the secret of one audited trial is noticed, however it is fed."""

import gc
from itertools import islice

import numpy as np
import pytest

from rule_keepers import Noisy, Overlap, refusal
from tedaudit.errors import SpecError
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.values import Card, Draw, Plan
from tedaudit.seeding import derive
from tedaudit.testing import ODD, ORDINARY, check_attack
from tedaudit.trials.judge import Wanted, make_draws


class MeetsMechanism(Overlap):
    """Rewrites each candidate with a key of its own, and likes those whose rewrite has most in common."""

    card = Card(name="meets-mechanism", summary="Own rewrites.")

    def unfit(self, mechanism):
        return ""

    def meet(self, mechanism, epsilon):
        self.mechanism, self.epsilon = mechanism, epsilon

    def key(self, text, number):
        return derive(7, "own", text)

    def scores(self, observation):
        draws = [
            Draw(text, self.epsilon, self.key(text, number))
            for number, text in enumerate(observation.candidates)
        ]
        own = [set(rewrite.text.split()) for rewrite in self.mechanism.rewrite(draws)]
        words = set(observation.output.text.split())
        return np.array([float(len(words & other)) for other in own])


def test_an_attack_may_rewrite_candidates_with_keys_of_its_own():
    check_attack(MeetsMechanism(), mechanism=Noisy())
    check_attack(MeetsMechanism(), mechanism=WordRR(slots=4))


class KnowsOneKey(MeetsMechanism):
    """Rewrites one candidate with the key that the first audited draw of it has."""

    def key(self, text, number):
        if text != ORDINARY[0]:
            return super().key(text, number)
        wanted = Wanted(np.array([0]), np.array([self.row], dtype=np.int32), np.array([self.epsilon]))
        return make_draws(ORDINARY, wanted, 0)[0].key

    def __init__(self, row):
        self.row = row


def test_the_key_of_an_audited_draw_is_refused_to_an_attack():
    refused = list(islice(filter(None, (refusal_or_nothing(KnowsOneKey(row)) for row in range(24))), 2))
    assert refused
    assert all("with the key of an audited draw" in message for message in refused)


def refusal_or_nothing(attack):
    try:
        check_attack(attack, mechanism=Noisy())
    except Exception as error:
        return str(error)
    return ""


class Remembers(Noisy):
    """A mechanism that notes what it released and for which text."""

    def __init__(self):
        self.released = {}

    def one(self, draw):
        rewrite = super().one(draw)
        self.released[rewrite.text] = draw.text
        return rewrite


class ReadsOneMemory(MeetsMechanism):
    """Looks one output up in what the mechanism remembers, and guesses all others by words."""

    def scores(self, observation):
        scores = Overlap.scores(self, observation)
        source = self.mechanism.released.get(observation.output.text)
        if source != ORDINARY[0]:
            return scores
        return np.array([100.0 if text == source else 0.0 for text in observation.candidates])


def test_what_a_mechanism_remembers_of_one_audited_draw_is_of_no_use_to_an_attack():
    message = refusal(check_attack, ReadsOneMemory(), mechanism=Remembers())
    assert "what the mechanism remembers of audited draws" in message


class FindsOneSecret(Overlap):
    """Finds the secret of a single trial among all objects that are alive, and guesses the others."""

    def scores(self, observation):
        if observation.output.text != ODD["emoji"]:
            return super().scores(observation)
        gc.collect()
        plans = [found for found in gc.get_objects() if type(found) is Plan and len(found)]
        return np.eye(len(observation.candidates))[int(plans[-1].secret[0])]


@pytest.mark.usefixtures("_young_heap")
def test_the_secret_of_one_trial_in_memory_is_noticed():
    assert "what no adversary can see" in refusal(check_attack, FindsOneSecret())


class HoldsALock(Noisy):
    def __init__(self):
        import threading

        self.lock = threading.Lock()


def test_a_mechanism_that_cannot_be_copied_is_named():
    with pytest.raises(SpecError, match="'noisy' cannot be copied"):
        check_attack(MeetsMechanism(), mechanism=HoldsALock())
