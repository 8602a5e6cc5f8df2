"""The fused pass over weights against the single operations; there is something to see on a GPU alone."""

import pytest
import torch

from tedaudit.models.sampling import exponential
from tedaudit.models.sampling.exponential import can_weigh


def test_a_cpu_has_no_such_kernel():
    assert not can_weigh(torch.device("cpu"))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 100.0, 3000.0])
def test_weights_are_those_of_single_operations(epsilon, monkeypatch):
    logits = 6 * torch.randn((7, 5000), generator=torch.Generator().manual_seed(1)).cuda()
    rows = torch.tensor([3, 3, 0, 6], device="cuda")
    epsilons = torch.full((4,), epsilon, dtype=torch.float64, device="cuda")
    clip = exponential.Clip(-3.0, 5.0)
    fused = exponential._choose_way(clip, logits, None)(rows, epsilons)
    monkeypatch.setattr(exponential, "can_weigh", lambda _: False)
    plain = exponential._choose_way(clip, logits, None)(rows, epsilons)
    assert torch.equal(fused.floor, plain.floor)
    assert torch.equal(fused.sums, plain.sums)
