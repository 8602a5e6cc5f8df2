"""Likelihoods that a run's own trials fail are tried again on fresh trials, wherever the model is."""

import numpy as np
import pytest

from engine_plugins import Scaled
from helpers import make_spec, sentences
from tedaudit.api import load_run, run
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.values import Card, Claim, Rewrite
from tedaudit.runs import likelihood_checks
from tedaudit.seeding import normals

WORDS = tuple(sorted({word for text in sentences(40) for word in text.split()}))[:12]


class GaussianLength:
    """Adds Gaussian noise to the length of a text; its density may be that of less noise."""

    card = Card(name="gaussian-length", summary="A noisy length.")

    def __init__(self, factor):
        self.factor = factor

    def claim(self, epsilon):
        return Claim(epsilon, "document", delta=1e-5)

    def encode(self, texts):
        return np.array([[len(text) / 10.0] for text in texts])

    def log_density(self, latent, latents, epsilon):
        return -((np.asarray(latents) - latent) ** 2).sum(axis=1) * epsilon**2 / 2 * self.factor

    def rewrite(self, draws):
        noise = normals([draw.key for draw in draws], 1)
        vectors = self.encode([draw.text for draw in draws])
        return [Rewrite("x", latent=v + n / d.epsilon) for d, n, v in zip(draws, noise, vectors, strict=True)]


def made(folder, mechanism, **changes):
    spec = {"mechanisms": [mechanism], "trials": 1000, "block": 0, "attacks": ["likelihood"], "epsilons": [2]}
    return run(make_spec(folder, **spec | changes))


def test_it_is_repeated_with_as_many_trials_as_the_run_has_and_not_twice(tmp_path, monkeypatch):
    result = made(tmp_path, Scaled(slots=4, vocabulary=WORDS))
    [told] = result.run.manifest()["likelihoods"]
    assert {**told, "calibration": None} == {
        "plan": "k2-lambda0", "mechanism": "word-rr", "epsilon": 2.0, "attack": "likelihood",
        "calibration": None,
    }  # fmt: skip
    assert 900 < told["calibration"]["guesses"] <= likelihood_checks.LEAST  # ties are left out
    own = result.findings[0].likelihood.first
    assert own.guesses < 600
    monkeypatch.setattr(likelihood_checks, "_play_again", None)  # would be called
    again = made(tmp_path, Scaled(slots=4, vocabulary=WORDS))
    assert again.run.manifest()["likelihoods"] == [told]


def test_fresh_trials_share_no_noise_and_no_secret_with_those_of_the_run(tmp_path):
    """Or a failure by chance would be repeated: both checks would be the same one."""
    seen = []

    class Watched(Scaled):
        def rewrite(self, draws):
            seen.append([(draw.text, draw.key) for draw in draws])
            return super().rewrite(draws)

    result = made(tmp_path, Watched(slots=4, vocabulary=WORDS))
    plan = result.run.read_plan("k2-lambda0")
    calls = [pair for call in seen for pair in call]
    assert len(calls) == len(set(calls)) == 1000 + likelihood_checks.LEAST
    fresh = [text for text, _ in calls[1000:]]
    texts = result.run.corpus().texts
    assert sorted(fresh[:500]) != sorted(texts[source] for source in plan.source[:500])


def test_an_engine_elsewhere_gives_the_same_answer(tmp_path):
    mechanism = {"name": "py:engine_plugins:Scaled", "slots": 4, "vocabulary": list(WORDS)}
    here = made(tmp_path / "here", mechanism)
    there = made(tmp_path / "there", mechanism, engine={"name": "processes", "workers": 2})
    assert here.run.manifest()["likelihoods"] == there.run.manifest()["likelihoods"]
    assert all(finding.refuted for finding in there)


@pytest.mark.parametrize(("factor", "refuted"), [(1.0, False), (2.0, True), (0.5, True)])
def test_densities_of_latents_are_checked_too(factor, refuted, tmp_path):
    [finding] = made(tmp_path, GaussianLength(factor), trials=2000)
    assert bool(finding.refuted) == refuted
    assert [f.refuted for f in load_run(tmp_path)] == [finding.refuted]


def test_nothing_is_repeated_for_right_likelihoods(tmp_path):
    """Ten runs with other noise; at an error of .001 none of them fails."""
    for seed in range(10):
        [finding] = made(tmp_path / str(seed), WordRR(slots=4, vocabulary=WORDS), seed=seed, trials=500)
        assert not finding.likelihood.first.fails
        assert finding.likelihood.again is None
