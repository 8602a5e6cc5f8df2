"""One pass over a table of weights on an NVIDIA GPU, where single operations would make eight.

The operations, their order and their rounding are those of `sampling`.
"""

from functools import lru_cache
from typing import Any


def can_weigh(device: Any) -> bool:
    """Return whether there is a GPU for the kernel, and Triton, which makes it."""
    import torch

    return device.type == "cuda" and torch.version.hip is None and _load_kernel()[0] is not None


def weigh(logits: Any, rows: Any, factors: Any, largest: Any, floors: Any, ends: tuple[float, float]) -> Any:
    """Return max(0, exp((clipped - low) factor - largest) - floor) for some rows of logits, in float64.

    Factor, largest and floor have one number a row, in float64; the ends are those of the clip range.
    """
    import torch

    logits, width = logits.contiguous(), logits.shape[1]
    out = torch.empty((len(rows), width), dtype=torch.float64, device=logits.device)
    kernel, block = _load_kernel()
    grid, clip = (len(rows), -(-width // block)), _send_ends(*ends, str(logits.device))
    with torch.cuda.device(logits.device):  # Triton works on the current one
        kernel[grid](logits, rows, factors, largest, floors, clip, out, width, block, enable_fp_fusion=False)
    return out


@lru_cache(maxsize=1)
def _load_kernel() -> tuple[Any, int]:
    """Return the kernel, compiled when it first runs, and its block; None in its place without Triton."""
    from tedaudit.inference._weigh_kernel import BLOCK, weigh_kernel

    return weigh_kernel, BLOCK


@lru_cache(maxsize=64)
def _send_ends(low: float, high: float, device: str) -> Any:
    """Return the ends of a clip range on the device; sending them anew would wait for it."""
    import torch

    return torch.tensor([low, high], dtype=torch.float64, device=device)
