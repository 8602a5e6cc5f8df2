"""Failed rewrites are outputs: who sees them, what is counted, and what is no output at all."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

import tedaudit
from helpers import Failing, SharedWords, make_spec, sentences, within
from tedaudit.api import run
from tedaudit.errors import InfrastructureError
from tedaudit.models import calling as retries
from tedaudit.plugins.values import Card, Guess
from tedaudit.runs.directory import RunDirectory
from tedaudit.studies.replay import replay

TEXTS = sentences(60)
MIDDLE = sorted(map(len, TEXTS))[30]
TRAINED = {"name": "trained", "encoder": "lexical", "rewrites": 200}
ENSEMBLE = {"name": "ensemble", "members": ["lexical", "lexical"], "rewrites": 200}
SEEDS: dict[str, list[int]] = {}


def fails_on_long(text):
    if len(text) >= MIDDLE:
        raise ValueError("too long")
    return "something was said"


def fails_by_coin(text, seed):
    if seed % 2:
        raise ValueError("unlucky")
    return "something was said"


def fails_always(text):
    raise ValueError("never")


@dataclass
class ReadsCodes:
    """Names the longer candidate if the rewrite failed, and remembers what it was shown."""

    shown: list[tuple[str, str]] = field(default_factory=list, init=False)
    card: ClassVar[Card] = Card(name="reads-codes", summary="By code.", sees=("text", "error"))

    def guess(self, seen):
        self.shown += [(o.output.text, o.output.error) for o in seen]
        signs = [1 if o.output.error else -1 for o in seen]
        return [
            Guess(sign * np.array([float(len(text) >= MIDDLE) for text in o.candidates]))
            for sign, o in zip(signs, seen, strict=True)
        ]


def _audit(function, attack, **settings):
    return tedaudit.audit(function, TEXTS, attack=attack, lambda_=0, **{"trials": 300} | settings)


def test_a_function_that_fails_on_some_texts_is_found_leaking_by_attacks_that_see_the_code():
    found = {row.attack: row for row in _audit(fails_on_long, ["lexical", TRAINED, ENSEMBLE])}
    blind = found["lexical"].counts
    assert blind.failed > 100
    assert blind.answered == (300 - blind.failed,)
    assert found["lexical"].bound.lower == 0
    for name in ("trained", "ensemble"):
        counts = found[name].counts
        assert counts.failed == blind.failed
        assert counts.answered == (300,)
        assert within(counts.correct, 300, 3 / 4)  # right whenever one text of the two fails
        assert found[name].bound.lower > 0.5


@pytest.mark.parametrize("function", [fails_by_coin, fails_always])
def test_failures_that_do_not_depend_on_the_text_tell_nothing(function):
    for row in _audit(function, [TRAINED, ENSEMBLE]):
        assert row.counts.failed == 300 if function is fails_always else within(row.counts.failed, 300, 1 / 2)
        assert row.counts.answered == (300,)
        assert within(row.counts.correct, 300, 1 / 2)


@pytest.mark.parametrize("estimator", ["reduced", "baseline"])
def test_the_guess_on_a_failed_rewrite_counts_as_any_other(estimator):
    attack = ReadsCodes()
    [row] = _audit(fails_on_long, [attack], estimator=estimator)
    rows = 600 if estimator == "baseline" else 300
    assert set(attack.shown) == {("something was said", ""), ("", "raised-ValueError")}
    assert len(attack.shown) == rows
    assert row.counts.failed > 0
    assert sum(row.counts.answered) == rows
    assert row.counts.unusable == 0
    assert within(row.counts.correct, rows, 3 / 4)


def test_an_attack_that_does_not_see_codes_is_not_given_failed_rewrites(tmp_path):
    attack = SharedWords()
    result = run(make_spec(tmp_path, mechanisms=[Failing(0.4)], attacks=[attack, ReadsCodes()]))
    counts = {row.attack: row.counts for row in result}
    blind, seeing = counts["shared-words"], counts["reads-codes"]
    assert blind.failed == seeing.failed > 20
    assert blind.answered == (blind.correct,) == (100 - blind.failed,)
    assert seeing.answered == (100,)


def test_a_trial_whose_rewrite_failed_is_replayed_with_the_guess_on_its_code(tmp_path):
    spec = make_spec(
        tmp_path, corpus={"name": "demo", "size": 40}, mechanisms=["py:test_failures:fails_on_long"],
        attacks=["py:test_failures:ReadsCodes", "lexical"], epsilons=[],
    )  # fmt: skip
    result = run(spec)
    reading, blind = (row for row in sorted(result, key=lambda row: row.attack != "reads-codes"))
    failed = int(np.flatnonzero(result.guesses(reading).read(["failed"])["failed"])[0])
    again = {trial.attack: trial for trial in replay(RunDirectory(tmp_path), failed, {})}
    assert again[reading.attack].stored.error == "raised-ValueError"
    assert again[reading.attack].choice >= 0
    assert max(map(abs, again[reading.attack].scores)) == 1
    assert again[blind.attack].choice == -1


def test_a_global_generator_can_be_seeded_by_an_audited_function():
    def noisy(text, seed):
        np.random.seed(seed)  # noqa: NPY002
        return text if np.random.rand() < 0.5 else ""  # noqa: NPY002

    [row] = _audit(noisy, ["lexical"])
    assert row.counts.failed == 0
    assert within(row.counts.correct, 300, 3 / 4)


def tells_its_seed(text, seed):
    SEEDS.setdefault(text, []).append(seed)
    return "something was said"


def test_rewrites_that_an_adversary_makes_share_no_seed_with_audited_ones():
    SEEDS.clear()
    _audit(tells_its_seed, ["lexical"])
    audited = {seed for seeds in SEEDS.values() for seed in seeds}
    assert len(audited) == 300
    SEEDS.clear()
    _audit(tells_its_seed, [TRAINED])
    seeds = {seed for seeds in SEEDS.values() for seed in seeds}
    own = seeds - audited
    assert seeds >= audited
    assert len(own) == 200
    assert max(audited) < 2**31 <= min(own) < 2**32


@pytest.mark.parametrize("error", [TimeoutError, MemoryError, ConnectionResetError])
def test_an_error_of_the_machine_stops_the_run_which_can_be_resumed(error, tmp_path, monkeypatch):
    monkeypatch.setattr(retries, "PAUSES", (0.0, 0.0))
    calls, healthy = [], 60

    def unreliable(text):
        calls.append(text)
        if len(calls) > healthy:
            raise error("gone")
        return text

    spec = make_spec(tmp_path, mechanisms=[unreliable], attacks=[SharedWords()], epsilons=[])
    with pytest.raises(InfrastructureError, match=f"raised {error.__name__} 3 times in a row"):
        run(spec)
    assert len(calls) == 63
    healthy = 1000
    [row] = run(spec)
    assert row.counts.failed == 0
    assert row.counts.correct == 100
    assert len(calls) == 63 + 40 + 8  # two blocks of 30 were kept; in the end 8 calls are made again


def test_an_error_of_the_machine_in_a_plug_in_is_tried_again(monkeypatch):
    monkeypatch.setattr(retries, "PAUSES", (0.0, 0.0))

    class Flaky(Failing):
        calls = 0

        def rewrite(self, draws):
            type(self).calls += 1
            if self.calls < 3:
                raise TimeoutError
            return super().rewrite(draws)

    [row] = _audit(Flaky(0.0), [SharedWords()], epsilon=1.0)
    assert row.counts.failed == 0
    assert Flaky.calls >= 3
