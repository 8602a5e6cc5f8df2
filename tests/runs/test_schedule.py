"""What a job has left to do: every draw and row once, less what is there, and again what is lost."""

import numpy as np
import pytest

from engine_examples import Counting
from helpers import make_spec, stopped, tables
from tedaudit.api import run
from tedaudit.runs.listing import Listing
from tedaudit.runs.preparation import prepare
from tedaudit.runs.schedule import count_left, count_steps, open_schedules
from tedaudit.runs.steps import commit, open_worker

SETTINGS = {
    "epsilons": [1, 4],
    "attacks": ["py:helpers:SharedWords"],
    "trials": 400,
    "block": 100,
    "seed": 3,
}


def open_one(spec):
    """Return an audit, which notes what it set out to do, and the schedule of its job."""
    audit = prepare(spec)
    with audit.store.locked():
        audit.write()
        for job in audit.jobs:
            job.claim_tables()
    [schedule] = open_schedules(audit)
    return audit, schedule


def list_draws(step):
    columns = (step.wanted.text, step.wanted.replicate, step.wanted.epsilon)
    return [*zip(*(column.tolist() for column in columns), strict=True)]


def do(audit, steps, times=10**9):
    """Do so many steps and list their files."""
    worker, listing = open_worker(audit), Listing(audit.store.root)
    for step in steps[:times]:
        listing.add(commit(audit.store.root, worker.do(step)))


def everything(schedule):
    rows = range(len(schedule.job.plan))
    return (
        schedule.list_rewriting(rows),
        schedule.list_own(),
        schedule.list_guessing(rows),
        schedule.list_learning(rows),
    )


def test_steps_of_a_new_run_hold_every_draw_own_draw_and_guess_once(tmp_path):
    _, schedule = open_one(
        make_spec(tmp_path, **SETTINGS | {"attacks": ["py:helpers:SharedWords", "resample"]})
    )
    job = schedule.job
    assert schedule.waves == [range(at, at + 100) for at in range(0, 400, 100)]
    rewriting, own, guessing, learning = everything(schedule)
    draws = [one for step in rewriting for one in list_draws(step)]
    plan = [*zip(job.plan.source.tolist(), job.plan.replicate.tolist(), strict=True)]
    assert sorted(draws) == sorted((*pair, epsilon) for pair in plan for epsilon in (1.0, 4.0))
    own_draws = [one for step in own for one in list_draws(step)]
    assert len(own_draws) == len(set(own_draws)) == 2 * int(job.own_numbers.sum()) > 0
    for steps, title in ((guessing, "SharedWords"), (learning, "resample")):
        rows = [(float(step.epsilon), row) for step in steps for row in step.rows]
        assert sorted(rows) == [(epsilon, row) for epsilon in (1.0, 4.0) for row in range(400)]
        assert {step.title for step in steps} == {title}
    files = [name for step in rewriting + own for name in step.list_files().values()]
    files += [step.file for step in guessing + learning]
    assert len(files) == len(set(files))


def test_a_text_is_read_once_in_a_wave_and_its_draws_at_all_epsilons_stand_together(tmp_path):
    _, schedule = open_one(make_spec(tmp_path, **SETTINGS))
    for rows in schedule.waves:
        texts = [text for step in schedule.list_rewriting(rows) for text, *_ in list_draws(step)]
        assert texts == sorted(texts)


def test_rows_of_a_wave_are_guessed_in_their_own_order_and_read_just_the_files_that_they_are_in(tmp_path):
    _, schedule = open_one(make_spec(tmp_path, **SETTINGS))
    made = {name for step in everything(schedule)[0] for name in step.list_files().values()}
    for rows in schedule.waves:
        for step in schedule.list_guessing(rows):
            assert step.rows == rows
            assert np.array_equal(step.plan.source, schedule.job.plan.source[rows.start : rows.stop])
            assert set(step.files) <= made
            steps = schedule.list_rewriting(rows)
            assert set(step.files) == {one.list_files()[step.epsilon] for one in steps}


@pytest.mark.parametrize("parts", range(5))
def test_the_rest_is_what_is_not_listed_wherever_a_run_ended(tmp_path, parts):
    audit, schedule = open_one(make_spec(tmp_path, **SETTINGS))
    rewriting, _, guessing, _ = everything(schedule)
    do(audit, rewriting, parts)
    [rest] = open_schedules(audit)
    left = everything(rest)[0]
    assert [*map(list_draws, left)] == [*map(list_draws, rewriting[parts:])]
    do(audit, left)
    do(audit, guessing, parts)
    [rest] = open_schedules(audit)
    assert everything(rest)[0] == []
    assert [step.file for step in everything(rest)[2]] == [step.file for step in guessing[parts:]]
    do(audit, everything(rest)[2])
    assert not any(everything(open_schedules(audit)[0]))
    run(make_spec(tmp_path / "whole", **SETTINGS))
    assert tables(tmp_path / "whole") == {n: r for n, r in tables(tmp_path).items() if "whole/" not in n}


def test_what_is_lost_is_made_again_and_nothing_else(tmp_path):
    spec = make_spec(tmp_path, **SETTINGS | {"attacks": ["py:helpers:SharedWords", "resample"]})
    run(spec)
    before = {path: path.read_bytes() for path in tmp_path.glob("[rgo]*es/**/part-*")}
    lost = [
        tmp_path / "rewrites/word-rr/4/part-000001.parquet",
        next((tmp_path / "own_rewrites/word-rr/1").glob("part-*")),
        next((tmp_path / "guesses").glob("*/word-rr/1/resample/part-*")),
        sorted((tmp_path / "guesses").glob("*/word-rr/4/SharedWords/part-*"))[1],
    ]
    for path in lost:
        path.unlink()
    _, schedule = open_one(spec)
    rewriting, own, guessing, learning = everything(schedule)
    named = [name for step in rewriting + own for name in step.list_files().values()]
    named += [step.file for step in guessing + learning]
    assert sorted(tmp_path / name for name in named) == sorted(lost)
    engine = Counting()
    run(spec, engine)
    assert engine.results == 4
    assert {path: path.read_bytes() for path in tmp_path.glob("[rgo]*es/**/part-*")} == before


def test_a_step_makes_the_epsilons_that_lack_its_file_and_no_other(tmp_path):
    run(make_spec(tmp_path, **SETTINGS))
    (tmp_path / "rewrites/word-rr/1/part-000002.parquet").unlink()
    _, schedule = open_one(make_spec(tmp_path, **SETTINGS | {"epsilons": [1, 2, 4]}))
    made = {tuple(float(e) for e in step.list_files()) for step in everything(schedule)[0]}
    assert made == {(1.0, 2.0), (2.0,)}
    for step in everything(schedule)[0]:
        assert {epsilon for *_, epsilon in list_draws(step)} == {float(e) for e in step.list_files()}


def test_an_attack_that_learns_is_given_all_own_rewrites_of_its_stretch_and_no_later_ones(tmp_path):
    settings = SETTINGS | {"attacks": ["resample"], "trials": 30, "block": 0}
    run(make_spec(tmp_path, **settings))
    _, schedule = open_one(make_spec(tmp_path, **settings | {"trials": 400}))
    new = {name for step in schedule.list_own() for name in step.list_files().values()}
    assert new
    for step in schedule.list_learning(range(400)):
        table = step.learning.table.folder
        assert {name for name in new if name.startswith(f"{table}/")} <= set(step.learning.files)
        assert len(step.learning.files) > len(new) // 2
    (tmp_path / "guesses/k2-lambda0/word-rr/1/resample/part-000000000-000000030.parquet").unlink()
    _, schedule = open_one(make_spec(tmp_path, **settings | {"trials": 400}))
    [early] = [step for step in schedule.list_learning(range(400)) if step.rows == range(30)]
    assert not new & set(early.learning.files)


def test_counts_are_those_of_what_is_there(tmp_path):
    spec = make_spec(tmp_path, **SETTINGS)

    def count():
        _, schedule = open_one(spec)
        left = count_left([schedule])
        return (*count_steps([schedule]), left.rewrites, sum(n for *_, n in schedule.count_gaps()))

    assert count() == (1600, 1600, 800, 800)
    stopped(spec, 2)
    assert count() == (1600, 1600 - 2 * 100 - 2 * 100, 600, 600)
    run(spec)
    assert count() == (1600, 0, 0, 0)


def test_plans_of_a_mechanism_share_draws_and_these_are_counted_once(tmp_path):
    spec = make_spec(tmp_path, **SETTINGS | {"plans": [{"k": 2, "lambda": 0}, {"k": "all"}]})
    audit = prepare(spec)
    with audit.store.locked():
        audit.write()
    schedules = open_schedules(audit)
    pairs = {
        pair
        for one in schedules
        for pair in zip(one.job.plan.source.tolist(), one.job.plan.replicate.tolist(), strict=True)
    }
    assert 400 < len(pairs) < 800
    assert count_left(schedules).rewrites == 2 * len(pairs)
    assert count_steps(schedules) == (2 * len(pairs) + 1600,) * 2
    engine = Counting()
    run(spec, engine)
    assert engine.made == 2 * len(pairs)
