"""Private columns guessed from rewrites: the game of matched pairs keeps its error, and studies tell it."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from helpers import Failing, Recording
from tedaudit.mechanisms.constant import Constant
from tedaudit.plugins.values import Card, Claim, Rewrite
from tedaudit.seeding import derive
from tedaudit.studies.utility.matched import choose_tested, make_game, match_pairs, play
from tedaudit.studies.utility.study import run_study
from tedaudit.studies.utility.study_folder import markdown
from tiny_study import make_study


def test_pairs_are_of_one_stratum_and_of_different_values_and_share_no_record():
    rng = np.random.default_rng(1)
    values, strata = rng.choice(list("aab"), 500).tolist(), rng.integers(0, 4, 500).tolist()
    pairs = match_pairs(values, strata, rng.integers(1, 30, 500).tolist())
    assert len(np.unique(pairs)) == pairs.size
    assert all(values[one] != values[other] and strata[one] == strata[other] for one, other in pairs)
    possible = sum(
        min(
            sum(value == name for value, place in zip(values, strata, strict=True) if place == stratum)
            for name in "ab"
        )
        for stratum in range(4)
    )
    assert len(pairs) == possible  # only those are left over whose value is that of more than half


def test_partners_are_of_like_length():
    sizes = [3, 90, 4, 91]
    assert match_pairs(list("aabb"), [0] * 4, sizes).tolist() == [[0, 2], [1, 3]]
    assert match_pairs(["a"] * 4, [0] * 4, sizes).shape == (0, 2)


def test_a_text_that_occurs_twice_is_tested_once():
    texts = ["one", "two", " one", "three"]
    assert choose_tested(texts, 10, 0) == (0, 1, 3)
    assert len(choose_tested(texts, 2, 0)) == 2


def guess_by_response(rng, values, classes, epsilon):
    """Return what randomised response says of values: the attribute is all that it keeps of a text."""
    numbers = np.searchsorted(classes, values)
    keep = math.exp(epsilon) / (math.exp(epsilon) + len(classes) - 1)
    others = (numbers + rng.integers(1, len(classes), len(values))) % len(classes)
    return np.asarray(classes)[np.where(rng.random(len(values)) < keep, numbers, others)].tolist()


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
@pytest.mark.parametrize("prior", [(0.8, 0.2), (0.5, 0.3, 0.15, 0.05)])
def test_a_mechanism_that_keeps_its_epsilon_exactly_raises_no_more_alarms_than_stated(epsilon, prior):
    rng, classes = np.random.default_rng(2), list("abcd")[: len(prior)]
    alarms, bounds = 0, []
    for run in range(1000):
        values = rng.choice(classes, 200, p=prior).tolist()
        strata = [value in "ac" and coin for value, coin in zip(values, rng.random(200) < 0.3, strict=True)]
        game = make_game(values, strata, rng.integers(1, 9, 200).tolist(), run, "column")
        said = guess_by_response(rng, values, classes, epsilon)
        bounds.append(play(game, said, [False] * 200, None, 0.2).bound(0.2).lower)
        alarms += bounds[-1] > epsilon
    assert alarms <= 230
    assert epsilon == 0 or np.mean(bounds) > 0.4


def test_a_constant_reading_and_one_that_knows_the_pairs_raise_no_alarm_beyond_the_error():
    rng, alarms = np.random.default_rng(3), 0
    for run in range(1000):
        values = rng.choice(list("ab"), 150, p=(0.7, 0.3)).tolist()
        game = make_game(values, [0] * 150, [1] * 150, run, "column")
        # with the whole table at hand, but no rewrite that tells anything: the value of the first of the pair
        named = [""] * 150
        for one, other in game.plan.candidates:
            named[one] = named[other] = values[one]
        alarms += play(game, named, [False] * 150, None, 0.2).bound(0.2).lower > 0
    assert alarms <= 230


def test_with_many_classes_the_surest_pairs_are_those_whose_value_was_read():
    rng, classes = np.random.default_rng(4), list("abcdefgh")
    values = rng.choice(classes, 4000).tolist()
    said = guess_by_response(rng, values, classes, 3.0)
    row = play(make_game(values, [0] * 4000, [1] * 4000, 0, "c"), said, [False] * 4000, None, 0.005)
    bound, sure = row.bound_by(0.005)
    assert sure is not None
    assert 2.4 < bound.lower < 3.0


# --- Studies.


@dataclass
class Telling:
    """Writes the first word of a text, or by chance the other one: randomised response."""

    told: float = 3.0
    card: ClassVar[Card] = Card(name="telling", summary="Tells a word.")

    def claim(self, epsilon: float) -> Claim | None:
        return Claim(self.told, "document")

    def rewrite(self, draws):
        outputs = []
        for draw in draws:
            coin = np.random.default_rng(draw.key % 2**63).random()
            keep = coin < math.exp(self.told) / (1 + math.exp(self.told))
            is_fine = draw.text.startswith("fine") == keep
            outputs.append(Rewrite("fine" if is_fine else "poor"))
        return outputs


@pytest.fixture
def moods(tmp_path):
    """A corpus whose private column is the first word of every text."""
    words = [("fine", "poor")[number % 3 == 0] for number in range(2000)]
    rows = [f"{word} day number {number},{word}" for number, word in enumerate(words)]
    path = tmp_path / "moods.csv"
    path.write_text("\n".join(["text,mood", *rows]))
    return {"name": "files", "path": str(path)}


def test_randomised_response_of_the_attribute_is_read_below_its_epsilon_and_near_it(moods, tmp_path):
    study = {"corpus": moods, "tasks": [], "private": ["mood"], "hold_out": 0.5, "seeds": 1}
    result = run_study(make_study(tmp_path / "s", mechanisms=[Telling()], **study))
    [found] = [one.guessed for one in result]
    assert 1.8 < found.bound.lower < 3
    assert found.gain[0] > 0.15
    keep = math.exp(3) / (1 + math.exp(3))
    assert found.interval[0] < keep < found.interval[1]
    assert result.judge_limit(1.5)["telling at epsilon 8, 'mood'"].is_violation
    assert not result.judge_limit(3)["telling at epsilon 8, 'mood'"].is_violation


def test_a_constant_mechanism_shows_nothing_and_limits_are_kept(moods, tmp_path):
    study = {"corpus": moods, "tasks": [], "private": ["mood"], "seeds": 1}
    result = run_study(make_study(tmp_path / "s", mechanisms=[Constant(), "identity"], **study))
    still, told = (one.guessed for one in result)
    assert still.bound.lower == 0
    assert still.gain[0] <= 0 <= still.gain[1]
    assert told.bound.lower == told.bound.ceiling > 2
    assert told.error == still.error == 0.0025
    assert "Private columns" in markdown(result)
    [first, _] = result.to_dict()["rows"]
    assert first["guessed_from_rewrites"]["eps_emp"] == 0


def test_test_texts_have_noise_of_their_own_and_are_rewritten_once(tmp_path):
    mechanism = Recording()
    study = {"mechanisms": [mechanism], "private": ["gender"], "limit": 20, "private_records": 50}
    run_study(make_study(tmp_path / "s", **study))
    assert len(mechanism.draws) == 20 * 2 + 50
    tested = mechanism.draws[40:]
    assert [draw.key for draw in tested] == [derive(0, "utility tests", draw.text, 0) for draw in tested]
    again = Recording()
    run_study(make_study(tmp_path / "s", **study | {"mechanisms": [again]}))
    assert again.draws == []


def test_no_column_is_guessed_if_nobody_asks_and_a_table_has_no_fresh_rewrites(tmp_path):
    study = {"private": ["gender"], "limit": 60}
    none = run_study(make_study(tmp_path / "none", private_records=0, **study))
    assert [one.guessed for one in none] == [None, None]
    [verdict] = none.judge_limit(1).values()
    assert verdict.name == "not tested"
    (tmp_path / "pairs.csv").write_text("original,rewrite\na b,c d\ne f,g h\n")
    recorded = {"name": "recorded", "path": str(tmp_path / "pairs.csv")}
    table = run_study(make_study(tmp_path / "table", mechanisms=[recorded], **study))
    assert [one.guessed for one in table] == [None, None]


def test_a_column_without_two_texts_to_match_is_not_tested(tmp_path):
    rows = [f"day {n},{'good' if n else 'bad'},{n % 60}" for n in range(120)]
    (tmp_path / "one.csv").write_text("\n".join(["text,mood,kind", *rows]))
    study = {"corpus": {"name": "files", "path": str(tmp_path / "one.csv")}, "tasks": [], "seeds": 1}
    result = run_study(make_study(tmp_path / "s", private=["mood"], hold_out=0.3, **study))
    [verdict] = result.judge_limit(1).values()
    assert verdict.name == "not tested"


def test_failed_rewrites_stay_in_the_game_and_are_counted(tmp_path):
    study = {"private": ["gender"], "tasks": [], "limit": 60, "seeds": 1}
    result = run_study(make_study(tmp_path / "s", mechanisms=[Failing(share=1.0)], **study))
    [found] = [one.guessed for one in result]
    assert found.row.counts.failed == found.row.counts.trials > 50
    [verdict] = result.judge_limit(0.1).values()
    assert verdict.name == "not tested"
