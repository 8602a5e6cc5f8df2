"""Weights as 8-bit integers: a quarter of the size, converted back to float32 on loading.

Every row of a matrix has its own scale, so that its largest weight becomes 127; vectors are stored
unchanged. One multiplication per weight gives the same float32 numbers on every machine.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

WEIGHTS = "model.int8.safetensors"
_SCALE = ":scale"


def save_quantised(path: str | Path, tensors: Mapping[str, Any]) -> None:
    """Save tensors, matrices as integers; of tensors that share memory, only the first is saved."""
    import torch
    from safetensors.torch import save_file

    out: dict[str, Any] = {}
    seen: set[tuple[int, tuple[int, ...]]] = set()
    for name, tensor in tensors.items():
        memory = (tensor.data_ptr(), tuple(tensor.shape))
        if tensor.numel() and memory in seen:
            continue
        seen.add(memory)
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
    """Return the tensors of a file, with integers converted back to float32."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        stored = load_file(str(path))
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged ({error}).") from error
    tensors: dict[str, Any] = {}
    for name, value in stored.items():
        if name.endswith(_SCALE):
            continue
        scale = stored.get(name + _SCALE)
        if scale is None:
            tensors[name] = value
        else:
            tensors[name] = value.float() * scale.reshape(-1, *[1] * (value.ndim - 1))
    return tensors
