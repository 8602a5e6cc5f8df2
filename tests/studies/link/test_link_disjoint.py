"""Disjoint pairs: every record once, the secret by a coin, and the bounds of an audit on them."""

import numpy as np
import pytest

from helpers import sentences
from tedaudit.attacks.lexical import Lexical
from tedaudit.estimators import reduced_form
from tedaudit.studies.link.linker import guess_pairs, pair_records
from tedaudit.studies.link.table import ColumnNames, read_release
from tedaudit.studies.link.trials import count_pairs


def make_release(originals, rewrites):
    return read_release({"original": originals, "rewrite": rewrites}, ColumnNames())


def count(release, seed=0):
    attack, plan = Lexical(), pair_records(release, seed)
    attack.prepare(release.pool)
    return count_pairs(plan, *guess_pairs("lexical", attack, release, plan, seed), 0.005)


@pytest.mark.parametrize("size", [2, 5, 60, 61])
def test_every_record_is_in_one_pair_at_most_and_all_but_an_odd_one_are(size):
    plan = pair_records(make_release(sentences(size), ["x"] * size), 0)
    used = plan.candidates.ravel().tolist()
    assert len(used) == len(set(used)) == size - size % 2


def test_pairs_and_secrets_follow_from_the_seed_and_not_from_the_texts():
    one = pair_records(make_release(sentences(200), ["x"] * 200), 1)
    other = pair_records(make_release(sentences(200), sentences(200)), 1)
    assert np.array_equal(one.candidates, other.candidates)
    assert np.array_equal(one.secret, other.secret)
    another = pair_records(make_release(sentences(200), ["x"] * 200), 2)
    assert not np.array_equal(one.candidates, another.candidates)
    assert 25 < one.secret.sum() < 75  # a fair coin for 100 pairs, up to five standard deviations


def test_copies_give_the_ceiling_and_a_constant_gives_nothing():
    texts = sentences(200)
    copied = count(make_release(texts, texts))
    assert copied.counts.correct == 100
    assert copied.bound_at(0.01).lower == pytest.approx(reduced_form(100, 100).ceiling)
    assert count(make_release(texts, ["nothing"] * 200)).bound(0.005).lower == 0


def test_a_rare_leak_is_found_by_the_most_certain_guesses_alone():
    texts = sentences(320)
    rewrites = [text if number % 8 == 0 else "nothing" for number, text in enumerate(texts)]
    row = count(make_release(texts, rewrites))
    assert row.bound_at(0.01).lower < 0.5
    bound, sure = row.bound_by(0.005)
    assert bound.lower > 0.3
    assert bound.lower > row.bound_at(0.01).lower
    assert sure.right == sure.size


def test_records_with_the_same_original_are_one_candidate():
    texts = sentences(50)
    release = make_release(texts + texts, texts + ["nothing"] * 50)
    assert count(release).counts.trials == 25
    assert count(release).counts.correct == 25  # the first record of each original is the one that is shown


def test_too_few_pairs_have_no_surer_part():
    assert count(make_release(sentences(6), sentences(6))).parts is None
