"""Latents that were not kept, in runs that were stopped, killed or extended: made again, and the same."""

import json
import signal
import subprocess
import sys

import polars as pl
import pytest
import yaml

from helpers import (
    HERE,
    TABLES,
    Stop,
    sentences,
    snapshot,
)
from latent_examples import (
    BYTES,
    RESAMPLED,
    Encoding,
    guesses,
    latents,
    make_latent_work,
    told,
    without_latents,
)
from tedaudit.api import run
from tedaudit.forecast.forecast import plan_audit
from tedaudit.store import rewrites


@pytest.mark.parametrize(("steps", "block"), [(1, 30), (2, 41), (3, 30), (5, 41), (8, 30), (12, 41)])
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
    [part] = plan_audit(spec).work.rewriting
    run(spec)
    assert len(Encoding.asked) - before == part.audited
    assert part.audited <= 200 - before + 2 * 30  # no more is made again than what no attack had seen
    assert without_latents(tmp_path) == without_latents(kept)
    assert (latents(tmp_path), told(tmp_path)["Encoding"]["differing"]) == ([], 0)
    assert told(tmp_path)["Encoding"]["not_kept"] == len(latents(kept))


def test_after_a_kill_at_any_file_the_same_command_gives_the_same_files(tmp_path, is_thorough):
    (tmp_path / "texts.txt").write_text("\n".join(sentences(40)))
    settings = {
        "corpus": {"name": "py:tedaudit.corpora.files:Files", "path": str(tmp_path / "texts.txt")},
        "mechanisms": ["py:latent_examples:Encoding"], "attacks": ["py:helpers:NearestLatent"],
        "epsilons": [1, 4], "plans": [{"k": 2, "lambda": 0}], "trials": 40, "block": 20,
    }  # fmt: skip
    (tmp_path / "audit.yaml").write_text(yaml.safe_dump(settings))
    script = (
        "import sys, killing, latent_examples; from tedaudit.store import rewrites as kept_latents; "
        "kept_latents.KEPT_BYTES = 0; killing.kill_at_files(*sys.argv[1:])"
    )
    which = "all" if is_thorough else "tables"
    command = [sys.executable, "-c", script, str(tmp_path / "audit.yaml"), str(tmp_path / "runs"), which]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True)
    *killed, last = json.loads(done.stdout)
    assert last["killed"] == 0
    assert len(killed) > (15 if is_thorough else 3)
    whole = snapshot(tmp_path / "runs" / "whole", TABLES)
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
    forecast = plan_audit(make_latent_work(tmp_path))
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
    tmp_path, small, monkeypatch
):
    monkeypatch.setattr(Encoding, "__module__", "tedaudit.mechanisms.another")  # so that draws go by text
    attacks = ["py:helpers:NearestLatent", RESAMPLED]
    for name in ("not", "kept"):
        for changes in ({"attacks": attacks[:1]}, {"attacks": attacks, "trials": 200}):
            run(make_latent_work(tmp_path / name, mechanisms=[Encoding()], **changes))
        monkeypatch.setattr(rewrites, "KEPT_BYTES", 10**9)
    assert guesses(tmp_path / "not") == guesses(tmp_path / "kept")


def test_latents_of_own_rewrites_are_never_given_and_not_kept_if_they_are_large(tmp_path, monkeypatch):
    run(make_latent_work(tmp_path / "kept", attacks=["resample"]))
    monkeypatch.setattr(rewrites, "KEPT_BYTES", 10)
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
    monkeypatch.setattr(rewrites, "KEPT_BYTES", 150 * BYTES)
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
