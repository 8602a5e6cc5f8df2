"""Rewrites of the candidates for adversaries: made once, stored apart, and never with audited noise."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

import tiny_models
from helpers import (
    FileEngine,
    Recording,
    SharedWords,
    Stop,
    given,
    make_spec,
    sentences,
    snapshot,
    stopped,
    tables,
)
from tedaudit.api import load_run, run
from tedaudit.attacks.resample import Resample
from tedaudit.batches import OwnRewrites
from tedaudit.execution.own_rewrites import share_out
from tedaudit.execution.planner import PlannedTrials
from tedaudit.execution.preparation import prepare
from tedaudit.execution.replay import replay
from tedaudit.execution.work import main
from tedaudit.execution.work_folder import FolderEngine, write_work
from tedaudit.store.directory import RunDirectory
from tedaudit.types import Card, Guess, Observation, Plan

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
    assert numbers(rows, Resample(rewrites=8)) == [[2, 2, 2, 0, 0, 0, 0, 0, 0, 0]]
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
    assert len(found[OWN]) == 80  # 40 texts, two each
    assert len(plugin.asked) == 180  # text, epsilon and key differ in all of them
    assert len({draw.key for draw in plugin.draws}) == 180
    [finding] = result
    assert finding.measures.own_rewrites == 80
    assert any("at most 2 of each, of 40 texts" in note and "80 in all" in note for note in result.notes)


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
    assert len(found[OWN]) == len(found["own_rewrites/recording/5"]) == 80
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
        assert len(plugin.draws) == len(plugin.asked) == 2 * 180
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
    assert len(plugin.draws) == 80
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
    assert seen[-1][1:] == (100 + 80 + 100, 100 + 80 + 100)
    again = []
    run(spec, progress=lambda *step: again.append(step))
    assert again[-1][1:] == (280, 280)


# --- elsewhere


def test_a_worker_does_own_rewrites_in_the_same_pass(tmp_path):
    mechanism, attacks = {"name": "word-rr", "slots": 4}, ["resample"]
    here = run(make_spec(tmp_path / "here", mechanisms=[mechanism], attacks=attacks))
    spec = make_spec(tmp_path / "there", mechanisms=[mechanism], attacks=attacks)
    write_work(spec, tmp_path / "work")
    main([str(tmp_path / "work")])
    run(spec, FolderEngine(tmp_path / "work", _GuessesOnly()))
    assert tables(tmp_path / "there") == tables(tmp_path / "here")
    there = load_run(tmp_path / "there")
    assert [(row.counts.trials, row.measures.own_rewrites) for row in there] == [(100, 80)]
    assert [row.counts for row in there] == [row.counts for row in here]


class _GuessesOnly:
    """An engine that must not be asked to rewrite."""

    def __init__(self):
        from tedaudit.execution.engines.serial import SerialEngine

        self._engine = SerialEngine()
        self.offer, self.finished = self._engine.offer, self._engine.finished

    @property
    def has_room(self):
        return self._engine.has_room

    def submit(self, ticket, chunk):
        assert type(chunk).__name__ == "GuessChunk"
        self._engine.submit(ticket, chunk)


def test_own_rewrites_travel_to_another_process_with_the_guessing(tmp_path):
    settings = {
        "mechanisms": [{"name": "word-rr", "slots": 4}],
        "attacks": ["resample"],
        "trials": 40,
        "block": 40,
    }
    (tmp_path / "files").mkdir()
    engine = FileEngine(tmp_path / "files")
    run(make_spec(tmp_path / "files-run", **settings), engine)
    run(make_spec(tmp_path / "here", **settings))
    assert engine.chunks >= 2
    assert tables(tmp_path / "files-run") == tables(tmp_path / "here")


# --- functions


SEEDS: list[tuple[str, int]] = []


def seeded(text, seed):
    SEEDS.append((text, seed))
    return f"{random.Random(seed).random()}"


def test_a_function_gets_seeds_for_own_rewrites_that_no_audited_draw_has(tmp_path):
    SEEDS.clear()
    lines = []
    run(make_spec(tmp_path, mechanisms=[seeded], attacks=["resample"]), announce=lines.append)
    own = [(text, seed) for text, seed in SEEDS if seed >= 2**31]
    assert len(own) == len(set(own)) == 80
    assert set(Counter(text for text, _ in own).values()) == {2}
    assert len([seed for _, seed in SEEDS if seed < 2**31]) == 100 + 8
    assert not {seed % 2**31 for _, seed in own} & {seed for _, seed in SEEDS if seed < 2**31}
    assert [text for text, _ in own] != sorted(text for text, _ in own)  # in an order that tells nothing
    told = "up to 188 calls of the function 'seeded' (100 for the run, 8 to see whether it repeats itself, "
    assert [told + "80 by attacks that try it)" in line for line in lines] == [True]


def test_own_calls_of_a_stopped_run_are_counted_and_made_once(tmp_path):
    SEEDS.clear()
    spec = make_spec(tmp_path, mechanisms=[seeded], attacks=[SharedWords(), "resample"])
    stopped(spec, 1)
    made = len(SEEDS)
    lines = []
    run(spec, announce=lines.append)
    assert f"up to {188 - made} calls of the function" in lines[0]
    assert len(SEEDS) == 188


def test_an_attack_that_is_added_later_calls_for_its_own_rewrites_alone(tmp_path):
    run(make_spec(tmp_path, mechanisms=[seeded], attacks=[SharedWords()]))
    SEEDS.clear()
    lines = []
    run(make_spec(tmp_path, mechanisms=[seeded], attacks=[SharedWords(), "resample"]), announce=lines.append)
    assert "up to 80 calls of the function" in lines[0]
    assert len(SEEDS) == 80


# --- cost


@pytest.fixture
def count_rows(monkeypatch):
    """Audit DP-MLM and count the rows that its masked model really runs."""
    pytest.importorskip("transformers")
    from tedaudit.inference import masked
    from tedaudit.mechanisms import _masked_rows

    def work(root, attacks, **settings):
        rows = 0

        def counted(checkpoint, places):
            nonlocal rows
            rows += len(places)
            return masked.masked_logits(checkpoint, places)

        monkeypatch.setattr(_masked_rows, "masked_logits", counted)
        return run(make_spec(root, attacks=attacks, **settings)), rows

    return work


def test_own_rewrites_add_few_rows_to_the_work_of_a_masked_model(tmp_path, count_rows):
    folder = tiny_models.save_roberta(tmp_path / "model")
    mechanism = {"name": "dp-mlm", "model": str(folder), "slots": 4, "context": 60}
    settings = {"mechanisms": [mechanism], "trials": 80, "block": 20}
    _, without = count_rows(tmp_path / "without", ["lexical"], **settings)
    result, rows = count_rows(tmp_path / "with", ["lexical", "resample"], **settings)
    assert [(row.counts.trials, row.measures.own_rewrites) for row in result] == [(80, 0), (80, 80)]
    assert without > 0
    # only texts that are no secret of any trial cost rows of their own; 0.7 times as many are allowed
    assert without < rows <= 1.3 * without


@pytest.mark.parametrize("variant", ["published", "sound"])
def test_own_rewrites_are_made_in_the_pass_that_reads_a_text_with_the_zoos_model(
    tmp_path, count_rows, variant, monkeypatch
):
    pytest.importorskip("tedaudit_zoo")
    monkeypatch.delenv("TEDAUDIT_ZOO", raising=False)
    mechanism = {"name": "dp-mlm", "model": "zoo:mlm", "variant": variant}
    settings = {"mechanisms": [mechanism], "corpus": {"name": "demo", "size": 12}, "trials": 20}
    _, without = count_rows(tmp_path / "without", ["lexical"], **settings)
    result, rows = count_rows(tmp_path / "with", ["lexical", "resample"], **settings)
    assert [row.measures.own_rewrites for row in result] == [0, 12]
    assert without <= rows <= 1.7 * without  # a second pass over the twelve texts would more than double it
