"""Searches and their ends on curves that are known: how often they are wrong, and what else they answer."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

from known_curves import calibrate_curves, load_script
from tedaudit.estimators.readings import Strongest, SuccessReading
from tedaudit.studies.calibrate.confirm import ATTEMPTS, Confirmation
from tedaudit.studies.calibrate.result import Answer
from tedaudit.studies.calibrate.rounds import SearchSettings, find_epsilons
from tedaudit.studies.calibrate.search import Ends, Grid, epsilon_at
from tedaudit.studies.calibrate.target import attempt_error, parse_target


def rising(middle, slope=2.0, top=1.0):
    """Return a curve of success from a half to the top, with its middle at an epsilon."""
    return lambda epsilon: 0.5 + (top - 0.5) / (1 + (middle / epsilon) ** slope)


def find_crossing(curve, level):
    low, high = 1e-3, 1e5
    for _ in range(80):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if curve(middle) < level else (low, middle)
    return low


class Unasked:
    """Has no trials to give."""

    def explore(self, *_):
        raise AssertionError("nothing was to be run")

    confirm = explore


@pytest.mark.parametrize("side", ["low", "high"])
def test_an_end_at_the_crossing_itself_is_hardly_ever_confirmed_by_enumeration(side):
    """The worst case: the number equals the target wherever the end moves, and all attempts are made."""
    trials, error, level = 150, 0.2, 0.7
    law, grid = binom.pmf(np.arange(trials + 1), trials, level), Grid.between(0.01, 100)
    target = parse_target("success", level, 2)
    total = 0.0
    for number in range(1, ATTEMPTS + 1):
        wrong = 0.0
        for correct in range(trials + 1):
            place = {"low": 0, "high": None} if side == "low" else {"low": None, "high": 0}
            made = Confirmation(target, grid, error, Ends(**place, attack="a"))
            failing = Strongest({"a": SuccessReading(105, trials)})
            for _ in range(number - 1):
                [at] = made.list_wanted()
                made.take({at: failing})
            [at] = made.list_wanted()
            made.take({at: Strongest({"a": SuccessReading(correct, trials)})})
            wrong += law[correct] * made.attempts[-1].confirmed
        assert made.attempts[-1].error == attempt_error(error, number)
        assert wrong <= attempt_error(error, number)
        total += wrong
    assert 0 < total <= error / 2


def test_ends_move_out_step_by_step_and_stop_at_the_limits():
    grid, target = Grid.between(0.1, 10), parse_target("success", 0.7, 2)
    made = Confirmation(target, grid, 0.01, Ends(-46, 40, (1, 5), "a"))
    level = Strongest({"a": SuccessReading(70, 100)})
    seen = []
    while wanted := made.list_wanted():
        seen.append(wanted)
        made.take(dict.fromkeys(wanted, level))
    assert seen == [[-46, 40], [-47, 45], [-48, 48]]
    assert made.find_confirmed("low") is made.find_confirmed("high") is None


def test_an_end_gives_up_after_a_number_of_attempts():
    grid, target = Grid.between(0.01, 1000), parse_target("success", 0.7, 2)
    made = Confirmation(target, grid, 0.01, Ends(0, None, (1, 1), "a"))
    level = Strongest({"a": SuccessReading(70, 100)})
    while wanted := made.list_wanted():
        made.take(dict.fromkeys(wanted, level))
    assert len(made.attempts) == ATTEMPTS


def test_word_rr_misses_at_most_four_of_a_hundred_and_is_narrow():
    """The curve is exact: success of the likelihood attack summed over the plan's pairs of the demo."""
    script = load_script()
    from tedaudit.corpora.demo import Demo
    from tedaudit.mechanisms.word_rr import WordRR

    curve = script.ExactCurve.of(Demo().load().texts[:600], WordRR(), 0.0, "lexical")
    target = parse_target("success", 2.0, 2)
    crossing = curve.find_crossing(target.level)
    found = [script.simulate(curve, target, 10_000, seed)[0] for seed in range(100)]
    assert sum(script.misses(answer, crossing) for answer in found) <= 4
    assert all(answer.answer is Answer.INTERVAL for answer in found)
    assert np.median([answer.width for answer in found]) <= 0.25


@pytest.mark.parametrize(
    ("middle", "slope", "top"), [(2, 8, 1.0), (40, 2, 1.0), (0.3, 1, 0.95), (30, 0.6, 1.0)]
)
def test_steep_and_flat_curves_have_their_crossing_between_the_ends(middle, slope, top):
    curve = rising(middle, slope, top)
    target = parse_target("success", 1.0, 2)
    crossing = find_crossing(curve, target.level)
    answers = Counter()
    for seed in range(12):
        found, _ = calibrate_curves({"a": curve}, 1.0, seed=seed, trials=3000, limits=(0.01, 10_000))
        answers[found.answer] += 1
        assert found.low is None or found.low < crossing
        assert found.high is None or found.high > crossing
    assert answers[Answer.INTERVAL] >= 11


def test_the_strongest_of_several_attacks_counts_at_each_epsilon():
    curves = {"early": rising(2, 2, 0.8), "late": rising(10, 8)}
    best = lambda epsilon: max(curve(epsilon) for curve in curves.values())  # noqa: E731
    for value, attack in ((0.69, "early"), (3.0, "late")):
        level = parse_target("success", value, 2).level
        found, _ = calibrate_curves(curves, value, trials=6000)
        assert found.low < find_crossing(best, level) < found.high
        assert found.attempts[-1].attack == attack
        assert found.attacks == ("early", "late")


def test_a_curve_that_is_above_at_once_or_never_is_said_to_be():
    found, _ = calibrate_curves({"a": lambda _: 0.9}, 1.0)
    assert (found.answer, found.low, found.high) == (Answer.ABOVE, None, 0.01)
    found, _ = calibrate_curves({"a": rising(3, 2, 0.6)}, 1.0)
    assert (found.answer, found.low, found.high) == (Answer.BELOW, 1000, None)


def test_a_curve_that_stays_at_the_target_is_undecided():
    level = parse_target("success", 1.0, 2).level
    answers = {calibrate_curves({"a": lambda _: level}, 1.0, seed=seed)[0].answer for seed in range(5)}
    assert answers == {Answer.UNDECIDED}


def test_a_target_out_of_reach_is_answered_before_anything_is_run():
    for value, answer in ((9.0, Answer.TOO_HIGH), (0.505, Answer.TOO_NEAR_CHANCE)):
        target = parse_target("success", value, 2)
        settings = SearchSettings((target,), Grid.between(0.1, 10), 1000, 0.01, {"m": ("a",)})
        [found] = find_epsilons(settings, Unasked())
        assert (found.answer, found.points) == (answer, ())
        assert f"about {found.reach.trials_needed:,} trials" in found.sentences[0]
        assert "Nothing was run" in found.sentences[0]


def test_a_curve_that_falls_is_said_to_and_the_lowest_crossing_is_found():
    def hump(epsilon):
        return 0.5 + 0.45 * math.exp(-(math.log(epsilon / 3) ** 2) / 2) + 0.5 / (1 + (400 / epsilon) ** 6)

    found, _ = calibrate_curves({"a": hump}, 1.0, trials=6000)
    assert found.falls
    assert any("not monotone" in sentence for sentence in found.sentences)
    assert any("is that a crossing lies between the two" in sentence for sentence in found.sentences)
    assert not any("every epsilon up to" in sentence for sentence in found.sentences)
    assert hump(found.low) < parse_target("success", 1.0, 2).level < hump(found.high)
    assert found.high < 3


def test_a_curve_that_rises_is_hardly_ever_said_to_fall():
    falls = [calibrate_curves({"a": rising(3)}, 1.0, seed=seed, trials=1000)[0].falls for seed in range(60)]
    assert sum(map(bool, falls)) <= 4  # each with probability 0.01 at most: four are too many in a billion


def test_searches_for_several_targets_share_their_points():
    script = load_script()
    targets = tuple(parse_target("success", value, 2) for value in (1.0, 1.5))
    settings = SearchSettings(targets, Grid.between(0.01, 1000), 4000, 0.01, {"m": ("a",)})
    asked = []

    class Source(script.CurveSource):
        def explore(self, target, wanted, trials):
            asked.append((trials, tuple(wanted["m"])))
            return super().explore(target, wanted, trials)

    answers = find_epsilons(settings, Source({"a": rising(3)}, 0))
    assert [answer.target.value for answer in answers] == [1.0, 1.5]
    assert asked[0] == (250, tuple(epsilon_at(place) for place in settings.grid.sweep()))
    assert all(trials == 1000 and len(set(epsilons)) == len(epsilons) for trials, epsilons in asked[1:])
