"""Runs of every kind have the rows that they have always had: a digest of each was written down once.

What is hashed is what a bound is computed from, and what was released: texts, codes, units and tokens of
rewrites; choices, ranks, usable and failed guesses. Scores and latents are left out: their last digits
belong to a processor; that engines agree on them too is tested elsewhere.
"""

import csv
import hashlib
import json

import pytest

from engine_examples import make_latents, make_work
from helpers import make_spec, sentences, tables
from latent_examples import BYTES, make_latent_work
from tedaudit.api import audit, run
from tedaudit.store import rewrites

REWRITES, GUESSES = slice(0, 6), (0, 2, 3, 4)  # without the latent; without margins, scores and places


class Counting:
    """A function that says how often it was called: the order of calls is in its outputs."""

    def __init__(self):
        self.calls = 0

    def __call__(self, text):
        self.calls += 1
        return f"{self.calls} {text.split()[self.calls % 3]}"


def make_recorded(out):
    """Audit a table of originals and rewrites."""
    pairs = out.with_suffix(".csv")
    with pairs.open("w", newline="", encoding="utf-8") as file:
        rows = [(text, text.upper() if number % 3 else "gone") for number, text in enumerate(sentences(60))]
        csv.writer(file).writerows([("original", "rewrite"), *rows])
    settings = {"mechanisms": [{"name": "recorded", "path": str(pairs)}], "corpus": None, "epsilons": []}
    return run(make_spec(out, **settings, attacks=["lexical"], trials=30, seed=5))


def extend(out):
    """Audit, then with more trials, an epsilon more and an attack that waits for own rewrites."""
    run(make_spec(out, trials=70, block=30, seed=3))
    return run(make_spec(out, trials=130, block=30, seed=3, epsilons=[1, 3], attacks=["lexical", "resample"]))


def drop_latents(out):
    """Audit a mechanism whose latents are too large to keep."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rewrites, "KEPT_BYTES", 50 * BYTES)
        run(make_latent_work(out))


KINDS = {
    "two mechanisms, one that fails, on two plans, with own rewrites": lambda out: run(make_work(out)),
    "latents": lambda out: run(make_latents(out)),
    "latents that are kept, failures among them": lambda out: run(make_latent_work(out)),
    "latents that are not kept": drop_latents,
    "a table of rewrites": make_recorded,
    "a run that was extended": extend,
    "two rows a trial": lambda out: run(
        make_spec(out, plans=[{"k": 2, "estimator": "baseline"}, {"k": 4}], trials=50, seed=2)
    ),
    "a function that remembers": lambda out: audit(
        Counting(), sentences(30), epsilon=1.0, trials=90, block=40, seed=4, out=str(out),
        attack=["lexical", "resample", "trained"],
    ),
}  # fmt: skip
DIGESTS = {
    "two mechanisms, one that fails, on two plans, with own rewrites": "3cfc229cb156a9f2",
    "latents": "3d528e0adb785c33",
    "latents that are kept, failures among them": "162d2e90a8290239",
    "latents that are not kept": "162d2e90a8290239",
    "a table of rewrites": "1cafaae07ad21482",
    "a run that was extended": "2c6fda89c5101837",
    "two rows a trial": "ba78e2bb35c87c27",
    "a function that remembers": "74d23d98470dff85",
}


def digest(root):
    """Return the digest of all rows of a run, whatever its parts."""
    found = {}
    for name, rows in tables(root).items():
        if name.startswith("guesses"):
            found[name] = [[row[at] for at in GUESSES] for row in rows]
        elif "rewrites" in name:
            found[name] = [list(row[REWRITES]) for row in rows]
        else:
            found[name] = [list(row) for row in rows]
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16]


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_has_the_rows_that_it_has_always_had(tmp_path, kind):
    KINDS[kind](tmp_path / "run")
    assert digest(tmp_path / "run") == DIGESTS[kind]
