"""Low-rank corrections of frozen matrices: trained here, saved as adapters, laid over models of others."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from tedaudit.models.adapters import ADAPTER, DOWN, SETTINGS, UP, Settings


class LowRank(torch.nn.Module):
    """A frozen layer with a trained correction beside it; at first it corrects nothing."""

    def __init__(self, layer: torch.nn.Linear | torch.nn.Embedding, rank: int) -> None:
        super().__init__()
        rows, columns = layer.weight.shape
        self.layer = layer
        self.down = torch.nn.Parameter(torch.randn(rank, columns) / columns**0.5)
        self.up = torch.nn.Parameter(torch.zeros(rows, rank))

    def forward(self, values: Any) -> Any:
        """Return what the layer returns with its matrix corrected."""
        if isinstance(self.layer, torch.nn.Embedding):
            return self.layer(values) + torch.nn.functional.embedding(values, self.up) @ self.down
        return self.layer(values) + (values @ self.down.T) @ self.up.T


class TiedHead(torch.nn.Module):
    """The last layer of a model that reads and writes with one matrix of words."""

    def __init__(self, words: LowRank, bias: Any = None) -> None:
        super().__init__()
        self.words = words
        self.bias = None if bias is None else torch.nn.Parameter(bias)

    def forward(self, values: Any) -> Any:
        """Return the logits of all words."""
        found = torch.nn.functional.linear(values, self.words.layer.weight, self.bias)
        return found + (values @ self.words.down.T) @ self.words.up.T


def correct(model: Any, is_wanted: Callable[[str], bool], rank: int) -> None:
    """Freeze a model and put corrections beside the layers that are wanted by their names."""
    model.requires_grad_(requires_grad=False)
    for name, layer in list(model.named_modules()):
        if isinstance(layer, torch.nn.Linear | torch.nn.Embedding) and is_wanted(name):
            replace(model, name, LowRank(layer, rank))


def replace(model: Any, name: str, layer: Any) -> None:
    """Put a layer in the place of another."""
    parent, _, last = name.rpartition(".")
    setattr(model.get_submodule(parent), last, layer)


def corrections(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield the tensors of all corrections under the names that an adapter has for them."""
    for name, layer in model.named_modules(remove_duplicate=True):
        if isinstance(layer, LowRank):
            yield f"{name}.weight{DOWN}", layer.down
            yield f"{name}.weight{UP}", layer.up


def save_adapter(folder: Path, settings: Settings, tensors: dict[str, Any]) -> None:
    """Write an adapter, its numbers in half precision."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SETTINGS).write_text(json.dumps(asdict(settings), indent=1) + "\n", encoding="utf-8")
    half = {name: value.detach().cpu().half().contiguous().clone() for name, value in tensors.items()}
    save_file(half, folder / ADAPTER)
