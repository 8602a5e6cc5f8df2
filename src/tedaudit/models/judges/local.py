"""A judge in this process. The head shared by prompts is computed once, and so are prefixes of endings.

A row of a batch is one prompt: padding on the left, its own part, then the endings as a tree, in which
every token sees only the prompt and its ancestors. One pass scores all endings; nothing is generated.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tedaudit.errors import ModelError, SpecError
from tedaudit.models.chat import chat_frame
from tedaudit.models.judges.base import (
    EndingScores,
    Judge,
    Prompt,
    Service,
    check_address,
    hide_address,
    strip_thoughts,
)
from tedaudit.models.loading import Checkpoint, load_checkpoint

Tokens = tuple[int, ...]
_STEP = 8  # lengths are padded to multiples of this
_GPU_TOKENS = 32_768  # per forward pass
_LOGIT_ROWS = 1_024  # positions whose logits are in memory at a time
_SCALED = ("final_logit_softcapping", "logits_scaling", "logit_scale")


@lru_cache(maxsize=2)
def load_local(name: str, device: str, dtype: str) -> "LocalJudge":
    """Return the judge for a checkpoint; the last two stay loaded."""
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
        self._begin = begin or str(self._tokenizer.eos_token or "")  # starts a raw prompt
        self._before, self._after = chat_frame(self._tokenizer) or (begin, "\n")
        config = self._model.config
        plain = set(getattr(config, "layer_types", None) or ["full_attention"]) == {"full_attention"}
        scaled = any(getattr(config, name, None) not in (None, 1, 1.0) for name in _SCALED)
        self.shares = plain and not scaled  # other models mask attention or compute logits their own way

    def fingerprint(self) -> Mapping[str, str]:
        """Return a checksum of the weights and their number format."""
        return self._checkpoint.fingerprint()

    def score(self, prompts: Sequence[Prompt], endings: Sequence[Sequence[str]]) -> list[EndingScores]:
        """Return how probable each ending of each prompt is."""
        plain = self._tokenize_all([text for group in endings for text in group])
        pairs = zip(self._tokenize_rests(prompts), endings, strict=True)
        rows = [_build_row(rest, [plain[ending] for ending in group]) for rest, group in pairs]
        scores: list[Any] = [None] * len(rows)
        by_head: dict[tuple[str, bool], list[int]] = {}
        for i, prompt in enumerate(prompts):
            by_head.setdefault((prompt.head, prompt.raw), []).append(i)
        for (head, raw), members in by_head.items():
            before = self._tokenize_special(self._begin if raw else self._before) + self._tokenize(head)
            shared = self._read_head(before) if self.shares else None
            for group, width in self._split_groups(rows, members, len(before)):
                batch = [rows[i] for i in group]
                values = (
                    self._score_together(batch, width, before, shared)
                    if shared is not None
                    else [self._score_alone(row, before) for row in batch]
                )
                for i, value in zip(group, values, strict=True):
                    scores[i] = EndingScores(value, tuple(len(ending) for ending in rows[i].endings))
        return scores

    def answer(self, prompts: Sequence[Prompt], max_tokens: int) -> list[str]:
        """Return the likeliest reply to each prompt."""
        heads = self._tokenize_all([prompt.head for prompt in prompts])
        before = {False: self._tokenize_special(self._before), True: self._tokenize_special(self._begin)}
        pairs = zip(prompts, self._tokenize_rests(prompts), strict=True)
        rows = [_Row(before[prompt.raw] + heads[prompt.head] + rest, (), ()) for prompt, rest in pairs]
        replies = [""] * len(rows)
        for group, width in self._split_groups(rows, range(len(rows)), max_tokens):
            texts = self._generate([rows[i] for i in group], width, max_tokens)
            for i, text in zip(group, texts, strict=True):
                replies[i] = strip_thoughts(prompts[i].reply + text)
        return replies

    def _generate(self, rows: Sequence[_Row], width: int, max_tokens: int) -> list[str]:
        import torch

        rows, count = _fill(rows, self._checkpoint.fixed_rows), len(rows)
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
        return list(self._tokenizer.batch_decode(out[:count, width:].cpu(), skip_special_tokens=True))

    def _score_together(self, rows: Sequence[_Row], width: int, before: Tokens, shared: Any) -> list[Any]:
        """Score rows of one padded width with the head's cache."""
        import torch

        rows, count = _fill(rows, self._checkpoint.fixed_rows), len(rows)
        ids, positions, mask = _build_tables(rows, width, len(before), self._pad)
        device = self._model.device
        # only the positions of endings need logits, and those are on the right
        longest = max(len(row.nodes) for row in rows) + 1
        with torch.inference_mode():
            states = self._model.base_model(
                input_ids=ids.to(device), position_ids=positions.to(device), attention_mask=mask.to(device),
                past_key_values=_repeat(shared, len(rows)), use_cache=True,
            ).last_hidden_state[:, width - longest :]  # fmt: skip
            return self._sum_endings(states, rows[:count], longest)

    def _score_alone(self, row: _Row, before: Tokens) -> Any:
        """Score the endings of one row one by one, each as a separate text: works for any architecture."""
        import torch

        totals = []
        for ending in row.endings:
            tokens = [token for _, token in ending]
            whole = torch.tensor([[*before, *row.tokens, *tokens]], device=self._model.device)
            with torch.inference_mode():
                logits = self._model(input_ids=whole, use_cache=False).logits[0, -len(tokens) - 1 : -1]
                scores = torch.log_softmax(logits.float(), dim=-1).cpu()
            picked = scores[torch.arange(len(tokens)), torch.tensor(tokens, dtype=torch.long)]
            totals.append(float(picked.double().sum()))
        return np.asarray(totals)

    def _sum_endings(self, states: Any, rows: Sequence[_Row], longest: int) -> list[Any]:
        """Return the endings' log-probabilities from the last states of every row."""
        import torch

        queries = [  # row, position among the last ones, token, number of the ending
            (number, longest - 1 - len(row.nodes) + 1 + node if node >= 0 else longest - 1 - len(row.nodes),
             token, ending)
            for number, row in enumerate(rows)
            for ending, steps in enumerate(row.endings)
            for node, token in steps
        ]  # fmt: skip
        totals = [np.zeros(len(row.endings)) for row in rows]
        for start in range(0, len(queries), _LOGIT_ROWS):
            part = queries[start : start + _LOGIT_ROWS]
            positions = sorted({(number, place) for number, place, _, _ in part})
            index_of = {place: i for i, place in enumerate(positions)}
            chosen = states[[number for number, _ in positions], [place for _, place in positions]]
            scores = torch.log_softmax(self._compute_logits(chosen), dim=-1)
            index = torch.tensor(
                [index_of[number, place] for number, place, _, _ in part], device=scores.device
            )
            tokens = torch.tensor([token for _, _, token, _ in part], device=scores.device)
            for (number, _, _, ending), value in zip(part, scores[index, tokens].tolist(), strict=True):
                totals[number][ending] += value
        return totals

    def _compute_logits(self, states: Any) -> Any:
        """Return logits in float32: in bfloat16, endings would tie."""
        import torch

        last = self._model.get_output_embeddings()
        if states.is_cuda and states.dtype == last.weight.dtype and states.dtype.itemsize == 2:
            logits = torch.mm(states, last.weight.T, out_dtype=torch.float32)  # exact products, wide sums
        else:
            logits = states.float() @ last.weight.float().T
        return logits if last.bias is None else logits + last.bias.float()

    def _read_head(self, tokens: Tokens) -> Any:
        """Return the cache of the tokens that all prompts begin with."""
        import torch
        from transformers import DynamicCache

        cache = DynamicCache()
        if not tokens:
            return cache
        ids = torch.tensor([tokens], device=self._model.device)
        with torch.inference_mode():
            self._model.base_model(input_ids=ids, past_key_values=cache, use_cache=True)
        return cache

    def _split_groups(
        self, rows: Sequence[_Row], members: Sequence[int], extra: int
    ) -> Iterator[tuple[list[int], int]]:
        """Yield groups of rows of one padded width, as many as fit in a forward pass."""
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
        token = self._tokenizer.pad_token_id
        return int(token if token is not None else self._tokenizer.eos_token_id or 0)

    def _tokenize_rests(self, prompts: Sequence[Prompt]) -> list[Tokens]:
        """Return the tokens of prompts after their heads."""
        plain = self._tokenize_all([text for prompt in prompts for text in (prompt.body, prompt.reply)])
        after = self._tokenize_special(self._after)
        return [plain[p.body] + (() if p.raw else after) + plain[p.reply] for p in prompts]

    def _tokenize_all(self, texts: Sequence[str]) -> dict[str, Tokens]:
        """Return the tokens of each text; anything that looks like a control token is read as plain text."""
        distinct = list(dict.fromkeys(texts))
        options = {"add_special_tokens": False, "split_special_tokens": True, "return_attention_mask": False}
        ids = self._tokenizer(distinct, **options)["input_ids"] if distinct else []
        return {text: tuple(tokens) for text, tokens in zip(distinct, ids, strict=True)}

    def _tokenize(self, text: str) -> Tokens:
        return self._tokenize_all([text])[text]

    def _tokenize_special(self, text: str) -> Tokens:
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"]) if text else ()


def _build_row(tokens: Tokens, endings: Sequence[Tokens]) -> _Row:
    """Return a prompt with its endings as a tree: a common prefix of endings appears once."""
    nodes: list[tuple[int, int]] = []
    known: dict[tuple[int, int], int] = {}
    paths = []
    for ending in endings:
        node, path = -1, []
        for number, token in enumerate(ending):
            path.append((node, token))
            if number + 1 < len(ending):
                if (node, token) not in known:
                    known[node, token] = len(nodes)
                    nodes.append((token, node))
                node = known[node, token]
        paths.append(tuple(path))
    return _Row(tokens, tuple(nodes), tuple(paths))


def _fill(rows: Sequence[_Row], fixed: int) -> list[_Row]:
    """Repeat the last row to reach the fixed number of rows, if there is one."""
    return [*rows, *[rows[-1]] * (fixed - len(rows))] if fixed else list(rows)


def _build_tables(rows: Sequence[_Row], width: int, head: int, pad: int) -> tuple[Any, Any, Any]:
    """Return tokens, positions and the attention mask (rows, 1, width, head + width)."""
    import torch

    ids = np.full((len(rows), width), pad, dtype=np.int64)
    positions = np.zeros((len(rows), width), dtype=np.int64)
    sees = np.zeros((len(rows), width, head + width), dtype=bool)
    sees[:, :, :head] = True
    causal = np.tri(width, dtype=bool)
    for number, row in enumerate(rows):
        start, end = width - row.width, width - len(row.nodes)
        ids[number, start:] = [*row.tokens, *(token for token, _ in row.nodes)]
        positions[number, start:end] = head + np.arange(end - start)
        own = sees[number, :, head:]
        np.fill_diagonal(own, val=True)  # padding sees itself: attention to nothing would give NaN
        own[start:end, start:end] = causal[: end - start, : end - start]
        for node, (_, parent) in enumerate(row.nodes):
            at = end + node
            own[at] = own[end + parent] if parent >= 0 else own[end - 1]
            own[at, at] = True
            last = positions[number, end + parent] if parent >= 0 else head + end - start - 1
            positions[number, at] = last + 1
    return torch.from_numpy(ids), torch.from_numpy(positions), torch.from_numpy(sees[:, None])


def _repeat(shared: Any, rows: int) -> Any:
    """Return the head's cache for this many rows, without copying it."""
    from transformers import DynamicCache

    layers = [
        (layer.keys.expand(rows, -1, -1, -1), layer.values.expand(rows, -1, -1, -1))
        for layer in shared.layers
    ]
    return DynamicCache(layers)


# --- Judges named by a string: `hf:ID_OR_PATH`, in this process, or `openai:MODEL@URL`, behind a server.


def check_backend(backend: str, *, allow_remote: bool) -> None:
    """Refuse an unknown backend, and a server on another machine unless the user allows it."""
    kind, _, name = backend.partition(":")
    if kind not in ("hf", "openai") or not name:
        raise SpecError(
            f"The judge is '{hide_address(backend)}'; it must be hf:ID_OR_PATH, a model in this process, or "
            "openai:MODEL@URL, a model behind an OpenAI-compatible server."
        )
    if kind == "openai":
        check_address(backend, allow_remote=allow_remote)


def load_judge(backend: str, service: Service, device: str = "auto", dtype: str = "auto") -> Judge:
    """Return the judge for a backend."""
    check_backend(backend, allow_remote=service.allow_remote)
    kind, _, name = backend.partition(":")
    if kind == "hf":
        return load_local(name, device, dtype)
    from tedaudit.models.judges.remote import RemoteJudge

    return RemoteJudge(backend, service)
