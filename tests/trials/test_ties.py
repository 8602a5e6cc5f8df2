"""Keys for ties: one per row, so that chance falls differently in every trial."""

import numpy as np

from helpers import SharedWords, make_spec, sentences
from tedaudit.api import run
from tedaudit.attacks.llm import shuffle_candidates
from tedaudit.plugins.values import Guess, Observation, Plan, Rewrite
from tedaudit.seeding import key_numbers
from tedaudit.trials.judge import judge, late_tie_keys, tie_keys


def test_every_row_plan_attack_and_seed_has_a_key_of_its_own():
    keys = [
        key
        for seed in (0, 1)
        for plan in ("a", "b")
        for attack in ("x", "y")
        for key in key_numbers(tie_keys(seed, plan, attack, range(200)))
    ]
    assert len(set(keys)) == len(keys) == 1600


def test_a_row_keeps_its_key_wherever_a_block_begins():
    assert np.array_equal(tie_keys(0, "a", "x", range(10, 20)), tie_keys(0, "a", "x", range(20))[10:])


def test_a_judge_is_shown_candidates_in_another_order_from_row_to_row():
    keys = key_numbers(tie_keys(0, "a", "x", range(400)))
    orders = [tuple(shuffle_candidates(Observation(Rewrite(""), ("first", "second"), key))) for key in keys]
    assert 120 < orders.count((0, 1)) < 280
    assert set(orders) == {(0, 1), (1, 0)}


def test_ties_are_broken_by_chance_row_by_row():
    plan = Plan(None, np.zeros(400, dtype=np.int32), np.zeros(400, dtype=np.int32))
    judged = judge([Guess(np.zeros(2))] * 400, [False] * 400, plan, tie_keys(0, "a", "x", range(400)))
    assert 120 < int((judged.choice == 0).sum()) < 280


def test_an_attack_is_given_the_key_of_its_row(tmp_path):
    seen = []

    class Noting(SharedWords):
        def guess(self, observations):
            seen.extend(observation.tie_key for observation in observations)
            return super().guess(observations)

    run(make_spec(tmp_path / "run", attacks=[Noting()], corpus={"name": "given", "live": _given()}))
    expected = key_numbers(tie_keys(0, "k2-lambda0", "shared-words", range(100)))
    assert sorted(seen) == sorted(expected)


def _given():
    from tedaudit.corpora.files import Given

    return Given(tuple(sentences(40)))


def test_keys_that_are_derived_late_are_the_same_whole_in_part_and_in_judging():
    late, keys = late_tie_keys(3, "a", "x", range(7, 407)), tie_keys(3, "a", "x", range(7, 407))
    some = np.array([0, 5, 399])
    assert len(late) == 400
    assert np.array_equal(late, keys)
    assert np.array_equal(late[some], keys[some])
    assert np.array_equal(late[10:20], keys[10:20])
    plan = Plan(None, np.zeros(400, dtype=np.int32), np.zeros(400, dtype=np.int32))
    guesses = [
        Guess(np.array([0.5, 0.5, 0.2]) if row % 3 else np.array([0.1, 0.5, 0.2])) for row in range(400)
    ]
    chosen = [judge(guesses, [False] * 400, plan, given).choice for given in (late, keys)]
    assert np.array_equal(*chosen)
    assert len(set(chosen[0].tolist())) == 2
