"""Audits of a mechanism with latents: one that keeps them, and what it takes to have little room for them."""

import pytest

from latent_examples import BYTES, Encoding, make_latent_work
from tedaudit.api import run
from tedaudit.store import rewrites


@pytest.fixture(scope="session")
def kept(tmp_path_factory):
    """An audit whose latents are small enough to keep."""
    root = tmp_path_factory.mktemp("kept")
    run(make_latent_work(root))
    return root


@pytest.fixture
def small(monkeypatch):
    """Keep next to nothing; count from here what the mechanism is asked for."""
    monkeypatch.setattr(rewrites, "KEPT_BYTES", 50 * BYTES)
    Encoding.asked.clear()
