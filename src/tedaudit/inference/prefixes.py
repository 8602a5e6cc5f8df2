"""What the rows of a generating batch have read and drawn so far; rules that look back need it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Prefixes:
    """One per row: the number of its prompt, and the tokens drawn after it (a table, all as long)."""

    prompts: Sequence[tuple[int, ...]]
    origins: Any
    drawn: Any

    @classmethod
    def start(cls, prompts: Sequence[tuple[int, ...]], device: Any) -> "Prefixes":
        """Return a row per prompt, nothing drawn yet."""
        import torch

        nothing = torch.empty((len(prompts), 0), dtype=torch.long, device=device)
        return cls(prompts, torch.arange(len(prompts), device=device), nothing)

    def extend(self, parents: Any, tokens: Any) -> "Prefixes":
        """Return the rows that continue these (by number), each with its token."""
        import torch

        drawn = torch.cat([self.drawn[parents], tokens[:, None]], dim=1)
        return Prefixes(self.prompts, self.origins[parents], drawn)
