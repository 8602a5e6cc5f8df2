from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import sentences, within
from tedaudit.errors import SpecError
from tedaudit.models.encoders.lexical import LexicalEncoder
from tedaudit.plugins.values import Guess, Plan
from tedaudit.seeding import derive
from tedaudit.trials.candidates import Pool, Sampling
from tedaudit.trials.judge import judge
from tedaudit.trials.plan import (
    join_plans,
    make_disjoint_plan,
    make_plan,
    measure_distractors,
    name_plan,
    number_replicates,
)

UNIFORM = Sampling(3, temperature=0.0)
SAMPLINGS = {
    "diverse": ("transition", -1e4),
    "uniform": ("transition", 0.0),
    "similar": ("transition", 1e4),
    "most diverse": ("transition", -np.inf),
    "furthest": ("furthest", 0.0),
    "nearest": ("nearest", 0.0),
}


@pytest.fixture(scope="module")
def pool():
    texts = sentences(300)
    encoder = LexicalEncoder()
    encoder.fit(texts)
    return Pool(encoder.encode(texts))


def _plan(secret, candidates=None):
    secret = np.asarray(secret, dtype=np.int32)
    return Plan(candidates, secret, np.zeros(len(secret), dtype=np.int32))


def _guesses(*rows):
    return [Guess(np.asarray(row, dtype=float)) for row in rows]


def _least_used(plan, size):
    """Name, from the plan's candidate sets alone, the text that serves as distractor least often."""
    used = np.bincount(plan.candidates[:, 1:].ravel(), minlength=size)
    return _guesses(*-used[plan.candidates])


def _right(plan, guesses, key):
    keys = [derive(key, row) for row in range(len(plan))]
    judged = judge(guesses, [False] * len(plan), plan, keys)
    return int((judged.choice == plan.secret).sum())


def test_every_candidate_set_has_k_distinct_texts_and_a_secret_among_them(pool):
    for strategy, temperature in SAMPLINGS.values():
        plan = make_plan(pool, Sampling(5, strategy, temperature), range(200), 1)
        assert plan.candidates.shape == (200, 5)
        assert all(len(set(row)) == 5 for row in plan.candidates.tolist())
        assert (plan.candidates >= 0).all()
        assert (plan.candidates < 300).all()
        assert set(plan.secret.tolist()) == set(range(5))
        assert (plan.source == plan.candidates[np.arange(200), plan.secret]).all()


@pytest.mark.parametrize("rows", [1, 2])
def test_more_trials_extend_a_plan_and_leave_its_beginning_alone(pool, rows):
    for sampling in (Sampling(2), Sampling(2, temperature=0.0), Sampling(2, "nearest", top=3)):
        whole = make_plan(pool, sampling, range(90), 5, rows_per_trial=rows)
        first = make_plan(pool, sampling, range(37), 5, rows_per_trial=rows)
        second = make_plan(pool, sampling, range(37, 90), 5, rows_per_trial=rows)
        assert (whole.candidates == np.concatenate([first.candidates, second.candidates])).all()
        assert (whole.secret == np.concatenate([first.secret, second.secret])).all()


def test_another_key_gives_another_plan_and_the_same_key_the_same():
    first, again, other = (make_plan(50, UNIFORM, range(60), key) for key in (1, 1, 2))
    assert (first.candidates == again.candidates).all()
    assert (first.secret == again.secret).all()
    assert (first.candidates != other.candidates).any()
    assert (first.secret != other.secret).any()


def test_a_k_larger_than_the_corpus_is_refused_with_the_largest_one_allowed():
    with pytest.raises(SpecError, match=r"k is 5, but the corpus has only 4 distinct texts.*at most 4"):
        make_plan(4, Sampling(5, temperature=0.0), range(3), 1)
    assert make_plan(4, Sampling(4, temperature=0.0), range(3), 1).candidates.shape == (3, 4)


def test_without_sampling_every_text_is_a_candidate_in_every_trial():
    plan = make_plan(11, None, range(500), 3)
    assert plan.candidates is None
    assert set(plan.secret.tolist()) == set(range(11))
    assert (plan.source == plan.secret).all()
    assert measure_distractors(plan, 11) is None
    assert (plan.rows(10, 20).secret == plan.secret[10:20]).all()


def test_the_baseline_rewrites_both_candidates_of_a_trial_and_a_fair_coin_gives_the_roles(pool):
    one = make_plan(pool, Sampling(2), range(4000), 9)
    both = make_plan(pool, Sampling(2), range(4000), 9, rows_per_trial=2)
    assert len(both) == 8000
    assert both.secret.tolist() == [0, 1] * 4000
    assert (both.candidates[0::2] == both.candidates[1::2]).all()
    pairs = both.candidates[0::2]
    assert (np.sort(pairs, axis=1) == np.sort(one.candidates, axis=1)).all()
    assert (np.sort(both.source.reshape(-1, 2), axis=1) == np.sort(pairs, axis=1)).all()
    assert within(int((pairs[:, 0] == one.candidates[:, 0]).sum()), 4000, 1 / 2)


def test_disjoint_sets_share_no_text_and_use_only_usable_ones(pool):
    usable = np.arange(300) % 7 != 0
    plan = make_disjoint_plan(pool, Sampling(4), usable, 2)
    used = plan.candidates.ravel().tolist()
    assert len(used) == len(set(used))
    assert usable[used].all()
    assert len(plan) == int(usable.sum()) // 4
    pairs = make_disjoint_plan(pool, Sampling(2), usable, 2, rows_per_trial=2)
    assert len(set(pairs.source.tolist())) == len(pairs)


@pytest.mark.parametrize("k", [2, 3, 4, 8])
def test_the_secret_is_uniform_and_independent_of_the_order_of_sampling_and_of_the_texts(pool, k):
    trials = 12_000
    plan = make_plan(pool, Sampling(k), range(trials), 17)
    early = np.argsort(np.argsort(plan.candidates, axis=1), axis=1)[
        :, 0
    ]  # the first text's place by position
    for value in range(k):
        hits = plan.secret == value
        assert within(int(hits.sum()), trials, 1 / k)
        for place in range(k):
            here = early == place
            assert within(int((hits & here).sum()), int(here.sum()), 1 / k)
        for parity in (0, 1):  # of the trial's number: nothing may depend on where a block begins
            assert within(int(hits[parity::2].sum()), trials // 2, 1 / k)
    repeats = plan.secret[1:] == plan.secret[:-1]
    assert within(int(repeats.sum()), trials - 1, 1 / k)


@pytest.mark.parametrize("how", SAMPLINGS)
@pytest.mark.parametrize("k", [2, 3, 4, 8])
def test_an_attack_that_ignores_the_output_and_avoids_common_distractors_stays_at_chance(pool, k, how):
    strategy, temperature = SAMPLINGS[how]
    trials = 3000
    plan = make_plan(pool, Sampling(k, strategy, temperature), range(trials), 23)
    assert within(_right(plan, _least_used(plan, 300), 4), trials, 1 / k)


@pytest.mark.parametrize("how", ["diverse", "most diverse", "furthest"])
@pytest.mark.parametrize("k", [2, 3, 4, 8])
def test_the_same_attack_wins_by_far_if_the_secret_is_always_the_text_sampled_first(pool, k, how):
    strategy, temperature = SAMPLINGS[how]
    plan = make_plan(pool, Sampling(k, strategy, temperature), range(3000), 23)
    naive = _plan(np.zeros(3000), plan.candidates)
    right = _right(naive, _least_used(plan, 300), 4)
    assert right > 3000 * 0.75
    assert not within(right, 3000, 1 / k)


# --- replicates


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 6), max_size=40))
def test_a_replicate_counts_how_often_its_text_was_rewritten_before(sources):
    before = Counter()
    expected = []
    for source in sources:
        expected.append(before[source])
        before[source] += 1
    assert number_replicates(_plan(sources)).replicate.tolist() == expected


def test_no_rewrite_is_used_twice_within_a_plan(pool):
    plan = number_replicates(make_plan(pool, Sampling(4), range(5000), 3))
    pairs = set(zip(plan.source.tolist(), plan.replicate.tolist(), strict=True))
    assert len(pairs) == 5000


def test_plans_of_one_corpus_use_the_same_first_replicates_of_a_text(pool):
    for k in (2, 8):
        plan = number_replicates(make_plan(pool, Sampling(k), range(2000), 3))
        for text in (0, 5, 299):
            mine = plan.replicate[plan.source == text]
            assert mine.tolist() == list(range(len(mine)))


def test_a_trial_with_several_rows_needs_two_candidates(pool):
    with pytest.raises(SpecError, match="A trial with 2 rows needs 2 candidates and rewrites both; k is 3"):
        make_plan(pool, Sampling(3), range(5), 1, rows_per_trial=2)
    with pytest.raises(SpecError, match="A trial with 3 rows needs 2 candidates"):
        make_plan(pool, Sampling(3), range(5), 1, rows_per_trial=3)


def test_plans_are_joined_row_by_row_and_numbered_as_a_whole():
    whole = make_plan(9, UNIFORM, range(60), 5)
    first, second = make_plan(9, UNIFORM, range(25), 5), make_plan(9, UNIFORM, range(25, 60), 5)
    joined = number_replicates(join_plans(number_replicates(first), second))
    assert (joined.candidates == whole.candidates).all()
    assert (joined.secret == whole.secret).all()
    assert (joined.replicate == number_replicates(whole).replicate).all()
    everyone = join_plans(make_plan(9, None, range(4), 5), make_plan(9, None, range(4, 6), 5))
    assert everyone.candidates is None
    assert (everyone.secret == make_plan(9, None, range(6), 5).secret).all()


def test_a_plan_that_belongs_to_one_mechanism_bears_its_label():
    assert name_plan("k2-lambda0", None) == "k2-lambda0"
    assert name_plan("k2-lambda0", "vendor table") == "k2-lambda0@vendor table"
