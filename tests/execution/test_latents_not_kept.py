"""Latents that are too large to keep: attacked on the spot, made again for whoever comes later."""

import pytest

from engine_examples import Backwards
from helpers import (
    TABLES,
    FreshProcesses,
    make_spec,
    snapshot,
    stopped,
    tables,
)
from latent_examples import (
    BYTES,
    Encoding,
    guesses,
    latents,
    make_latent_work,
    told,
    without_latents,
)
from tedaudit.api import run
from tedaudit.execution.engines.processes import ProcessEngine
from tedaudit.execution.engines.serial import SerialEngine
from tedaudit.execution.work import main as work
from tedaudit.execution.work_folder import REPEATED, write_work
from tedaudit.mechanisms.adept import Adept
from tedaudit.releasing.replay import replay
from tedaudit.store import rewrites
from tedaudit.store.directory import RunDirectory

# --- what is stored, and what attacks see


@pytest.mark.parametrize("engine", ["serial", "processes", "backwards", "files"])
def test_guesses_are_those_of_a_run_that_keeps_latents_and_none_is_on_disk(tmp_path, kept, small, engine):
    spec = make_latent_work(tmp_path / "run")
    if engine == "processes":
        with ProcessEngine(2) as workers:
            run(spec, workers)
    else:
        engines = {"serial": SerialEngine(), "backwards": Backwards(7), "files": FreshProcesses()}
        run(spec, engines[engine])
    assert guesses(tmp_path / "run") == guesses(kept)
    assert without_latents(tmp_path / "run") == without_latents(kept)
    assert (latents(tmp_path / "run"), len(latents(kept)) > 170) == ([], True)
    if engine == "serial":
        assert len(Encoding.asked) == len(set(Encoding.asked)) == 200  # each once


def test_manifest_and_report_say_what_was_not_kept(tmp_path, kept, small):
    result = run(make_latent_work(tmp_path))
    number = len(latents(kept))
    assert told(tmp_path) == {"Encoding": {"not_kept": number, "bytes": BYTES, "differing": 0}}
    [note] = [note for note in result.notes if "not kept" in note]
    assert note.startswith(f"Encoding: the latents of {number} rewrites, {BYTES} bytes each")
    assert told(kept) is None


def test_latents_that_fit_are_kept_and_nothing_is_said(tmp_path, kept, monkeypatch):
    monkeypatch.setattr(rewrites, "KEPT_BYTES", 100 * BYTES)
    run(make_latent_work(tmp_path))
    assert snapshot(tmp_path, TABLES).keys() == snapshot(kept, TABLES).keys()
    assert tables(tmp_path) == tables(kept)
    assert told(tmp_path) is None


def test_a_mechanism_that_does_not_say_that_it_has_latents_keeps_them(tmp_path, small):
    run(make_latent_work(tmp_path, mechanisms=["py:helpers:Latents"], attacks=["py:helpers:NearestLatent"]))
    assert len(latents(tmp_path)) == 200


def test_two_plans_that_share_rewrites_see_the_same_latents(tmp_path, monkeypatch):
    plans = [{"k": 3, "lambda": 0}, {"k": 2, "lambda": 0}]
    run(make_latent_work(tmp_path / "kept", plans=plans))
    monkeypatch.setattr(rewrites, "KEPT_BYTES", 0)
    run(make_latent_work(tmp_path / "not", plans=plans))
    assert guesses(tmp_path / "not") == guesses(tmp_path / "kept")
    assert without_latents(tmp_path / "not") == without_latents(tmp_path / "kept")


def test_a_real_model_gives_the_same_guesses_in_a_run_that_was_stopped(tmp_path, monkeypatch):
    spec = {
        "mechanisms": [Adept(noise="laplace", laplace_sensitivity="l2")],
        "attacks": ["internal", "likelihood"], "trials": 40, "epsilons": [20, 500], "block": 20,
    }  # fmt: skip
    run(make_spec(tmp_path / "kept", **spec))
    monkeypatch.setattr(rewrites, "KEPT_BYTES", 1000)
    folder = stopped(make_spec(tmp_path / "not", **spec), 2).root
    result = run(make_spec(folder, **spec))
    assert guesses(folder) == guesses(tmp_path / "kept")
    assert without_latents(folder) == without_latents(tmp_path / "kept")
    assert latents(folder) == []
    assert max(finding.counts.correct for finding in result) > 30  # latents told the attacks something


# --- other ways to a latent


def test_work_that_is_done_elsewhere_brings_its_latents(tmp_path, kept, small):
    folder = tmp_path / "work"
    for attacks in (
        ["py:helpers:SharedWords"],
        ["py:helpers:NearestLatent", "internal", "py:helpers:SharedWords"],
    ):
        spec = make_latent_work(tmp_path / "run", attacks=attacks)
        _, waiting = write_work(spec, folder)
        assert waiting == 4  # blocks: what was made before and not kept is to be made again
        work([str(folder)])
        Encoding.asked.clear()
        run(spec, work=folder)
        assert len(Encoding.asked) == REPEATED * waiting  # and no more is made here
        for path in folder.iterdir():
            path.unlink()
    assert guesses(tmp_path / "run") == guesses(kept)
    assert latents(tmp_path / "run") == []


def test_a_trial_is_replayed_with_the_latent_that_was_not_kept(tmp_path, kept, small):
    run(make_latent_work(tmp_path))
    one, other = (replay(RunDirectory(root), 7, {"attack": "internal"}) for root in (tmp_path, kept))
    assert [row.scores for row in one] == [row.scores for row in other]
    assert all(row.same for row in one)
    assert len({score for row in one for score in row.scores}) > 2
