"""Rewrites for adversaries by workers and other processes, by functions with seeds, and what they cost."""

import random
from collections import Counter

import numpy as np
import pytest

import tiny_models
from engine_examples import Refuses
from helpers import (
    FreshProcesses,
    SharedWords,
    make_spec,
    sentences,
    stopped,
    tables,
)
from tedaudit.api import load_run, run
from tedaudit.execution.work import main
from tedaudit.execution.work_folder import write_work

# --- other processes


def test_a_worker_does_own_rewrites_in_the_same_pass(tmp_path):
    mechanism, attacks = {"name": "word-rr", "slots": 4}, ["resample"]
    here = run(make_spec(tmp_path / "here", mechanisms=[mechanism], attacks=attacks))
    spec = make_spec(tmp_path / "there", mechanisms=[mechanism], attacks=attacks)
    write_work(spec, tmp_path / "work")
    main([str(tmp_path / "work")])
    run(spec, Refuses(), work=tmp_path / "work")
    assert tables(tmp_path / "there") == tables(tmp_path / "here")
    there = load_run(tmp_path / "there")
    assert [(row.counts.trials, row.measures.own_rewrites) for row in there] == [(100, 100)]
    assert [row.counts for row in there] == [row.counts for row in here]


def test_own_rewrites_travel_to_another_process_with_the_guessing(tmp_path):
    settings = {
        "mechanisms": [{"name": "word-rr", "slots": 4}],
        "attacks": ["resample"],
        "trials": 40,
        "block": 40,
    }
    (tmp_path / "files").mkdir()
    engine = FreshProcesses()
    run(make_spec(tmp_path / "files-run", **settings), engine)
    run(make_spec(tmp_path / "here", **settings))
    assert engine.processes >= 2
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
    assert len(own) == len(set(own)) == 100
    assert set(Counter(text for text, _ in own).values()) == {2, 3}
    assert len([seed for _, seed in SEEDS if seed < 2**31]) == 100 + 8
    assert not {seed % 2**31 for _, seed in own} & {seed for _, seed in SEEDS if seed < 2**31}
    places = np.array([sentences(40).index(text) for text, _ in own])
    neighbours = np.abs(np.diff(places))
    assert (neighbours > 1).sum() > 40  # by text, all 99 would be 0 or 1: the order tells nothing of it
    told = "up to 208 calls of the function 'seeded' (100 for the run, 8 to see whether it repeats itself, "
    assert [told + "100 by attacks that try it)" in line for line in lines] == [True]


def test_own_calls_of_a_stopped_run_are_counted_and_made_once(tmp_path):
    SEEDS.clear()
    spec = make_spec(tmp_path, mechanisms=[seeded], attacks=[SharedWords(), "resample"])
    stopped(spec, 1)
    made = len(SEEDS)
    lines = []
    run(spec, announce=lines.append)
    assert f"up to {208 - made} calls of the function" in lines[0]
    assert len(SEEDS) == 208


def test_an_attack_that_is_added_later_calls_for_its_own_rewrites_alone(tmp_path):
    run(make_spec(tmp_path, mechanisms=[seeded], attacks=[SharedWords()]))
    SEEDS.clear()
    lines = []
    run(make_spec(tmp_path, mechanisms=[seeded], attacks=[SharedWords(), "resample"]), announce=lines.append)
    assert "up to 100 calls of the function" in lines[0]
    assert len(SEEDS) == 100


# --- cost


@pytest.fixture
def count_rows(monkeypatch):
    """Audit DP-MLM and count the rows that its masked model really runs."""
    pytest.importorskip("transformers")
    from tedaudit.inference.sampling import masked
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
    assert [row.measures.own_rewrites for row in result] == [0, 20]
    assert without <= rows <= 1.7 * without  # a second pass over the twelve texts would more than double it
