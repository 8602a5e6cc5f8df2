import math

from tedaudit.mechanisms.constant import Constant
from tedaudit.plugins.protocols import HasOwnEpsilons
from tedaudit.plugins.values import Draw, Rewrite


def test_every_text_comes_out_as_the_same_sentence():
    draws = [Draw(text, epsilon, key) for key, text in enumerate(["a", "", "b"]) for epsilon in (0.1, 100.0)]
    assert set(Constant().rewrite(draws)) == {Rewrite("A message was sent.")}
    assert len(Constant().rewrite(draws)) == 6
    assert Constant("").rewrite(draws) == [Rewrite("")] * 6


def test_perfect_privacy_is_promised_at_every_epsilon():
    for epsilon in (0.1, 1e4, math.inf):
        claim = Constant().claim(epsilon)
        assert (claim.total, claim.total_delta, claim.unit) == (0.0, 0.0, "document")


def test_there_is_one_setting_whatever_is_asked_for():
    assert isinstance(Constant(), HasOwnEpsilons)
    assert list(Constant().epsilons([])) == list(Constant().epsilons([1.0, 2.0])) == [math.inf]
