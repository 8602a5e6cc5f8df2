"""Moving arrays to where a model runs without waiting for what it is doing."""

from typing import Any

import numpy.typing as npt


def send(array: npt.NDArray[Any], device: Any) -> Any:
    """Return an array as a tensor on a device; a GPU fetches it when it comes to it."""
    import torch

    tensor = torch.from_numpy(array)
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)  # from other memory a copy waits for the GPU
