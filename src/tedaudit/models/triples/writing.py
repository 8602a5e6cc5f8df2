"""Turns drawn triples into text with a language model, greedily: the text depends only on the triples."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from tedaudit.errors import ModelError, SpecError
from tedaudit.models.chat import Message, chat_frame
from tedaudit.models.decoding import decode_all
from tedaudit.models.loading import Checkpoint, explain_failure, load_checkpoint
from tedaudit.models.places import resolve
from tedaudit.models.sampling.rows import Decoder, decoder_for
from tedaudit.models.silence import silence_loading
from tedaudit.paths import parse_path
from tedaudit.plugins.extras import require

Prompt = tuple[int, ...]
PLACES = ("{triples}", "{records}")
OURS = "ours"
_PADDING_STEP = 8
_ROLES = ("system", "user", "assistant")
_EXAMPLES = (
    (("Nora | repaired | the old piano",), "Nora repaired the old piano."),
    (
        ("the ferry | leaves | the harbour", "the ferry | arrives in | Lisbon", "its captain | greets | us"),
        "The ferry leaves the harbour and arrives in Lisbon, and its captain greets us.",
    ),
    (
        (
            "the library | was built in | 1931",
            "the library | has | a glass roof",
            "a student | works for | the library",
            "the student | reads | old maps",
            "old maps | show | the river",
        ),
        "A student who works for the library, built in 1931 with a glass roof, reads old maps of the river.",
    ),
)


def fill_template(template: str, triples: Sequence[str]) -> str:
    """Put triples in place of {triples}, one in a line, or of {records}, as dictionaries in a list."""
    parts = [(*triple.split(" | ", 2), "", "")[:3] for triple in triples]
    records = [{"object": what, "property": verb, "subject": who} for who, verb, what in parts]
    forms = dict(zip(PLACES, ("\n".join(triples), str(records)), strict=True))
    return re.sub("|".join(map(re.escape, PLACES)), lambda place: forms[place[0]], template)


def load_examples(reference: str, template: str) -> tuple[Message, ...]:
    """Return the messages before the drawn triples: none, ours in the form of the template, or a file's."""
    if reference == OURS:
        pairs = [(fill_template(template, triples), text) for triples, text in _EXAMPLES]
        return tuple(
            {"role": role, "content": content}
            for pair in pairs
            for role, content in zip(_ROLES[1:], pair, strict=True)
        )
    return _read_messages(reference) if reference else ()


@lru_cache(maxsize=4)
def _read_messages(name: str) -> tuple[Message, ...]:
    try:
        found = json.loads(parse_path(name).read_text("utf-8"))
        messages = tuple({"role": one["role"], "content": one["content"]} for one in found)
        fits = all(one["role"] in _ROLES and isinstance(one["content"], str) for one in messages)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise _explain_examples(name, f"could not be read as that: {type(error).__name__}") from error
    if not messages or not fits:
        raise _explain_examples(name, "has none, or one with another role or without a text")
    return messages


def _explain_examples(name: str, problem: str) -> SpecError:
    return SpecError(
        f"The examples '{name}' {problem}. Name a JSON file with a list of messages, such as "
        f'[{{"role": "user", "content": "..."}}, {{"role": "assistant", "content": "..."}}], of the roles '
        f"{', '.join(_ROLES)}; or write {OURS} for those that come with tedaudit."
    )


@lru_cache(maxsize=4)
def load_writer(name: str, revision: str, device: str, dtype: str) -> Checkpoint:
    """Return a causal or an encoder-decoder model, depending on its configuration."""
    require(f"'{name}'", "torch", "transformers")
    from transformers import AutoConfig

    with silence_loading(), explain_failure(name):
        options = {"revision": revision} if revision else {}
        config = AutoConfig.from_pretrained(resolve(name), **options)
    task = "seq2seq" if config.is_encoder_decoder else "causal"
    return load_checkpoint(task, name, revision, device, dtype)


def fit_prompt(
    writer: Checkpoint, template: str, triples: Sequence[str], room: int, examples: Sequence[Message] = ()
) -> Prompt:
    """Return the prompt for as many of the triples, starting from the first, as there is room for."""
    whole = _build_prompt(writer, template, triples, examples)
    if len(whole) <= room:
        return whole
    low, high = 0, len(triples) - 1
    while low < high:
        middle = (low + high + 1) // 2
        fits = len(_build_prompt(writer, template, triples[:middle], examples)) <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    rest = _build_prompt(writer, template, triples[:low], examples)
    if examples and len(rest) > room:
        raise ModelError(
            f"With its examples the prompt has {len(rest)} tokens before any triple is in it, and room for "
            f"{room}. Give fewer or shorter examples, raise `context` or use a model that reads more."
        )
    return rest[:room]


def write_out(writer: Checkpoint, limits: Mapping[Prompt, int]) -> dict[Prompt, Prompt]:
    """Return the likeliest tokens after each prompt, one by one, up to its limit or an end token."""
    decoder, outputs = decoder_for(writer), dict[Prompt, Prompt]()
    ends, by_width = find_ends(writer), dict[int, list[Prompt]]()
    for prompt in sorted(limits):
        width = -(-max(1, len(prompt)) // _PADDING_STEP) * _PADDING_STEP
        by_width.setdefault(width, []).append(prompt)
    for width, prompts in sorted(by_width.items()):
        budget = decoder.row_budget(width, max(limits[prompt] for prompt in prompts))
        for start in range(0, len(prompts), budget):
            group = prompts[start : start + budget]
            tokens = _decode_group(decoder, group, [limits[prompt] for prompt in group], width, ends)
            outputs.update(zip(group, tokens, strict=True))
    return outputs


def decode(writer: Checkpoint, tokens: Sequence[int]) -> str:
    """Return tokens as text, with white space collapsed."""
    (written,) = decode_all(writer.tokenizer, [tokens])
    return " ".join(written.split())


def _decode_group(
    decoder: Decoder, prompts: Sequence[Prompt], limits: Sequence[int], width: int, ends: Sequence[int]
) -> list[Prompt]:
    import torch

    device = decoder.device
    limit, last = torch.tensor(limits, device=device), torch.tensor(ends, device=device)
    out = torch.full((len(prompts), max(limits)), -1, dtype=torch.long, device=device)
    live: Any = torch.arange(len(prompts), device=device)
    logits = decoder.start(prompts, width)
    for step in range(max(limits)):
        tokens = logits.argmax(dim=1)
        out[live, step] = tokens
        unfinished = ((limit[live] > step + 1) & ~torch.isin(tokens, last)).nonzero()[:, 0]
        if not len(unfinished):
            break
        live = live[unfinished]
        logits = decoder.step(unfinished, tokens[unfinished])
    return [tuple(token for token in row if token >= 0) for row in out.tolist()]


def _build_prompt(
    writer: Checkpoint, template: str, triples: Sequence[str], examples: Sequence[Message]
) -> Prompt:
    """Return the tokens of the filled template, as a user's turn if the model has a chat template."""
    text = fill_template(template, triples)
    tokenizer, frame = writer.tokenizer, chat_frame(writer.tokenizer, examples)
    if frame is None:
        return tuple(tokenizer("\n\n".join([*(one["content"] for one in examples), text]))["input_ids"])
    return tuple(tokenizer(f"{frame[0]}{text}{frame[1]}", add_special_tokens=False)["input_ids"])


def find_ends(writer: Checkpoint) -> list[int]:
    """Return the tokens that end a text; chat models have several."""
    own = getattr(writer.model.generation_config, "eos_token_id", None)
    ends = own if isinstance(own, list) else [own]
    return [token for token in {*ends, writer.tokenizer.eos_token_id} if token is not None]
