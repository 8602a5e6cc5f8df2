"""Timing, on a clock that plug-ins move themselves: no bar depends on the machine."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from helpers import make_spec, sentences
from tedaudit.api import run
from tedaudit.forecast.forecast import plan_audit
from tedaudit.forecast.samples import group_missing, read_sample
from tedaudit.forecast.timing import Pace, Stopwatch
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.preparing.preparation import prepare
from tedaudit.types import Card, Guess, Rewrite


class Clock:
    """Tells the seconds that plug-ins say they took."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


CLOCK = Clock()


@dataclass
class Slow:
    """Takes three seconds to load, one for each text that it meets in a call, and a tenth for each draw."""

    loaded: bool = False
    card: ClassVar[Card] = Card(name="slow", summary="Takes its time.")

    def claim(self, epsilon):
        return None

    def rewrite(self, draws):
        CLOCK.now += 0.0 if self.loaded else 3.0
        self.loaded = True
        CLOCK.now += len({draw.text for draw in draws}) + 0.1 * len(draws)
        return [Rewrite(draw.text) for draw in draws]


@dataclass
class Pondering:
    """Takes two seconds for a guess."""

    card: ClassVar[Card] = Card(name="pondering", summary="Takes its time.")

    def guess(self, seen):
        CLOCK.now += 2.0 * len(seen)
        return [Guess(np.arange(len(item.candidates), dtype=float)) for item in seen]


def timed(tmp_path, seconds, **changes):
    settings = {"mechanisms": [Slow()], "attacks": [Pondering()], "trials": 200, "block": 200} | changes
    audit = prepare(make_spec(tmp_path / "run", **settings))
    [job] = audit.jobs
    return audit, replace(job, shuffled=False), Stopwatch(audit, seconds, CLOCK)  # as code of ours


def test_the_draws_of_a_text_are_timed_together_as_they_are_made(tmp_path):
    """40 texts, each about five times in a block, at two epsilons: its draws share a second."""
    _, job, watch = timed(tmp_path, 60.0, epsilons=[1, 2])
    pace, sample = watch.time_rewriting(job)
    texts = 40 - (np.bincount(job.plan.source, minlength=40) == 0).sum()
    truth = (texts + 0.1 * 400) / 400  # for one row
    assert pace.per_row == pytest.approx(truth, rel=0.3)
    assert pace.start == pytest.approx(3.0, abs=1.0)
    assert pace.predict(400) == pytest.approx(texts + 40 + 3, rel=0.3)
    assert set(sample.epsilons) == {1.0, 2.0}


def test_timing_ends_with_its_seconds(tmp_path):
    _, job, watch = timed(tmp_path, 20.0)
    begun = CLOCK.now
    watch.time_rewriting(job)
    assert CLOCK.now - begun < 20.0 + 3.0
    _, job, hasty = timed(tmp_path, 0.0)
    begun = CLOCK.now
    pace, _ = hasty.time_rewriting(job)
    assert 5.0 < CLOCK.now - begun < 10.0  # one text to load, and one to see
    assert pace.per_row < 1.2  # what it took to load is no part of it


def test_guesses_are_timed_on_what_was_rewritten(tmp_path):
    _, job, watch = timed(tmp_path, 40.0)
    _, sample = watch.time_rewriting(job)
    watch.rewind(1)
    measured = watch.time_guessing(job, "pondering", sample, 0.0)
    assert measured.guesses.per_row == pytest.approx(2.0)
    assert measured.guesses.predict(200) == pytest.approx(400.0)


def test_own_rewrites_are_timed_along_with_the_audited_ones(tmp_path):
    audit, job, watch = timed(tmp_path, 600.0, attacks=["resample"])
    groups = group_missing(job, audit, 1000)
    assert sum(map(len, groups)) == 200 + int(job.own_numbers.sum()) == 400
    assert len(groups) == 40
    pace, _ = watch.time_rewriting(job)
    assert pace.per_row == pytest.approx((40 + 0.1 * 400) / 400, rel=0.3)


def test_minutes_are_rows_times_the_seconds_of_one(tmp_path):
    forecast = plan_audit(make_spec(tmp_path / "run", epsilons=[1, 2], attacks=["lexical", "resample"]))
    [part], timing = forecast.work.rewriting, forecast.timing
    pace = timing.rewriting["word-rr"]
    assert forecast.seconds_to_rewrite(part) == pytest.approx(
        pace.start + part.rows * pace.seconds / pace.rows
    )
    total = timing.preparing + forecast.seconds_to_rewrite(part)
    for guessing in forecast.work.guessing:
        found = timing.guessing[guessing.label, guessing.plan, guessing.attack]
        seconds = found.guesses.start + guessing.rows * found.guesses.per_row + part.own * found.learning
        assert forecast.seconds_to_guess(guessing) == pytest.approx(seconds)
        total += seconds + forecast.texts * found.preparing
    assert forecast.seconds == pytest.approx(total)
    assert forecast.to_dict()["minutes"] == pytest.approx(total / 60)
    assert forecast.untimed == ()


def test_no_rows_take_no_time():
    assert Pace(1, 5.0, 9.0).predict(0) == 0.0
    assert Pace(2, 5.0).predict(4) == 10.0  # nothing is spent before them


def test_guesses_on_what_is_stored_are_timed_without_a_rewrite(tmp_path):
    spec = make_spec(tmp_path / "run", attacks=["lexical"])
    run(spec)
    more = make_spec(tmp_path / "run", attacks=["lexical", "resample"], mechanisms=spec.mechanisms)
    audit = prepare(more)
    assert len(read_sample(audit.jobs[0]).rewrites) == 100
    forecast = plan_audit(more)
    assert list(forecast.timing.guessing) == [("word-rr", "k2-lambda0", "resample")]
    assert forecast.seconds > 0


def test_a_function_is_called_a_few_times_and_not_at_all_without_timing(tmp_path):
    called = []

    def count(text, seed):
        called.append(seed)
        return text

    attacks = ["lexical", {"name": "trained", "encoder": "lexical"}]
    spec = make_spec(tmp_path / "run", mechanisms=[count], epsilons=[], attacks=attacks)
    forecast = plan_audit(spec)
    assert 0 < len(called) <= 8
    assert forecast.untimed == ("trained on count",)  # it would call the function hundreds of times
    assert forecast.calls.startswith("This run needs up to 608 calls of the function")
    timed_seeds = set(called)
    called.clear()
    assert plan_audit(spec, timing=False).seconds is None
    assert not called
    run(spec)
    assert not timed_seeds & set(called)  # no audited noise was drawn before the run


@dataclass(frozen=True)
class Recording(WordRR):
    """Randomised response that remembers the keys that it was given."""

    keys: ClassVar[set[int]] = set()

    def rewrite(self, draws):
        self.keys.update(draw.key for draw in draws)
        return super().rewrite(draws)


def test_no_audited_noise_is_drawn_before_the_run(tmp_path):
    spec = make_spec(tmp_path / "run", mechanisms=[Recording(slots=4)], attacks=["resample"])
    plan_audit(spec)
    timed_keys = set(Recording.keys)
    Recording.keys.clear()
    run(spec)
    assert len(timed_keys) > 50 < len(Recording.keys)
    assert not timed_keys & Recording.keys


@pytest.mark.parametrize("k", [2, 100])
def test_the_tables_take_about_the_room_that_was_said(tmp_path, k):
    texts = {"name": "given", "live": given(sentences(120))}
    spec = make_spec(
        tmp_path / "run", trials=600, block=0, epsilons=[1, 2], corpus=texts,
        attacks=["lexical", "resample", "likelihood"], plans=[{"k": k, "lambda": 0}],
    )  # fmt: skip
    forecast = plan_audit(spec)
    assert not (tmp_path / "run").exists()
    run(spec, page=False)
    tables = [path for path in (tmp_path / "run").rglob("*.parquet") if path.name != "estimates.parquet"]
    assert 0.6 < sum(path.stat().st_size for path in tables) / forecast.timing.disk < 1.7


def given(texts):
    from tedaudit.corpora.files import Given

    return Given(tuple(texts))
