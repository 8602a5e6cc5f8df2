"""Beam search over latents with BART: the library's answers, for less work.

The answers are those of `generate` with `early_stopping`: the same candidates, scores and ends. What is
saved: beams that are still alike are read once, a last token that is forced is not read for, and a row that
is done makes room for the next latent in place of waiting for the longest of its batch.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.inference.bart_decoder import BartDecoder, Tensor, has_known_decoder

Rows = npt.NDArray[np.int64]
_ROWS = {"cpu": 48, "cuda": 1024}  # under way at a time
_BYTES = {"cpu": 1 << 29, "cuda": 1 << 34}  # of the cache, at most
_FEW = 3  # times fewer rows, if a caller seldom has more
_SHARE = 4  # a fourth of the rows begins at a time
_LONGEST = 64  # tokens: a beam looks at the places of all beams, and in long texts those are many
_NEVER = -1e9  # the library's score of what must not be chosen
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


def read_rules(model: Any, beams: int, length: int) -> Rules | None:
    """Return the rules of a checkpoint; None if it has a setting or a decoder that only the library knows."""
    config = model.generation_config
    changed = {name for name, value in config.to_diff_dict().items() if value is not None}
    if not has_known_decoder(model) or changed - _INERT - _KNOWN or config.decoder_start_token_id is None:
        return None
    given = config.eos_token_id
    ends = () if given is None else tuple(given) if isinstance(given, list) else (given,)
    last = config.forced_eos_token_id
    rules = Rules(
        int(config.decoder_start_token_id), ends, config.forced_bos_token_id,
        last[0] if isinstance(last, list) and len(last) == 1 else last,
        1.0 if config.length_penalty is None else float(config.length_penalty),
        config.no_repeat_ngram_size or 0, beams, length,
    )  # fmt: skip
    is_plain = ends and not isinstance(rules.last, list) and len(rules.prefix) + 1 < length
    fits = (
        length <= min(_LONGEST, model.config.max_position_embeddings)
        and rules.kept <= model.config.vocab_size
    )
    return rules if is_plain and fits else None


def search_beams(
    model: Any, rules: Rules, hidden: npt.NDArray[np.float32], mask: Tensor, *, few: bool = False
) -> list[tuple[int, ...]]:
    """Return the tokens of the best beam for each latent, without the start token, up to the end token.

    Rows are under way in passes of one shape; `few` makes it smaller, for callers that seldom fill it.
    """
    import torch

    outputs: dict[int, tuple[int, ...]] = {}
    if len(hidden):
        with torch.inference_mode():
            search = _Search(model, rules, hidden.shape[1], _FEW if few else 1)
            outputs.update(search.run(hidden, mask))
    return [outputs[i] for i in range(len(hidden))]


def _count_rows(model: Any, rules: Rules, width: int, fewer: int) -> int:
    """Return how many rows are under way at a time: it depends on no latent."""
    size = model.config.d_model * model.config.decoder_layers * model.dtype.itemsize * 2
    bound = _BYTES.get(model.device.type, _BYTES["cpu"]) // (size * (rules.length * rules.beams + width))
    rows = int(min(_ROWS.get(model.device.type, _ROWS["cpu"]) // fewer, max(1, bound)))
    return max(_SHARE, rows // _SHARE * _SHARE)


class _Search:
    """Rows of beams that begin, branch, end and make room for others."""

    def __init__(self, model: Any, rules: Rules, width: int, fewer: int) -> None:
        import torch

        self._model, self._rules = model, rules
        rows, beams, device = _count_rows(model, rules, width, fewer), rules.beams, model.device
        self._decoder = BartDecoder(model, rows, beams, rules.length, width)
        self._latent = np.full(rows, -1)  # which one a row works on
        self._all = torch.arange(rows, device=device)
        self._at = torch.zeros(rows, dtype=torch.long, device=device)  # the place of each row's last token
        self._written = torch.zeros((rows, beams, rules.length), dtype=torch.long, device=device)
        self._scores = torch.zeros((rows, beams), device=device)
        self._ends = torch.tensor(rules.ends, device=device)
        self._ended = torch.zeros_like(self._written)  # the best ends of each row so far, their scores,
        self._end_scores = torch.full((rows, beams), _NEVER, device=device)
        self._end_places = torch.zeros((rows, beams), dtype=torch.long, device=device)  # their last places,
        self._is_ended = torch.zeros((rows, beams), dtype=torch.bool, device=device)  # and if there are any

    def run(self, hidden: npt.NDArray[np.float32], mask: Tensor) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield each latent's number and tokens, as they end."""
        begun, share = 0, len(self._latent) // _SHARE
        while True:
            free = np.flatnonzero(self._latent < 0)
            while begun < len(hidden) and len(free) >= share:
                chosen = np.arange(begun, min(begun + share, len(hidden)))
                self._begin(free[:share], chosen, hidden, mask)
                begun, free = begun + len(chosen), free[len(chosen) :]
            yield from self._take_ended()
            if (self._latent >= 0).any():
                self._step()
            elif begun == len(hidden):
                return

    def _begin(self, free: Rows, chosen: Rows, hidden: npt.NDArray[np.float32], mask: Tensor) -> None:
        """Let rows work on latents: read what every text begins with, and branch; spare rows stay free."""
        import torch

        device = self._model.device
        rows = torch.from_numpy(free).to(device)
        taken = np.concatenate([chosen, np.repeat(chosen[-1:], len(free) - len(chosen))])
        encoded = torch.from_numpy(hidden[taken]).to(device, self._model.dtype)
        self._decoder.admit(rows, encoded, mask[taken].to(device))
        self._latent[free[: len(chosen)]] = chosen
        self._end_scores[rows], self._is_ended[rows] = _NEVER, False
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

    def _continue(self, logits: Tensor, rows: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
        """Return scores and tokens of the best continuations of every beam, row by row."""
        likelihoods = logits.float().log_softmax(-1)
        if self._rules.no_repeat:
            self._forbid_repeats(likelihoods, rows)
        values, tokens = likelihoods.topk(self._rules.kept)
        return (values + scores[..., None]).flatten(1), tokens.flatten(1)

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
        row, beam, window = is_repeat.nonzero(as_tuple=True)
        likelihoods[row, beam, windows[row, beam, window, -1]] = -torch.inf

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

    def _keep_ends(self, rows: Tensor, values: Tensor, written: Tensor, did_end: Tensor, at: Tensor) -> None:
        """Merge new ends with those that a row has, by score per token."""
        import torch

        scores = values / at[:, None] ** self._rules.penalty + ~did_end * _NEVER
        merged = torch.cat((self._end_scores[rows], scores), 1)
        self._end_scores[rows], which = merged.topk(self._rules.beams)
        self._ended[rows] = _gather(torch.cat((self._ended[rows], written), 1), which)
        places = torch.cat((self._end_places[rows], at[:, None].expand_as(values)), 1)
        self._end_places[rows] = places.gather(1, which)
        self._is_ended[rows] = torch.cat((self._is_ended[rows], did_end), 1).gather(1, which)

    def _take_ended(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield what rows that are done have found, and free them."""
        limit = self._rules.length - (1 if self._rules.last is None else 2)
        done = (self._is_ended.all(1) | (self._at >= limit)).cpu().numpy() & (self._latent >= 0)
        rows = np.flatnonzero(done)
        best, places = self._ended[rows, 0].tolist(), self._end_places[rows, 0].tolist()
        for row, tokens, place in zip(rows, best, places, strict=True):
            yield int(self._latent[row]), tuple(tokens[1 : place + 1])
        self._latent[rows] = -1


def _gather(beams: Tensor, which: Tensor) -> Tensor:
    """Return these beams of every row."""
    return beams.gather(1, which[..., None].expand(-1, -1, beams.shape[2]))


def _stretch(values: Tensor, like: Tensor) -> Tensor:
    """Return one value per row, repeated over the row."""
    return values[:, None, None].expand_as(like)
