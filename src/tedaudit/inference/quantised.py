"""Weights as 8-bit integers: a quarter of the bytes, turned back into float32 when they are loaded.

Every row of a matrix has a scale of its own, so that its largest weight becomes 127; vectors stay as
they are. One multiplication per weight gives the same float32 numbers on every machine.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

WEIGHTS = "model.int8.safetensors"
_SCALE = ":scale"


def save_quantised(path: str | Path, tensors: Mapping[str, Any]) -> None:
    """Write tensors, matrices as integers; of tensors that share their memory only the first."""
    import torch
    from safetensors.torch import save_file

    out: dict[str, Any] = {}
    seen: set[tuple[int, tuple[int, ...]]] = set()
    for name, tensor in tensors.items():
        place = (tensor.data_ptr(), tuple(tensor.shape))
        if tensor.numel() and place in seen:
            continue
        seen.add(place)
        value = tensor.detach().cpu()
        if value.ndim < 2 or not value.is_floating_point():
            out[name] = value.float().clone() if value.is_floating_point() else value.clone()
            continue
        flat = value.float().reshape(len(value), -1)
        scale = flat.abs().amax(dim=1, keepdim=True).clamp(min=1e-30) / 127
        out[name] = (flat / scale).round().to(torch.int8).reshape(value.shape).contiguous()
        out[name + _SCALE] = scale[:, 0].contiguous()
    save_file(out, str(path))


def load_quantised(path: str | Path) -> dict[str, Any]:
    """Return the tensors of a file, integers turned back into float32."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        stored = load_file(str(path))
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged ({error}).") from error
    found: dict[str, Any] = {}
    for name, value in stored.items():
        if name.endswith(_SCALE):
            continue
        scale = stored.get(name + _SCALE)
        if scale is None:
            found[name] = value
        else:
            found[name] = value.float() * scale.reshape(-1, *[1] * (value.ndim - 1))
    return found
