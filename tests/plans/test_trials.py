from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import sentences, within
from tedaudit.errors import SpecError
from tedaudit.inference.lexical import LexicalEncoder
from tedaudit.plans.candidates import Pool, Sampling
from tedaudit.plans.plans import make_disjoint_plan, make_plan
from tedaudit.plans.trials import (
    KEPT_SCORES,
    distractors,
    judge,
    make_draws,
    numbered,
    stripped,
    tally,
    tie_keys,
)
from tedaudit.seeding import derive
from tedaudit.types import Guess, Plan, Rewrite

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


# --- plans


def test_every_candidate_set_has_k_distinct_texts_and_a_secret_among_them(pool):
    for strategy, temperature in SAMPLINGS.values():
        plan = make_plan(pool, Sampling(5, strategy, temperature), range(200), 1)
        assert plan.candidates.shape == (200, 5)
        assert all(len(set(row)) == 5 for row in plan.candidates.tolist())
        assert (plan.candidates >= 0).all()
        assert (plan.candidates < 300).all()
        assert set(plan.secret.tolist()) == set(range(5))
        assert (plan.source == plan.candidates[np.arange(200), plan.secret]).all()


@pytest.mark.parametrize("both", [False, True])
def test_more_trials_extend_a_plan_and_leave_its_beginning_alone(pool, both):
    for sampling in (Sampling(2), Sampling(2, temperature=0.0), Sampling(2, "nearest", top=3)):
        whole = make_plan(pool, sampling, range(90), 5, both=both)
        first = make_plan(pool, sampling, range(37), 5, both=both)
        second = make_plan(pool, sampling, range(37, 90), 5, both=both)
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


def test_without_sampling_everybody_stands_in_every_line_up():
    plan = make_plan(11, None, range(500), 3)
    assert plan.candidates is None
    assert set(plan.secret.tolist()) == set(range(11))
    assert (plan.source == plan.secret).all()
    assert distractors(plan, 11) is None
    assert (plan.rows(10, 20).secret == plan.secret[10:20]).all()


def test_the_baseline_rewrites_both_candidates_of_a_trial_and_a_fair_coin_gives_the_roles(pool):
    one = make_plan(pool, Sampling(2), range(4000), 9)
    both = make_plan(pool, Sampling(2), range(4000), 9, both=True)
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
    pairs = make_disjoint_plan(pool, Sampling(2), usable, 2, both=True)
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


# --- replicates and draws


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 6), max_size=40))
def test_a_replicate_counts_how_often_its_text_was_rewritten_before(sources):
    before = Counter()
    expected = []
    for source in sources:
        expected.append(before[source])
        before[source] += 1
    assert numbered(_plan(sources)).replicate.tolist() == expected


def test_no_rewrite_is_used_twice_within_a_plan(pool):
    plan = numbered(make_plan(pool, Sampling(4), range(5000), 3))
    pairs = set(zip(plan.source.tolist(), plan.replicate.tolist(), strict=True))
    assert len(pairs) == 5000


def test_plans_of_one_corpus_use_the_same_first_replicates_of_a_text(pool):
    for k in (2, 8):
        plan = numbered(make_plan(pool, Sampling(k), range(2000), 3))
        for text in (0, 5, 299):
            mine = plan.replicate[plan.source == text]
            assert mine.tolist() == list(range(len(mine)))


def test_epsilons_share_the_noise_of_a_replicate_and_nothing_else_does():
    texts = ["one", "two"]
    wanted = [
        (text, replicate, epsilon) for text in (0, 1) for replicate in (0, 1, 2) for epsilon in (1.0, 9.0)
    ]
    draws = make_draws(texts, wanted, 7)
    keys = {}
    for (text, replicate, epsilon), draw in zip(wanted, draws, strict=True):
        assert (draw.text, draw.epsilon) == (texts[text], epsilon)
        keys.setdefault((text, replicate), set()).add(draw.key)
    assert all(len(found) == 1 for found in keys.values())
    assert len({key for found in keys.values() for key in found}) == 6


def test_the_noise_of_a_draw_follows_the_text_and_not_its_place_in_the_corpus():
    assert make_draws(["a", "b"], [(1, 4, 2.0)], 7) == make_draws(["b"], [(0, 4, 2.0)], 7)
    assert make_draws(["b"], [(0, 4, 2.0)], 7) != make_draws(["b"], [(0, 4, 2.0)], 8)


def test_an_attacks_own_key_differs_by_row_plan_attack_and_seed_and_from_the_key_of_the_draw():
    base = tie_keys(1, "plan", "attack", range(100))
    assert len(set(base)) == 100
    assert base[40:60] == tie_keys(1, "plan", "attack", range(40, 60))
    for other in (tie_keys(2, "plan", "attack", range(100)), tie_keys(1, "nalp", "attack", range(100))):
        assert not set(base) & set(other)
    assert not set(base) & set(tie_keys(1, "plan", "other", range(100)))
    assert not set(base) & {draw.key for draw in make_draws(["x"], [(0, r, 1.0) for r in range(100)], 1)}


@pytest.mark.parametrize(
    ("sees", "kept"),
    [
        (("text",), ("said", None, None)),
        (("tokens",), ("", (1, 2), None)),
        (("latent",), ("", None, [0.5])),
        (("text", "tokens", "latent"), ("said", (1, 2), [0.5])),
        ((), ("", None, None)),
    ],
)
def test_an_attack_is_shown_what_its_card_says_and_nothing_more(sees, kept):
    shown = stripped(Rewrite("said", (1, 2), np.array([0.5]), units=9), sees)
    latent = None if shown.latent is None else shown.latent.tolist()
    assert (shown.text, shown.tokens, latent) == kept
    assert shown.units is None
    assert shown.error == ""


# --- judging


def test_the_highest_score_is_the_choice_with_its_margin_and_the_secrets_rank():
    judged = judge(_guesses([3, 1, 2], [0, 5, 4]), [False, False], _plan([1, 2]), [1, 2])
    assert judged.choice.tolist() == [0, 1]
    assert judged.margin.tolist() == [1, 1]
    assert judged.rank.tolist() == [3, 2]
    assert judged.usable.tolist() == [True, True]
    assert judged.scores.tolist() == [[3, 1, 2], [0, 5, 4]]
    assert judged.best is None
    assert len(judged) == 2


def test_ties_are_broken_evenly_and_only_among_the_best():
    rows = 6000
    keys = tie_keys(5, "p", "a", range(rows))
    judged = judge(_guesses(*[[1, 4, 0, 4, 4]] * rows), [False] * rows, _plan([0] * rows), keys)
    counts = Counter(judged.choice.tolist())
    assert set(counts) == {1, 3, 4}
    assert all(within(count, rows, 1 / 3) for count in counts.values())
    again = judge(_guesses(*[[1, 4, 0, 4, 4]] * 10), [False] * 10, _plan([0] * 10), keys[20:30])
    assert again.choice.tolist() == judged.choice[20:30].tolist()


def test_scores_that_agree_to_five_decimals_are_tied_and_others_are_not():
    rows = 200
    keys = tie_keys(5, "p", "a", range(rows))
    close = judge(_guesses(*[[0.5, 0.500001]] * rows), [False] * rows, _plan([0] * rows), keys)
    apart = judge(_guesses(*[[0.5, 0.50002]] * rows), [False] * rows, _plan([0] * rows), keys)
    assert set(close.choice.tolist()) == {0, 1}
    assert set(close.margin.tolist()) == {0}
    assert set(apart.choice.tolist()) == {1}


def test_a_failed_rewrite_and_an_unusable_guess_name_nobody():
    guesses = [Guess(np.array([9.0, 0.0])), Guess(np.array([9.0, 0.0]), usable=False)]
    guesses.append(Guess(np.array([np.nan, np.nan]), usable=False))
    judged = judge(guesses, [True, False, False], _plan([0, 0, 0]), [1, 2, 3])
    assert judged.choice.tolist() == [-1, -1, -1]
    assert judged.usable.tolist() == [False, False, False]
    assert judged.failed.tolist() == [True, False, False]


def test_large_candidate_sets_keep_the_best_five_scores_and_small_ones_all():
    scores = np.random.default_rng(0).permutation(KEPT_SCORES + 1).astype(float)
    judged = judge([Guess(scores)], [False], _plan([7]), [1])
    best = np.argsort(-scores)[:5]
    assert judged.best.tolist() == [best.tolist()]
    assert judged.scores.tolist() == [scores[best].tolist()]
    assert judged.choice.tolist() == [best[0]]
    assert judged.rank.tolist() == [int((scores > scores[7]).sum()) + 1]
    assert judge([Guess(scores[:-1])], [False], _plan([7]), [1]).scores.shape == (1, KEPT_SCORES)


# --- counting


def _columns(choice, failed=()):
    choice = np.asarray(choice)
    bad = np.isin(np.arange(len(choice)), list(failed))
    return {"choice": choice, "usable": choice >= 0, "failed": bad}


def test_the_reduced_form_counts_right_guesses_and_every_trial():
    counts = tally(_plan([0, 1, 2, 1]), _columns([0, 1, 1, -1], failed=[3]), "reduced")
    assert (counts.trials, counts.correct, counts.false_positives) == (4, 2, None)
    assert (counts.unusable, counts.failed) == (0, 1)


def test_the_baseline_counts_an_answer_it_cannot_use_against_the_bound_on_either_side():
    plan = _plan([0, 1] * 5)
    columns = _columns([0, 1, 1, 0, -1, 1, 0, -1, 0, 1], failed=[7])
    counts = tally(plan, columns, "baseline")
    assert counts.trials == 5
    assert counts.correct == 3  # v1 named on M(v1): trials 0, 3, 4; a missing answer is no hit
    assert counts.false_positives == 2  # trial 1 named v1 on M(v2); in trial 3 the rewriting of v2 failed
    assert (counts.unusable, counts.failed) == (1, 1)


def test_half_a_trial_of_the_baseline_does_not_count():
    whole = tally(_plan([0, 1]), _columns([0, 0]), "baseline")
    cut = tally(_plan([0, 1, 0]), _columns([0, 0, 0]), "baseline")
    assert cut == whole
    assert tally(_plan([0]), _columns([0]), "baseline").trials == 0
