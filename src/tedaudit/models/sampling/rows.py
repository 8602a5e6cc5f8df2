"""Rows of a batch that advance together through a decoder, with a cache that follows them as they split."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from tedaudit.models.loading import Checkpoint, settle_logits

_CPU_ROWS = 512
_CPU_BYTES = 1 << 28  # of their caches, which are copied as rows split: three times as much is in memory then
_LEAST = 8  # that run together on a CPU anyway
_MOST_ROWS = 24_576  # on a GPU; an H200 was no faster with them than with 16,384
_SHARE = 0.5  # of a GPU's free memory that caches may use
_SPARE = 1.25  # times the size of a cache, for a layer that is being copied
_LIVE = 0.875  # of a cache's rows that must continue, or else it is copied without those that ended


def decoder_for(checkpoint: Checkpoint) -> "Decoder":
    """Return the decoder that fits the model's architecture."""
    return (
        EncoderDecoder(checkpoint) if checkpoint.model.config.is_encoder_decoder else DecoderOnly(checkpoint)
    )


class Decoder(ABC):
    """The current rows and their cache; a checkpoint may need a fixed number of rows per forward pass."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._model, self._fixed = checkpoint.model, checkpoint.fixed_rows
        self.device = checkpoint.device
        self._pad = checkpoint.tokenizer.pad_token_id or 0
        self._blocks: list[Any] = []  # caches, one per block of rows
        self._mask: Any = None  # what of the prompt is not padding, for every row of the caches
        self._places: Any = None  # where in the caches the current rows lie

    @abstractmethod
    def start(self, prompts: Sequence[tuple[int, ...]], width: int) -> Any:
        """Read the prompts, padded to the width, and return the logits of the first token to draw."""

    @abstractmethod
    def step(self, parents: Any, tokens: Any) -> Any:
        """Continue these rows (by number; some may appear twice, some not at all), each with its token."""

    @abstractmethod
    def read(self, prompts: Sequence[tuple[int, ...]], width: int, tokens: Any) -> Any:
        """Return the logits before each of these tokens, a row of them per prompt, in one pass.

        Equal to those of single steps but for rounding.
        """

    def row_budget(self, width: int, steps: int) -> int:
        """Return how many rows fit, given the memory of a row's cache and logits."""
        import torch

        config = self._model.config
        layers = getattr(config, "num_decoder_layers", None) or getattr(config, "decoder_layers", None)
        layers = layers or config.num_hidden_layers
        width_of_heads = config.num_heads * config.d_kv if hasattr(config, "d_kv") else config.hidden_size
        per_token = 2 * layers * width_of_heads * self._model.dtype.itemsize
        per_row = _SPARE * per_token * (width + steps) + 16 * config.vocab_size
        if self.device.type != "cuda":
            return int(min(_CPU_ROWS, max(_LEAST, _CPU_BYTES // per_row)))
        kept = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        free = (
            torch.cuda.mem_get_info(self.device)[0] + kept
        )  # what torch keeps of earlier batches is free too
        return int(max(64, min(_MOST_ROWS, _SHARE * free // per_row)))

    def _pad_prompts(self, prompts: Sequence[tuple[int, ...]], width: int, *, left: bool) -> tuple[Any, Any]:
        """Return the prompts as one padded table, and the mask of what is not padding."""
        import torch

        ids = np.full((len(prompts), width), self._pad, dtype=np.int64)
        mask = np.zeros((len(prompts), width), dtype=np.int64)
        for row, prompt in enumerate(prompts):
            tokens = prompt or (self._pad,)  # a model cannot read an empty sequence
            columns = slice(width - len(tokens), width) if left else slice(0, len(tokens))
            ids[row, columns], mask[row, columns] = tokens, 1
        return torch.from_numpy(ids).to(self.device), torch.from_numpy(mask).to(self.device)

    def _fill_blocks(self, rows: Any) -> Any:
        """Repeat the last row number to fill the last block."""
        import torch

        missing = -len(rows) % self._fixed if self._fixed else 0
        return torch.cat([rows, rows[-1:].expand(missing)]) if missing else rows

    def _split_ranges(self, count: int) -> list[tuple[int, int]]:
        size = self._fixed or count
        return [(start, start + size) for start in range(0, count, size)]

    def _begin(self, mask: Any) -> Any:
        """Forget what was read before, note the masks of the prompts, and return a prompt for every row."""
        import torch

        self._blocks, self._places = [], torch.arange(len(mask), device=self.device)
        rows = self._fill_blocks(self._places)
        self._mask = mask[rows]
        return rows

    def _follow(self, parents: Any, tokens: Any) -> Any:
        """Make the caches fit the rows that continue, and return a token for every row in them.

        On a GPU some rows that have ended stay: to carry them along costs less than to copy all others.
        """
        import torch

        places = self._places[parents]
        if self._may_stay(parents):
            self._places = places
        else:
            rows = self._fill_blocks(places)
            self._blocks, self._mask = self._gather(rows), self._mask[rows]
            self._places = torch.arange(len(parents), device=self.device)
        carried = torch.full((len(self._mask),), self._pad, dtype=torch.long, device=self.device)
        carried[self._places] = tokens
        return carried

    def _may_stay(self, parents: Any) -> bool:
        """Return whether the caches need no copy: no row has split, and few have ended."""
        if self._fixed or len(parents) < _LIVE * len(self._mask):
            return False
        return bool((parents[1:] > parents[:-1]).all())

    def _pick(self, logits: Sequence[Any]) -> Any:
        """Return the last logits of the current rows, in float32 or wider."""
        import torch

        last = torch.cat([block[:, -1] for block in logits]) if len(logits) > 1 else logits[0][:, -1]
        last = last[: len(self._places)] if self._fixed else last[self._places]
        return settle_logits(last)

    def _gather(self, rows: Any) -> list[Any]:
        """Return the caches of these rows, cut into blocks."""
        if len(self._blocks) == 1 and len(self._split_ranges(len(rows))) == 1:
            self._blocks[0].reorder_cache(rows)
            return self._blocks
        whole = self._join(self._blocks)
        return [self._select(whole, rows[start:stop]) for start, stop in self._split_ranges(len(rows))]

    def _join(self, blocks: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return the tensors of all layers, with the blocks concatenated."""
        import torch

        layers = zip(*(_read_layers(block) for block in blocks), strict=True)
        return [tuple(torch.cat(parts) for parts in zip(*layer, strict=True)) for layer in layers]

    def _select(self, layers: Sequence[tuple[Any, ...]], rows: Any) -> Any:
        from transformers import DynamicCache, EncoderDecoderCache

        picked = [tuple(tensor[rows] for tensor in layer) for layer in layers]
        if len(picked[0]) == 2:
            return DynamicCache(picked)
        self_layers, cross_layers = [layer[:2] for layer in picked], [layer[2:] for layer in picked]
        return EncoderDecoderCache(DynamicCache(self_layers), DynamicCache(cross_layers))


def _read_layers(cache: Any) -> list[tuple[Any, ...]]:
    """Return keys and values of every layer; for encoder-decoders also those of the cross-attention."""
    if hasattr(cache, "cross_attention_cache"):
        self_layers, cross_layers = cache.self_attention_cache.layers, cache.cross_attention_cache.layers
        return [(a.keys, a.values, b.keys, b.values) for a, b in zip(self_layers, cross_layers, strict=True)]
    return [(layer.keys, layer.values) for layer in cache.layers]


class DecoderOnly(Decoder):
    """Prompts are padded on the left, so that all rows draw their next token at the same position."""

    def start(self, prompts: Sequence[tuple[int, ...]], width: int) -> Any:
        """Run the prompts."""
        ids, mask = self._pad_prompts(prompts, width, left=True)
        rows = self._begin(mask)
        positions = (self._mask.cumsum(1) - 1).clamp(min=0)
        return self._run(ids[rows], positions, [None] * len(self._split_ranges(len(rows))))

    def step(self, parents: Any, tokens: Any) -> Any:
        """Run one more token of the rows that continue."""
        import torch

        tokens = self._follow(parents, tokens)
        self._mask = torch.cat([self._mask, torch.ones_like(tokens[:, None])], dim=1)
        return self._run(tokens[:, None], self._mask.sum(1, keepdim=True) - 1, self._blocks)

    def _run(self, ids: Any, positions: Any, caches: Sequence[Any]) -> Any:
        """Run the model block by block, keep its caches and return the logits of the current rows."""
        ranges = [slice(start, stop) for start, stop in self._split_ranges(len(ids))]
        found = [
            self._forward(ids[part], self._mask[part], positions[part], cache)
            for part, cache in zip(ranges, caches, strict=True)
        ]
        self._blocks = [out.past_key_values for out in found]
        return self._pick([out.logits for out in found])

    def read(self, prompts: Sequence[tuple[int, ...]], width: int, tokens: Any) -> Any:
        """Run every distinct prompt, and all tokens but the last together after it."""
        import torch

        row_of = {prompt: row for row, prompt in enumerate(dict.fromkeys(prompts))}
        rows = torch.tensor([row_of[prompt] for prompt in prompts], device=self.device)
        ids, mask = self._pad_prompts(list(row_of), width, left=True)
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        out = self._forward(ids, mask, positions, None)
        first, shown = out.logits[rows], tokens[:, :-1]
        if not shown.shape[1]:
            return settle_logits(first)
        mask = torch.cat([mask[rows], torch.ones_like(shown)], dim=1)
        positions = (mask.cumsum(1) - 1)[:, width:]
        cache = self._select(_read_layers(out.past_key_values), rows)
        rest = self._forward(shown, mask, positions, cache, keep=shown.shape[1])
        return settle_logits(torch.cat([first, rest.logits], dim=1))

    def _forward(self, ids: Any, mask: Any, positions: Any, cache: Any, keep: int = 1) -> Any:
        import torch

        with torch.inference_mode():
            return self._model(
                input_ids=ids, attention_mask=mask, position_ids=positions, past_key_values=cache,
                use_cache=True, logits_to_keep=keep,
            )  # fmt: skip


class EncoderDecoder(Decoder):
    """Texts go through the encoder once; rows are decoder prefixes."""

    def start(self, prompts: Sequence[tuple[int, ...]], width: int) -> Any:
        """Encode the prompts and run the decoder's start token."""
        import torch

        ids, mask = self._pad_prompts(prompts, width, left=False)
        rows = self._begin(mask)
        first = torch.full((len(rows), 1), self._model.config.decoder_start_token_id, device=self.device)
        found = []
        for start, stop in self._split_ranges(len(rows)):
            part = rows[start:stop]
            with torch.inference_mode():
                encoded = self._model.get_encoder()(input_ids=ids[part], attention_mask=mask[part])
            found.append(self._forward(encoded, mask[part], first[start:stop], None))
        self._blocks = [out.past_key_values for out in found]
        return self._pick([out.logits for out in found])

    def step(self, parents: Any, tokens: Any) -> Any:
        """Run one more token of the rows that continue."""
        import torch
        from transformers.modeling_outputs import BaseModelOutput

        tokens = self._follow(parents, tokens)
        # Cross-attention reads its cache; only the shape of the encoder's output is used.
        width = self._model.config.hidden_size
        shape = torch.empty((1, 1, 1), dtype=self._model.dtype, device=self.device)
        found = []
        for (start, stop), cache in zip(self._split_ranges(len(tokens)), self._blocks, strict=True):
            mask = self._mask[start:stop]
            hidden = BaseModelOutput(last_hidden_state=shape.expand(*mask.shape, width))
            found.append(self._forward(hidden, mask, tokens[start:stop, None], cache))
        self._blocks = [out.past_key_values for out in found]
        return self._pick([out.logits for out in found])

    def read(self, prompts: Sequence[tuple[int, ...]], width: int, tokens: Any) -> Any:
        """Encode every distinct prompt, and run the start token and all tokens but the last together."""
        import torch
        from transformers.modeling_outputs import BaseModelOutput

        row_of = {prompt: row for row, prompt in enumerate(dict.fromkeys(prompts))}
        rows = torch.tensor([row_of[prompt] for prompt in prompts], device=self.device)
        ids, mask = self._pad_prompts(list(row_of), width, left=False)
        first = torch.full((len(rows), 1), self._model.config.decoder_start_token_id, device=self.device)
        with torch.inference_mode():
            encoded = self._model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
            out = self._model(
                encoder_outputs=BaseModelOutput(last_hidden_state=encoded[rows]), attention_mask=mask[rows],
                decoder_input_ids=torch.cat([first, tokens[:, :-1]], dim=1), use_cache=False,
            )  # fmt: skip
        return settle_logits(out.logits)

    def _forward(self, encoded: Any, mask: Any, tokens: Any, cache: Any) -> Any:
        import torch

        with torch.inference_mode():
            return self._model(
                encoder_outputs=encoded, attention_mask=mask, decoder_input_ids=tokens,
                past_key_values=cache, use_cache=True,
            )  # fmt: skip
