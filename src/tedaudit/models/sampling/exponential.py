"""The exponential mechanism over a model's logits, sampled exactly from each draw's own uniforms.

Logits are clipped to [low, high] (sensitivity D = high - low), and item v is drawn with probability
proportional to exp(epsilon * clipped_v / (2 D)), over the whole vocabulary. Sums are in float64.

A uniform of 53 bits cannot hit a mass below 2^-53, which from about epsilon = 73 onwards would make
items impossible for one text and possible for another. So the weights w_v = exp(epsilon
(clipped_v - low) / (2 D)), all at least 1, are split into 1 + (w_v - 1): with probability V / Z, a
coin that is exact far below 2^-53, the item is uniform; otherwise it is drawn from the rest by
inverting the distribution function. Every item keeps at least 1 / Z, and with w <= e^(epsilon / 2)
that is what the guarantee needs: p(v|x) / p(v|x') <= (e^(epsilon/2) / Z) / (1 / Z') <= e^epsilon, pure,
at any epsilon.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tedaudit.errors import ModelError, SpecError
from tedaudit.models.sampling.draw_pairs import DrawPairs
from tedaudit.models.sampling.noise import make_uniforms
from tedaudit.seeding import Keys, uniforms

# --- One pass over a table of weights on an NVIDIA GPU, where single operations would make eight.
#
# The operations, their order and their rounding are those of `sampling`.


def can_weigh(device: Any) -> bool:
    """Return whether there is a GPU for the kernel, and Triton, which makes it."""
    import torch

    return device.type == "cuda" and torch.version.hip is None and _load_kernel()[0] is not None


def weigh(logits: Any, rows: Any, factors: Any, largest: Any, floors: Any, ends: tuple[float, float]) -> Any:
    """Return max(0, exp((clipped - low) factor - largest) - floor) for some rows of logits, in float64.

    Factor, largest and floor have one number a row, in float64; the ends are those of the clip range.
    """
    import torch

    logits, width = logits.contiguous(), logits.shape[1]
    out = torch.empty((len(rows), width), dtype=torch.float64, device=logits.device)
    kernel, block = _load_kernel()
    grid, clip = (len(rows), -(-width // block)), _send_ends(*ends, str(logits.device))
    with torch.cuda.device(logits.device):  # Triton works on the current one
        kernel[grid](logits, rows, factors, largest, floors, clip, out, width, block, enable_fp_fusion=False)
    return out


@lru_cache(maxsize=1)
def _load_kernel() -> tuple[Any, int]:
    """Return the kernel, compiled when it first runs, and its block; None in its place without Triton."""
    from tedaudit.models.sampling._weigh_kernel import BLOCK, weigh_kernel

    return weigh_kernel, BLOCK


@lru_cache(maxsize=64)
def _send_ends(low: float, high: float, device: str) -> Any:
    """Return the ends of a clip range on the device; sending them anew would wait for it."""
    import torch

    return torch.tensor([low, high], dtype=torch.float64, device=device)


# --- What the rows of a generating batch have read and drawn so far; rules that look back need it.


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


UNIFORMS = 4  # per item drawn: two for the coin, one for the uniform item, one for the rest
_CELLS = {"cpu": 1 << 23, "cuda": 1 << 28}  # float64 weights in memory at a time: 64 MB, 2 GB
_ANY = (-1e300, 1e300)  # instead of the range of a model that is not loaded yet
_NARROW = 4  # a support is listed by its items, which is faster, if at most one in so many is in it


class TokenRule(Protocol):
    """How logits become probabilities: that of an item is proportional to the exponential of its exponent."""

    def adjust(self, logits: Any, prefixes: Prefixes) -> Any:
        """Return the logits as they are used: a rule may look at what each row has read and drawn."""
        ...

    def exponents(self, logits: Any, epsilon: Any) -> Any:
        """Return the exponents in float64; what is outside may have any."""
        ...

    def find_outside(self, logits: Any) -> Any:
        """Return which items cannot be drawn; None if all can, and no exponent is below 0."""
        ...

    @property
    def reads_logits_alone(self) -> bool:
        """Whether every item can be drawn, and nothing but its row of logits matters.

        Then a small error in logits is a small error in probabilities, and all steps may be read at once.
        """
        ...


@dataclass(frozen=True, slots=True)
class Clip:
    """The range of logits and, if a release truncates the support, how many items it keeps.

    Items as likely as the last of them, after clipping, are kept too.
    """

    low: float
    high: float
    top_k: int = 0

    def __post_init__(self) -> None:
        if not math.isfinite(self.high - self.low):
            raise SpecError("Both ends of the clip range must be finite: no noise hides what has no bound.")
        if not self.low < self.high:
            raise SpecError(f"The clip range is [{self.low}, {self.high}]; the lower end must be smaller.")
        if self.top_k < 0:
            raise SpecError(f"top_k is {self.top_k}; it must be 0 (the whole vocabulary) or more.")

    def adjust(self, logits: Any, prefixes: Prefixes) -> Any:  # noqa: ARG002 - what was drawn does not matter
        """Return the logits unchanged."""
        return logits

    def exponents(self, logits: Any, epsilon: Any) -> Any:
        """Return epsilon (clipped - low) / (2 D) in float64: between 0 and epsilon / 2."""
        import torch

        clipped = logits.to(torch.float64, copy=True).clamp_(self.low, self.high).sub_(self.low)
        return clipped.mul_(self.compute_factor(epsilon))

    def compute_factor(self, epsilon: Any) -> Any:
        """Return what a clipped logit is multiplied by."""
        return epsilon / (2 * (self.high - self.low))

    def find_outside(self, logits: Any) -> Any:
        """Return which items the truncated support leaves out; None if it is not truncated."""
        if not 0 < self.top_k < logits.shape[1]:
            return None
        clipped = logits.float().clamp(self.low, self.high)
        return clipped < clipped.topk(self.top_k, dim=1).values[:, -1:]

    @property
    def reads_logits_alone(self) -> bool:
        """Whether the support is whole."""
        return self.top_k == 0


def choose_clip(
    low: float | None, high: float | None, otherwise: tuple[float, float], top_k: int = 0
) -> Clip:
    """Return the given range; an end that is None comes from `otherwise`."""
    return Clip(otherwise[0] if low is None else low, otherwise[1] if high is None else high, top_k)


def check_clip(low: float | None, high: float | None, top_k: int = 0) -> None:
    """Refuse ends that no clip range has; one that is None is the model's, and known when that is loaded."""
    choose_clip(low, high, _ANY, top_k)


def noise_for(keys: Keys, steps: int, start: int = 0) -> npt.NDArray[np.float64]:
    """Return the uniforms of draws for consecutive steps, as an array (draws, steps, 4)."""
    flat = uniforms(keys, steps * UNIFORMS, start * UNIFORMS)
    return flat.reshape(len(keys), steps, UNIFORMS)


def noise_on(device: Any, keys: Keys, steps: int) -> Any:
    """Return the same uniforms as a tensor on a device, made there."""
    import torch

    if device.type == "cpu":
        return torch.from_numpy(noise_for(keys, steps))
    return make_uniforms(keys, steps * UNIFORMS, device=device).reshape(len(keys), steps, UNIFORMS)


def sample(rule: TokenRule, logits: Any, rows: Any, epsilons: Any, noise: Any) -> Any:
    """Return one item per draw: draw i sees row rows[i] of the logits at epsilons[i] with noise[i].

    Draws that share row and epsilon share one distribution. All arguments but `rule` are tensors
    on one device; `noise` has the shape (draws, 4).
    """
    return sample_pairs(rule, logits, DrawPairs.find(rows, epsilons), noise)


def sample_pairs(rule: TokenRule, logits: Any, pairs: DrawPairs, noise: Any) -> Any:
    """Do the same for draws of which it is known what they share."""
    import torch

    outside, support = rule.find_outside(logits), None
    if outside is not None and _count_widest(outside) * _NARROW <= logits.shape[1]:
        support, outside = _list_support(outside)
        logits = logits.gather(1, support)
    items = torch.empty(len(pairs.of), dtype=torch.long, device=logits.device)
    step = max(1, _CELLS.get(logits.device.type, 1 << 23) // logits.shape[1])
    find_weights = _choose_way(rule, logits, outside)
    for part, draws in pairs.cut(step):
        table = find_weights(pairs.rows[part], pairs.epsilons[part])
        if draws is None:
            items = _invert(table, pairs.of, noise)
        else:
            items[draws] = _invert(table, pairs.of[draws] - part.start, noise[draws])
    return items if support is None else support[pairs.rows[pairs.of], items]


def log_probabilities(rule: TokenRule, logits: Any, epsilon: float) -> Any:
    """Return the log-probability of every item, per row, in float64; -inf outside a truncated support."""
    import torch

    exponents = rule.exponents(logits, torch.tensor(epsilon, dtype=torch.float64, device=logits.device))
    outside = rule.find_outside(logits)
    if outside is None:
        return torch.log_softmax(exponents, dim=1)
    # filled again, because a row of which every item is outside has no softmax
    logs = torch.log_softmax(exponents.masked_fill(outside, -torch.inf), dim=1)
    return logs.masked_fill(outside, -torch.inf)


def _count_widest(outside: Any) -> int:
    """Return how many items the largest support has; a row without any is an error."""
    counts = (~outside).sum(dim=1)
    if not bool(counts.all()):
        raise ModelError(
            "No token is left that could be drawn. Look for a penalty that forbids every token of a small "
            "vocabulary, for tokens that are forced and forbidden, and for a model that overflows in float16."
        )
    return int(counts.max())


def _list_support(outside: Any) -> tuple[Any, Any]:
    """Return the items of each row's support, in order, and which columns of this narrower table are none."""
    import torch

    items = (~outside).nonzero()[:, 1]
    counts = (~outside).sum(dim=1)
    columns = torch.arange(int(counts.max()), device=outside.device)
    missing = columns >= counts[:, None]
    support = torch.zeros(missing.shape, dtype=torch.long, device=outside.device)
    support[~missing] = items
    return support, missing


class _Weights(NamedTuple):
    """Sums of weights over the items of each pair, and the weight that every item has at least."""

    sums: Any
    floor: Any
    is_whole: bool  # whether every item has any


def _choose_way(rule: TokenRule, logits: Any, outside: Any) -> Callable[[Any, Any], _Weights]:
    """Return what computes the weights of some rows at their epsilons: in one pass where a GPU can."""
    if outside is None and isinstance(rule, Clip) and can_weigh(logits.device):
        return partial(_weigh_at_once, rule, logits, logits.max(dim=1, keepdim=True).values)
    return partial(_weigh, rule, logits, outside)


def _weigh_at_once(clip: Clip, logits: Any, highest: Any, rows: Any, epsilons: Any) -> _Weights:
    """Do the same as `_weigh` for a whole support, given the highest logit of every row."""
    import torch

    largest = clip.exponents(highest[rows], epsilons[:, None])[:, 0]
    floor = torch.exp(-largest)
    rest = weigh(logits, rows, clip.compute_factor(epsilons), largest, floor, (clip.low, clip.high))
    return _Weights(rest.cumsum_(dim=1), floor, is_whole=True)


def _weigh(rule: TokenRule, logits: Any, outside: Any, rows: Any, epsilons: Any) -> _Weights:
    """Return the weights of some rows at their epsilons, less what every item has, added up.

    If the support is not whole, some items have no mass anyway, and nothing is taken off. The table is the
    main cost in memory, and in time to read and write: it is overwritten again and again.
    """
    import torch

    is_whole = outside is None
    exponents = rule.exponents(logits[rows], epsilons[:, None])
    if not is_whole:
        exponents.masked_fill_(outside[rows], -torch.inf)
    largest = exponents.max(dim=1, keepdim=True).values
    floor = torch.exp(-largest[:, 0]) * is_whole
    rest = exponents.sub_(largest).exp_().sub_(floor[:, None]).clamp_(min=0.0)
    return _Weights(rest.cumsum_(dim=1), floor, is_whole)


def _invert(weights: _Weights, pair_of: Any, noise: Any) -> Any:
    """Return the item that each draw's uniforms point to in the distribution of its pair."""
    import torch

    size, floor = weights.sums.shape[1], weights.floor
    total = weights.sums[:, -1].contiguous()
    uniform_share = size * floor / (size * floor + total)
    is_uniform = _flip_rare(noise[:, 0], noise[:, 1], uniform_share[pair_of])
    uniform_item = (noise[:, 2] * size).long().clamp_(max=size - 1)
    picked = _search(weights.sums, pair_of, noise[:, 3] * total[pair_of])
    return torch.where(is_uniform & weights.is_whole, uniform_item, picked)


def _flip_rare(coarse: Any, fine: Any, probability: Any) -> Any:
    """Return coins that are true with a probability that may lie far below 2^-53 (see seeding.rare).

    A probability below 2^-106, for which e^-epsilon/2 may even underflow, is raised to 2^-106: more noise
    than required.
    """
    scaled = probability.clamp(min=2.0**-106) * 2.0**53
    cell = scaled.floor()
    point = coarse * 2.0**53
    return (point < cell) | ((point == cell) & (fine < scaled - cell))


def _search(cumulative: Any, pair_of: Any, targets: Any) -> Any:
    """Return where each target falls in the cumulative sums of its pair: the first that is above it.

    A target that rounding has put at the end falls on the last item with any mass. Halving looks at few cells
    of a row, needs them in no order, and never waits for the device.
    """
    import torch

    size = cumulative.shape[1]
    below = torch.nextafter(cumulative[:, -1], torch.zeros((), dtype=torch.float64, device=targets.device))
    targets = torch.minimum(targets, below[pair_of])
    flat, offset = cumulative.reshape(-1), pair_of * size
    low, high = torch.zeros_like(pair_of), torch.full_like(pair_of, size - 1)
    for _ in range((size - 1).bit_length()):
        middle = (low + high) >> 1
        is_above = flat[offset + middle] > targets
        high = torch.where(is_above, middle, high)
        low = torch.where(is_above, low, torch.minimum(middle + 1, high))
    return low
