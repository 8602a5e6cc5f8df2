"""One pass over a table of weights on an NVIDIA GPU, where single operations would make eight.

The operations and their order are those of `sampling`; a multiplication and a subtraction may be rounded
once instead of twice.
"""

from functools import lru_cache
from typing import Any

_WEIGH = """
template <typename T>
T weigh(T logit, T factor, T largest, T floor, T low, T high) {
    T clipped = logit < low ? low : (logit > high ? high : logit);
    T rest = exp((clipped - low) * factor - largest) - floor;
    return rest < 0 ? T(0) : rest;
}
"""


def can_weigh(device: Any) -> bool:
    """Return whether a device and this version of torch can make the kernel."""
    import torch

    return device.type == "cuda" and torch.version.hip is None and _make_kernel() is not None


def weigh(logits: Any, factor: Any, largest: Any, floor: Any, low: float, high: float) -> Any:
    """Return max(0, exp((clipped - low) factor - largest) - floor) in float64.

    The logits are rows; factor, largest and floor have one number a row, in float64.
    """
    import torch

    ends = (torch.tensor(end, dtype=torch.float64, device=logits.device) for end in (low, high))
    return _make_kernel()(logits, factor[:, None], largest[:, None], floor[:, None], *ends)


@lru_cache(maxsize=1)
def _make_kernel() -> Any:
    """Return the kernel, compiled when it first runs; None if this version of torch does not make any."""
    try:
        from torch.cuda.jiterator import _create_jit_fn
    except ImportError:
        return None
    return _create_jit_fn(_WEIGH)
