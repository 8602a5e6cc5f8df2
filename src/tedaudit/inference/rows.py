"""Rows of a batch that advance together through a decoder, with a cache that follows them as they split."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from tedaudit.inference.loading import Checkpoint

_CPU_ROWS = 512
_SHARE = 0.5  # of a GPU's free memory that caches may use


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
        self._count = 0
        self._length = 0

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

        if self.device.type != "cuda":
            return _CPU_ROWS
        config = self._model.config
        layers = getattr(config, "num_decoder_layers", None) or getattr(config, "decoder_layers", None)
        layers = layers or config.num_hidden_layers
        per_token = 2 * layers * config.hidden_size * self._model.dtype.itemsize
        per_row = 2 * per_token * (width + steps) + 16 * config.vocab_size
        free, _ = torch.cuda.mem_get_info(self.device)
        return int(max(64, min(16_384, _SHARE * free // per_row)))

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

    def _gather(self, rows: Any) -> list[Any]:
        """Return the caches of these rows, cut into blocks."""
        if not self._fixed and self._is_all(rows):
            return self._blocks  # no row ended or split: nothing to copy
        if len(self._blocks) == 1 and len(self._split_ranges(len(rows))) == 1:
            self._blocks[0].reorder_cache(rows)
            return self._blocks
        whole = self._join(self._blocks)
        return [self._select(whole, rows[start:stop]) for start, stop in self._split_ranges(len(rows))]

    def _is_all(self, rows: Any) -> bool:
        import torch

        all_rows = torch.arange(self._count, device=rows.device)
        return len(rows) == self._count and bool(torch.equal(rows, all_rows))

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


def _take_last(logits: Any) -> Any:
    """Return the logits of the last position, in float32 or wider."""
    import torch

    last = logits[:, -1]
    return last if last.dtype == torch.float64 else last.float()


class DecoderOnly(Decoder):
    """Prompts are padded on the left, so that all rows draw their next token at the same position."""

    def start(self, prompts: Sequence[tuple[int, ...]], width: int) -> Any:
        """Run the prompts."""
        import torch

        ids, self._mask = self._pad_prompts(prompts, width, left=True)
        self._count, self._blocks = len(prompts), []
        rows = self._fill_blocks(torch.arange(len(prompts), device=self.device))
        positions = (self._mask.cumsum(1) - 1).clamp(min=0)
        logits = []
        for start, stop in self._split_ranges(len(rows)):
            part = rows[start:stop]
            out = self._forward(ids[part], self._mask[part], positions[part], None)
            logits.append(_take_last(out.logits))
            self._blocks.append(out.past_key_values)
        return torch.cat(logits)[: self._count]

    def step(self, parents: Any, tokens: Any) -> Any:
        """Run one more token of the rows that continue."""
        import torch

        new = torch.ones((len(parents), 1), dtype=torch.long, device=self.device)
        self._mask = torch.cat([self._mask[parents], new], dim=1)
        padded = self._fill_blocks(parents)
        self._blocks = self._gather(padded)
        self._count = len(parents)
        rows = self._fill_blocks(torch.arange(len(parents), device=self.device))
        positions = self._mask.sum(1, keepdim=True) - 1
        logits, blocks = [], []
        for (start, stop), cache in zip(self._split_ranges(len(rows)), self._blocks, strict=True):
            part = rows[start:stop]
            out = self._forward(tokens[part][:, None], self._mask[part], positions[part], cache)
            logits.append(_take_last(out.logits))
            blocks.append(out.past_key_values)
        self._blocks = blocks
        return torch.cat(logits)[: self._count]

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
            return first
        mask = torch.cat([mask[rows], torch.ones_like(shown)], dim=1)
        positions = (mask.cumsum(1) - 1)[:, width:]
        cache = self._select(_read_layers(out.past_key_values), rows)
        rest = self._forward(shown, mask, positions, cache, keep=shown.shape[1])
        return torch.cat([first, rest.logits], dim=1)

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

        ids, self._mask = self._pad_prompts(prompts, width, left=False)
        self._count, self._blocks = len(prompts), []
        rows = self._fill_blocks(torch.arange(len(prompts), device=self.device))
        first = torch.full((len(rows), 1), self._model.config.decoder_start_token_id, device=self.device)
        logits = []
        for start, stop in self._split_ranges(len(rows)):
            part = rows[start:stop]
            with torch.inference_mode():
                encoded = self._model.get_encoder()(input_ids=ids[part], attention_mask=self._mask[part])
            out = self._forward(encoded, self._mask[part], first[start:stop], None)
            logits.append(_take_last(out.logits))
            self._blocks.append(out.past_key_values)
        return torch.cat(logits)[: self._count]

    def step(self, parents: Any, tokens: Any) -> Any:
        """Run one more token of the rows that continue."""
        import torch
        from transformers.modeling_outputs import BaseModelOutput

        self._mask = self._mask[parents]
        self._blocks = self._gather(self._fill_blocks(parents))
        self._count = len(parents)
        rows = self._fill_blocks(torch.arange(len(parents), device=self.device))
        logits, blocks = [], []
        for (start, stop), cache in zip(self._split_ranges(len(rows)), self._blocks, strict=True):
            part = rows[start:stop]
            # Cross-attention reads its cache; only the shape of the encoder's output is used.
            width = self._model.config.hidden_size
            shape = torch.empty((1, 1, 1), dtype=self._model.dtype, device=self.device)
            hidden = BaseModelOutput(last_hidden_state=shape.expand(len(part), self._mask.shape[1], width))
            out = self._forward(hidden, self._mask[part], tokens[part][:, None], cache)
            logits.append(_take_last(out.logits))
            blocks.append(out.past_key_values)
        self._blocks = blocks
        return torch.cat(logits)[: self._count]

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
            return self._model(
                encoder_outputs=BaseModelOutput(last_hidden_state=encoded[rows]), attention_mask=mask[rows],
                decoder_input_ids=torch.cat([first, tokens[:, :-1]], dim=1), use_cache=False,
            ).logits  # fmt: skip

    def _forward(self, encoded: Any, mask: Any, tokens: Any, cache: Any) -> Any:
        import torch

        with torch.inference_mode():
            return self._model(
                encoder_outputs=encoded, attention_mask=mask, decoder_input_ids=tokens,
                past_key_values=cache, use_cache=True,
            )  # fmt: skip
