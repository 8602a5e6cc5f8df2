"""Latents are made again where an attack needs them, and kept where a mechanism cannot make them again."""

import json
import signal
import subprocess
import sys
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
import yaml

from engine_examples import Backwards, list_contents
from helpers import HERE, FreshProcesses, Stop, make_spec, sentences, snapshot, stopped
from latent_examples import RESAMPLED, Encoding, Remaking, latents, make_latent_work, without_latents
from tedaudit.api import run
from tedaudit.errors import ContractError
from tedaudit.mechanisms.adept import Adept
from tedaudit.plugins.batches import Ragged
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.engines import ProcessEngine, SerialEngine
from tedaudit.runs.preparation import prepare
from tedaudit.runs.schedule import open_schedules
from tedaudit.studies.forecast.forecast import plan_audit
from tedaudit.studies.replay import replay

LATER = {"name": "py:latent_examples:Remaking", "label": "Encoding"}  # tables have the same names
SHOWN = ["py:helpers:NearestLatent", "internal"]  # attacks that see latents


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """An audit of a mechanism that cannot make its latents again."""
    root = tmp_path_factory.mktemp("kept")
    run(make_latent_work(root))
    return root


@pytest.fixture(autouse=True)
def _count_from_here():
    Encoding.asked.clear()
    Remaking.remade.clear()


def remaking(out, **changes):
    """Return the same audit of one that can."""
    return make_latent_work(out, **{"mechanisms": [LATER]} | changes)


def count_rewritten():
    """Return how many rewrites were made, those for a latent alone left out."""
    return len(Encoding.asked) - len(Remaking.remade)


# --- what is stored, and what attacks see


@pytest.mark.parametrize("engine", ["serial", "processes", "backwards", "fresh"])
def test_guesses_are_those_on_latents_that_were_kept_and_none_is_on_disk(tmp_path, kept, engine):
    if engine == "processes":
        with ProcessEngine(2) as workers:
            run(remaking(tmp_path), workers)
    else:
        run(
            remaking(tmp_path),
            {"serial": SerialEngine(), "backwards": Backwards(7), "fresh": FreshProcesses()}[engine],
        )
    assert without_latents(tmp_path) == without_latents(kept)
    assert (latents(tmp_path), len(latents(kept)) > 170) == ([], True)
    if engine == "serial":
        assert count_rewritten() == 200  # each once
        assert len(Remaking.remade) == len(SHOWN) * 200  # and not for those who see no latent


def test_a_mechanism_that_cannot_make_them_again_keeps_them(tmp_path):
    run(make_latent_work(tmp_path, mechanisms=["py:helpers:Latents"], attacks=SHOWN[:1]))
    assert len(latents(tmp_path)) == 200


class Inheriting(Remaking):
    """Changes what it draws; the latents that it inherits are not its own any more."""

    def rewrite(self, draws):
        return super().rewrite(draws)


def test_latents_that_were_written_for_other_rewrites_are_not_made_but_kept(tmp_path, kept):
    run(make_latent_work(tmp_path, mechanisms=[{"name": "py:test_latents:Inheriting", "label": "Encoding"}]))
    assert without_latents(tmp_path) == without_latents(kept)
    assert latents(tmp_path) == latents(kept)
    assert Remaking.remade == []


def test_two_plans_that_share_rewrites_see_the_same_latents(tmp_path):
    plans = [{"k": 3, "lambda": 0}, {"k": 2, "lambda": 0}]
    run(make_latent_work(tmp_path / "kept", plans=plans))
    run(remaking(tmp_path / "not", plans=plans))
    assert without_latents(tmp_path / "not") == without_latents(tmp_path / "kept")


class Keeping(Adept):
    """The same, but one that is not believed to make its latents again."""

    def rewrite(self, draws):
        return super().rewrite(draws)


def test_a_real_model_gives_the_same_guesses_in_a_run_that_was_stopped(tmp_path):
    spec = {"attacks": ["internal", "likelihood"], "trials": 40, "epsilons": [20, 500], "block": 20}
    settings = {"noise": "laplace", "laplace_sensitivity": "l2"}
    run(make_spec(tmp_path / "kept", mechanisms=[Keeping(**settings)], **spec))
    folder = stopped(make_spec(tmp_path / "not", mechanisms=[Adept(**settings)], **spec), 2).root
    result = run(make_spec(folder, mechanisms=[Adept(**settings)], **spec))
    assert without_latents(folder) == without_latents(tmp_path / "kept")
    assert (latents(folder), len(latents(tmp_path / "kept"))) == ([], 80)
    assert max(finding.counts.correct for finding in result) > 30  # latents told the attacks something


def test_an_attack_that_sees_large_latents_is_given_few_rows_at_a_time(tmp_path):
    """They are in memory for all rows of a step, made again or not, and one may take a megabyte."""
    for name, mechanism in (("kept", "py:latent_examples:Encoding"), ("not", LATER)):
        spec = make_latent_work(
            tmp_path / name, mechanisms=[mechanism], trials=20_000, block=0, attacks=[SHOWN[0], "lexical"]
        )
        audit = prepare(spec)
        [schedule] = open_schedules(audit)
        steps = schedule.list_guessing(range(20_000))
        most = {title: max(len(s) for s in steps if s.title == title) for title in schedule.job.attacks}
        assert most == {"NearestLatent": audit.spec.block_size, "lexical": 20_000}


# --- other ways to a latent


def test_a_trial_is_replayed_with_the_latent_that_no_table_has(tmp_path, kept):
    run(remaking(tmp_path))
    one, other = (replay(RunDirectory(root), 7, {"attack": "internal"}) for root in (tmp_path, kept))
    assert [row.scores for row in one] == [row.scores for row in other]
    assert all(row.same for row in one)
    assert len({score for row in one for score in row.scores}) > 2


# --- runs that were stopped, killed or extended


@pytest.mark.parametrize(("steps", "block"), [(1, 30), (2, 41), (3, 30), (5, 41), (8, 30), (12, 41)])
def test_a_run_that_was_stopped_goes_on_and_ends_the_same(tmp_path, kept, steps, block):
    left = steps

    def progress(what, *_):
        nonlocal left
        left -= bool(what)
        if left == 0:
            raise Stop

    with pytest.raises(Stop):
        run(remaking(tmp_path), progress=progress)
    before = count_rewritten()
    spec = remaking(tmp_path, block=block)
    [part] = plan_audit(spec).work.rewriting
    run(spec)
    assert count_rewritten() - before == part.audited == 200 - before  # none is made a second time
    assert without_latents(tmp_path) == without_latents(kept)
    assert latents(tmp_path) == []


def test_after_a_kill_at_any_file_the_same_command_gives_the_same_files(tmp_path, is_thorough):
    (tmp_path / "texts.txt").write_text("\n".join(sentences(40)))
    settings = {
        "corpus": {"name": "py:tedaudit.corpora.files:Files", "path": str(tmp_path / "texts.txt")},
        "mechanisms": ["py:latent_examples:Remaking"], "attacks": ["py:helpers:NearestLatent"],
        "epsilons": [1, 4], "plans": [{"k": 2, "lambda": 0}], "trials": 40, "block": 20,
    }  # fmt: skip
    (tmp_path / "audit.yaml").write_text(yaml.safe_dump(settings))
    script = "import sys, killing; killing.kill_at_files(*sys.argv[1:])"
    which = "all" if is_thorough else "tables"
    command = [sys.executable, "-c", script, str(tmp_path / "audit.yaml"), str(tmp_path / "runs"), which]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True)
    *killed, last = json.loads(done.stdout)
    assert last["killed"] == 0
    assert len(killed) > (15 if is_thorough else 3)
    whole = list_contents(tmp_path / "runs" / "whole")
    for moment in killed:
        root = tmp_path / "runs" / moment["folder"][-3:]
        assert moment["killed"] == signal.SIGKILL
        assert (moment["looked"], moment["resumed"]) == (0, 0), done.stderr
        assert list_contents(root) == whole
        assert latents(root) == []


def test_an_attack_that_is_added_later_sees_what_the_others_saw(tmp_path, kept):
    run(remaking(tmp_path, attacks=["py:helpers:SharedWords"]))
    assert (count_rewritten(), Remaking.remade) == (200, [])
    before = snapshot(tmp_path, "rewrites/**/*")
    spec = make_latent_work(tmp_path).attacks
    assert plan_audit(remaking(tmp_path, attacks=spec)).work.rewriting[0].rows == 0
    run(remaking(tmp_path))
    assert (count_rewritten(), len(Remaking.remade)) == (200, 400)
    assert snapshot(tmp_path, "rewrites/**/*") == before
    assert without_latents(tmp_path) == without_latents(kept)
    run(remaking(tmp_path))
    assert len(Remaking.remade) == 400  # and no second time


@pytest.mark.parametrize("is_foreign", [True, False])
def test_an_attack_that_waits_for_own_rewrites_has_latents_too(tmp_path, monkeypatch, is_foreign):
    if not is_foreign:  # so that draws go by text
        monkeypatch.setattr(Encoding, "__module__", "tedaudit.mechanisms.another")
        monkeypatch.setattr(Remaking, "__module__", "tedaudit.mechanisms.another")
    attacks = ["py:helpers:NearestLatent", RESAMPLED]
    for name, kind in (("not", Remaking), ("kept", Encoding)):
        for changes in ({"attacks": attacks[:1]}, {"attacks": attacks, "trials": 200}):
            run(make_latent_work(tmp_path / name, mechanisms=[kind()], **changes))
    assert without_latents(tmp_path / "not") == without_latents(tmp_path / "kept")
    assert (latents(tmp_path / "not"), len(latents(tmp_path / "kept")) > 340) == ([], True)


@pytest.mark.parametrize("kind", ["Encoding", "Remaking"])
def test_latents_of_own_rewrites_are_never_given_and_so_never_kept(tmp_path, kind):
    run(make_latent_work(tmp_path, mechanisms=[f"py:latent_examples:{kind}"], attacks=["resample"]))
    parts = [pl.read_parquet(path) for path in tmp_path.glob("own_rewrites/**/*.parquet")]
    assert sum(map(len, parts)) > 50
    assert sum(part["latent"].count() for part in parts) == 0


def test_more_trials_leave_what_is_there_as_it_is(tmp_path):
    run(remaking(tmp_path / "run"))
    before = snapshot(tmp_path / "run", "[rg]*es/**/part-*")
    run(remaking(tmp_path / "run", trials=200))
    after = snapshot(tmp_path / "run", "[rg]*es/**/part-*")
    assert {name: after[name] for name in before} == before
    run(make_latent_work(tmp_path / "whole", trials=200))
    assert without_latents(tmp_path / "run") == without_latents(tmp_path / "whole")


# --- what is no latent is refused


class Mistaken(Encoding):
    """Makes latents again that are none."""

    made: ClassVar[object] = None

    def latents(self, draws):
        if isinstance(self.made, Exception):
            raise self.made
        return self.made


@pytest.mark.parametrize(
    "made",
    [None, Ragged.absent(3, np.float32), Ragged.absent(100, np.float64), [None] * 100, ValueError("no luck")],
    ids=["nothing", "too few", "in float64", "a list", "an error"],
)
def test_latents_that_are_none_are_refused_with_the_name_of_the_mechanism(tmp_path, monkeypatch, made):
    monkeypatch.setattr(Mistaken, "made", made)
    spec = make_latent_work(tmp_path, mechanisms=["py:test_latents:Mistaken"], epsilons=[1], block=100)
    wanted = "no luck" if isinstance(made, Exception) else "it must return a tedaudit.plugins.batches.Ragged"
    with pytest.raises(ContractError, match=wanted) as caught:
        run(spec)
    assert "Mistaken'" in str(caught.value)
