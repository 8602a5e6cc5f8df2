"""Waves and pieces: every draw once, whatever plans share; and what is there keeps its name."""

import json
from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import Promising, make_spec
from helpers import given as given_texts
from tedaudit.plugins.values import Plan
from tedaudit.runs.history import Rewriting, Wave, extend_history, parse_history
from tedaudit.runs.preparation import prepare
from tedaudit.runs.schedule import open_schedules

POOL = 6
LABEL = "mechanism"


def number_replicates(sources):
    """Return how often each text stood in the rows before, counted one by one."""
    seen = dict.fromkeys(range(POOL), 0)
    replicates = []
    for source in sources:
        replicates.append(seen[source])
        seen[source] += 1
    return replicates


def make_plan(sources):
    return Plan(None, np.array(sources, dtype=np.int32), np.array(number_replicates(sources), dtype=np.int32))


@st.composite
def histories(draw):
    """Draw plans, and waves in which they were asked for, in any order, with own rewrites in between."""
    plans = {
        name: make_plan(draw(st.lists(st.integers(0, POOL - 1), min_size=1, max_size=40)))
        for name in draw(st.sampled_from(["a", "ab", "abc"]))
    }
    waves, own, done = [], np.zeros(POOL, dtype=np.int32), dict.fromkeys(plans, 0)
    for name in draw(st.lists(st.sampled_from([*plans, "own"]), min_size=1, max_size=9)):
        size = draw(st.integers(1, 12))
        if name == "own":
            more = draw(st.lists(st.integers(0, 4), min_size=POOL, max_size=POOL).filter(any))
            own = own + np.array(more, dtype=np.int32)
            waves.append(Wave(LABEL, "a", size=size, own=tuple(own.tolist())))
        elif done[name] < len(plans[name]):
            stop = draw(st.integers(done[name] + 1, len(plans[name])))
            waves.append(Wave(LABEL, name, done[name], stop, size))
            done[name] = stop
    return plans, waves


def list_draws(piece):
    return [*zip(piece.text.tolist(), piece.replicate.tolist(), strict=True)]


def count_by_hand(plans, waves):
    """Return the draws that rows of these waves need: the same text and replicate is one, in any plan."""
    needed = set()
    for wave in waves:
        if not wave.own:
            rows = plans[wave.plan].rows(wave.start, wave.stop)
            needed |= {*zip(rows.source.tolist(), rows.replicate.tolist(), strict=True)}
    return needed


@settings(max_examples=300, deadline=None)
@given(histories())
def test_pieces_hold_every_draw_that_a_row_needs_once_and_no_other(drawn):
    plans, waves = drawn
    rewriting = Rewriting(waves, plans.__getitem__, POOL)
    held = [one for piece in rewriting.audited for one in list_draws(piece)]
    assert len(held) == len(set(held))
    assert set(held) == count_by_hand(plans, waves)
    for number, piece in enumerate(rewriting.audited):
        assert piece.number == number
        assert list_draws(piece) == sorted(list_draws(piece))  # a text's draws stand together
        rows = plans[piece.plan].pick(piece.rows.tolist())
        assert (rows.source.tolist(), rows.replicate.tolist()) == (
            piece.text.tolist(),
            piece.replicate.tolist(),
        )


@settings(max_examples=300, deadline=None)
@given(histories())
def test_what_a_wave_adds_is_in_pieces_of_its_own_and_no_earlier_one_changes(drawn):
    plans, waves = drawn
    before = Rewriting([], plans.__getitem__, POOL)
    for number, wave in enumerate(waves, 1):
        after = Rewriting(waves[:number], plans.__getitem__, POOL)
        for old, new in ((before.audited, after.audited), (before.own, after.own)):
            assert [*map(list_draws, new[: len(old)])] == [*map(list_draws, old)]
        added = count_by_hand(plans, waves[:number]) - count_by_hand(plans, waves[: number - 1])
        new = after.audited[len(before.audited) :]
        assert {one for piece in new for one in list_draws(piece)} == added
        assert [len(piece.text) for piece in new[:-1]] == [wave.size] * (len(new) - 1)
        assert all(0 < len(piece.text) <= wave.size for piece in new)
        before = after


@settings(max_examples=200, deadline=None)
@given(histories(), st.data())
def test_rows_of_a_plan_find_just_the_pieces_that_their_draws_are_in(drawn, data):
    plans, waves = drawn
    rewriting = Rewriting(waves, plans.__getitem__, POOL)
    asked = [wave for wave in waves if not wave.own]
    if not asked:
        assert rewriting.audited == []
        return
    wave = data.draw(st.sampled_from(asked))
    start = data.draw(st.integers(wave.start, wave.stop))
    rows = plans[wave.plan].rows(start, data.draw(st.integers(start, wave.stop)))
    needed = {*zip(rows.source.tolist(), rows.replicate.tolist(), strict=True)}
    wanted = [piece.number for piece in rewriting.audited if needed & set(list_draws(piece))]
    assert [piece.number for piece in rewriting.find(rows)] == wanted


@settings(max_examples=200, deadline=None)
@given(histories())
def test_own_rewrites_are_whole_texts_and_each_is_made_once(drawn):
    plans, waves = drawn
    before = np.zeros(POOL, dtype=np.int32)
    first = 0
    for number, wave in enumerate(waves, 1):
        if not wave.own:
            continue
        pieces = Rewriting(waves[:number], plans.__getitem__, POOL).own[first:]
        held = [one for piece in pieces for one in list_draws(piece)]
        wanted = [(t, r) for t in range(POOL) for r in range(before[t], wave.own[t])]
        assert held == wanted
        texts = [text for piece in pieces for text in np.unique(piece.text).tolist()]
        assert len(texts) == len(set(texts))
        assert [piece.number for piece in pieces] == [*range(first, first + len(pieces))]
        most = max(np.asarray(wave.own) - before)
        assert all(0 < len(piece.text) < wave.size + most for piece in pieces)
        before, first = np.asarray(wave.own), first + len(pieces)


@settings(max_examples=50, deadline=None)
@given(histories())
def test_a_history_is_read_as_it_was_written(drawn):
    waves = drawn[1]
    assert parse_history(json.loads(json.dumps([asdict(wave) for wave in waves]))) == tuple(waves)


# --- which waves there are


SPEC = {
    "mechanisms": [{"name": "word-rr", "slots": 3}, "identity"], "epsilons": [1, 4], "seed": 3,
    "plans": [{"k": 2, "lambda": 0}, {"k": "all"}], "attacks": ["lexical"], "trials": 300, "block": 0,
}  # fmt: skip


def plan_run(root, **changes):
    """Return the schedules of an audit whose files are to be made, and note what it set out to do."""
    audit = prepare(make_spec(root, **SPEC | changes))
    with audit.store.locked():
        audit.write()
    return audit, open_schedules(audit)


def list_files(schedules):
    """Return the draws of every file of rewrites that a run has to make."""
    found = {}
    for schedule in schedules:
        for step in schedule.list_rewriting(range(len(schedule.job.plan))) + schedule.list_own():
            for epsilon, name in step.list_files().items():
                which = np.flatnonzero(step.wanted.epsilon == float(epsilon))
                rows = step.wanted.rows(which)
                draws = [*zip(rows.text.tolist(), rows.replicate.tolist(), strict=True)]
                assert found.setdefault(name, draws) == draws
    return found


def list_waves(audit, label, plan):
    return [(w.start, w.stop) for w in audit.history if (w.label, w.plan) == (label, plan) and not w.own]


@pytest.mark.parametrize(
    "changes",
    [
        {"trials": 301}, {"trials": 3000}, {"epsilons": [1, 2, 4, 9]}, {"attacks": ["lexical", "resample"]},
        {"plans": [*SPEC["plans"], {"k": 5, "lambda": 0}]},
        {"plans": [{"k": 5, "lambda": 0}, *SPEC["plans"]]},
        {"mechanisms": ["constant", *SPEC["mechanisms"]]}, {"block": 17, "trials": 400},
        {"trials": 20_000, "attacks": ["resample"]}, {"trials": 200}, {"plans": [{"k": "all"}]},
    ],
    ids=str,
)  # fmt: skip
def test_whatever_is_added_no_file_that_was_named_gets_another_content(tmp_path, changes):
    audit, schedules = plan_run(tmp_path)
    files = list_files(schedules)
    again, schedules = plan_run(tmp_path, **changes)
    after = list_files(schedules)
    assert again.history[: len(audit.history)] == audit.history
    assert {name: after.get(name, draws) for name, draws in files.items()} == files
    if len(changes.get("plans", SPEC["plans"])) > 1:  # else those of another plan are not asked for
        assert after.keys() >= files.keys()


def test_an_epsilon_or_an_attack_adds_no_wave(tmp_path):
    audit, _ = plan_run(tmp_path)
    for changes in ({"epsilons": [1, 3, 4]}, {"attacks": ["lexical", "likelihood"]}, {}):
        assert plan_run(tmp_path, **changes)[0].history == audit.history


def test_waves_end_early_at_first_so_that_something_is_seen_soon(tmp_path):
    audit, _ = plan_run(tmp_path, trials=50_000)
    for plan in ("k2-lambda0", "k-all"):
        assert list_waves(audit, "word-rr", plan) == [(0, 4096), (4096, 5000), (5000, 50_000)]


def test_trials_that_are_added_later_are_waves_behind_those_that_are_there(tmp_path):
    before, _ = plan_run(tmp_path, trials=300)
    audit, _ = plan_run(tmp_path, trials=50_000)
    assert audit.history[: len(before.history)] == before.history
    starts, stops = zip(*list_waves(audit, "identity", "k-all"), strict=True)
    assert starts == (0, *stops[:-1])
    assert {300, 50_000} < set(stops)
    assert max(stops) == 50_000


def test_a_block_that_was_set_is_a_wave_and_functions_get_waves_of_a_block_anyway(tmp_path):
    def shout(text):
        return text.upper()

    audit, _ = plan_run(tmp_path / "set", block=70, trials=200)
    assert list_waves(audit, "identity", "k-all") == [(0, 70), (70, 140), (140, 200)]
    audit, _ = plan_run(tmp_path / "function", mechanisms=[shout], epsilons=[], trials=5000)
    block = audit.spec.block_size
    assert list_waves(audit, "shout", "k-all") == [(at, at + block) for at in range(0, 5000, block)]
    assert {wave.size for wave in audit.history} == {block}


def test_a_wave_holds_whole_trials(tmp_path):
    plans = [{"k": 2, "lambda": 0, "estimator": "baseline"}]
    audit, schedules = plan_run(tmp_path, plans=plans, block=35, trials=100)
    [(plan, job)] = {schedule.job.plan_name: schedule.job for schedule in schedules}.items()
    assert job.rows_per_trial == 2
    assert list_waves(audit, "identity", plan)[0] == (0, 36)
    assert all(start % 2 == stop % 2 == 0 for start, stop in list_waves(audit, "identity", plan))


def test_long_texts_make_small_pieces(tmp_path):
    """A piece is in memory as a whole."""
    texts = [f"{number} " + "word " * 20_000 for number in range(40)]
    audit, _ = plan_run(tmp_path, corpus=given_texts(texts), mechanisms=["identity"], trials=50_000)
    sizes = {wave.size for wave in audit.history}
    assert sizes
    assert max(sizes) * 2 * len(texts[0]) <= 100 * 1024 * 1024
    short, _ = plan_run(tmp_path / "short", mechanisms=["identity"], trials=50_000)
    assert max(wave.size for wave in short.history) > max(sizes)


def test_own_rewrites_are_asked_for_once_however_often_a_run_is_planned(tmp_path):
    audit, schedules = plan_run(tmp_path, attacks=["resample"], trials=30)
    own = [wave for wave in audit.history if wave.own]
    assert {wave.label for wave in own} == {"word-rr", "identity"}
    assert plan_run(tmp_path, attacks=["resample", "lexical"], trials=30)[0].history == audit.history
    more, schedules = plan_run(tmp_path, attacks=["resample"], trials=90)
    for label in ("word-rr", "identity"):
        numbers = [np.array(wave.own) for wave in more.history if wave.own and wave.label == label]
        assert all((after >= before).all() for before, after in pairwise(numbers))
        jobs = [schedule.job for schedule in schedules if schedule.job.label == label]
        assert (numbers[-1] == np.maximum.reduce([job.own_numbers for job in jobs])).all()


def test_nothing_is_added_for_fewer_trials(tmp_path):
    audit, _ = plan_run(tmp_path)
    jobs = prepare(make_spec(tmp_path, **SPEC | {"trials": 100})).jobs
    texts = audit.corpus.texts
    assert extend_history(audit.history, jobs, texts, 4096, is_fixed=False) == audit.history


@pytest.mark.parametrize("changes", [{"block": 35}, {"block": 0, "trials": 3000}], ids=str)
def test_what_may_remember_its_calls_is_given_each_wave_at_once_and_not_by_text(tmp_path, changes):
    """Of two pieces that were cut by text, a call counter would tell which one a text was in."""
    plans = [{"k": 2, "lambda": 0, "estimator": "baseline"}]
    audit, schedules = plan_run(
        tmp_path, **{"mechanisms": [Promising()], "epsilons": [1, 4], "plans": plans} | changes
    )
    [schedule] = schedules
    assert schedule.job.shuffled
    for rows in schedule.waves:
        [step] = schedule.list_rewriting(rows)
        assert len(step) == 2 * len(rows)
        assert (np.diff(step.wanted.text) < 0).any()
        assert (np.diff(step.wanted.epsilon) < 0).any()
    assert all(wave.stop - wave.start <= audit.spec.block_size + 1 for wave in audit.history)
