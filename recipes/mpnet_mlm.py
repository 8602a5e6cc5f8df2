"""Make a masked language model of all-mpnet-base-v2, a sentence encoder, for DP-MLM: an adapter and a head.

    tedaudit models get all-mpnet-base-v2
    python recipes/mpnet_mlm.py --data DIR --base DIR --out zoo/src/tedaudit_zoo/models/mpnet-mlm

The last layers of a sentence encoder have forgotten the single words, so the model ends after layer 8. Its
weights stay as they are: low-rank corrections of all matrices are trained, the one of words included, which
also writes, and a head before it. Frequent words of several pieces become tokens, so that they can be drawn
whole. Rows are those of DP-MLM: words set apart by spaces, a text and the same text with words masked.
"""

import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common.edits import spaced
from common.lowrank import LowRank, TiedHead, correct, corrections, replace, save_adapter
from common.options import Options
from common.rows import Tables
from common.saving import Card, clip_range, write_card
from common.text import LICENCES, SHARES, is_held_out, sample_of, sentences
from common.training import Plan, begin, closing_figures, device, train_on
from common.vocabulary import PAD
from mlm import MASKED, Batches, MaskedLoss, Vocabulary, taken_together
from scipy.stats import beta
from transformers import MPNetForMaskedLM

from tedaudit.models.adapters import WORDS, Settings, is_plain, lay_over
from tedaudit.models.clip_range import mask_words
from tedaudit.models.loading import load_checkpoint
from tedaudit.models.places import CLIP
from tedaudit.models.sampling.masked import masked_logits
from tedaudit.models.triples.treebank import split_words

BASE = "all-mpnet-base-v2"
LAYERS = 8
RANK, WORD_RANK = 32, 12
NEW_WORDS = 10_000
COUNTED = 400_000  # texts of the mix whose words are counted
TEXTS = 800_000  # at most, that are trained on
WIDTH = 40  # tokens of a text; a row is two texts and four special tokens
SINGLE = 0.4  # share of rows that are two texts without a separator instead of a pair
VISIBLE = 0.5, 0.1  # share of pairs whose original is whole, and of masked words that any other shows
LONELY = 0.3  # share of rows with one word masked in each text, as DP-MLM masks it
PLAN = Plan(steps=9_000, rate=7e-4, warm_up=300)
ROWS = 512
_CHUNK = 50_000  # texts tokenized at a time


def new_words(tokenizer: Any, texts: Sequence[str], most: int) -> list[str]:
    """Return the most frequent words of which the base has only pieces, as its tokenizer normalises them."""
    normalise = tokenizer.backend_tokenizer.normalizer.normalize_str
    counts = Counter(word for text in texts for word in spaced(text).split())
    merged: Counter[str] = Counter()
    for word, count in counts.items():
        merged[normalise(word)] += count
    frequent = [word for word, _ in merged.most_common(10 * most) if word and " " not in word]
    # A sentence that goes on takes its full stop along: a word is what has one more often than not.
    frequent = [
        word for word in frequent if merged[word] > merged[word.removesuffix(".")] * word.endswith(".")
    ]
    cut = tokenizer.backend_tokenizer.encode_batch(frequent, add_special_tokens=False)
    unknown = tokenizer.unk_token_id
    several = (
        word for word, one in zip(frequent, cut, strict=True) if len(one.ids) > 1 and unknown not in one.ids
    )
    return sorted(list(several)[:most], key=is_plain, reverse=True)


def new_model(base: Path, adapter: Path, words: Sequence[str]) -> tuple[Any, Any, Settings]:
    """Write an adapter that corrects nothing; return its model, tokenizer and settings."""
    adapter.mkdir(parents=True, exist_ok=True)
    (adapter / CLIP).unlink(missing_ok=True)
    (adapter / WORDS).write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    known = tokenizer_of(base).get_vocab()
    made_for = settings(base, sum(word not in known for word in words))
    hidden = read_config(base)["hidden_size"]
    head = {
        "lm_head.dense.weight": torch.eye(hidden) + 0.02 * torch.randn(hidden, hidden),
        "lm_head.dense.bias": torch.zeros(hidden),
        "lm_head.layer_norm.weight": torch.ones(hidden),
        "lm_head.layer_norm.bias": torch.zeros(hidden),
        "lm_head.bias": torch.zeros(made_for.config["vocab_size"]),
    }
    save_adapter(adapter, made_for, head)
    with tempfile.TemporaryDirectory() as folder:
        lay_over(base, adapter, Path(folder))
        made = load_checkpoint("masked", folder, dtype="float32", device="cpu")
        load_checkpoint.cache_clear()
    if len(made.tokenizer) != made_for.config["vocab_size"]:
        raise ValueError(f"The tokenizer has {len(made.tokenizer)} tokens: some words share one.")
    return made.model, made.tokenizer, made_for


def read_config(base: Path) -> dict[str, Any]:
    """Return the config of the base."""
    found: dict[str, Any] = json.loads((base / "config.json").read_text(encoding="utf-8"))
    return found


def settings(base: Path, words: int) -> Settings:
    """Return how the adapter is laid over its base, with so many new words."""
    config = read_config(base)
    layers = min(LAYERS, config["num_hidden_layers"])
    return Settings(
        base=BASE, layers=layers, prefix="mpnet.", dropped=("pooler.", "embeddings.position_ids"),
        config={
            "architectures": ["MPNetForMaskedLM"], "num_hidden_layers": layers,
            "vocab_size": config["vocab_size"] + words,
        },
    )  # fmt: skip


def adapt(model: MPNetForMaskedLM) -> None:
    """Freeze the model, and put corrections and a head that is trained into it."""
    correct(model, lambda name: ".layer." in name, RANK)
    name = "mpnet.embeddings.word_embeddings"
    words = LowRank(model.get_submodule(name), WORD_RANK)
    replace(model, name, words)
    head = model.lm_head
    replace(model, "lm_head.decoder", TiedHead(words, head.bias.detach()))
    for part in (head.dense, head.layer_norm):
        part.requires_grad_(requires_grad=True)
    for part in model.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0


def tensors(model: MPNetForMaskedLM) -> dict[str, Any]:
    """Return what is saved of a trained model."""
    head = model.lm_head
    found = {f"lm_head.dense.{name}": value for name, value in head.dense.named_parameters()}
    found |= {f"lm_head.layer_norm.{name}": value for name, value in head.layer_norm.named_parameters()}
    return found | {"lm_head.bias": head.decoder.bias} | dict(corrections(model))


def encoded(tokenizer: Any, texts: Sequence[str], width: int) -> Any:
    """Return codes of tokens, cut and padded: a token that starts no word has the vocabulary's size added."""
    table = np.full((len(texts), width), PAD, dtype=np.int32)
    backend, size = tokenizer.backend_tokenizer, len(tokenizer)
    for start in range(0, len(texts), _CHUNK):
        some = texts[start : start + _CHUNK]
        for row, (text, one) in enumerate(
            zip(some, backend.encode_batch(some, add_special_tokens=False), strict=True), start
        ):
            ids = one.ids[:width]
            begins = [first == 0 or text[first - 1] == " " for first, _ in one.offsets[:width]]
            table[row, : len(ids)] = [i if begin else i + size for i, begin in zip(ids, begins, strict=True)]
    return table


def vocabulary_of(tokenizer: Any) -> Vocabulary:
    """Return what codes say: a word can be asked for if no piece follows its first token."""
    size, special = len(tokenizer), max(PAD, tokenizer.eos_token_id)

    def starts(codes: Any) -> Any:
        return (codes > special) & (codes < size)

    def is_whole(codes: Any, begin: Any) -> Any:
        following = torch.nn.functional.pad(codes[:, 1:], (0, 1), value=size)  # the last one may be cut
        return begin & (following < size)

    return Vocabulary(tokenizer.mask_token_id, starts, is_whole, lambda codes: codes % size)


def found_words(folder: Path, texts: Sequence[str], *, hidden: bool) -> dict[str, str]:
    """Return how often a word is found that is masked alone, as DP-MLM does it, each word in turn."""
    checkpoint = load_checkpoint("masked", str(folder), dtype="float32")
    rows = list(chain(*(mask_words(checkpoint, text, hidden=hidden) for text in texts)))
    words = list(chain(*(split_words(text) for text in texts)))
    cut = checkpoint.tokenizer(words, add_special_tokens=False)["input_ids"]
    is_token = np.array([len(ids) == 1 for ids in cut])
    wanted = np.array([ids[0] for ids in cut])
    best = np.zeros((len(rows), 5), dtype=np.int64)
    for numbers, logits in masked_logits(checkpoint, rows):
        best[numbers] = logits.topk(5, dim=1).indices.cpu().numpy()
    first = (best[:, 0] == wanted) & is_token
    among = (best == wanted[:, None]).any(axis=1) & is_token
    return {
        "words": share(first),
        "words, among the five likeliest": share(among),
        "words that are tokens": share(first[is_token]),
        "share of words that are tokens": share(is_token),
    }


def share(hits: Any) -> str:
    """Return a share with the ends of its 95% interval."""
    right, total = int(hits.sum()), len(hits)
    low = beta.ppf(0.025, right, total - right + 1) if right else 0.0
    high = beta.ppf(0.975, right + 1, total - right) if right < total else 1.0
    return f"{right:,} of {total:,}, {right / total:.1%} ({low:.1%} to {high:.1%})"


def measured(base: Path, adapter: Path, held_out: Sequence[str], chosen: Options) -> dict[str, str]:
    """Return the figures of what the saved adapter makes of the base, and keep its clip range."""
    some = sample_of(held_out, chosen.seed, 3 if chosen.dry_run else 1000)
    commands = [text for text in sentences(chosen.data, "snips") if is_held_out(text)][: len(some)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lay_over(base, adapter, folder)
        figures = clip_range(folder, some)
        (adapter / CLIP).write_bytes((folder / CLIP).read_bytes())
        for texts, lines in (("held out", some), ("SNIPS commands", commands)):
            for hidden in (True, False):
                where = "hidden in the original" if hidden else "visible in the original"
                found = found_words(folder, lines, hidden=hidden)
                figures |= {f"{texts}, {where}: {what}": value for what, value in found.items()}
        load_checkpoint.cache_clear()
    return figures


def rows_of(texts: Sequence[str], seed: int) -> Iterator[str]:
    """Yield texts as DP-MLM writes them, some of several sentences."""
    return (spaced(text) for text in taken_together(texts, random.Random(seed)))


def main() -> None:
    """Train, save, lay over the base what was saved, and measure that."""
    start = begin(__doc__, base=BASE)
    chosen, held_out = start.chosen, start.held_out
    place, size = device(), 8 if chosen.dry_run else ROWS
    texts = list(rows_of(start.texts, chosen.seed))[:TEXTS]
    base_tokenizer = tokenizer_of(chosen.base)
    words = new_words(base_tokenizer, texts[:COUNTED], 100 if chosen.dry_run else NEW_WORDS)
    model, tokenizer, made_for = new_model(chosen.base, chosen.out, words)
    adapt(model)
    table = Tables(place, encoded(tokenizer, texts, WIDTH))
    start.say(len(texts), "texts")
    batches = Batches(table, vocabulary_of(tokenizer), size, WIDTH)
    mixed = {"single": SINGLE, "visible": VISIBLE, "moved": 0.0, "lonely": LONELY}
    steps = train_on(MaskedLoss(model), lambda: batches(**mixed), PLAN, chosen)
    save_adapter(chosen.out, made_for, tensors(model))
    trained = {"numbers trained": f"{sum(p.numel() for p in model.parameters() if p.requires_grad):,}"}
    figures = measured(chosen.base, chosen.out, held_out, chosen)
    figures |= trained | closing_figures(model, steps, start)
    write_card(chosen.out, card(chosen, figures, len(texts), len(words)))


def tokenizer_of(folder: Path) -> Any:
    """Return the tokenizer of a folder."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.backend_tokenizer.no_truncation()
    return tokenizer


def card(chosen: Options, figures: dict[str, str], count: int, words: int) -> Card:
    """Return the card."""
    return Card(
        title="mpnet-mlm",
        summary="An adapter that makes a masked language model for DP-MLM of all-mpnet-base-v2 "
        "(`tedaudit models get mpnet-mlm` lays it over). The model of others is not part of it.",
        data=[LICENCES[source] for source in SHARES],
        training=[
            f"all-mpnet-base-v2 up to layer {LAYERS}, frozen; a head before its matrix of words",
            f"corrections of rank {RANK} of all matrices of its layers, of rank {WORD_RANK} of that of words",
            f"{words:,} frequent words of several pieces are tokens, which begin as the mean of their pieces",
            f"{count:,} texts of up to {WIDTH} tokens, {ROWS} rows a step, AdamW, seed {chosen.seed}",
            f"{SINGLE:.0%} of the rows are two texts, the others pairs as DP-MLM reads them",
            f"{VISIBLE[0]:.0%} of the pairs show the original whole, others {VISIBLE[1]:.0%} of masked words",
            f"{MASKED:.0%} of the words masked, in {LONELY:.0%} of the rows one for each text",
            "one mask for a word; only words that are tokens are masked",
        ],
        figures=figures,
        limits=[
            "English, lower case. Figures are of held-out sentences of the mix, each word masked alone.",
            "A word of several pieces counts as not found: such words cannot be drawn.",
            "How much of what it sees a model copies follows from the share of pairs that show it whole.",
            "SNIPS (training split) is in the mix: audits on SNIPS see text that the model was trained on.",
        ],
        command=chosen.command("mpnet_mlm.py"),
    )


if __name__ == "__main__":
    main()
