"""Clipping where the model runs: bounds hold after rounding too, and a CPU gets numpy's numbers."""

from tedaudit.inference.device_noise import Tensor
from tedaudit.mechanisms._noise import clip_norm


def shorten(vectors: Tensor, bound: float) -> Tensor:
    """Return rows scaled down to an L2 norm of at most the bound; shorter ones are unchanged."""
    import torch

    if vectors.device.type == "cpu":
        return torch.from_numpy(clip_norm(vectors.numpy(), bound))
    return shorten_there(vectors, bound)


def shorten_there(vectors: Tensor, bound: float) -> Tensor:
    """Shorten rows where they lie; norms may differ from numpy's in the last bits, by the order of sums."""
    import torch

    norms = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors * (bound / norms.clamp(min=1e-300)).clamp(max=1.0)


def round_inwards(values: Tensor) -> Tensor:
    """Round to float32 without increasing any magnitude, so that the clip still holds."""
    import torch

    rounded = values.float()
    return torch.where(rounded.abs() > values.abs(), rounded.nextafter(torch.zeros_like(rounded)), rounded)
