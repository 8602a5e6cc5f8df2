"""Windows of 20 tokens for the auto-encoders: start, as many tokens of a text as fit, end, padding."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from common.text import is_held_out, sentences
from common.vocabulary import END, PAD, START, encoded

WIDTH = 20
EPSILONS = (1000.0, 2500.0, 10_000.0)
_MODERN = ("ewt", "snips")  # sources closest to what is audited


def windows(tokenizer: Any, texts: list[str]) -> npt.NDArray[np.int16]:
    """Return one window per text, as the mechanisms read it."""
    words = encoded(tokenizer, texts, WIDTH - 2)
    table = np.full((len(texts), WIDTH), PAD, dtype=np.int16)
    table[:, 0] = START
    table[:, 1:-1] = words
    table[np.arange(len(texts)), (words != PAD).sum(axis=1) + 1] = END
    return table


def picker(table: npt.NDArray[np.int16], batch: int, seed: int, place: torch.device) -> Callable[[], Any]:
    """Return a function that picks windows by chance, on the device."""
    rows = torch.from_numpy(table).to(place)
    chance = torch.Generator(device=place).manual_seed(seed)

    def pick() -> Any:
        return rows[torch.randint(len(rows), (batch,), generator=chance, device=place)].long()

    return pick


def samples(data: Path, held_out: list[str], count: int, seed: int) -> tuple[list[str], list[str]]:
    """Return some held-out sentences by chance, and all held-out ones of modern, short text."""
    modern = [line for source in _MODERN for line in sentences(data, source) if is_held_out(line)]
    return random.Random(seed).sample(held_out, min(count, len(held_out))), modern[:count]


def reconstruction(tokenizer: Any, texts: list[str], written: Sequence[Sequence[int]]) -> tuple[float, float]:
    """Return the share of tokens written at their place, and of texts written without a fault.

    Start, end and padding do not count as tokens; a text that goes on where it should end has a fault.
    """
    right = total = whole = 0
    for wanted, found in zip(encoded(tokenizer, texts, WIDTH - 2), written, strict=True):
        source, copy = _words(wanted.tolist()), _words(found)
        right += sum(a == b for a, b in zip(source, copy, strict=False))
        total += len(source)
        whole += source == copy
    return right / total, whole / len(texts)


def shown(figures: tuple[float, float]) -> str:
    """Return both shares in words."""
    return f"{figures[0]:.2%} of tokens, {figures[1]:.1%} of texts whole"


def _words(tokens: Sequence[int]) -> list[int]:
    stop = list(tokens).index(END) if END in tokens else len(tokens)
    return [token for token in tokens[:stop] if token not in (START, PAD)]
