from collections import Counter

import numpy as np
import pytest

from helpers import within
from tedaudit.plugins.batches import Guesses, Rewrites
from tedaudit.plugins.values import Guess, Plan, Rewrite
from tedaudit.seeding import key_numbers
from tedaudit.trials.judge import KEPT_SCORES, Wanted, judge, make_draws, tie_keys


def _plan(secret):
    secret = np.asarray(secret, dtype=np.int32)
    return Plan(None, secret, np.zeros(len(secret), dtype=np.int32))


def _guesses(*rows):
    return [Guess(np.asarray(row, dtype=float)) for row in rows]


def _wanted(*rows):
    """Return columns for rows of text, replicate and epsilon."""
    text, replicate, epsilon = zip(*rows, strict=True)
    return Wanted(np.array(text, np.int32), np.array(replicate, np.int32), np.array(epsilon, float))


def _keys(*arguments):
    return key_numbers(tie_keys(*arguments))


# --- draws


def test_epsilons_share_the_noise_of_a_replicate_and_nothing_else_does():
    texts = ["one", "two"]
    wanted = [
        (text, replicate, epsilon) for text in (0, 1) for replicate in (0, 1, 2) for epsilon in (1.0, 9.0)
    ]
    draws = make_draws(texts, _wanted(*wanted), 7)
    keys = {}
    for (text, replicate, epsilon), draw in zip(wanted, draws, strict=True):
        assert (draw.text, draw.epsilon) == (texts[text], epsilon)
        keys.setdefault((text, replicate), set()).add(draw.key)
    assert all(len(found) == 1 for found in keys.values())
    assert len({key for found in keys.values() for key in found}) == 6


def test_the_noise_of_a_draw_follows_the_text_and_not_its_place_in_the_corpus():
    first, second = _wanted((0, 4, 2.0)), _wanted((1, 4, 2.0))
    assert make_draws(["a", "b"], second, 7) == make_draws(["b"], first, 7)
    assert make_draws(["b"], first, 7) != make_draws(["b"], first, 8)


def test_rewrites_for_another_purpose_have_noise_of_their_own():
    wanted = _wanted(*((0, replicate, 1.0) for replicate in range(50)))
    audited, others = (make_draws(["x"], wanted, 7, purpose) for purpose in ("rewrite", "utility"))
    assert audited == make_draws(["x"], wanted, 7)
    assert not {draw.key for draw in audited} & {draw.key for draw in others}


def test_wanted_rewrites_are_sorted_by_text_replicate_and_epsilon():
    rows = [(1, 0, 2.0), (0, 1, 1.0), (1, 0, 1.0), (0, 0, 3.0), (0, 1, 0.5)]
    wanted = _wanted(*rows).sort()
    columns = (wanted.text.tolist(), wanted.replicate.tolist(), wanted.epsilon.tolist())
    assert list(zip(*columns, strict=True)) == sorted(rows)
    assert len(wanted) == 5
    assert len(wanted.rows(wanted.epsilon > 1)) == 2


def test_an_attacks_own_key_differs_by_row_plan_attack_and_seed_and_from_the_key_of_the_draw():
    base = _keys(1, "plan", "attack", range(100))
    assert len(set(base)) == 100
    assert base[40:60] == _keys(1, "plan", "attack", range(40, 60))
    for other in (_keys(2, "plan", "attack", range(100)), _keys(1, "nalp", "attack", range(100))):
        assert not set(base) & set(other)
    assert not set(base) & set(_keys(1, "plan", "other", range(100)))
    draws = make_draws(["x"], _wanted(*((0, replicate, 1.0) for replicate in range(100))), 1)
    assert not set(base) & {draw.key for draw in draws}


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
    [shown] = Rewrites.of([Rewrite("said", (1, 2), np.array([0.5]), units=9, error="odd")]).reveal(sees)
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


def test_an_unusable_guess_names_nobody_and_one_on_a_failed_rewrite_counts_as_any_other():
    guesses = [Guess(np.array([9.0, 0.0])), Guess(np.array([9.0, 0.0]), usable=False)]
    guesses.append(Guess(np.array([np.nan, np.nan]), usable=False))
    judged = judge(guesses, [True, False, True], _plan([0, 0, 0]), [1, 2, 3])
    assert judged.choice.tolist() == [0, -1, -1]
    assert judged.usable.tolist() == [True, False, False]
    assert judged.failed.tolist() == [True, False, True]


def test_large_candidate_sets_keep_the_best_five_scores_and_small_ones_all():
    scores = np.random.default_rng(0).permutation(KEPT_SCORES + 1).astype(float)
    judged = judge([Guess(scores)], [False], _plan([7]), [1])
    best = np.argsort(-scores)[:5]
    assert judged.best.tolist() == [best.tolist()]
    assert judged.scores.tolist() == [scores[best].tolist()]
    assert judged.choice.tolist() == [best[0]]
    assert judged.rank.tolist() == [int((scores > scores[7]).sum()) + 1]
    assert judge([Guess(scores[:-1])], [False], _plan([7]), [1]).scores.shape == (1, KEPT_SCORES)


def test_guesses_held_as_columns_are_judged_like_a_list_of_them():
    rows = [[1.0, 4.0, 4.0], [2.0, 2.0, 0.0], [0.0, 1.0, 5.0]] * 20
    shown = np.array([[2, 0, 1]] * 60, dtype=np.int32)
    keys = tie_keys(5, "p", "a", range(60))
    columns = Guesses(np.array(rows), np.arange(60) % 7 != 0, shown)
    held, listed = (
        judge(guesses, [False] * 60, _plan([0] * 60), keys) for guesses in (columns, list(columns))
    )
    for name in ("choice", "margin", "rank", "usable", "failed", "scores", "place"):
        assert (getattr(held, name) == getattr(listed, name)).all()
    assert set(held.choice.tolist()) == {-1, 0, 1, 2}


def test_the_place_at_which_the_chosen_candidate_was_shown_is_kept():
    places = np.array([2, 0, 1], dtype=np.int32)
    guesses = [
        Guess(np.array([9.0, 0, 0]), shown=places),
        Guess(np.array([0, 0, 9.0]), shown=places),
        Guess(np.array([0, 9.0, 0]), usable=False, shown=places),
        Guess(np.array([0, 9.0, 0])),
    ]
    assert judge(guesses, [False] * 4, _plan([0] * 4), [1, 2, 3, 4]).place.tolist() == [2, 1, -1, -1]
    assert judge(guesses[3:], [False], _plan([0]), [1]).place is None
