"""Sampling token by token with shared prefixes: rows of the batch are distinct prefixes, not draws.

Each step computes logits per row and draws one token per draw from its own uniforms; rows split by
(row, token) and the cache is re-indexed. Draws that agree share all work, across epsilons too, so at
high epsilon a text costs one row. Prompts run in batches of one padded length; on a CPU every
forward pass has a fixed number of rows, so that a draw gives the same tokens in any batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.models.loading import PADDING, Checkpoint
from tedaudit.models.sampling.exponential import Prefixes, TokenRule, log_probabilities, noise_on, sample
from tedaudit.models.sampling.rows import Decoder, decoder_for
from tedaudit.plugins.values import Floats

Ints = npt.NDArray[np.int64]
_MANY = 4096  # requests of one length have batches of their own on a GPU;
_WIDER = 32  # fewer join those of other lengths up to the same multiple of this
_CELLS = {"cpu": 1 << 24, "cuda": 1 << 28}  # logits of all steps in memory at a time


@dataclass(frozen=True, slots=True)
class Request:
    """One draw: the tokens that the model reads, epsilon per token, the key, and at most how many tokens."""

    prompt: tuple[int, ...]
    epsilon: float
    key: int
    limit: int


def generate(
    checkpoint: Checkpoint, rule: TokenRule, requests: Sequence[Request], ends: Sequence[int]
) -> list[tuple[int, ...]]:
    """Return the tokens drawn for each request, including the end token if one was drawn."""
    drawn: list[tuple[int, ...]] = [()] * len(requests)
    decoder = decoder_for(checkpoint)
    for width, members in _group_by_width(requests, checkpoint).items():
        budget = decoder.row_budget(width, max(requests[i].limit for i in members))
        size = -(-len(members) // -(-len(members) // budget))  # batches of about the same size
        for start in range(0, len(members), size):
            group = members[start : start + size]
            found = _draw_group(decoder, rule, requests, group, width, ends)
            for i, tokens in zip(group, found, strict=True):
                drawn[i] = tokens
    return drawn


def _group_by_width(requests: Sequence[Request], checkpoint: Checkpoint) -> dict[int, list[int]]:
    """Group the requests by padded length of their prompt, equal prompts together.

    On a GPU, a group that is too small for it joins the next wider one.
    """
    groups: dict[int, list[int]] = {}
    for i, request in enumerate(requests):
        if request.limit > 0:
            groups.setdefault(_round_up(max(1, len(request.prompt)), PADDING), []).append(i)
    if not checkpoint.fixed_rows:
        groups = _join_small(groups)
    for members in groups.values():
        members.sort(key=lambda i: (requests[i].prompt, i))
    return dict(sorted(groups.items()))


def _join_small(groups: dict[int, list[int]]) -> dict[int, list[int]]:
    """Return the groups, each with enough members or without another one that is little wider."""
    joined: dict[int, list[int]] = {}
    waiting: list[int] = []
    widths = sorted(groups)
    for width, wider in zip_longest(widths, widths[1:], fillvalue=0):
        waiting = waiting + groups[width]
        if len(waiting) >= _MANY or _round_up(wider, _WIDER) != _round_up(width, _WIDER):
            joined[width], waiting = waiting, []
    return joined


def _round_up(length: int, step: int) -> int:
    return -(-length // step) * step


def _draw_group(
    decoder: Decoder,
    rule: TokenRule,
    requests: Sequence[Request],
    group: Sequence[int],
    width: int,
    ends: Sequence[int],
) -> list[tuple[int, ...]]:
    """Draw for requests of one padded length."""
    import torch

    device = decoder.device
    prompts = list(dict.fromkeys(requests[i].prompt for i in group))
    row_of = {prompt: row for row, prompt in enumerate(prompts)}
    limits = np.array([requests[i].limit for i in group])
    steps = int(limits.max())
    noise = noise_on(device, [requests[i].key for i in group], steps)
    epsilons = torch.tensor([requests[i].epsilon for i in group], dtype=torch.float64, device=device)
    limit = torch.from_numpy(limits).to(device)
    drawn = torch.full((len(group), steps), -1, dtype=torch.long, device=device)
    rows = torch.tensor([row_of[requests[i].prompt] for i in group], device=device)
    live = torch.arange(len(group), device=device)
    prefixes, stops = Prefixes.start(prompts, device), torch.tensor(list(ends), device=device)
    logits = rule.adjust(decoder.start(prompts, width), prefixes)
    for step in range(steps):
        tokens = sample(rule, logits, rows, epsilons[live], noise[live, step])
        drawn[live, step] = tokens
        unfinished = limit[live] > step + 1
        if len(stops):
            unfinished &= ~torch.isin(tokens, stops)
        live, rows, tokens = live[unfinished], rows[unfinished], tokens[unfinished]
        if not len(live):
            break
        parents, tokens, rows = _merge(rows, tokens, logits.shape[1])
        prefixes = prefixes.extend(parents, tokens)
        logits = rule.adjust(decoder.step(parents, tokens), prefixes)
    lengths = (drawn >= 0).sum(dim=1).tolist()
    return [tuple(row[:length]) for row, length in zip(drawn.tolist(), lengths, strict=True)]


def _merge(rows: Any, tokens: Any, vocabulary: int) -> tuple[Any, Any, Any]:
    """Return the distinct pairs of row and token, as two columns, and the pair of each draw."""
    import torch

    pairs, pair_of = torch.unique(rows * vocabulary + tokens, return_inverse=True)
    return pairs // vocabulary, pairs % vocabulary, pair_of


def first_log_probabilities(
    checkpoint: Checkpoint, rule: TokenRule, prompts: Sequence[tuple[int, ...]], epsilon: float
) -> Floats:
    """Return the log-probability of every token as the first one drawn after each prompt, exactly."""
    table = np.full((len(prompts), int(checkpoint.model.config.vocab_size)), -np.inf)
    decoder = decoder_for(checkpoint)
    requests = [Request(prompt=prompt, epsilon=epsilon, key=0, limit=1) for prompt in prompts]
    for width, members in _group_by_width(requests, checkpoint).items():
        budget = decoder.row_budget(width, 1)
        for start in range(0, len(members), budget):
            group = members[start : start + budget]
            some = [prompts[i] for i in group]
            logits = rule.adjust(decoder.start(some, width), Prefixes.start(some, decoder.device))
            table[group] = log_probabilities(rule, logits, epsilon).cpu().numpy()
    return table


def log_likelihood_terms(
    checkpoint: Checkpoint,
    rule: TokenRule,
    pairs: Sequence[tuple[tuple[int, ...], tuple[int, ...]]],
    epsilon: float,
) -> list[Floats]:
    """Return the log-probability of every token of each pair's second part, given all that stand before.

    After one that is impossible nothing is computed, and the rest is 0.
    """
    asked = [np.array(tokens, dtype=np.int64)[:, None] for _, tokens in pairs]
    return [terms[:, 0] for terms in log_probabilities_along(checkpoint, rule, pairs, asked, epsilon)]


def log_probabilities_along(
    checkpoint: Checkpoint,
    rule: TokenRule,
    pairs: Sequence[tuple[tuple[int, ...], tuple[int, ...]]],
    asked: Sequence[Ints],
    epsilon: float,
) -> list[Floats]:
    """Return the log-probabilities of other tokens, too, in the place of every token of a second part.

    `asked` has a table of tokens for each pair: a row for each of its tokens, with any number of columns.
    """
    terms: list[Floats] = [np.zeros(table.shape) for table in asked]
    decoder = decoder_for(checkpoint)
    requests = [Request(prompt=prompt, epsilon=epsilon, key=0, limit=len(tokens)) for prompt, tokens in pairs]
    for width, members in _group_by_width(requests, checkpoint).items():
        longest = max(requests[i].limit for i in members)
        score, budget = _score_group, decoder.row_budget(width, longest)
        if rule.reads_logits_alone:
            members.sort(key=lambda i: requests[i].limit)  # so that little is padded
            cells = longest * int(checkpoint.model.config.vocab_size)
            score, budget = _score_at_once, max(1, _CELLS.get(decoder.device.type, _CELLS["cpu"]) // cells)
        for start in range(0, len(members), budget):
            group = members[start : start + budget]
            options = _stack([asked[i] for i in group], decoder.device)
            table = score(decoder, rule, [pairs[i] for i in group], options, width, epsilon)
            for i, row in zip(group, table, strict=True):
                terms[i] = row[: asked[i].shape[0], : asked[i].shape[1]].copy()
    return terms


def _score_at_once(
    decoder: Decoder,
    rule: TokenRule,
    pairs: Sequence[tuple[tuple[int, ...], tuple[int, ...]]],
    asked: Any,
    width: int,
    epsilon: float,
) -> Floats:
    """Score what is asked of pairs of one padded length, in one pass over all steps."""
    ids = _stack([np.array(tokens, dtype=np.int64) for _, tokens in pairs], decoder.device)
    logits = decoder.read([prompt for prompt, _ in pairs], width, ids)
    found = log_probabilities(rule, logits.reshape(-1, logits.shape[-1]), epsilon)
    picked = found.gather(1, asked.reshape(-1, asked.shape[2])).reshape(asked.shape)
    return np.asarray(picked.cpu().numpy(), dtype=np.float64)


def _stack(tables: Sequence[Ints], device: Any) -> Any:
    """Return tables of the same number of dimensions as one, padded at their ends."""
    import torch

    shape = np.max([table.shape for table in tables], axis=0)
    stacked = np.zeros((len(tables), *shape), dtype=np.int64)
    for row, table in enumerate(tables):
        stacked[row][tuple(slice(size) for size in table.shape)] = table
    return torch.from_numpy(stacked).to(device)


def _score_group(
    decoder: Decoder,
    rule: TokenRule,
    pairs: Sequence[tuple[tuple[int, ...], tuple[int, ...]]],
    asked: Any,
    width: int,
    epsilon: float,
) -> Floats:
    """Score what is asked of pairs of one padded length; prefixes that several pairs share run once."""
    import torch

    device = decoder.device
    row_of = {prompt: row for row, prompt in enumerate(dict.fromkeys(prompt for prompt, _ in pairs))}
    lengths = torch.tensor([len(tokens) for _, tokens in pairs], device=device)
    table = _stack([np.array(tokens, dtype=np.int64) for _, tokens in pairs], device)
    found = torch.zeros(asked.shape, dtype=torch.float64, device=device)
    rows = torch.tensor([row_of[prompt] for prompt, _ in pairs], device=device)
    live = torch.arange(len(pairs), device=device)
    prefixes = Prefixes.start(list(row_of), device)
    logits = rule.adjust(decoder.start(list(row_of), width), prefixes)
    for step in range(table.shape[1]):
        tokens = table[live, step]
        scores = log_probabilities(rule, logits, epsilon)
        found[live, step] = scores[rows[:, None], asked[live, step]]
        # impossible stays impossible
        unfinished = (lengths[live] > step + 1) & (scores[rows, tokens] > -torch.inf)
        live, rows, tokens = live[unfinished], rows[unfinished], tokens[unfinished]
        if not len(live):
            break
        parents, tokens, rows = _merge(rows, tokens, logits.shape[1])
        prefixes = prefixes.extend(parents, tokens)
        logits = rule.adjust(decoder.step(parents, tokens), prefixes)
    return np.asarray(found.cpu().numpy(), dtype=np.float64)
