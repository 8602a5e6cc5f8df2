"""The adversary's own rewrites: noise that no audited draw has."""

import numpy as np

from helpers import Failing, Recording, sentences
from tedaudit.attacks._practice import make_exercises, make_rewrites
from tedaudit.plans.trials import Wanted, make_draws
from tedaudit.seeding import key_numbers

TEXTS = tuple(sentences(12))
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


def test_failed_rewrites_are_not_practised_on():
    rewrites = make_rewrites(Failing(0.5), 1.0, TEXTS, REPLICATES)
    assert 0.3 * REPLICATES < len(rewrites) < 0.7 * REPLICATES
    assert not any(rewrite.error for _, rewrite in rewrites)
