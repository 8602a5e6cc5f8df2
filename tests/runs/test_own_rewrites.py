"""Rewrites of the candidates for adversaries: made once, stored apart, and never with audited noise."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

from helpers import (
    Recording,
    SharedWords,
    Stop,
    given,
    make_spec,
    sentences,
    snapshot,
    tables,
    within,
)
from tedaudit.api import run
from tedaudit.attacks.resample import Resample
from tedaudit.plugins.batches import OwnRewrites
from tedaudit.plugins.values import Card, Guess, Observation, Plan
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.jobs import share_out
from tedaudit.runs.planner import PlannedTrials
from tedaudit.runs.preparation import prepare
from tedaudit.studies.replay import replay

AUDITED, OWN = "rewrites/recording/3", "own_rewrites/recording/3"
GUESSES = "guesses/k2-lambda0/recording/3/resample"


@dataclass
class Watching:
    """Asks for own rewrites, remembers what it is given, and guesses nothing."""

    rewrites: int = 2
    limit: bool = True
    given: list[OwnRewrites] = field(default_factory=list, init=False, compare=False)
    card: ClassVar[Card] = Card(name="watching", summary="Watches.", sees=("text", "error"))

    @property
    def rewrites_each(self) -> int:
        return self.rewrites

    @property
    def is_limited(self) -> bool:
        return self.limit

    def unfit(self, mechanism: object) -> str:
        return ""

    def learn(self, own: OwnRewrites) -> None:
        self.given.append(own)

    def guess(self, seen: Sequence[Observation]) -> list[Guess]:
        return [Guess(np.zeros(len(observation.candidates))) for observation in seen]


def plan_of(candidates):
    rows = np.asarray(candidates, dtype=np.int32)
    return Plan(rows, np.zeros(len(rows), np.int32), np.zeros(len(rows), np.int32))


def numbers(candidates, attack, pool=10, looks=()):
    plan = None if candidates is None else plan_of(candidates)
    planned = PlannedTrials("plan", "key", plan, 2, tuple(looks))
    return [stretch.numbers.tolist() for stretch in share_out(planned, pool, attack, 0)]


# --- how many of each


def test_every_candidate_that_occurs_gets_as_many_as_fit_the_number_of_rows():
    rows = [[0, 1], [1, 2], [2, 0], [0, 1], [1, 2], [2, 0], [0, 2]]
    [shared] = numbers(rows, Resample(rewrites=8))
    assert sorted(shared[:3]) == [2, 2, 3]  # a coin chooses who gets what is left over
    assert sum(shared) == len(rows)
    assert numbers(rows, Resample(rewrites=1)) == [[1, 1, 1, 0, 0, 0, 0, 0, 0, 0]]
    assert numbers(rows, Resample(rewrites=8, limit=False)) == [[8, 8, 8, 0, 0, 0, 0, 0, 0, 0]]


def test_if_there_is_not_one_for_each_coins_of_the_texts_choose_and_no_secret_does():
    rows = [[0, 1], [2, 3], [4, 5]]
    [few] = numbers(rows, Resample())
    assert sum(few) == 3
    assert max(few) == 1
    mirrored = [pair[::-1] for pair in rows]  # the other one of each pair is the secret
    assert numbers(mirrored, Resample()) == [few]
    [all_of_them] = numbers(rows, Resample(limit=False, rewrites=1))
    assert sum(all_of_them) == 6


def test_the_coins_of_a_run_choose_every_candidate_as_often_as_any_other():
    planned = PlannedTrials("plan", "key", plan_of([[0, 1], [2, 3], [4, 5]]), 2, ())
    runs = 400
    chosen = sum(share_out(planned, 10, Resample(), seed)[0].numbers for seed in range(runs))
    assert chosen[6:].sum() == 0  # no candidates
    assert all(within(int(count), runs, 1 / 2) for count in chosen[:6])


def test_what_was_given_for_earlier_rows_is_never_taken_away_and_never_exceeds_the_rows():
    coins = np.random.default_rng(1)
    rows = [coins.choice(40, 2, replace=False).tolist() for _ in range(60)]
    before = np.zeros(40, dtype=int)
    for stop, given_then in zip(
        (7, 20, 21, 45, 60), numbers(rows, Resample(), 40, (7, 20, 21, 45)), strict=True
    ):
        assert (np.array(given_then) >= before).all()
        assert sum(given_then) <= stop
        before = np.array(given_then)


# --- in a run


def recorded(root, **changes):
    plugin = changes.pop("plugin", None) or Recording()
    result = run(make_spec(root, mechanisms=[plugin], **{"attacks": ["resample"], **changes}))
    assert len(plugin.asked) == len(plugin.draws)  # nothing is made twice
    return plugin, result


def keys(table):
    return Counter(row[0] for row in table)


def test_own_rewrites_lie_apart_and_share_no_key_with_audited_ones(tmp_path):
    plugin, result = recorded(tmp_path)
    found = tables(tmp_path)
    assert len(found[AUDITED]) == 100
    assert len(found[OWN]) == 100  # 40 texts, two each, and a third one of 20
    assert len(plugin.asked) == 200  # text, epsilon and key differ in all of them
    assert len({draw.key for draw in plugin.draws}) == 200
    [finding] = result
    assert finding.measures.own_rewrites == 100
    assert any("at most 3 of each, of 40 texts" in note and "100 in all" in note for note in result.notes)


def test_other_attacks_give_the_same_guesses_whether_there_are_own_rewrites_or_not(tmp_path):
    recorded(tmp_path / "with", attacks=[SharedWords(), "resample"])
    recorded(tmp_path / "without", attacks=[SharedWords()])
    alone, beside = tables(tmp_path / "without"), tables(tmp_path / "with")
    assert all(beside[name] == rows for name, rows in alone.items())


def test_an_attack_is_given_own_rewrites_and_no_audited_output(tmp_path):
    attack = Watching()
    recorded(tmp_path, attacks=[attack])
    [own] = attack.given
    stored = {(text, output) for text, _, output, *_ in tables(tmp_path)[OWN]}
    assert {(int(text), rewrite.text) for text, rewrite in zip(own.text, own.rewrites, strict=True)} == stored
    assert len(own) == len(tables(tmp_path)[OWN])
    assert sum(map(len, own.by_text().values())) == len(own)


def test_plans_attacks_and_epsilons_share_own_rewrites(tmp_path):
    plans = [{"k": 2, "lambda": 0}, {"k": 5, "lambda": 0}, {"k": "all"}]
    attacks = ["resample", {"name": "resample", "rewrites": 1, "label": "single"}]
    recorded(tmp_path, plans=plans, attacks=attacks, epsilons=[3, 5])
    found = tables(tmp_path)
    assert len(found[OWN]) == len(found["own_rewrites/recording/5"]) == 100
    assert [row[:2] for row in found[OWN]] == [row[:2] for row in found["own_rewrites/recording/5"]]


def test_a_run_that_was_stopped_anywhere_makes_nothing_twice_and_ends_the_same(tmp_path):
    recorded(tmp_path / "whole", epsilons=[3, 5])
    for moment in (1, 2, 3, 4, 6):
        root, plugin, left = tmp_path / str(moment), Recording(), moment

        def progress(what, _done, _total):
            nonlocal left
            left -= bool(what)
            if left == 0:
                raise Stop

        spec = make_spec(root, mechanisms=[plugin], attacks=["resample"], epsilons=[3, 5])
        with pytest.raises(Stop):
            run(spec, progress=progress)
        made = len(plugin.draws)
        assert made
        run(spec)
        assert len(plugin.draws) == len(plugin.asked) == 2 * 200
        assert tables(root) == tables(tmp_path / "whole")


def test_another_run_of_the_same_command_makes_nothing(tmp_path):
    recorded(tmp_path)
    before = snapshot(tmp_path, "*es/**/*")
    assert recorded(tmp_path)[0].draws == []
    assert snapshot(tmp_path, "*es/**/*") == before


def test_the_attack_can_be_added_later_and_gives_what_it_would_have_given_at_once(tmp_path):
    recorded(tmp_path / "at-once", attacks=[SharedWords(), "resample"])
    recorded(tmp_path / "later", attacks=[SharedWords()])
    plugin, _ = recorded(tmp_path / "later", attacks=[SharedWords(), "resample"])
    assert len(plugin.draws) == 100
    assert tables(tmp_path / "later") == tables(tmp_path / "at-once")


def test_more_trials_add_rewrites_and_change_no_earlier_guess(tmp_path):
    texts = given(sentences(80))
    _, first = recorded(tmp_path, corpus=texts)
    before = tables(tmp_path)
    plugin, second = recorded(tmp_path, corpus=texts, trials=250)
    after = tables(tmp_path)
    assert after[GUESSES][:100] == before[GUESSES]
    assert set(before[OWN]) < set(after[OWN])
    assert len(plugin.draws) == 150 + len(after[OWN]) - len(before[OWN])
    assert next(iter(first)).measures.own_rewrites == len(before[OWN]) <= 100
    assert next(iter(second)).measures.own_rewrites == len(after[OWN]) <= 250


def test_a_trial_of_an_extended_run_is_replayed_with_the_scores_it_had(tmp_path):
    mechanism = {"name": "word-rr", "slots": 4}
    settings = {"mechanisms": [mechanism], "attacks": ["resample"], "corpus": given(sentences(80))}
    run(make_spec(tmp_path, **settings))
    run(make_spec(tmp_path, **settings, trials=250))
    store = RunDirectory(tmp_path)
    scores = store.guesses(
        "k2-lambda0", "word-rr", prepare(make_spec(tmp_path, **settings)).jobs[0].epsilons[0], "resample"
    )
    kept = scores.read(["scores"])["scores"]
    for trial in (3, 99, 100, 249):
        [replayed] = replay(store, trial, {})
        assert replayed.scores == pytest.approx(kept[trial].tolist(), abs=1e-4)


def test_progress_counts_own_rewrites_and_ends_at_the_total(tmp_path):
    seen = []
    spec = make_spec(tmp_path, mechanisms=[Recording()], attacks=["resample"])
    run(spec, progress=lambda *step: seen.append(step))
    assert seen[-1][1:] == (100 + 100 + 100, 100 + 100 + 100)
    again = []
    run(spec, progress=lambda *step: again.append(step))
    assert again[-1][1:] == (300, 300)
