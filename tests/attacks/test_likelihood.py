import itertools
import math

import numpy as np
import pytest

import tedaudit
from tedaudit.attacks.likelihood import Likelihood
from tedaudit.mechanisms.identity import Identity
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.values import Observation, Rewrite
from tedaudit.results.measures import mean_posterior
from tedaudit.testing import check_attack

WORDS = tuple("abcdefg")


def one_slot():
    return WordRR(vocabulary=WORDS, slots=1)


def exact_success(mechanism, candidates, epsilon):
    """Return how often the attack is right, summed over all outputs; ties are broken by chance."""
    attack = Likelihood()
    attack.meet(mechanism, epsilon)
    size, right = len(WORDS) + 1, 0.0
    seen = [Observation(Rewrite("", tokens=(item,)), candidates, 0) for item in range(size)]
    for item, guess in enumerate(attack.guess(seen)):
        best = np.flatnonzero(guess.scores == guess.scores.max())
        for source in best:
            chance = math.exp(mechanism.log_likelihood((item,), [candidates[source]], epsilon)[0])
            right += chance / len(best) / len(candidates)
    return right


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0, 5.0])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_success_on_one_slot_is_known(epsilon, k):
    size = len(WORDS) + 1
    expected = (math.exp(epsilon) + (size - k) / k) / (math.exp(epsilon) + size - 1)
    for candidates in itertools.islice(itertools.combinations(WORDS, k), 6):
        assert exact_success(one_slot(), candidates, epsilon) == pytest.approx(expected, rel=1e-9)


def test_the_contract_is_kept():
    assert check_attack(Likelihood(), mechanism=WordRR()).unusable == 0


def test_no_attack_on_the_text_is_right_more_often():
    rows = tedaudit.audit(WordRR(slots=8), "demo", epsilon=7.0, attack=["likelihood", "lexical"], trials=1500)
    right = {row.attack: row.counts.correct for row in rows}
    assert right["likelihood"] >= right["lexical"] - 40
    attainable = {row.measures.attainable for row in rows}  # of the outputs, whatever the attack
    assert len(attainable) == 1
    assert right["likelihood"] / 1500 == pytest.approx(attainable.pop(), abs=0.05)


@pytest.mark.parametrize("k", [2, 4])
def test_what_is_attainable_on_one_slot_is_known(k):
    found = next(iter(tedaudit.audit(one_slot(), WORDS, epsilon=2.0, attack="likelihood", trials=3000, k=k)))
    size = len(WORDS) + 1
    expected = (math.exp(2.0) + (size - k) / k) / (math.exp(2.0) + size - 1)
    assert found.measures.attainable == pytest.approx(expected, abs=0.03)
    assert found.to_dict()["attainable"] == found.measures.attainable


def test_a_posterior_needs_all_scores():
    scores = np.array([[0.0, 0.0], [0.0, -1e30], [np.log(3.0), 0.0]])
    assert mean_posterior(scores, 2) == pytest.approx((0.5 + 1.0 + 0.75) / 3)
    assert mean_posterior(scores, 100) is None
    assert mean_posterior(np.zeros(0), 2) is None


def test_what_cannot_have_been_drawn_has_a_number_all_the_same():
    class Strict(WordRR):
        def log_likelihood(self, tokens, candidates, epsilon):
            return np.array([0.0, -math.inf])

    attack = Likelihood()
    attack.meet(Strict(), 1.0)
    scores = attack.guess([Observation(Rewrite("", tokens=(1,)), ("a", "b"), 0)])[0].scores
    assert np.isfinite(scores).all()
    assert scores[0] > scores[1]


def test_a_mechanism_without_likelihoods_is_refused():
    assert "log_likelihood" in Likelihood().unfit(Identity())
    assert not Likelihood().unfit(WordRR())
