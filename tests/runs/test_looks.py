"""Looks: whether results may have been seen is recorded, also for a run that was never finished."""

from helpers import make_spec, stopped
from tedaudit.api import run
from tedaudit.runs.directory import RunDirectory


def looks(folder):
    (plan,) = RunDirectory(folder).manifest()["plans"].values()
    return plan["looks"]


def test_a_finished_run_counts_as_looked_at(tmp_path):
    run(make_spec(tmp_path / "run"))
    assert looks(tmp_path / "run") == [100]


def test_an_unfinished_run_that_is_extended_counts_as_looked_at(tmp_path):
    stopped(make_spec(tmp_path / "run"), 2)
    assert looks(tmp_path / "run") == []
    (finding,) = run(make_spec(tmp_path / "run", trials=150))
    assert looks(tmp_path / "run") == [100, 150]
    assert finding.bound.any_time


def test_an_unfinished_run_that_goes_on_as_it_was_begun_has_had_no_look(tmp_path):
    stopped(make_spec(tmp_path / "run"), 2)
    (finding,) = run(make_spec(tmp_path / "run"))
    assert looks(tmp_path / "run") == [100]
    assert not finding.bound.any_time


def test_a_run_that_was_stopped_before_its_first_guess_has_had_no_look(tmp_path):
    spec = make_spec(tmp_path / "run", attacks=[])
    run(spec)
    (finding,) = run(make_spec(tmp_path / "run", trials=150))
    assert not finding.bound.any_time
