"""A judge in this process. What all prompts begin with is computed once, and so is what endings share.

A row of a batch is one prompt: padding on the left, its own part, then the endings as a tree, in which
every token sees the prompt and its ancestors only. One pass scores all endings; nothing is generated.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tedaudit.errors import ModelError
from tedaudit.inference.chat import chat_frame
from tedaudit.inference.judges.base import Prompt, Scored, without_thoughts
from tedaudit.inference.loading import Checkpoint, load_checkpoint

Tokens = tuple[int, ...]
_STEP = 8  # lengths are padded to multiples of this
_GPU_TOKENS = 32_768  # per forward pass
_LOGIT_ROWS = 1_024  # positions whose logits are held at a time
_SCALED = ("final_logit_softcapping", "logits_scaling", "logit_scale")


@lru_cache(maxsize=2)
def load_local(name: str, device: str, dtype: str) -> "LocalJudge":
    """Return the judge of a checkpoint; the last ones stay loaded."""
    return LocalJudge(load_checkpoint("causal", name, "", device, dtype, "sdpa"))


@dataclass(frozen=True, slots=True)
class _Row:
    """The tokens of one prompt after its head, and its endings as a tree over them."""

    tokens: Tokens
    nodes: tuple[tuple[int, int], ...]  # token and parent of every inner node; -1 is the prompt's end
    endings: tuple[tuple[tuple[int, int], ...], ...]  # per ending: after which node comes which token

    @property
    def width(self) -> int:
        return len(self.tokens) + len(self.nodes)


class LocalJudge:
    """Scores and answers with a causal language model."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint, self._model = checkpoint, checkpoint.model
        self._tokenizer = checkpoint.tokenizer
        begin = str(self._tokenizer.bos_token or "")
        self._begin = begin or str(self._tokenizer.eos_token or "")  # of a text that nothing stands before
        self._before, self._after = chat_frame(self._tokenizer) or (begin, "\n")
        config = self._model.config
        plain = set(getattr(config, "layer_types", None) or ["full_attention"]) == {"full_attention"}
        scaled = any(getattr(config, name, None) not in (None, 1, 1.0) for name in _SCALED)
        self.shares = plain and not scaled  # others have masks, or a way from states to logits, of their own

    def fingerprint(self) -> Mapping[str, str]:
        """Return a checksum of the weights and their number format."""
        return self._checkpoint.fingerprint()

    def score(self, prompts: Sequence[Prompt], endings: Sequence[Sequence[str]]) -> list[Scored]:
        """Return how probable each ending of each prompt is."""
        plain = self._all_plain([text for some in endings for text in some])
        pairs = zip(self._rests(prompts), endings, strict=True)
        rows = [_row(rest, [plain[ending] for ending in some]) for rest, some in pairs]
        found: list[Any] = [None] * len(rows)
        by_head: dict[tuple[str, bool], list[int]] = {}
        for i, prompt in enumerate(prompts):
            by_head.setdefault((prompt.head, prompt.raw), []).append(i)
        for (head, raw), members in by_head.items():
            before = self._encoded(self._begin if raw else self._before) + self._plain(head)
            shared = self._read(before) if self.shares else None
            for group, width in self._groups(rows, members, len(before)):
                some = [rows[i] for i in group]
                values = (
                    self._together(some, width, before, shared)
                    if shared is not None
                    else [self._alone(row, before) for row in some]
                )
                for i, value in zip(group, values, strict=True):
                    found[i] = Scored(value, tuple(len(ending) for ending in rows[i].endings))
        return found

    def answer(self, prompts: Sequence[Prompt], max_tokens: int) -> list[str]:
        """Return the likeliest reply to each prompt."""
        heads = self._all_plain([prompt.head for prompt in prompts])
        before = {False: self._encoded(self._before), True: self._encoded(self._begin)}
        pairs = zip(prompts, self._rests(prompts), strict=True)
        rows = [_Row(before[prompt.raw] + heads[prompt.head] + rest, (), ()) for prompt, rest in pairs]
        replies = [""] * len(rows)
        for group, width in self._groups(rows, range(len(rows)), max_tokens):
            texts = self._generated([rows[i] for i in group], width, max_tokens)
            for i, text in zip(group, texts, strict=True):
                replies[i] = without_thoughts(prompts[i].reply + text)
        return replies

    def _generated(self, rows: Sequence[_Row], width: int, max_tokens: int) -> list[str]:
        import torch

        rows, kept = _filled(rows, self._checkpoint.fixed_rows), len(rows)
        ids = torch.full((len(rows), width), self._pad, dtype=torch.long)
        for number, row in enumerate(rows):
            ids[number, width - row.width :] = torch.tensor(row.tokens)
        mask = torch.arange(width) >= torch.tensor([[width - row.width] for row in rows])
        ends = getattr(self._model.generation_config, "eos_token_id", None) or self._tokenizer.eos_token_id
        with torch.inference_mode():
            out = self._model.generate(
                input_ids=ids.to(self._model.device), attention_mask=mask.long().to(self._model.device),
                max_new_tokens=max_tokens, do_sample=False, temperature=None, top_p=None, top_k=None,
                pad_token_id=self._pad, eos_token_id=ends,
            )  # fmt: skip
        return list(self._tokenizer.batch_decode(out[:kept, width:].cpu(), skip_special_tokens=True))

    def _together(self, rows: Sequence[_Row], width: int, before: Tokens, shared: Any) -> list[Any]:
        """Score rows of one padded width over the head's cache."""
        import torch

        rows, kept = _filled(rows, self._checkpoint.fixed_rows), len(rows)
        ids, places, mask = _tables(rows, width, len(before), self._pad)
        device = self._model.device
        # positions that nothing is asked about need no logits: endings stand at the right
        longest = max(len(row.nodes) for row in rows) + 1
        with torch.inference_mode():
            states = self._model.base_model(
                input_ids=ids.to(device), position_ids=places.to(device), attention_mask=mask.to(device),
                past_key_values=_repeated(shared, len(rows)), use_cache=True,
            ).last_hidden_state[:, width - longest :]  # fmt: skip
            return self._read_off(states, rows[:kept], longest)

    def _alone(self, row: _Row, before: Tokens) -> Any:
        """Score the endings of one row one by one, each as a text of its own: for any architecture."""
        import torch

        totals = []
        for ending in row.endings:
            tokens = [token for _, token in ending]
            whole = torch.tensor([[*before, *row.tokens, *tokens]], device=self._model.device)
            with torch.inference_mode():
                logits = self._model(input_ids=whole, use_cache=False).logits[0, -len(tokens) - 1 : -1]
                chances = torch.log_softmax(logits.float(), dim=-1).cpu()
            picked = chances[torch.arange(len(tokens)), torch.tensor(tokens, dtype=torch.long)]
            totals.append(float(picked.double().sum()))
        return np.asarray(totals)

    def _read_off(self, states: Any, rows: Sequence[_Row], longest: int) -> list[Any]:
        """Return the endings' log-probabilities from the states at the right of every row."""
        import torch

        asked = [  # row, place among the last ones, token, which ending of the row
            (number, longest - 1 - len(row.nodes) + 1 + node if node >= 0 else longest - 1 - len(row.nodes),
             token, ending)
            for number, row in enumerate(rows)
            for ending, steps in enumerate(row.endings)
            for node, token in steps
        ]  # fmt: skip
        totals = [np.zeros(len(row.endings)) for row in rows]
        for start in range(0, len(asked), _LOGIT_ROWS):
            part = asked[start : start + _LOGIT_ROWS]
            places = sorted({(number, place) for number, place, _, _ in part})
            where = {place: i for i, place in enumerate(places)}
            chosen = states[[number for number, _ in places], [place for _, place in places]]
            chances = torch.log_softmax(self._logits(chosen), dim=-1)
            index = torch.tensor(
                [where[number, place] for number, place, _, _ in part], device=chances.device
            )
            tokens = torch.tensor([token for _, _, token, _ in part], device=chances.device)
            for (number, _, _, ending), value in zip(part, chances[index, tokens].tolist(), strict=True):
                totals[number][ending] += value
        return totals

    def _logits(self, states: Any) -> Any:
        """Return logits in float32: in bfloat16 endings would tie."""
        import torch

        last = self._model.get_output_embeddings()
        if states.is_cuda and states.dtype == last.weight.dtype and states.dtype.itemsize == 2:
            found = torch.mm(states, last.weight.T, out_dtype=torch.float32)  # exact products, wide sums
        else:
            found = states.float() @ last.weight.float().T
        return found if last.bias is None else found + last.bias.float()

    def _read(self, tokens: Tokens) -> Any:
        """Return the cache of what all prompts begin with."""
        import torch
        from transformers import DynamicCache

        cache = DynamicCache()
        if not tokens:
            return cache
        ids = torch.tensor([tokens], device=self._model.device)
        with torch.inference_mode():
            self._model.base_model(input_ids=ids, past_key_values=cache, use_cache=True)
        return cache

    def _groups(
        self, rows: Sequence[_Row], members: Sequence[int], extra: int
    ) -> Iterator[tuple[list[int], int]]:
        """Yield rows of one padded width, as many as a forward pass takes."""
        step, fixed = _STEP, self._checkpoint.fixed_rows
        by_width: dict[int, list[int]] = {}
        for i in members:
            by_width.setdefault(-(-max(1, rows[i].width) // step) * step, []).append(i)
        for width, group in sorted(by_width.items()):
            self._check_room(width + extra)
            size = fixed or max(1, _GPU_TOKENS // width)
            for start in range(0, len(group), size):
                yield group[start : start + size], width

    def _check_room(self, tokens: int) -> None:
        room = self._checkpoint.positions
        if room is not None and tokens > room:
            raise ModelError(
                f"A prompt of {tokens:,} tokens does not fit into '{self._checkpoint.name}', which reads "
                f"{room:,}. Lower the attack's `longest` (characters per text), or use fewer candidates."
            )

    @property
    def _pad(self) -> int:
        found = self._tokenizer.pad_token_id
        return int(found if found is not None else self._tokenizer.eos_token_id or 0)

    def _rests(self, prompts: Sequence[Prompt]) -> list[Tokens]:
        """Return the tokens of prompts from the end of their heads on."""
        plain = self._all_plain([text for prompt in prompts for text in (prompt.body, prompt.reply)])
        after = self._encoded(self._after)
        return [plain[p.body] + (() if p.raw else after) + plain[p.reply] for p in prompts]

    def _all_plain(self, texts: Sequence[str]) -> dict[str, Tokens]:
        """Return the tokens of each text; what looks like a control token in it is only a text."""
        distinct = list(dict.fromkeys(texts))
        options = {"add_special_tokens": False, "split_special_tokens": True, "return_attention_mask": False}
        found = self._tokenizer(distinct, **options)["input_ids"] if distinct else []
        return {text: tuple(tokens) for text, tokens in zip(distinct, found, strict=True)}

    def _plain(self, text: str) -> Tokens:
        return self._all_plain([text])[text]

    def _encoded(self, text: str) -> Tokens:
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"]) if text else ()


def _row(tokens: Tokens, endings: Sequence[Tokens]) -> _Row:
    """Return a prompt with its endings as a tree: what two endings begin with is there once."""
    nodes: list[tuple[int, int]] = []
    known: dict[tuple[int, int], int] = {}
    paths = []
    for ending in endings:
        at, path = -1, []
        for number, token in enumerate(ending):
            path.append((at, token))
            if number + 1 < len(ending):
                if (at, token) not in known:
                    known[at, token] = len(nodes)
                    nodes.append((token, at))
                at = known[at, token]
        paths.append(tuple(path))
    return _Row(tokens, tuple(nodes), tuple(paths))


def _filled(rows: Sequence[_Row], fixed: int) -> list[_Row]:
    """Return rows repeated up to the fixed number, where there is one."""
    return [*rows, *[rows[-1]] * (fixed - len(rows))] if fixed else list(rows)


def _tables(rows: Sequence[_Row], width: int, head: int, pad: int) -> tuple[Any, Any, Any]:
    """Return tokens, positions and who sees whom (rows, 1, width, head + width)."""
    import torch

    ids = np.full((len(rows), width), pad, dtype=np.int64)
    places = np.zeros((len(rows), width), dtype=np.int64)
    sees = np.zeros((len(rows), width, head + width), dtype=bool)
    sees[:, :, :head] = True
    causal = np.tri(width, dtype=bool)
    for number, row in enumerate(rows):
        start, end = width - row.width, width - len(row.nodes)
        ids[number, start:] = [*row.tokens, *(token for token, _ in row.nodes)]
        places[number, start:end] = head + np.arange(end - start)
        own = sees[number, :, head:]
        np.fill_diagonal(own, val=True)  # padding sees itself: what saw nothing would be no number
        own[start:end, start:end] = causal[: end - start, : end - start]
        for node, (_, parent) in enumerate(row.nodes):
            at = end + node
            own[at] = own[end + parent] if parent >= 0 else own[end - 1]
            own[at, at] = True
            places[number, at] = 1 + (places[number, end + parent] if parent >= 0 else head + end - start - 1)
    return torch.from_numpy(ids), torch.from_numpy(places), torch.from_numpy(sees[:, None])


def _repeated(shared: Any, rows: int) -> Any:
    """Return the head's cache for so many rows, without copying it."""
    from transformers import DynamicCache

    layers = [
        (layer.keys.expand(rows, -1, -1, -1), layer.values.expand(rows, -1, -1, -1))
        for layer in shared.layers
    ]
    return DynamicCache(layers)
