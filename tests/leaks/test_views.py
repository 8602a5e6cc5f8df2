"""What is seen of outputs, and what a learner makes of it before it is frozen."""

import random

import numpy as np
import pytest

from tedaudit.leaks.views import (
    LIKENESS,
    RANK,
    Lesson,
    compare_two,
    find_strength,
    learn,
    list_views,
    rank_in_call,
)
from tedaudit.plugins.values import Rewrite

WORDS = [
    "amber",
    "basket",
    "cedar",
    "dragon",
    "ember",
    "forest",
    "garden",
    "harbor",
    "island",
    "jungle",
    "kettle",
    "ladder",
]


def make_lesson(make, rows=200, seed=3):
    """Return a lesson of outputs that are made from a coin, half of which are learnt from."""
    noise = random.Random(seed)
    coins = np.array([noise.random() < 0.5 for _ in range(rows)])
    return Lesson([list_views(make(coin, noise)) for coin in coins.tolist()], coins, rows // 2)


def count_right(lesson, learnt):
    return float(np.mean((learnt.scores > 0) == lesson.coins[lesson.learnt :]))


def draw(noise, number=6):
    return noise.choices(WORDS, k=number)


def test_every_view_names_what_it_sees():
    seen = list_views(Rewrite("Now. 12 OK"))
    assert ("number of capitalised words", "1") in seen["shape of words"]
    assert ("shape of word 2", "with digits") in seen["shape of words"]
    assert ("number of punctuation marks", "1") in seen["shape of words"]
    assert ("parity of number 1", "0") in seen["numbers"]
    assert ("order of words 1 and 2", ">") in seen["order of words"]
    assert ("number of characters modulo 3", "1") in seen["remainder of the length"]
    assert ("pair of words", "now 12") in seen["pairs of words"]


def test_of_a_failed_output_the_error_alone_is_seen():
    assert list_views(Rewrite("", error="raised-ValueError#1234")) == {
        "error": [("error", "raised-ValueError"), ("message of the error", "1234")]
    }
    assert list_views(Rewrite(" "))["kind of nothing"] != list_views(Rewrite(""))["kind of nothing"]
    assert list_views(Rewrite("a"))["kind of nothing"] == [("kind of nothing", "")]


def test_outputs_are_compared_with_each_other():
    alike = dict(compare_two(Rewrite("a fox"), Rewrite("a fox"))[LIKENESS])
    unlike = dict(compare_two(Rewrite("a fox"), Rewrite("no bear here"))[LIKENESS])
    assert alike["equal outputs"] == "True"
    assert unlike["equal outputs"] == "False"
    ranks = dict(rank_in_call([Rewrite("7 bees"), Rewrite("12 ants")], 1)[RANK])
    assert ranks == {
        "place by length": "1 of 2",
        "place by alphabet": "0 of 2",
        "place by first number": "1 of 2",
    }


def swap_if(coin, words):
    first, last = sorted((words[0], words[-1]))
    return [last, *words[1:-1], first] if coin else [first, *words[1:-1], last]


LEAKS = {
    "words": lambda coin, noise: " ".join([*draw(noise), "zebra" if coin else "yak"]),
    "length": lambda coin, noise: " ".join(draw(noise, 9 if coin else 5)),
    "remainder of the length": lambda coin, noise: " ".join(draw(noise, 2 * noise.randrange(2, 12) + coin)),
    "order of words": lambda coin, noise: " ".join(swap_if(coin, noise.sample(WORDS, 5))),
    "shape of words": lambda coin, noise: " ".join(
        word.capitalize() if place == 2 and coin else word for place, word in enumerate(draw(noise))
    ),
    "characters": lambda coin, noise: " ".join(draw(noise)).replace(" ", "\t" if coin else "  ", 1),
    "kind of nothing": lambda coin, noise: " " * coin if noise.random() < 0.5 else " ".join(draw(noise)),
    "whole output": lambda coin, noise: " ".join(draw(random.Random(coin))),
}


@pytest.mark.parametrize("view", LEAKS)
def test_the_view_that_tells_is_found_and_named(view):
    lesson = make_lesson(lambda coin, noise: Rewrite(LEAKS[view](coin, noise)))
    [learnt] = learn([lesson])
    assert learnt.view == view
    assert find_strength(np.where(lesson.coins[lesson.learnt :], learnt.scores, -learnt.scores)) > 4


def test_a_learner_is_frozen_what_comes_later_changes_no_other_score():
    lesson = make_lesson(lambda coin, noise: Rewrite(LEAKS["words"](coin, noise)))
    [before] = learn([lesson])
    turned = lesson.coins.copy()
    turned[lesson.learnt :] = ~turned[lesson.learnt :]
    other = list_views(Rewrite("something else"))
    [after] = learn([Lesson([*lesson.rows[:-1], other], turned, lesson.learnt)])
    assert after.view == before.view
    assert np.array_equal(before.scores[:-1], after.scores[:-1])


def test_what_does_not_depend_on_the_coin_is_guessed_by_chance():
    lessons = [make_lesson(lambda _, noise: Rewrite(" ".join(draw(noise))), seed=seed) for seed in range(30)]
    rates = [count_right(one, made) for one, made in zip(lessons, learn(lessons), strict=True)]
    assert abs(np.mean(rates) - 0.5) < 4 * 0.5 / np.sqrt(30 * 100)


def test_a_pair_that_shows_nothing_is_not_the_surest():
    telling = make_lesson(lambda coin, noise: Rewrite(LEAKS["words"](coin, noise)))
    silent = make_lesson(lambda _, noise: Rewrite(" ".join(draw(noise, 12))), seed=9)
    sure, unsure = learn([telling, silent])
    assert np.median(np.abs(sure.scores)) > np.abs(unsure.scores).max()


def test_numbers_of_any_length_are_compared():
    many = [Rewrite("9" * 5000), Rewrite("1")]  # more digits than Python reads
    assert ("place by first number", "1 of 2") in rank_in_call(many, 0)[RANK]
