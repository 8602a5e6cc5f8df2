"""BART's decoder for many rows of several beams: one cache that is written in place and never reordered.

The library repeats a row for each of its beams, projects keys and values of the same encoder output for each
of them, and copies the cache at every step to follow the beams. Here a row holds its beams: they read the
encoder's keys and values of their row, and the own ones of all beams through a mask that says which of them
are ancestors. Every pass has the same shape whatever the rows hold, so that on a CPU a row's numbers do not
depend on the others. Elsewhere that is not promised, and sums are made in the way that is fastest.
"""

from dataclasses import dataclass
from typing import Any

Tensor = Any  # torch is imported where it is used
GROUP = 128  # where shapes are free the vocabulary is filled up to a multiple of it: products are faster
_FIXED = ("cpu",)


def has_fixed_shapes(device: Any) -> bool:
    """Return whether every pass on a device has one shape, so that a row's numbers are always the same."""
    return device.type in _FIXED


def has_known_decoder(model: Any) -> bool:
    """Return whether the decoder is BART's own: sums, norms and embeddings as they are computed here."""
    return model.config.model_type == "bart" and type(model).__name__ == "BartForConditionalGeneration"


class Linear:
    """One or several linear maps of the same input in one product.

    On a CPU the weights lie as the product reads them, which is a tenth faster than the other way round.
    """

    def __init__(self, modules: list[Any], bias: Tensor | None = None, multiple: int = 1) -> None:
        import torch

        weight = torch.cat([module.weight for module in modules]).detach()
        given = bias if bias is not None else torch.cat([module.bias for module in modules]).detach()
        if spare := -len(weight) % multiple:  # outputs that can never be chosen
            weight = torch.cat([weight, weight.new_zeros((spare, weight.shape[1]))])
            given = torch.cat([given, given.new_full((spare,), -torch.inf)])
        self._weight = weight.t().contiguous() if weight.device.type == "cpu" else weight.t()
        self._bias = given.to(weight.dtype)

    def __call__(self, state: Tensor) -> Tensor:
        """Return the outputs of all maps, one after the other in the last dimension."""
        return self._bias.addmm(state.flatten(0, -2), self._weight).unflatten(0, state.shape[:-1])


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer's maps: of the decoder's own tokens, of what the encoder read, and forward."""

    module: Any
    own: Linear  # query, key and value
    own_out: Linear
    query: Linear
    read: Linear  # key and value
    read_out: Linear
    first: Linear
    second: Linear

    @classmethod
    def of(cls, module: Any) -> "Layer":
        """Take the maps of a layer of the library."""
        own, read = module.self_attn, module.encoder_attn
        maps = (
            [own.q_proj, own.k_proj, own.v_proj], [own.out_proj], [read.q_proj], [read.k_proj, read.v_proj],
            [read.out_proj], [module.fc1], [module.fc2],
        )  # fmt: skip
        return cls(module, *map(Linear, maps))


class BartDecoder:
    """Rows of beams under way, each at a length of its own."""

    def __init__(self, model: Any, rows: int, beams: int, length: int, width: int) -> None:
        import torch

        self._decoder = model.get_decoder()
        self._layers = [Layer.of(layer) for layer in self._decoder.layers]
        multiple = 1 if has_fixed_shapes(model.device) else GROUP
        self._head = Linear([model.lm_head], model.final_logits_bias[0], multiple)
        attention = self._decoder.layers[0].self_attn
        self._heads, self._size = attention.num_heads, attention.head_dim
        device, dtype = model.device, model.dtype

        def make(places: int) -> Tensor:
            shape = (len(self._layers), rows, self._heads, places, self._size)
            return torch.zeros(shape, device=device, dtype=dtype)

        self._keys, self._values = make(length * beams), make(length * beams)
        self._read_keys, self._read_values = make(width), make(width)
        self._is_read = torch.ones((rows, 1, 1, width), dtype=torch.bool, device=device)
        self._ancestors = torch.zeros((rows, beams, length), dtype=torch.long, device=device)
        self._rows = torch.arange(rows, device=device)
        self._own = torch.arange(beams, device=device)
        self._places = torch.arange(length, device=device)

    def admit(self, rows: Tensor, encoded: Tensor, mask: Tensor) -> None:
        """Let rows begin anew with these encoder outputs."""
        for number, layer in enumerate(self._layers):
            keys, values = self._split(layer.read(encoded))
            self._read_keys[number, rows] = keys.transpose(1, 2)
            self._read_values[number, rows] = values.transpose(1, 2)
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
        decoder = self._decoder
        state = decoder.embed_tokens(tokens)
        offset = decoder.embed_positions.offset
        state = decoder.layernorm_embedding(state + decoder.embed_positions.weight[at + offset][:, None])
        which = self._rows if rows is None else rows
        places = (which[:, None], slice(None), at[:, None] * len(self._own) + self._own[: tokens.shape[1]])
        seen = self._find_seen(which, at, tokens.shape[1])
        is_read = self._is_read[which]
        for number, layer in enumerate(self._layers):
            query, key, value = self._split(layer.own(state))
            self._keys[number][places], self._values[number][places] = key, value
            keys, values = self._keys[number], self._values[number]
            read_keys, read_values = self._read_keys[number], self._read_values[number]
            if rows is not None:
                keys, values = keys[rows], values[rows]
                read_keys, read_values = read_keys[rows], read_values[rows]
            state = layer.module.self_attn_layer_norm(
                state + layer.own_out(_attend(query, keys, values, seen))
            )
            (query,) = self._split(layer.query(state))
            state = layer.module.encoder_attn_layer_norm(
                state + layer.read_out(_attend(query, read_keys, read_values, is_read))
            )
            forward = layer.second(layer.module.activation_fn(layer.first(state)))
            state = layer.module.final_layer_norm(state + forward)
        return self._head(state)

    def _split(self, projected: Tensor) -> tuple[Tensor, ...]:
        """Return the outputs of each map apart, (rows, places, heads, size)."""
        parts: tuple[Tensor, ...] = projected.unflatten(-1, (-1, self._heads, self._size)).unbind(2)
        return parts

    def _find_seen(self, rows: Tensor, at: Tensor, beams: int) -> Tensor:
        """Return which keys each beam reads: its ancestors', up to its own."""
        is_past = self._places <= at[:, None, None]
        seen = (self._ancestors[rows, :beams, :, None] == self._own) & is_past[..., None]
        return seen.flatten(2)[:, None]


def _attend(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Return what each beam reads, (rows, beams, heads times size).

    Fused kernels of a GPU work on many queries of a head at a time, and there are as many as beams.
    """
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    query = query.transpose(1, 2)
    if has_fixed_shapes(query.device):
        found = scaled_dot_product_attention(query, keys, values, attn_mask=mask)
    else:
        scores = (query * query.shape[-1] ** -0.5) @ keys.transpose(2, 3)
        found = scores.masked_fill(~mask, -torch.inf).softmax(-1) @ values
    return found.transpose(1, 2).flatten(2)
