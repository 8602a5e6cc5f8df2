import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import binom, norm

import tedaudit
from tedaudit.api import run
from tedaudit.attacks.internal import Internal
from tedaudit.corpora.files import Given
from tedaudit.errors import SpecError
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.values import Card, Claim, Observation, Rewrite
from tedaudit.runs.spec.model import parse_spec
from tedaudit.seeding import normals
from tedaudit.testing import check_attack

PLACES = {"here": (0.0, 0.0, 3.0), "there": (3.0, 4.0, 3.0), "far away": (30.0, -7.0, 1.0)}


@dataclass(frozen=True)
class Noisy:
    """A text stands for a place; the place is released with Gaussian noise."""

    sigma: float = 2.0
    card: ClassVar[Card] = Card(name="noisy", summary="Places with noise.")

    def claim(self, epsilon):
        return Claim(epsilon, "sentence", delta=1e-5)

    def rewrite(self, draws):
        noise = normals([draw.key for draw in draws], 3)
        return [
            Rewrite("", latent=np.float32(self.encode([draw.text])[0] + self.sigma * row), units=1)
            for draw, row in zip(draws, noise, strict=True)
        ]

    def encode(self, texts):
        return np.array([PLACES.get(text, (float(len(text)), 1.0, 1.0)) for text in texts], dtype=np.float32)

    def log_density(self, latent, latents, epsilon):
        return -((latents - latent) ** 2).sum(axis=1) / (2 * self.sigma**2)


@pytest.mark.parametrize("distance", ["cosine", "l2"])
def test_the_contract_is_kept(distance):
    assert check_attack(Internal(distance), mechanism=Noisy()).unusable == 0


@pytest.mark.parametrize("sigma", [1.0, 2.5, 6.0])
def test_l2_is_right_as_often_as_the_normal_distribution_says(sigma):
    trials, spec = 4000, {"name": "internal", "distance": "l2"}
    found = tedaudit.audit(Noisy(sigma), ["here", "there"], epsilon=1.0, attack=[spec], trials=trials)
    expected = norm.cdf(math.dist(PLACES["here"], PLACES["there"]) / (2 * sigma))
    low, high = binom.ppf([1e-6, 1 - 1e-6], trials, expected)
    assert low <= next(iter(found)).counts.correct <= high


def test_scores_are_cosines_and_negative_squared_distances():
    seen = [Observation(Rewrite("", latent=np.float32([3.0, 4.0, 3.0])), ("here", "there"), 0)]
    scores = {}
    for distance in ("cosine", "l2"):
        attack = Internal(distance)
        attack.meet(Noisy(), 1.0)
        scores[distance] = attack.guess(seen)[0].scores
    assert scores["l2"] == pytest.approx([-25.0, 0.0])
    assert scores["cosine"] == pytest.approx([3 / math.sqrt(34), 1.0], abs=1e-6)


def test_an_output_without_a_latent_names_nobody():
    attack = Internal()
    attack.meet(Noisy(), 1.0)
    guess = attack.guess([Observation(Rewrite("x"), ("here", "there"), 0)])[0]
    assert not guess.usable


def test_another_mechanism_has_other_latents():
    attack, seen = Internal("l2"), [Observation(Rewrite("", latent=np.float32([1, 1, 1])), ("a", "bb"), 0)]
    attack.meet(Noisy(), 1.0)
    first = attack.guess(seen)[0].scores

    class Other(Noisy):
        def encode(self, texts):
            return super().encode(texts) + 1

    attack.meet(Other(), 1.0)
    assert (attack.guess(seen)[0].scores != first).all()


def test_it_is_used_on_mechanisms_with_latents_only(tmp_path):
    spec = {
        "mechanisms": [Noisy(), WordRR()], "epsilons": [1.0], "trials": 20, "out": str(tmp_path / "run"),
        "attacks": ["internal", "lexical"], "corpus": {"name": "given", "live": Given(["here", "there"])},
    }  # fmt: skip
    assert {(row.label, row.attack) for row in run(parse_spec(spec))} == {
        ("noisy", "internal"), ("noisy", "lexical"), ("word-rr", "lexical"),
    }  # fmt: skip
    with pytest.raises(SpecError, match=r"'internal' fits no mechanism of this audit: .* latent"):
        tedaudit.audit("word-rr", ["here", "there"], epsilon=1.0, attack="internal", trials=20)
