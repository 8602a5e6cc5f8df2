"""Beam search over latents with BART: the library's answers, for less work.

The answers are those of `generate` with `early_stopping`: the same candidates, scores and ends. What is
saved: beams that are still alike are read once, a last token that is forced is not read for, and a row that
is done makes room for the next latent in place of waiting for the longest of its batch. Elsewhere than on a
CPU, asking which rows are done makes the host wait, so it asks now and then; what a row found by the time it
was done stays as it is.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.models.autoencoders.bart_decoder import (
    GROUP,
    BartDecoder,
    Tensor,
    has_fixed_shapes,
    has_known_decoder,
)

# --- How the library would search beams with a checkpoint: the settings that our own search knows.

_LONGEST = 64  # tokens: a beam looks at the places of all beams, and in long texts those are many
_INERT = {
    "transformers_version", "_from_model_config", "use_cache", "output_attentions", "output_hidden_states",
    "return_dict_in_generate", "bos_token_id", "pad_token_id", "num_beams", "max_length", "early_stopping",
    "do_sample", "num_return_sequences", "temperature", "top_k", "top_p",
}  # fmt: skip
"""Settings that change no beam search that is called with a number of beams, a length and early stopping."""
_KNOWN = {
    "decoder_start_token_id", "eos_token_id", "forced_bos_token_id", "forced_eos_token_id", "length_penalty",
    "no_repeat_ngram_size",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rules:
    """How the library would search with this checkpoint."""

    start: int
    ends: tuple[int, ...]
    first: int | None
    last: int | None
    penalty: float
    no_repeat: int
    beams: int
    length: int

    @property
    def prefix(self) -> list[int]:
        """The tokens that every text begins with."""
        return [self.start] if self.first is None else [self.start, self.first]

    @property
    def kept(self) -> int:
        """How many continuations of a row are looked at: enough to go on if each beam could end."""
        return max(2, 1 + len(self.ends)) * self.beams


def describe_search(model: Any) -> str:
    """Return how a checkpoint's own settings search, for the key of a table."""
    beams, early = model.generation_config.num_beams or 1, model.generation_config.early_stopping
    return "greedy" if beams == 1 else f"{beams} beams, early stopping {early}"


def read_rules(model: Any, beams: int | None, length: int) -> Rules | None:
    """Return the rules of a checkpoint; None if it has a setting or a decoder that only the library knows.

    Without a number of beams the checkpoint's own is taken, and whether it stops early.
    """
    config = model.generation_config
    if beams is None:
        beams = config.num_beams or 1
        if beams > 1 and config.early_stopping is not True:
            return None
    changed = {name for name, value in config.to_diff_dict().items() if value is not None}
    if not has_known_decoder(model) or changed - _INERT - _KNOWN or config.decoder_start_token_id is None:
        return None
    given = config.eos_token_id
    ends = () if given is None else tuple(given) if isinstance(given, list) else (given,)
    last = config.forced_eos_token_id
    rules = Rules(
        start=int(config.decoder_start_token_id),
        ends=ends,
        first=config.forced_bos_token_id,
        last=last[0] if isinstance(last, list) and len(last) == 1 else last,
        penalty=1.0 if config.length_penalty is None else float(config.length_penalty),
        no_repeat=config.no_repeat_ngram_size or 0,
        beams=beams,
        length=length,
    )
    is_plain = ends and not isinstance(rules.last, list) and len(rules.prefix) + 1 < length
    fits = (
        length <= min(_LONGEST, model.config.max_position_embeddings)
        and rules.kept <= model.config.vocab_size
    )
    return rules if is_plain and fits else None


Rows = npt.NDArray[np.int64]
_ROWS = {"cpu": 48, "cuda": 1024}  # under way at a time, if numbers have four bytes
_BYTES = {"cpu": 1 << 29, "cuda": 1 << 34}  # of the cache, at most,
_PART = 8  # and of a GPU's memory, this part, logits included
_FEW = 3  # times fewer rows, if a caller seldom has more
_SHARE = 4  # a fourth of the rows begins at a time
_STEPS = 4  # between two looks at what is done, where looking makes the host wait
_NEVER = -1e9  # the library's score of what must not be chosen


def search_beams(
    model: Any, rules: Rules, hidden: npt.NDArray[np.float32] | Tensor, mask: Tensor, *, few: bool = False
) -> list[tuple[int, ...]]:
    """Return the tokens of the best beam for each latent, without the start token, up to the end token.

    Latents may lie where the model is. Rows are under way in passes of one shape; `few` makes it smaller, for
    callers that seldom fill it.
    """
    import torch

    outputs: dict[int, tuple[int, ...]] = {}
    if len(hidden):
        with torch.inference_mode():
            rows = _count_rows(model, rules, hidden.shape[1], len(hidden), _FEW if few else 1)
            search = _Search(model, rules, hidden.shape[1], rows)
            outputs.update(search.run(torch.as_tensor(hidden), mask.to(model.device)))
    return [outputs[i] for i in range(len(hidden))]


def _count_rows(model: Any, rules: Rules, width: int, latents: int, fewer: int) -> int:
    """Return how many rows are under way at a time; where shapes are fixed it depends on no latent."""
    device, itemsize = model.device, model.dtype.itemsize
    size = model.config.d_model * model.config.decoder_layers * itemsize * 2
    size *= rules.length * rules.beams + width
    room = _BYTES.get(device.type, _BYTES["cpu"]) // size
    if has_fixed_shapes(device):
        rows = min(_ROWS["cpu"] // fewer, max(1, room))
        return int(max(_SHARE, rows // _SHARE * _SHARE))
    if device.type == "cuda":
        import torch

        logits = model.config.vocab_size * rules.beams * 4 * 3
        room = min(room, torch.cuda.get_device_properties(device).total_memory // _PART // (size + logits))
    most = max(1, min(_ROWS.get(device.type, _ROWS["cpu"]) * 4 // itemsize, room))
    rounds = -(-latents // most)
    return int(-(-latents // rounds))  # all rounds are about as full


class _Search:
    """Rows of beams that begin, branch, end and make room for others."""

    def __init__(self, model: Any, rules: Rules, width: int, rows: int) -> None:
        import torch

        self._model, self._rules = model, rules
        beams, device = rules.beams, model.device
        self._is_fixed = has_fixed_shapes(device)
        self._decoder = BartDecoder(model, rows, beams, rules.length, width)
        self._latent = np.full(rows, -1)  # which one a row works on
        # the place of each row's last token, for the host and where the model is
        self._reached = np.zeros(rows, dtype=np.int64)
        self._at = torch.zeros(rows, dtype=torch.long, device=device)
        self._all = torch.arange(rows, device=device)
        self._written = torch.zeros((rows, beams, rules.length), dtype=torch.long, device=device)
        self._scores = torch.zeros((rows, beams), device=device)
        self._ends = torch.tensor(rules.ends, device=device)
        self._ended = torch.zeros_like(self._written)  # the best ends of each row so far, their scores,
        self._end_scores = torch.full((rows, beams), _NEVER, device=device)
        self._end_places = torch.zeros((rows, beams), dtype=torch.long, device=device)  # their last places,
        self._is_ended = torch.zeros((rows, beams), dtype=torch.bool, device=device)  # and if there are any
        self._is_done = torch.zeros(rows, dtype=torch.bool, device=device)  # no end is looked for any more
        self._last_place = rules.length - (1 if rules.last is None else 2)  # at which every row is done

    def run(self, hidden: Tensor, mask: Tensor) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield each latent's number and tokens, as they end."""
        begun, steps, share = 0, 0, max(1, len(self._latent) // _SHARE)
        while True:
            free = np.flatnonzero(self._latent < 0)
            while begun < len(hidden) and len(free) >= share:
                most = share if self._is_fixed else len(free)
                chosen = np.arange(begun, min(begun + most, len(hidden)))
                self._begin(free[: share if self._is_fixed else len(chosen)], chosen, hidden, mask)
                begun, free = begun + len(chosen), free[len(chosen) :]
            if self._must_look(steps):
                yield from self._take_ended()
            if (self._latent >= 0).any():
                self._step()
                steps += 1
            elif begun == len(hidden):
                return

    def _must_look(self, steps: int) -> bool:
        """Return whether it is time to ask which rows are done: some are at the end, or may long be done."""
        is_over = (self._reached >= self._last_place) & (self._latent >= 0)
        return self._is_fixed or steps % _STEPS == _STEPS - 1 or bool(is_over.any())

    def _begin(self, free: Rows, chosen: Rows, hidden: Tensor, mask: Tensor) -> None:
        """Let rows work on latents: read what every text begins with, and branch; spare rows stay free."""
        import torch

        device = self._model.device
        rows = torch.from_numpy(free).to(device)
        taken = torch.from_numpy(np.concatenate([chosen, np.repeat(chosen[-1:], len(free) - len(chosen))]))
        encoded = hidden[taken.to(hidden.device)].to(device, self._model.dtype)
        self._decoder.admit(rows, encoded, mask[taken.to(device)])
        self._latent[free[: len(chosen)]] = chosen
        self._reached[free] = len(self._rules.prefix)
        self._end_scores[rows], self._is_ended[rows], self._is_done[rows] = _NEVER, False, False
        logits = None
        for place, token in enumerate(self._rules.prefix):
            self._written[rows, :, place] = token
            self._at[rows] = place
            logits = self._decoder.read(torch.full_like(rows, token)[:, None], self._at[rows], rows)
        values, tokens = self._continue(logits, rows, torch.zeros_like(self._scores[rows, :1]))
        self._branch(rows, values, torch.zeros_like(tokens), tokens)

    def _step(self) -> None:
        """Read the last token of every beam, and branch."""
        size = self._rules.kept
        tokens = self._written.gather(2, _stretch(self._at, self._written[..., :1]))[..., 0]
        values, tokens = self._continue(self._decoder.read(tokens, self._at), self._all, self._scores)
        best, which = values.topk(size)
        self._branch(self._all, best, which // size, tokens.gather(1, which))
        self._reached += 1

    def _continue(self, logits: Tensor, rows: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
        """Return scores and tokens of the best continuations of every beam, row by row."""
        import torch

        likelihoods = logits.log_softmax(-1, dtype=torch.float32)
        if self._rules.no_repeat:
            self._forbid_repeats(likelihoods, rows)
        values, tokens = find_best(likelihoods, self._rules.kept, by_groups=not self._is_fixed)
        known = tokens.clamp(max=self._model.config.vocab_size - 1)  # if no likelihood is a number
        return (values + scores[..., None]).flatten(1), known.flatten(1)

    def _forbid_repeats(self, likelihoods: Tensor, rows: Tensor) -> None:
        """Make tokens impossible that would repeat a sequence of tokens, as `no_repeat_ngram_size` says."""
        import torch

        size, at = self._rules.no_repeat, self._at[rows][:, None, None]
        written = self._written[rows][:, : likelihoods.shape[1]]
        tail = at - (size - 2) + torch.arange(size - 1, device=at.device)
        latest = written.gather(2, tail.clamp(min=0).expand(-1, written.shape[1], -1))
        windows = written.unfold(2, size, 1)
        ends = torch.arange(size - 1, written.shape[2], device=at.device)
        is_repeat = (windows[..., :-1] == latest[:, :, None]).all(-1) & (ends <= at) & (at >= size - 2)
        added = torch.zeros_like(is_repeat, dtype=likelihoods.dtype).masked_fill_(is_repeat, -torch.inf)
        likelihoods.scatter_add_(2, windows[..., -1], added)  # nobody has to wait for the number of repeats

    def _branch(self, rows: Tensor, values: Tensor, parents: Tensor, tokens: Tensor) -> None:
        """Keep those of the best continuations that end, and go on with the others."""
        import torch

        rules = self._rules
        place = (self._at[rows] + 1).clamp(max=rules.length - 1)
        written = _gather(self._written[rows], parents)
        written.scatter_(2, _stretch(place, written[..., :1]), tokens[..., None])
        is_end = torch.isin(tokens, self._ends) | (place == rules.length - 1)[:, None]
        is_best = torch.arange(rules.kept, device=rows.device) < rules.beams
        self._keep_ends(rows, values, written, is_end & is_best, place)
        best, which = (values + is_end * _NEVER).topk(rules.beams)
        written = _gather(written, which)
        self._scores[rows], self._written[rows], self._at[rows] = best, written, place
        self._decoder.follow(rows, parents.gather(1, which), place)
        if rules.last is not None:  # a forced token is certain: there is nothing to read for it
            written[..., -1] = rules.last
            is_last = (place == rules.length - 2) & ~self._is_ended[rows].all(1)
            self._keep_ends(rows, best, written, is_last[:, None].expand_as(best), place + 1)
        self._is_done[rows] |= self._is_ended[rows].all(1) | (place >= self._last_place)

    def _keep_ends(self, rows: Tensor, values: Tensor, written: Tensor, did_end: Tensor, at: Tensor) -> None:
        """Merge new ends with those that a row has, by score per token, unless it is done."""
        import torch

        did_end = did_end & ~self._is_done[rows, None]
        scores = values / at[:, None] ** self._rules.penalty + ~did_end * _NEVER
        merged = torch.cat((self._end_scores[rows], scores), 1)
        self._end_scores[rows], which = merged.topk(self._rules.beams)
        self._ended[rows] = _gather(torch.cat((self._ended[rows], written), 1), which)
        places = torch.cat((self._end_places[rows], at[:, None].expand_as(values)), 1)
        self._end_places[rows] = places.gather(1, which)
        self._is_ended[rows] = torch.cat((self._is_ended[rows], did_end), 1).gather(1, which)

    def _take_ended(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield what rows that are done have found, and free them."""
        import torch

        state = (self._is_done[:, None], self._end_places[:, :1], self._ended[:, 0])
        found = torch.cat(state, 1).cpu().numpy()  # one copy: the host waits once
        rows = np.flatnonzero((found[:, 0] > 0) & (self._latent >= 0))
        for row, (_, place, *tokens) in zip(rows.tolist(), found[rows].tolist(), strict=True):
            yield int(self._latent[row]), tuple(tokens[1 : place + 1])
        self._latent[rows] = -1


def find_best(values: Tensor, count: int, *, by_groups: bool) -> tuple[Tensor, Tensor]:
    """Return the largest values of each row and their places, the largest first.

    A GPU selects among tens of thousands in many passes. So it takes the groups with the largest maxima in
    one pass, which hold all of them, and selects among their members.
    """
    groups = values.shape[-1] // GROUP
    if not by_groups or values.shape[-1] % GROUP or groups <= count:
        best: tuple[Tensor, Tensor] = values.topk(count)
        return best
    members = values.unflatten(-1, (groups, GROUP))
    group = members.amax(-1).topk(count)[1]
    inside = members.gather(-2, group[..., None].expand(*group.shape, GROUP)).flatten(-2)
    largest, which = inside.topk(count)
    return largest, group.gather(-1, which // GROUP) * GROUP + which % GROUP


def _gather(beams: Tensor, which: Tensor) -> Tensor:
    """Return these beams of every row."""
    return beams.gather(1, which[..., None].expand(-1, -1, beams.shape[2]))


def _stretch(values: Tensor, like: Tensor) -> Tensor:
    """Return one value per row, repeated over the row."""
    return values[:, None, None].expand_as(like)
