"""One training loop for all models: AdamW, warm-up and cosine decay, bfloat16 on a GPU, nothing to wait for.

Losses are read from the device only when they are printed, batches are picked on the device, and shapes
are fixed, so that the GPU never waits for the host.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Plan:
    """How long and how fast; `seconds` (0: no limit) shortens the whole schedule, decay included."""

    steps: int
    batch: int
    rate: float
    warm_up: int = 100
    decay: float = 0.01
    seconds: float = 0.0

    def progress(self, step: int, elapsed: float) -> float:
        """Return how much of the training is done, from 0 to 1."""
        by_time = elapsed / self.seconds if self.seconds else 0.0
        return min(1.0, max(step / self.steps, by_time))

    def rate_at(self, step: int, done: float) -> float:
        """Return the learning rate: a linear start, then half a cosine down to a hundredth."""
        start = min(1.0, (step + 1) / self.warm_up)
        return self.rate * start * (0.01 + 0.99 * (1 + math.cos(math.pi * done)) / 2)


def device() -> torch.device:
    """Return the GPU where there is one."""
    torch.set_float32_matmul_precision("high")
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def train(module: torch.nn.Module, loss_at: Callable[[float], Any], plan: Plan, every: int = 250) -> int:
    """Train and return the number of steps taken. `loss_at` gets the progress and picks its own batch."""
    place = next(module.parameters()).device
    matrices = [p for p in module.parameters() if p.requires_grad and p.ndim >= 2]
    vectors = [p for p in module.parameters() if p.requires_grad and p.ndim < 2]
    groups = [{"params": matrices, "weight_decay": plan.decay}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=plan.rate, betas=(0.9, 0.98), fused=place.type == "cuda")
    module.train()
    started = time.monotonic()
    for step in range(plan.steps):
        done = plan.progress(step, time.monotonic() - started)
        if done >= 1.0:
            return step
        for group in optimizer.param_groups:
            group["lr"] = plan.rate_at(step, done)
        with torch.autocast(place.type, torch.bfloat16, enabled=place.type == "cuda"):
            loss = loss_at(done)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step % every == 0:
            print(
                f"step {step} {done:.2f} loss {loss.item():.3f} {time.monotonic() - started:.0f}s", flush=True
            )
    return plan.steps


def compiled(module: Any) -> Any:
    """Return the module compiled on a GPU (half a minute, then much faster steps), as it is elsewhere."""
    return torch.compile(module) if next(module.parameters()).device.type == "cuda" else module


def first_call(module: torch.nn.Module, loss_at: Callable[[float], Any]) -> float:
    """Compile by one step whose gradients are thrown away; return the seconds that it took."""
    started = time.monotonic()
    place = next(module.parameters()).device
    with torch.autocast(place.type, torch.bfloat16, enabled=place.type == "cuda"):
        loss = loss_at(0.0)
    loss.backward()
    module.zero_grad(set_to_none=True)
    print(f"first call {time.monotonic() - started:.0f}s loss {loss.item():.3f}", flush=True)
    return time.monotonic() - started
