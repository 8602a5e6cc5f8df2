"""What the public releases do to a text, written down a step at a time; nothing of a mechanism is called.

DP-MLM, DP-Prompt, DP-Paraphrase and the DP-BART beside them: sjmeis/DPMLM 3ce9390, DPMLM.py (batch mode) and
LLMDP.py. DP-BART and ADePT: trusthlt/dp-bart-private-rewriting e31c972. DP-ST: sjmeis/DPST 4367fda. The
tokenizers and models are the library's own, and every text and every word runs by itself.
"""

import math
import string
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Word:
    """A word of a text and what becomes of it; `ids` and `place` are what the model reads if it is drawn."""

    word: str
    fate: Literal["kept", "copied", "drawn"]
    ids: tuple[int, ...] = ()
    place: int = -1


def read_words(
    text: str, tokenizer: Any, room: int, split: Callable[[str], list[str]], stop_words: Collection[str]
) -> list[Word]:
    """Return the words of a text as DP-MLM's release treats them.

    `split` is nltk's `word_tokenize`, `room` what the release reads from its tokenizer as the longest input.
    """
    words = split(" ".join(text.split("\n")))
    return [
        Word(word, "kept")
        if word in stop_words or word in string.punctuation
        else _mask(words, number, tokenizer, room, split)
        for number, word in enumerate(words)
    ]


def _mask(
    words: Sequence[str], number: int, tokenizer: Any, room: int, split: Callable[[str], list[str]]
) -> Word:
    word, original = words[number], " ".join(words)
    masked = _replace(original, word, words[: number + 1].count(word), str(tokenizer.mask_token), split)
    tokens = tokenizer.encode(masked, add_special_tokens=False)
    width = int((room - 32) / 2)
    first = max(0, int(number - width / 2))
    last = min(len(tokens), number + (width - (number - first)))
    shown = tokenizer.decode(tokens[first:last], skip_special_tokens=False)
    ids = tokenizer(
        text=" " + original.replace("MASK", ""), text_pair=" " + shown, truncation="only_first",
        max_length=room - 32,
    )["input_ids"]  # fmt: skip
    places = [place for place, token in enumerate(ids) if token == tokenizer.mask_token_id]
    if not places:
        return Word(word, "copied")
    [place] = places
    return Word(word, "drawn", tuple(ids), place)


def _replace(text: str, word: str, count: int, instead: str, split: Callable[[str], list[str]]) -> str:
    """Return a text with a word replaced where it stands for the `count`-th time, if it does."""
    again = split(text)
    places = [place for place, other in enumerate(again) if other == word]
    if len(places) < count:
        return text
    return " ".join([*again[: places[count - 1]], instead, *again[places[count - 1] + 1 :]])


def write_word(word: str, drawn: str) -> str:
    """Return a drawn, kept or copied word with the case that DP-MLM's release gives it."""
    return drawn.capitalize() if word[0].isupper() else drawn.lower()


def fill_prompt(name: str, text: str) -> str:
    """Return what the release of DP-Prompt or DP-Paraphrase asks its model."""
    return {
        "dp-prompt": f"Document : {text}\nParaphrase of the document :",
        "dp-paraphrase": f"{text} >>>>> ",
    }[name]


def read_prompt(name: str, text: str, tokenizer: Any) -> list[int]:
    """Return the tokens of a prompt, and with their number how many new ones there may be."""
    cut = {"truncation": True, "max_length": 512} if name == "dp-prompt" else {}
    return list(tokenizer(fill_prompt(name, text), **cut)["input_ids"])


def next_logits(model: Any, prompt: Sequence[int], drawn: Sequence[int] = ()) -> Any:
    """Return the logits of the token after a prompt and the tokens drawn so far."""
    import torch

    with torch.no_grad():
        if model.config.is_encoder_decoder:
            start = [model.config.decoder_start_token_id, *drawn]
            out = model(input_ids=torch.tensor([prompt]), decoder_input_ids=torch.tensor([start]))
        else:
            out = model(torch.tensor([[*prompt, *drawn]]))
    return out.logits[0, -1].numpy()


def exponential(logits: Any, low: float, high: float, epsilon: float, top_k: int = 0) -> Numbers:
    """Return the exponential mechanism over clipped logits; `top_k` keeps the largest and all that tie."""
    clipped = np.clip(logits, np.float32(low), np.float32(high)).astype(np.float64)
    exponents = epsilon * clipped / (2 * (high - low))
    weights = np.exp(exponents - exponents.max())
    if top_k:
        weights[clipped < np.sort(clipped)[-top_k]] = 0.0
    return np.asarray(weights / weights.sum())


def variation(one: Any, other: Any) -> float:
    """Return the total variation distance of two distributions."""
    return float(np.abs(one - other).sum() / 2)


def encode_bart(model: Any, tokenizer: Any, text: str) -> Numbers:
    """Return DP-BART's latent before noise: a padded window of 20 tokens, values clipped to 0.1."""
    window = tokenizer(text, return_tensors="pt", padding="max_length", truncation=True, max_length=20)
    return np.clip(_run_encoder(model, window), -0.1, 0.1)


def encode_port(model: Any, tokenizer: Any, text: str) -> Numbers:
    """Return the latent before noise of the DP-BART beside DP-MLM: the whole text, in -0.2 to 0.1."""
    room = min(512, model.config.max_position_embeddings)  # the release's model reads 1,024
    read = tokenizer(text, return_tensors="pt", truncation=True, max_length=room)
    return np.clip(_run_encoder(model, read), -0.2, 0.1)


def decode_port(model: Any, tokenizer: Any, noisy: npt.NDArray[np.float32]) -> str:
    """Return what that DP-BART writes: it asks for as many new tokens as were read, and nothing else."""
    import torch
    from transformers.modeling_outputs import BaseModelOutput

    hidden = BaseModelOutput(last_hidden_state=torch.from_numpy(noisy)[None])
    [tokens] = model.generate(encoder_outputs=hidden, max_new_tokens=len(noisy))
    return str(tokenizer.decode(tokens, skip_special_tokens=True)).strip()


def _run_encoder(model: Any, read: Any) -> Numbers:
    import torch

    with torch.no_grad():
        found = model.get_encoder()(input_ids=read["input_ids"], attention_mask=read["attention_mask"])
    return np.asarray(found.last_hidden_state[0].double().numpy())


def encode_adept(parts: Any, tokenizer: Any, text: str) -> Numbers:
    """Return ADePT's latent before noise: the LSTM's last state over a text without padding, norm 5."""
    import torch

    words = tokenizer(text, add_special_tokens=False)["input_ids"][:18]
    ids = torch.tensor([[tokenizer.bos_token_id, *words, tokenizer.eos_token_id]])
    with torch.no_grad():
        _, (hidden, cell) = parts["encoder"](parts["embedding"](ids))
    state = torch.cat([hidden[0, 0], cell[0, 0]]).double().numpy()
    return np.asarray(state * min(1.0, 5.0 / np.linalg.norm(state)))


def classical_scale(sensitivity: float, epsilon: float) -> float:
    """Return the scale of Gaussian noise by the classical formula, delta 1e-5, as in the releases."""
    return sensitivity * math.sqrt(2 * math.log(1.25 / 1e-5)) / epsilon


def draw_triple(query: Any, centroids: Any, clusters: Any, vectors: Any, epsilon: float) -> Numbers:
    """Return the probability of each public triple in place of a private one, as DP-ST's release draws it.

    The query is the private triple's vector, of norm 1. Only the nearest cluster is drawn from.
    """
    near = clusters == int((centroids @ query).argmax())
    utilities = np.maximum(0, vectors.astype(np.float64) @ query)
    weights = np.where(near, np.exp(epsilon * (utilities - utilities[near].max()) / 2), 0.0)
    return np.asarray(weights / weights.sum())
