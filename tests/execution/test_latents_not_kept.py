"""Latents that are too large to keep: attacked on the spot, made again for whoever comes later."""

import json
import signal
import subprocess
import sys
from types import SimpleNamespace

import polars as pl
import pytest
import yaml

from engine_examples import Backwards
from helpers import (
    HERE,
    TABLES,
    FileEngine,
    Stop,
    make_spec,
    sentences,
    snapshot,
    stopped,
    tables,
)
from latent_examples import BYTES, Encoding, make_latent_work
from tedaudit.api import run
from tedaudit.errors import RunDirectoryError
from tedaudit.execution import audited_rewrites, runner
from tedaudit.execution.engines.processes import ProcessEngine
from tedaudit.execution.engines.serial import SerialEngine
from tedaudit.execution.replay import replay
from tedaudit.execution.work import main as work
from tedaudit.execution.work_folder import FolderEngine, write_work
from tedaudit.forecast.forecast import plan_audit
from tedaudit.mechanisms.adept import Adept
from tedaudit.store import kept_latents
from tedaudit.store.directory import RunDirectory

RESAMPLED = "py:latent_examples:ResampledLatent"


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """An audit whose latents are small enough to keep."""
    root = tmp_path_factory.mktemp("kept")
    run(make_latent_work(root))
    return root


@pytest.fixture
def small(monkeypatch):
    """Keep next to nothing; count from here what the mechanism is asked for."""
    monkeypatch.setattr(kept_latents, "KEPT_BYTES", 50 * BYTES)
    Encoding.asked.clear()


@pytest.fixture
def held(monkeypatch):
    """The bytes of latents in memory after every part, and whose they are."""
    found = SimpleNamespace(sizes=[], by=set())
    append = audited_rewrites.AuditedRewrites.append

    def spy(self, *arguments):
        differing = append(self, *arguments)
        found.sizes.append(self.held_bytes)
        found.by.add(self)
        return differing

    monkeypatch.setattr(audited_rewrites.AuditedRewrites, "append", spy)
    return found


def latents(root):
    """Return the latents in all tables of audited rewrites, those that are there."""
    parts = sorted(root.glob("rewrites/**/*.parquet"))
    return [one for path in parts for one in pl.read_parquet(path)["latent"].to_list() if one is not None]


def without_latents(root):
    """Return all tables of a run, latents left out."""
    found = tables(root)
    return {name: [r[:-1] for r in rows] if "rewrites/" in name else rows for name, rows in found.items()}


def guesses(root):
    return {name: content for name, (content, _) in snapshot(root, "guesses/**/*.parquet").items()}


def told(root):
    return json.loads((root / "manifest.json").read_text()).get("latents")


# --- what is stored, and what attacks see


@pytest.mark.parametrize("engine", ["serial", "processes", "backwards", "files"])
def test_guesses_are_those_of_a_run_that_keeps_latents_and_none_is_on_disk(tmp_path, kept, small, engine):
    spec = make_latent_work(tmp_path / "run")
    if engine == "processes":
        with ProcessEngine(2) as workers:
            run(spec, workers)
    else:
        engines = {"serial": SerialEngine(), "backwards": Backwards(7), "files": FileEngine(tmp_path)}
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
    monkeypatch.setattr(kept_latents, "KEPT_BYTES", 100 * BYTES)
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
    monkeypatch.setattr(kept_latents, "KEPT_BYTES", 0)
    run(make_latent_work(tmp_path / "not", plans=plans))
    assert guesses(tmp_path / "not") == guesses(tmp_path / "kept")
    assert without_latents(tmp_path / "not") == without_latents(tmp_path / "kept")


def test_a_real_model_gives_the_same_guesses_in_a_run_that_was_stopped(tmp_path, monkeypatch):
    spec = {
        "mechanisms": [Adept(noise="laplace", laplace_sensitivity="l2")],
        "attacks": ["internal", "likelihood"], "trials": 40, "epsilons": [20, 500], "block": 20,
    }  # fmt: skip
    run(make_spec(tmp_path / "kept", **spec))
    monkeypatch.setattr(kept_latents, "KEPT_BYTES", 1000)
    folder = stopped(make_spec(tmp_path / "not", **spec), 2).root
    result = run(make_spec(folder, **spec))
    assert guesses(folder) == guesses(tmp_path / "kept")
    assert without_latents(folder) == without_latents(tmp_path / "kept")
    assert latents(folder) == []
    assert max(finding.counts.correct for finding in result) > 30  # latents told the attacks something


# --- memory


@pytest.mark.parametrize(("room", "limit", "pieces"), [(1, 10**9, 1), (3, 10**9, 9), (3, 0, 3)])
def test_latents_are_held_until_attacks_have_seen_them_and_no_longer(
    tmp_path, kept, small, held, monkeypatch, room, limit, pieces
):
    monkeypatch.setattr(runner, "_HELD_BYTES", limit)
    run(make_latent_work(tmp_path, block=10), Backwards(room))  # the first one is done last
    assert (pieces - 1) * 10 * BYTES < max(held.sizes) <= pieces * 10 * BYTES
    if not limit:  # the size of a latent is known once the first ones are there
        assert max(held.sizes[2 * room :]) <= 10 * BYTES
    assert [one.held_bytes for one in held.by] == [0, 0]
    assert without_latents(tmp_path) == without_latents(kept)


def test_a_latent_that_is_nowhere_stops_the_run_and_is_not_taken_for_none(tmp_path, small, monkeypatch):
    monkeypatch.setattr(audited_rewrites.AuditedRewrites, "_hold", lambda *_: None)
    with pytest.raises(RunDirectoryError, match="30 rewrites of 'Encoding' lack the latent"):
        run(make_latent_work(tmp_path))


# --- a kill, more trials, another attack


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 8, 12])
@pytest.mark.parametrize("block", [30, 41])
def test_a_run_that_was_stopped_goes_on_and_ends_the_same(tmp_path, kept, small, steps, block):
    left = steps

    def progress(what, *_):
        nonlocal left
        left -= bool(what)
        if left == 0:
            raise Stop

    with pytest.raises(Stop):
        run(make_latent_work(tmp_path), progress=progress)
    before = len(Encoding.asked)
    spec = make_latent_work(tmp_path, block=block)
    [part] = plan_audit(spec, timing=False).work.rewriting
    run(spec)
    assert len(Encoding.asked) - before == part.audited
    assert part.audited <= 200 - before + 2 * 30  # no more is made again than what no attack had seen
    assert without_latents(tmp_path) == without_latents(kept)
    assert (latents(tmp_path), told(tmp_path)["Encoding"]["differing"]) == ([], 0)
    assert told(tmp_path)["Encoding"]["not_kept"] == len(latents(kept))


@pytest.mark.timeout(300)
def test_after_a_kill_at_any_file_the_same_command_gives_the_same_files(tmp_path):
    (tmp_path / "texts.txt").write_text("\n".join(sentences(40)))
    settings = {
        "corpus": {"name": "py:tedaudit.corpora.files:Files", "path": str(tmp_path / "texts.txt")},
        "mechanisms": ["py:latent_examples:Encoding"], "attacks": ["py:helpers:NearestLatent"],
        "epsilons": [1, 4], "plans": [{"k": 2, "lambda": 0}], "trials": 40, "block": 20,
    }  # fmt: skip
    (tmp_path / "audit.yaml").write_text(yaml.safe_dump(settings))
    script = (
        "import sys, killing, latent_examples; from tedaudit.store import kept_latents; "
        "kept_latents.KEPT_BYTES = 0; killing.kill_at_every_file(*sys.argv[1:])"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "audit.yaml"), str(tmp_path / "runs")]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True)
    *killed, last = json.loads(done.stdout)
    assert last["killed"] == 0
    assert len(killed) > 15
    whole = snapshot(tmp_path / "runs" / f"{len(killed) + 1:03d}", TABLES)
    for moment in killed:
        root = tmp_path / "runs" / moment["folder"][-3:]
        assert moment["killed"] == signal.SIGKILL
        assert (moment["looked"], moment["resumed"]) == (0, 0), done.stderr
        files = snapshot(root, TABLES)
        assert {name: file[0] for name, file in files.items()} == {n: f[0] for n, f in whole.items()}
        assert (latents(root), told(root)["Encoding"]["differing"]) == ([], 0)


def test_an_attack_that_is_added_later_sees_what_the_others_saw(tmp_path, kept, small):
    run(make_latent_work(tmp_path, attacks=["py:helpers:SharedWords"]))
    before = snapshot(tmp_path, "rewrites/**/*")
    forecast = plan_audit(make_latent_work(tmp_path), timing=False)
    assert (len(Encoding.asked), forecast.work.rewriting[0].audited) == (200, 200)
    run(make_latent_work(tmp_path))
    assert (len(Encoding.asked), len(set(Encoding.asked))) == (400, 200)
    assert snapshot(tmp_path, "rewrites/**/*") == before
    assert guesses(tmp_path) == guesses(kept)
    run(make_latent_work(tmp_path))
    assert len(Encoding.asked) == 400  # and no third time


def test_an_attack_that_waits_for_own_rewrites_has_latents_kept_or_made_again(tmp_path, small):
    attacks = ["py:helpers:NearestLatent", RESAMPLED]
    run(make_latent_work(tmp_path / "both", attacks=attacks))
    assert len(latents(tmp_path / "both")) > 170
    run(make_latent_work(tmp_path / "later", attacks=attacks[:1]))
    assert latents(tmp_path / "later") == []
    run(make_latent_work(tmp_path / "later", attacks=attacks))
    assert guesses(tmp_path / "later") == guesses(tmp_path / "both")
    assert without_latents(tmp_path / "later") == without_latents(tmp_path / "both")


def test_it_is_given_them_on_the_spot_although_own_rewrites_of_new_trials_are_missing(
    tmp_path, small, monkeypatch, held
):
    monkeypatch.setattr(Encoding, "__module__", "tedaudit.mechanisms.another")  # so that draws go by text
    attacks = ["py:helpers:NearestLatent", RESAMPLED]
    for name in ("not", "kept"):
        for changes in ({"attacks": attacks[:1]}, {"attacks": attacks, "trials": 200}):
            run(make_latent_work(tmp_path / name, mechanisms=[Encoding()], **changes))
        monkeypatch.setattr(kept_latents, "KEPT_BYTES", 10**9)
    assert guesses(tmp_path / "not") == guesses(tmp_path / "kept")
    assert 20 * BYTES < max(held.sizes) <= 30 * BYTES


def test_latents_of_own_rewrites_are_never_given_and_not_kept_if_they_are_large(tmp_path, monkeypatch):
    run(make_latent_work(tmp_path / "kept", attacks=["resample"]))
    monkeypatch.setattr(kept_latents, "KEPT_BYTES", 10)
    run(make_latent_work(tmp_path / "not", attacks=["resample"]))
    assert guesses(tmp_path / "not") == guesses(tmp_path / "kept")
    found = {}
    for name in ("kept", "not"):
        parts = (tmp_path / name).glob("own_rewrites/**/*.parquet")
        found[name] = sum(pl.read_parquet(path)["latent"].count() for path in parts)
    assert found["kept"] > 50
    assert found["not"] == 0


def test_more_trials_leave_the_latents_that_were_kept_where_they_are(tmp_path, monkeypatch):
    run(make_latent_work(tmp_path / "whole", trials=200))
    monkeypatch.setattr(kept_latents, "KEPT_BYTES", 150 * BYTES)
    run(make_latent_work(tmp_path / "run"))
    number = len(latents(tmp_path / "run"))
    assert number > 170
    run(make_latent_work(tmp_path / "run", trials=200))
    assert len(latents(tmp_path / "run")) == number
    assert told(tmp_path / "run")["Encoding"]["not_kept"] == len(latents(tmp_path / "whole")) - number
    assert without_latents(tmp_path / "run") == without_latents(tmp_path / "whole")
    run(make_latent_work(tmp_path / "run", trials=200, attacks=["likelihood"]))
    run(make_latent_work(tmp_path / "whole", trials=200, attacks=["likelihood"]))
    assert without_latents(tmp_path / "run") == without_latents(tmp_path / "whole")


class Restless(Encoding):
    """Gives another text each time."""

    def rewrite(self, draws):
        made = super().rewrite(draws)
        return [
            type(one)(f"{one.text} {len(self.asked)}", latent=one.latent, error=one.error) for one in made
        ]


def test_a_mechanism_that_does_not_repeat_itself_is_named(tmp_path, small):
    spec = {"mechanisms": [Restless()], "epsilons": [1]}
    run(make_latent_work(tmp_path, **spec, attacks=["py:helpers:SharedWords"]))
    result = run(make_latent_work(tmp_path, **spec))
    assert told(tmp_path)["encoding"]["differing"] == 100
    assert any("100 rewrites gave another text than the stored one" in note for note in result.notes)


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
        run(spec, FolderEngine(folder))
        assert Encoding.asked == []
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
