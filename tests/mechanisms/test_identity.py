import math

from tedaudit.mechanisms.identity import Identity
from tedaudit.plugins.protocols import HasOwnEpsilons
from tedaudit.plugins.values import Draw


def test_texts_come_out_as_they_went_in():
    texts = ["a", "", "two  spaces", "\x00 \u202e", "a"]
    rewrites = Identity().rewrite([Draw(text, 1.0, key) for key, text in enumerate(texts)])
    assert [rewrite.text for rewrite in rewrites] == texts
    assert not any(rewrite.error or rewrite.tokens or rewrite.units for rewrite in rewrites)


def test_nothing_is_promised_at_any_epsilon():
    assert Identity().claim(0.1) is None
    assert Identity().claim(math.inf) is None


def test_there_is_one_setting_whatever_is_asked_for():
    assert isinstance(Identity(), HasOwnEpsilons)
    assert list(Identity().epsilons([])) == list(Identity().epsilons([1.0, 2.0])) == [math.inf]
