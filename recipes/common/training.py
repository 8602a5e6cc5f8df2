"""One training for all models: AdamW, warm-up and cosine decay, bfloat16 on a GPU, nothing to wait for.

Losses are read from the device only when they are printed, batches are picked on the device, and shapes
are fixed, so that the GPU never waits for the host. A recipe begins with `begin`, hands its loss to `train`
(or its batches to `train_on`), and puts `closing_figures` at the end of its card.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from common.options import Options, options
from common.text import mix

DRY_STEPS, DRY_SENTENCES = 4, 500  # of a dry run: steps, and sentences read of each source
Loss = Callable[[float], Any]  # from the share of the training that is done; it picks its own batch


@dataclass(frozen=True)
class Start:
    """What a recipe starts with: the public text, what of it is held out, and the time."""

    chosen: Options
    texts: list[str]
    held_out: list[str]
    clock: float

    def say(self, count: int, what: str) -> None:
        """Print how much is ready to be trained on, and how long that took."""
        print(f"{count:,} {what} after {time.monotonic() - self.clock:.0f}s", flush=True)


@dataclass(frozen=True)
class Plan:
    """How long and how fast; `seconds` (0: no limit) shortens the whole schedule, decay included."""

    steps: int
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


def begin(about: str | None, variants: Sequence[str] = (), **asked: Any) -> Start:
    """Read the command line and the public text, and seed torch; `asked` are options of this recipe."""
    chosen, started = options(about, variants, **asked), time.monotonic()
    torch.manual_seed(chosen.seed)
    texts, held_out = mix(chosen.data, chosen.seed, limit=DRY_SENTENCES if chosen.dry_run else 0)
    return Start(chosen, texts, held_out, started)


def device() -> torch.device:
    """Return the GPU where there is one."""
    torch.set_float32_matmul_precision("high")
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def train_on(whole: torch.nn.Module, batches: Callable[[], Any], plan: Plan, chosen: Options) -> int:
    """Train a module that turns a batch into its loss; return the number of steps taken."""
    fast = compiled(whole.to(device()))

    def loss_at(_: float) -> Any:
        with torch.no_grad():
            batch = batches()
        return fast(*batch)

    return train(whole, loss_at, plan, chosen)


def train(module: torch.nn.Module, loss_at: Loss, plan: Plan, chosen: Options) -> int:
    """Train and return the number of steps taken; the seconds that were allowed include the first call's."""
    spent = first_call(module, loss_at)
    seconds = max(1.0, chosen.seconds - spent) if chosen.seconds else 0.0
    steps = DRY_STEPS if chosen.dry_run else plan.steps
    return descend(module, loss_at, replace(plan, steps=steps, seconds=seconds))


def descend(module: torch.nn.Module, loss_at: Loss, plan: Plan, every: int = 250) -> int:
    """Follow the gradient until steps or seconds are over; return the number of steps taken."""
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
            elapsed = time.monotonic() - started
            print(f"step {step} {done:.2f} loss {loss.item():.3f} {elapsed:.0f}s", flush=True)
    return plan.steps


def compiled(module: Any) -> Any:
    """Return the module compiled on a GPU (half a minute, then much faster steps), as it is elsewhere."""
    return torch.compile(module) if next(module.parameters()).device.type == "cuda" else module


def first_call(module: torch.nn.Module, loss_at: Loss) -> float:
    """Compile by one step whose gradients are thrown away; return the seconds that it took."""
    started = time.monotonic()
    place = next(module.parameters()).device
    with torch.autocast(place.type, torch.bfloat16, enabled=place.type == "cuda"):
        loss = loss_at(0.0)
    loss.backward()
    module.zero_grad(set_to_none=True)
    print(f"first call {time.monotonic() - started:.0f}s loss {loss.item():.3f}", flush=True)
    return time.monotonic() - started


def closing_figures(model: Any, steps: int, start: Start) -> dict[str, str]:
    """Return the figures that every card ends with."""
    return {
        "parameters": f"{sum(p.numel() for p in model.parameters()):,}",
        "steps": f"{steps:,}",
        "seconds, all in all": f"{time.monotonic() - start.clock:.0f}",
    }
