"""Noise as tensors against noise as arrays: bit for bit, and normals within a few units in the last place."""

import numpy as np
import pytest

from tedaudit.models.sampling.noise import make_normals, make_uniforms, make_words
from tedaudit.seeding import derive, normals, uniforms, words

KEYS = [0, 1, (1 << 128) - 1, *(derive(7, "draw", i) for i in range(50))]


@pytest.mark.parametrize(("n", "start"), [(1, 0), (7, 0), (64, 3), (9, (1 << 34) - 5), (0, 0)])
def test_words_and_uniforms_are_those_of_numpy(n, start):
    assert np.array_equal(make_words(KEYS, n, start).numpy(), words(KEYS, n, start).astype(np.int64))
    assert np.array_equal(make_uniforms(KEYS, n, start).numpy(), uniforms(KEYS, n, start))


def test_normals_differ_by_a_few_units_in_the_last_place():
    found, wanted = make_normals(KEYS, 4000, 11).numpy(), normals(KEYS, 4000, 11)
    units = np.abs(found - wanted) / np.spacing(np.abs(wanted))
    assert units.max() <= 8


def test_the_tails_of_normals_differ_by_no_more(monkeypatch):
    import torch

    from tedaudit import seeding
    from tedaudit.models.sampling import noise as device_noise

    steps = 2.0 ** -np.arange(1.0, 54.0)
    extremes = np.concatenate([[0.0], steps, 1 - steps])[None, :]
    monkeypatch.setattr(seeding, "uniforms", lambda *_: extremes)
    monkeypatch.setattr(device_noise, "make_uniforms", lambda *_: torch.from_numpy(extremes))
    found, wanted = make_normals([0], 0).numpy(), normals([0], 0)
    assert np.isfinite(wanted).all()
    assert (np.abs(found - wanted) / np.spacing(np.abs(wanted))).max() <= 8
