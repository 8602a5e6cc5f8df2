"""Clipping by torch against the same by numpy, bit for bit."""

import numpy as np
import pytest
import torch

from tedaudit.mechanisms._latent import round_inwards, shorten, shorten_there
from tedaudit.mechanisms._noise import clip_norm


def _round_by_numpy(values):
    rounded = values.astype(np.float32)
    return np.where(np.abs(rounded) > np.abs(values), np.nextafter(rounded, np.float32(0)), rounded)


@pytest.fixture
def values():
    drawn = np.random.default_rng(3).normal(size=(7, 4001)) * 10.0 ** np.arange(-3, 4)[:, None]
    drawn[0, :4] = 0.0, -0.0, 0.1, -0.1
    return drawn


def test_rounding_is_that_of_numpy_and_never_goes_outwards(values):
    found = round_inwards(torch.from_numpy(values)).numpy()
    assert found.dtype == np.float32
    assert found.tobytes() == _round_by_numpy(values).tobytes()
    assert (np.abs(found.astype(np.float64)) <= np.abs(values)).all()
    assert (found != values.astype(np.float32)).any()


def test_a_clipped_value_stays_within_a_bound_that_float32_does_not_have():
    for bound in (0.1, 0.3, 1e-7):
        clipped = torch.full((3,), 9.0, dtype=torch.float64).clamp(-bound, bound)
        assert float(round_inwards(clipped).double().max()) <= bound


def test_rows_are_shortened_as_numpy_shortens_them(values):
    given = np.vstack([values[1:], np.zeros((1, values.shape[1]))])
    assert shorten(torch.from_numpy(given), 2.0).numpy().tobytes() == clip_norm(given, 2.0).tobytes()


def test_elsewhere_rows_differ_by_rounding_alone(values):
    given = np.vstack([values[1:], np.zeros((1, values.shape[1]))])
    found = shorten_there(torch.from_numpy(given), 2.0).numpy()
    assert found == pytest.approx(clip_norm(given, 2.0), rel=1e-14)
    assert (np.linalg.norm(found, axis=1) <= 2.0 * (1 + 1e-15)).all()
