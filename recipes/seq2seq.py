"""Train the sequence-to-sequence model of the zoo, a small T5, for DP-Prompt and as the writer of DP-ST.

    python recipes/seq2seq.py --data DIR --out zoo/src/tedaudit_zoo/models/seq2seq

It learns two tasks under the prompts of the mechanisms. Asked for a paraphrase of a document, it writes the
sentence again, mostly as it is, sometimes in other words. Given facts (triples), it writes a text that tells
them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from common.edits import changed, partly_plain, reworded
from common.facts import MOST, Told, combined, facts_of_sentences, facts_of_trees, training_facts, usual_tags
from common.measures import mean_overlap, mentioned
from common.options import Options
from common.rows import IGNORED, Tables, ended, labels_of, pair_tables, repeated, squeezed
from common.saving import Card, clip_range, save_model, write_card
from common.text import LICENCES, SHARES, is_held_out, pairs, sample_of, sentences, split
from common.training import Plan, begin, closing_figures, device, train_on
from common.vocabulary import END, PAD, encoded, tokenizer_for
from transformers import T5Config, T5ForConditionalGeneration

from tedaudit.mechanisms.dp_prompt import DPPrompt
from tedaudit.mechanisms.dp_st import DPST
from tedaudit.models.clip_range import EPSILONS, read_prompt
from tedaudit.models.loading import load_checkpoint
from tedaudit.models.triples.writing import decode, write_out
from tedaudit.plugins.values import Draw

PROMPT, TARGET = 104, 48  # tokens at most
SOURCE = 80  # tokens of a text inside the prompt
# Rows of each kind in every step.
ROWS = {"copies": 560, "reworded": 80, "paraphrases": 112, "snli": 16, "facts": 256}
FACTS = 250_000  # texts put together from known facts
PLAIN = 0.3  # share of paraphrases in lower case
SCALE = 0.25  # of T5's first embeddings and of what its layers add, which are too large for AdamW's steps
CHANGED = 400_000  # sentences of the mix that are tried to be reworded
SHORT = 12  # words of the sentences that copies are measured on
PLAN = Plan(steps=10_000, rate=1e-3, warm_up=400)


class Loss(torch.nn.Module):
    """The loss of a batch of prompts and labels."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Any, labels: Any) -> Any:
        """Return the mean loss of the labels that count."""
        return self.model(
            input_ids=ids, attention_mask=(ids != PAD).long(), labels=labels, use_cache=False
        ).loss


class Batches:
    """Picks so many rows of every kind and puts the documents into their prompt, on the device."""

    def __init__(self, tokenizer: Any, tables: dict[str, Tables], rows: dict[str, int]) -> None:
        before, after = DPPrompt().prompt.split("{text}")
        first = tokenizer(before.strip(), add_special_tokens=False)["input_ids"]
        last = [*_tokens_after_text(tokenizer, after), END]
        self._before, self._after = (torch.tensor(ids, device=device()) for ids in (first, last))
        self._tables, self._rows = tables, rows

    def __call__(self) -> tuple[Any, Any]:
        """Return prompts and labels."""
        prompts, labels = [], []
        for kind, count in self._rows.items():
            source, target = self._tables[kind].pick(count)
            prompts.append(ended(source) if kind == "facts" else self._prompt(source))
            labels.append(labels_of(ended(target)))
        return torch.cat(prompts), torch.cat(labels)

    def _prompt(self, source: Any) -> Any:
        """Return a document in its prompt, as the mechanism writes it."""
        rows = len(source)
        whole = torch.cat([repeated(self._before, rows), source, repeated(self._after, rows)], dim=1)
        whole = torch.nn.functional.pad(whole, (0, PROMPT - whole.shape[1]), value=PAD)
        return squeezed(whole, whole != PAD)[0]


def _tokens_after_text(tokenizer: Any, text: str) -> list[int]:
    """Return the tokens of a text that follows another one without a space."""
    whole = tokenizer("a" + text, add_special_tokens=False)["input_ids"]
    return list(whole[len(tokenizer("a", add_special_tokens=False)["input_ids"]) :])


def new_model(vocabulary: int) -> Any:
    """Return a small T5 with random weights."""
    config = T5Config(
        vocab_size=vocabulary, d_model=256, d_kv=64, d_ff=1024, num_layers=3, num_heads=4,
        feed_forward_proj="relu", dropout_rate=0.05, pad_token_id=PAD, eos_token_id=END,
        decoder_start_token_id=PAD, attn_implementation="eager",
    )  # fmt: skip
    model = T5ForConditionalGeneration(config)
    for name, weight in model.named_parameters():
        if name.endswith(("shared.weight", ".o.weight", ".wo.weight")):
            weight.data.mul_(SCALE)
    return model


def facts_prompt(facts: Sequence[str]) -> str:
    """Return DP-ST's prompt for facts."""
    return DPST().template.replace("{triples}", "\n".join(facts))


def fact_tables(tokenizer: Any, told: Sequence[Told], place: torch.device) -> Tables:
    """Return prompts and texts; those whose prompt is too long are left out."""
    prompts = encoded(tokenizer, [facts_prompt(facts) for facts, _ in told], PROMPT)
    texts = encoded(tokenizer, [text for _, text in told], TARGET)
    fits = prompts[:, -1] == PAD
    return Tables(place, prompts[fits], texts[fits])


def training_tables(tokenizer: Any, texts: list[str], chosen: Options) -> dict[str, Tables]:
    """Return the tables of all kinds of rows."""
    place, seed, few = device(), chosen.seed, chosen.dry_run
    known = {
        kind: split(pairs(chosen.data, kind))[0][: 500 if few else None] for kind in ("paraphrases", "snli")
    }
    known |= {"paraphrases": partly_plain(known["paraphrases"], PLAIN, seed)}
    known |= {"reworded": changed(texts[:CHANGED], reworded, seed)}
    found = {kind: pair_tables(tokenizer, some, (SOURCE, TARGET), place) for kind, some in known.items()}
    ids = encoded(tokenizer, texts, SOURCE)
    facts = training_facts(chosen.data, [text for text in texts if text[0].isupper()])
    return found | {
        "copies": Tables(place, ids, ids[:, :TARGET]),
        "facts": fact_tables(tokenizer, combined(facts, 500 if few else FACTS, seed), place),
    }


def held_out_tables(tokenizer: Any, texts: list[str], told: list[Told], data: Path) -> dict[str, Tables]:
    """Return tables of what was not trained on."""
    known = {kind: split(pairs(data, kind))[1] for kind in ("paraphrases", "snli")}
    known |= {"copies": [(text, text) for text in texts]}
    place = device()
    found = {kind: pair_tables(tokenizer, some, (SOURCE, TARGET), place) for kind, some in known.items()}
    return found | {"facts": fact_tables(tokenizer, told, place)}


def token_accuracy(folder: Path, batches: Batches) -> str:
    """Return the share of tokens that are likeliest after the right ones before them."""
    model = load_checkpoint("seq2seq", str(folder), dtype="float32").model
    ids, labels = batches()
    with torch.inference_mode():
        logits = model(input_ids=ids, attention_mask=(ids != PAD).long(), labels=labels).logits
    counts = labels != IGNORED
    return f"{float((logits.argmax(dim=2) == labels)[counts].float().mean()):.1%}"


def greedy(folder: Path, prompts: Sequence[tuple[int, ...]], limit: int) -> list[str]:
    """Return the likeliest continuation of each prompt."""
    writer = load_checkpoint("seq2seq", str(folder), dtype="float32")
    tokens = write_out(writer, dict.fromkeys(prompts, limit))
    return [decode(writer, tokens[one]) for one in prompts]


def copied(folder: Path, texts: Sequence[str]) -> str:
    """Return how much of short sentences is written again under DP-Prompt's prompt."""
    checkpoint = load_checkpoint("seq2seq", str(folder), dtype="float32")
    out = greedy(folder, [read_prompt(checkpoint, DPPrompt().fill_prompt(text)) for text in texts], 32)
    same = sum(" ".join(text.split()) == one for text, one in zip(texts, out, strict=True)) / len(texts)
    print(*(f"    {text} -> {one}" for text, one in zip(texts[:8], out, strict=False)), sep="\n", flush=True)
    return f"{same:.1%} copied exactly, F1 of words {mean_overlap(texts, out):.3f}"


def drawn(folder: Path, texts: Sequence[str], epsilon: float) -> str:
    """Return how much of short sentences DP-Prompt itself brings back."""
    draws = [Draw(text, epsilon, key) for key, text in enumerate(texts)]
    out = [rewrite.text for rewrite in DPPrompt(model=str(folder)).rewrite(draws)]
    print(*(f"    {text} -> {one}" for text, one in zip(texts[:5], out, strict=False)), sep="\n", flush=True)
    return f"F1 of words {mean_overlap(texts, out):.3f}"


def told_again(folder: Path, told: Sequence[Told]) -> str:
    """Return how many words of facts their text mentions."""
    tokenizer = load_checkpoint("seq2seq", str(folder), dtype="float32").tokenizer
    prompts = [tuple(tokenizer(facts_prompt(facts))["input_ids"]) for facts, _ in told]
    out = greedy(folder, prompts, 64)
    for (facts, _), one in list(zip(told, out, strict=True))[:8]:
        print(f"    {' / '.join(facts)} -> {one}", flush=True)
    share = sum(mentioned(facts, one) for (facts, _), one in zip(told, out, strict=True)) / len(told)
    return f"{share:.1%} of words"


def measured(folder: Path, held_out: list[str], chosen: Options) -> dict[str, str]:
    """Return the figures of the saved model."""
    count = 4 if chosen.dry_run else 500
    tokenizer = load_checkpoint("seq2seq", str(folder), dtype="float32").tokenizer
    short = [text for text in sample_of(held_out, chosen.seed, 20 * count) if len(text.split()) <= SHORT][
        :count
    ]
    commands = [text for text in sentences(chosen.data, "snips") if is_held_out(text)][:count]
    tags = usual_tags(chosen.data / "ud-ewt" / "train.conllu.xz")
    known = facts_of_trees(chosen.data / "ud-ewt" / "dev.conllu.xz")
    told = combined(known + facts_of_sentences(held_out, tags), count, chosen.seed)
    tables = held_out_tables(tokenizer, held_out, told, chosen.data)
    found = clip_range(folder, sample_of(held_out, chosen.seed, 2 * count), DPPrompt().prompt)
    for kind in tables:
        found[f"tokens right, {kind}"] = token_accuracy(folder, Batches(tokenizer, tables, {kind: count}))
    found["greedy, short sentences"] = copied(folder, short)
    found["greedy, SNIPS commands"] = copied(folder, commands)
    found["facts mentioned, one to four of them"] = told_again(folder, told)
    for epsilon in EPSILONS:
        some = [*short[: count // 4], *commands[: count // 4]]
        found[f"DP-Prompt at epsilon {epsilon:,.0f}, short texts"] = drawn(folder, some, epsilon)
    return found


def main() -> None:
    """Train, save, load what was saved and measure that."""
    start = begin(__doc__)
    chosen, tokenizer = start.chosen, tokenizer_for("t5")
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
        title="seq2seq",
        summary="A small T5 (3 + 3 layers, 256 dimensions) for DP-Prompt, and as the writer of DP-ST. "
        "Asked for a paraphrase, it mostly writes a near copy.",
        data=[LICENCES[source] for source in [*SHARES, "paraphrases", "snli"]],
        training=[
            f"{sum(ROWS.values()):,} rows a step, AdamW, dropout 0.05, seed {chosen.seed}",
            f"rows by kind: {', '.join(f'{n} {kind}' for kind, n in ROWS.items())}",
            f"prompts of up to {PROMPT} tokens, targets of up to {TARGET}",
            "facts from EWT's trees, and from short sentences cut by their words' usual parts of speech",
            f"one to {MOST} facts put together by chance",
        ],
        figures=figures,
        limits=[
            "English, short texts: a target ends after 48 tokens at most.",
            "It knows no other prompts than those of DP-Prompt and DP-ST.",
            "Figures are of held-out sentences of the training mix, and of facts of EWT's dev split.",
            "SNIPS (training split) is in the mix: audits on SNIPS see text that the model was trained on.",
        ],
        command=chosen.command("seq2seq.py"),
    )


if __name__ == "__main__":
    main()
