"""Train the paraphraser of the zoo, a small GPT-2, for DP-Paraphrase.

    python recipes/paraphraser.py --data DIR --out zoo/src/tedaudit_zoo/models/paraphraser

It reads a text and the mechanism's separator, and writes what follows from the text: an entailed sentence, a
paraphrase, a shorter version or the text itself. After the separator alone it writes any sentence, which is
how it learns the language. Only what it writes counts for the loss.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from common.edits import changed, partly_plain, reworded, shortened
from common.measures import mean_overlap
from common.options import Options
from common.rows import IGNORED, Tables, ended, labels_of, pair_tables, repeated, squeezed
from common.saving import Card, clip_range, save_model, write_card
from common.text import LICENCES, SHARES, is_held_out, pairs, sample_of, sentences, split
from common.training import Plan, begin, closing_figures, device, train_on
from common.vocabulary import END, PAD, START, encoded, tokenizer_for
from transformers import GPT2Config, GPT2LMHeadModel

from tedaudit.mechanisms.dp_paraphrase import DPParaphrase
from tedaudit.models.clip_range import EPSILONS, read_prompt
from tedaudit.models.loading import load_checkpoint
from tedaudit.models.triples.writing import decode, write_out
from tedaudit.plugins.values import Draw

SOURCE, TARGET = 40, 33  # tokens at most
POSITIONS = 256
LATE = 0.1  # share of rows that start at a later position
# Rows of each kind in every step.
ROWS = {"copies": 448, "reworded": 96, "shortened": 160, "paraphrases": 160, "snli": 48, "sentences": 112}
PLAIN = 0.3  # share of pairs in lower case
CHANGED = 400_000  # of the mix that a change is tried on
SHORT = 12  # words of the sentences that are rewritten for the figures
PLAN = Plan(steps=12_000, rate=1e-3, warm_up=300)


class Loss(torch.nn.Module):
    """The loss on what follows the separator: the head runs on a fixed number of places per row."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Any, positions: Any, first: Any, labels: Any) -> Any:
        """Return the mean loss of the labels that count."""
        logits = self.logits(ids, positions, first, labels.shape[1])
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)

    def logits(self, ids: Any, positions: Any, first: Any, count: int) -> Any:
        """Return the logits of so many places from the first one on."""
        mask = (ids != PAD).long()
        hidden = self.model.base_model(
            input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=False
        ).last_hidden_state
        places = first[:, None] + torch.arange(count, device=ids.device)
        return self.model.lm_head(hidden.gather(1, places[:, :, None].expand(-1, -1, hidden.shape[2])))


class Batches:
    """Picks so many rows of every kind and joins source, separator and target, on the device."""

    def __init__(self, tokenizer: Any, tables: dict[str, Tables], rows: dict[str, int]) -> None:
        self._separator = torch.tensor(tokenizer(DPParaphrase().separator)["input_ids"], device=device())
        self._tables, self._rows = tables, rows

    def __call__(self, *, late: float = LATE) -> Any:
        """Return ids, positions, the place of the separator's last token, and labels from there on."""
        picked = [self._tables[kind].pick(count) for kind, count in self._rows.items()]
        source = torch.cat([_padded(one) for one, _ in picked])
        target = ended(torch.cat([one for _, one in picked]))
        whole = torch.cat([source, repeated(self._separator, len(source)), target], dim=1)
        ids, _ = squeezed(whole, whole != PAD)
        first = (source != PAD).sum(dim=1) + len(self._separator) - 1
        start = torch.randint(POSITIONS - ids.shape[1], (len(ids), 1), device=ids.device)
        start = start * (torch.rand(start.shape, device=ids.device) < late)
        return ids, start + torch.arange(ids.shape[1], device=ids.device), first, labels_of(target)


def _padded(source: Any) -> Any:
    return torch.nn.functional.pad(source, (0, SOURCE - source.shape[1]), value=PAD)


def new_model(vocabulary: int) -> Any:
    """Return a small GPT-2 with random weights."""
    config = GPT2Config(
        vocab_size=vocabulary, n_embd=256, n_layer=4, n_head=4, n_positions=POSITIONS,
        resid_pdrop=0.1, embd_pdrop=0.1, attn_pdrop=0.0,
        bos_token_id=START, pad_token_id=PAD, eos_token_id=END,
    )  # fmt: skip
    return GPT2LMHeadModel(config)


def training_tables(tokenizer: Any, texts: list[str], chosen: Options) -> dict[str, Tables]:
    """Return the tables of all kinds of rows."""
    place, seed, most = device(), chosen.seed, 500 if chosen.dry_run else None
    ids = encoded(tokenizer, texts, SOURCE)
    known = {
        kind: partly_plain(split(pairs(chosen.data, kind))[0][:most], PLAIN, seed)
        for kind in ("paraphrases", "snli")
    }
    known |= {"reworded": changed(texts[:CHANGED], reworded, seed)}
    known |= {"shortened": changed(texts[:CHANGED], shortened, seed)}
    found = {kind: pair_tables(tokenizer, some, (SOURCE, TARGET), place) for kind, some in known.items()}
    return found | {
        "copies": Tables(place, ids, ids[:, :TARGET]),
        "sentences": Tables(place, ids[:, :0], ids[:, :TARGET]),
    }


def held_out_tables(tokenizer: Any, texts: list[str], data: Path) -> dict[str, Tables]:
    """Return tables of what was not trained on."""
    known = {kind: split(pairs(data, kind))[1] for kind in ("paraphrases", "snli")}
    known |= {"copies": [(text, text) for text in texts], "sentences": [("", text) for text in texts]}
    known |= {"shortened": changed(texts, shortened, 0)}
    place = device()
    return {kind: pair_tables(tokenizer, some, (SOURCE, TARGET), place) for kind, some in known.items()}


def predicted(folder: Path, batches: Batches) -> str:
    """Return perplexity and accuracy of tokens, each after the right ones before it."""
    whole = Loss(load_checkpoint("causal", str(folder), dtype="float32").model)
    ids, positions, first, labels = batches(late=0.0)
    with torch.inference_mode():
        loss = whole(ids, positions, first, labels)
        guesses = whole.logits(ids, positions, first, labels.shape[1]).argmax(dim=2)
    counts = labels != IGNORED
    return (
        f"perplexity {float(loss.exp()):.2f}, {float((guesses == labels)[counts].float().mean()):.1%} right"
    )


def greedy(folder: Path, texts: Sequence[str]) -> list[str]:
    """Return the likeliest rewrite of each text."""
    writer = load_checkpoint("causal", str(folder), dtype="float32")
    prompts = [read_prompt(writer, DPParaphrase().fill_prompt(text)) for text in texts]
    tokens = write_out(writer, dict.fromkeys(prompts, 32))
    return [decode(writer, tokens[one]) for one in prompts]


def drawn(folder: Path, texts: Sequence[str], epsilon: float) -> list[str]:
    """Return DP-Paraphrase's own rewrite of each text."""
    draws = [Draw(text, epsilon, key) for key, text in enumerate(texts)]
    return [rewrite.text for rewrite in DPParaphrase(model=str(folder)).rewrite(draws)]


def kept(name: str, texts: Sequence[str], out: Sequence[str]) -> str:
    """Show some rewrites and return how many words are kept."""
    print(
        name,
        *(f"    {text} -> {one}" for text, one in zip(texts[:8], out, strict=False)),
        sep="\n",
        flush=True,
    )
    same = sum(" ".join(text.split()) == one for text, one in zip(texts, out, strict=True)) / len(texts)
    return f"F1 of words {mean_overlap(texts, out):.3f}, {same:.1%} copied exactly"


def measured(folder: Path, held_out: list[str], chosen: Options) -> dict[str, str]:
    """Return the figures of the saved model."""
    count = 4 if chosen.dry_run else 500
    some = sample_of(held_out, chosen.seed, 2 * count)
    found = clip_range(folder, some, DPParaphrase().fill_prompt("{text}"))
    tokenizer = load_checkpoint("causal", str(folder), dtype="float32").tokenizer
    tables = held_out_tables(tokenizer, held_out, chosen.data)
    for kind in tables:
        found[f"held-out {kind}"] = predicted(folder, Batches(tokenizer, tables, {kind: count}))
    sample = sample_of(held_out, chosen.seed, 20 * count)
    texts = {
        "short sentences": [text for text in sample if len(text.split()) <= SHORT][:count],
        "SNIPS commands": [text for text in sentences(chosen.data, "snips") if is_held_out(text)][:count],
        "SNLI premises": [a for a, _ in split(pairs(chosen.data, "snli"))[1]][:count],
    }
    for name, some in texts.items():
        found[f"greedy, {name}"] = kept(name, some, greedy(folder, some))
    mixed = [text for some in texts.values() for text in some[: count // 4]]
    for epsilon in EPSILONS:
        name = f"DP-Paraphrase at epsilon {epsilon:,.0f}"
        found[name] = kept(name, mixed, drawn(folder, mixed, epsilon))
    return found


def main() -> None:
    """Train, save, load what was saved and measure that."""
    start = begin(__doc__)
    chosen, tokenizer = start.chosen, tokenizer_for("gpt2")
    model = new_model(len(tokenizer))
    tables = training_tables(tokenizer, start.texts, chosen)
    start.say(len(start.texts), "sentences")
    rows = dict.fromkeys(ROWS, 2) if chosen.dry_run else ROWS
    steps = train_on(Loss(model), Batches(tokenizer, tables, rows), PLAN, chosen)
    save_model(chosen.out, model, tokenizer)
    figures = measured(chosen.out, start.held_out, chosen)
    figures |= closing_figures(model, steps, start)
    write_card(chosen.out, card(chosen, figures))


def card(chosen: Options, figures: dict[str, str]) -> Card:
    """Return the card."""
    return Card(
        title="paraphraser",
        summary="A small GPT-2 (4 layers, 256 dimensions) for DP-Paraphrase: after the separator it writes "
        "what follows from the text before it.",
        data=[LICENCES[source] for source in [*SHARES, "paraphrases", "snli"]],
        training=[
            f"{sum(ROWS.values()):,} rows a step, AdamW, dropout 0.1, seed {chosen.seed}",
            f"rows by kind: {', '.join(f'{n} {kind}' for kind, n in ROWS.items())}",
            f"sources of up to {SOURCE} tokens, targets of up to {TARGET}; the loss is on the targets",
            f"{PLAIN:.0%} of the pairs in lower case without their last marks",
            f"{LATE:.0%} of the rows start at a later position",
        ],
        figures=figures,
        limits=[
            f"English, short texts: longer ones than {SOURCE} tokens are rewritten badly.",
            "SNLI's pairs are few: entailed sentences are mostly shorter versions of the text.",
            "Figures are of held-out sentences and pairs of the training data.",
            "SNIPS (training split) is in the mix: audits on SNIPS see text that the model was trained on.",
        ],
        command=chosen.command("paraphraser.py"),
    )


if __name__ == "__main__":
    main()
