"""BART's decoder for many rows of several beams: one cache that is written in place and never reordered.

The library repeats a row for each of its beams, projects keys and values of the same encoder output for each
of them, and copies the cache at every step to follow the beams. Here a row holds its beams: they read the
encoder's keys and values of their row, and the own ones of all beams through a mask that says which of them
are ancestors. Every pass has the same shape whatever the rows hold, so that on a CPU a row's numbers do not
depend on the others.
"""

from typing import Any

Tensor = Any  # torch is imported where it is used


def has_known_decoder(model: Any) -> bool:
    """Return whether the decoder is BART's own: sums, norms and embeddings as they are computed here."""
    return model.config.model_type == "bart" and type(model).__name__ == "BartForConditionalGeneration"


class BartDecoder:
    """Rows of beams under way, each at a length of its own."""

    def __init__(self, model: Any, rows: int, beams: int, length: int, width: int) -> None:
        import torch

        self._decoder, self._model = model.get_decoder(), model
        layers = self._decoder.layers
        attention = layers[0].self_attn
        self._heads, self._size = attention.num_heads, attention.head_dim
        device, dtype = model.device, model.dtype
        self.beams, self.length, self._width = beams, length, width

        def make(places: int) -> Tensor:
            shape = (len(layers), rows, self._heads, places, self._size)
            return torch.zeros(shape, device=device, dtype=dtype)

        self._keys, self._values = make(length * beams), make(length * beams)
        self._read_keys, self._read_values = make(width), make(width)
        self._is_read = torch.ones((rows, 1, 1, width), dtype=torch.bool, device=device)
        self._ancestors = torch.zeros((rows, beams, length), dtype=torch.long, device=device)
        self._own = torch.arange(beams, device=device)
        self._places = torch.arange(length, device=device)

    def admit(self, rows: Tensor, encoded: Tensor, mask: Tensor) -> None:
        """Let rows begin anew with these encoder outputs."""
        for number, layer in enumerate(self._decoder.layers):
            attention = layer.encoder_attn
            self._read_keys[number, rows] = self._split(attention.k_proj(encoded)).transpose(1, 2)
            self._read_values[number, rows] = self._split(attention.v_proj(encoded)).transpose(1, 2)
        self._is_read[rows] = mask.bool()[:, None, None, :]

    def follow(self, rows: Tensor, parents: Tensor, at: Tensor) -> None:
        """Let each beam go on from its parent; `at` is the place of its next token, row by row."""
        ancestors = self._ancestors[rows]
        ancestors = ancestors.gather(1, parents[:, :, None].expand_as(ancestors))
        own = self._own[None, :, None].expand_as(ancestors)
        self._ancestors[rows] = ancestors.where(self._places != at[:, None, None], own)

    def read(self, tokens: Tensor, at: Tensor, rows: Tensor | None = None) -> Tensor:
        """Return the logits (rows, beams, tokens) after reading a token per beam at a place per row.

        Rows that have not branched yet are read with their first beam alone; then `rows` names them.
        """
        decoder, beams = self._decoder, tokens.shape[1]
        state = decoder.embed_tokens(tokens)
        offset = decoder.embed_positions.offset
        state = decoder.layernorm_embedding(state + decoder.embed_positions.weight[at + offset][:, None])
        seen = self._find_seen(at, rows, beams)
        which = self._own.new_tensor(range(len(self._ancestors))) if rows is None else rows
        is_read = self._is_read if rows is None else self._is_read[rows]
        places = at[:, None] * self.beams + self._own[None, :beams]
        for number, layer in enumerate(decoder.layers):
            state = self._pass_layer(number, layer, state, (which, rows), places, (seen, is_read))
        return self._model.lm_head(state) + self._model.final_logits_bias

    def _pass_layer(
        self,
        number: int,
        layer: Any,
        state: Tensor,
        rows: tuple[Tensor, Tensor | None],
        places: Tensor,
        masks: tuple[Tensor, Tensor],
    ) -> Tensor:
        """Attend to ancestors and to what the encoder read, then feed forward."""
        which, chosen = rows
        attention = layer.self_attn
        keys, values = self._keys[number], self._values[number]
        keys[which[:, None], :, places] = self._split(attention.k_proj(state))
        values[which[:, None], :, places] = self._split(attention.v_proj(state))
        if chosen is not None:
            keys, values = keys[chosen], values[chosen]
        state = layer.self_attn_layer_norm(state + self._attend(attention, state, keys, values, masks[0]))
        keys, values = self._read_keys[number], self._read_values[number]
        if chosen is not None:
            keys, values = keys[chosen], values[chosen]
        attended = self._attend(layer.encoder_attn, state, keys, values, masks[1])
        state = layer.encoder_attn_layer_norm(state + attended)
        return layer.final_layer_norm(state + layer.fc2(layer.activation_fn(layer.fc1(state))))

    def _attend(self, attention: Any, state: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        from torch.nn.functional import scaled_dot_product_attention

        query = self._split(attention.q_proj(state)).transpose(1, 2)
        found = scaled_dot_product_attention(query, keys, values, attn_mask=mask, scale=attention.scaling)
        return attention.out_proj(found.transpose(1, 2).flatten(2))

    def _split(self, projected: Tensor) -> Tensor:
        return projected.unflatten(-1, (self._heads, self._size))

    def _find_seen(self, at: Tensor, rows: Tensor | None, beams: int) -> Tensor:
        """Return which keys each beam reads: its ancestors', up to its own."""
        ancestors = (self._ancestors if rows is None else self._ancestors[rows])[:, :beams]
        is_past = self._places <= at[:, None, None]
        seen = (ancestors[..., None] == self._own) & is_past[..., None]
        return seen.flatten(2)[:, None]
