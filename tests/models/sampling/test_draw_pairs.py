"""Pairs of row and epsilon, found on the host and on the device."""

import numpy as np
import pytest
import torch

from tedaudit.models.sampling.draw_pairs import DrawPairs

CPU = torch.device("cpu")
RNG = np.random.default_rng(5)
ROWS = RNG.integers(0, 40, 300)
EPSILONS = RNG.choice([0.5, 10.0, 700.0], 300)


def test_both_ways_find_the_same_pairs():
    found = DrawPairs.find(torch.from_numpy(ROWS), torch.from_numpy(EPSILONS))
    sent = DrawPairs.send(ROWS, EPSILONS, 50, CPU)  # some rows have no draw
    for name in ("rows", "epsilons", "of"):
        assert torch.equal(getattr(found, name), getattr(sent, name)), name
    assert (found.rows[found.of].numpy() == ROWS).all()
    assert (found.epsilons[found.of].numpy() == EPSILONS).all()
    assert len(found) == len(set(zip(ROWS.tolist(), EPSILONS.tolist(), strict=True)))


@pytest.mark.parametrize("step", [1, 7, 60, 1000])
@pytest.mark.parametrize("is_sent", [False, True])
def test_every_draw_is_in_the_part_of_its_pair(step, is_sent):
    pairs = (
        DrawPairs.send(ROWS, EPSILONS, 40, CPU)
        if is_sent
        else DrawPairs.find(torch.from_numpy(ROWS), torch.from_numpy(EPSILONS))
    )
    seen, next_pair = [], 0
    for part, draws in pairs.cut(step):
        own = torch.arange(len(ROWS)) if draws is None else draws
        assert part.start == next_pair
        assert 0 < part.stop - part.start <= max(step, len(pairs) if draws is None else 0)
        assert ((pairs.of[own] >= part.start) & (pairs.of[own] < part.stop)).all()
        seen += own.tolist()
        next_pair = part.stop
    assert next_pair == len(pairs)
    assert sorted(seen) == list(range(len(ROWS)))


def test_no_draws_make_no_pairs():
    none = DrawPairs.send(np.zeros(0, dtype=np.int64), np.zeros(0), 3, CPU)
    assert len(none) == 0
    assert [len(draws) if draws is not None else 0 for _, draws in none.cut(4)] == [0]
