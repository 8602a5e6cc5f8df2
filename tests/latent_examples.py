"""A mechanism with latents that says so, attacks on them, a small audit, and what its tables hold."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from helpers import Latents, NearestLatent, make_spec, tables, vector
from tedaudit.plugins.batches import Ragged
from tedaudit.plugins.values import Card, Guess, Rewrite
from tedaudit.seeding import normals, uniforms

RESAMPLED = "py:latent_examples:ResampledLatent"


@dataclass(frozen=True)
class Encoding(Latents):
    """Adds noise to a vector of a text, in float64; a tenth of the draws fails and has no latent."""

    asked: ClassVar[list[tuple[str, float, int]]] = []
    card: ClassVar[Card] = Card(name="encoding", summary="Noisy latents of an encoder.")

    def encode(self, texts):
        return np.array([vector(text) for text in texts])

    def log_density(self, latent, latents, epsilon):
        return -np.square(np.asarray(latents) - latent).sum(axis=1) / 2

    def rewrite(self, draws):
        self.asked.extend((draw.text, draw.epsilon, draw.key) for draw in draws)
        keys = [draw.key for draw in draws]
        noise, coins = normals(keys, 4) * self.scale, uniforms([key + 1 for key in keys], 1)[:, 0]
        return [
            Rewrite("", error="unlucky")
            if coin < 0.1
            else Rewrite(f"near {round(n[0], 2)}", latent=vector(draw.text) / draw.epsilon + n)
            for draw, n, coin in zip(draws, noise, coins, strict=True)
        ]


class Remaking(Encoding):
    """Makes its latents again."""

    remade: ClassVar[list[int]] = []

    def latents(self, draws):
        self.remade.extend(draw.key for draw in draws)
        return Ragged.of([rewrite.latent for rewrite in self.rewrite(draws)], np.float32)


@dataclass
class ResampledLatent:
    """Sees latents, and waits for rewrites of the candidates."""

    rewrites_each: ClassVar[int] = 1
    is_limited: ClassVar[bool] = False
    card: ClassVar[Card] = Card(name="resampled-latent", summary="Both.", sees=("text", "latent"))

    def unfit(self, mechanism):
        return ""

    def learn(self, own):
        self.own = len(own)

    def guess(self, seen):
        near = NearestLatent().guess
        blank = [
            type(one)(Rewrite("", latent=one.output.latent), one.candidates, one.tie_key) for one in seen
        ]
        return [Guess(guess.scores + self.own) for guess in near(blank)]


def make_latent_work(out, **changes):
    """Return an audit of a mechanism with latents, at two epsilons in several blocks."""
    settings = {
        "mechanisms": ["py:latent_examples:Encoding"],
        "attacks": ["py:helpers:NearestLatent", "internal", "py:helpers:SharedWords"],
        "plans": [{"k": 3, "lambda": 0}],
        "epsilons": [1, 4],
        "trials": 100,
        "block": 30,
    }
    return make_spec(out, **settings | changes)


def latents(root):
    """Return the latents in all tables of audited rewrites, those that are there."""
    parts = sorted(root.glob("rewrites/**/*.parquet"))
    return [one for path in parts for one in pl.read_parquet(path)["latent"].to_list() if one is not None]


def without_latents(root):
    """Return all tables of a run, latents left out."""
    found = tables(root)
    return {name: [r[:-1] for r in rows] if "rewrites/" in name else rows for name, rows in found.items()}
