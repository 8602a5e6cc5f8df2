"""Tune SmolLM2-135M to paraphrase, for DP-Paraphrase and `sampler`: an adapter.

    tedaudit models get smollm2
    python recipes/round_trips.py --data DIR --base DIR --out PAIRS
    python recipes/smollm2_paraphraser.py --data DIR --base DIR --pairs PAIRS \
        --out zoo/src/tedaudit_zoo/models/smollm2-paraphraser

The model's weights stay as they are; low-rank corrections of all matrices of its layers are trained to write,
after a text and the separator of DP-Paraphrase, a paraphrase: the text there and back through French, or a
sentence with a translation in common.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common.edits import partly_plain
from common.lowrank import correct, corrections, save_adapter
from common.options import Options
from common.rows import pair_tables
from common.saving import Card, clip_range, write_card
from common.text import LICENCES, SHARES, is_held_out, pairs, read_pairs, sample_of, sentences, split
from common.training import Plan, begin, closing_figures, device, train_on
from paraphraser import PLAIN, SHORT, SOURCE, TARGET, Batches, Loss, drawn, greedy, kept, predicted
from round_trips import FILE

from tedaudit.mechanisms.dp_paraphrase import DPParaphrase
from tedaudit.models.adapters import Settings, lay_over
from tedaudit.models.clip_range import EPSILONS
from tedaudit.models.loading import load_checkpoint
from tedaudit.models.places import CLIP

BASE = "smollm2"
RANK = 8
ROWS = {"round trips": 192, "paraphrases": 64}  # of each kind in every step
PLAN = Plan(steps=3_000, rate=1e-3, warm_up=100)


def held_back(found: Sequence[tuple[str, str]]) -> dict[bool, list[tuple[str, str]]]:
    """Return pairs to train on (False) and pairs held out (True)."""
    train, held_out = split(found)
    return {False: train, True: held_out}


def measured(
    base: Path, adapter: Path, held_out: Sequence[str], known: dict[str, Any], chosen: Options
) -> dict[str, str]:
    """Return the figures of what the saved adapter makes of the base, and keep its clip range."""
    count = 4 if chosen.dry_run else 500
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lay_over(base, adapter, folder)
        found = clip_range(
            folder, sample_of(held_out, chosen.seed, 2 * count), DPParaphrase().fill_prompt("{text}")
        )
        (adapter / CLIP).write_bytes((folder / CLIP).read_bytes())
        tokenizer = load_checkpoint("causal", name, dtype="float32").tokenizer
        for kind, some in known.items():
            tables = {kind: pair_tables(tokenizer, some, (SOURCE, TARGET), device())}
            found[f"held-out {kind}"] = predicted(folder, Batches(tokenizer, tables, {kind: count}))
        sample = sample_of(held_out, chosen.seed, 20 * count)
        texts = {
            "short sentences": [text for text in sample if len(text.split()) <= SHORT][:count],
            "SNIPS commands": [t for t in sentences(chosen.data, "snips") if is_held_out(t)][:count],
        }
        for title, some in texts.items():
            found[f"greedy, {title}"] = kept(title, some, greedy(folder, some))
        mixed = [text for some in texts.values() for text in some[: count // 4]]
        for epsilon in EPSILONS:
            title = f"DP-Paraphrase at epsilon {epsilon:,.0f}"
            found[title] = kept(title, mixed, drawn(folder, mixed, epsilon))
        load_checkpoint.cache_clear()
    return found


def main() -> None:
    """Train, save, lay over the base what was saved, and measure that."""
    start = begin(__doc__, base=BASE, pairs=True)
    chosen = start.chosen
    whole = load_checkpoint("causal", str(chosen.base), dtype="float32", attention="sdpa")
    model, tokenizer = whole.model, whole.tokenizer
    load_checkpoint.cache_clear()
    correct(model, lambda name: ".layers." in name and name.endswith("_proj"), RANK)
    most = 100 if chosen.dry_run else None
    found = {
        "round trips": held_back(read_pairs(chosen.pairs / FILE)[:most]),
        "paraphrases": held_back(pairs(chosen.data, "paraphrases")[:most]),
    }
    tables = {
        kind: pair_tables(
            tokenizer, partly_plain(some[False], PLAIN, chosen.seed), (SOURCE, TARGET), device()
        )
        for kind, some in found.items()
    }
    start.say(sum(len(some[False]) for some in found.values()), "pairs")
    rows = dict.fromkeys(ROWS, 2) if chosen.dry_run else ROWS
    batches = Batches(tokenizer, tables, rows)
    steps = train_on(Loss(model), lambda: batches(late=0.0), PLAN, chosen)
    save_adapter(chosen.out, Settings(base=BASE), dict(corrections(model)))
    trained = {"numbers trained": f"{sum(p.numel() for p in model.parameters() if p.requires_grad):,}"}
    held = {kind: some[True] for kind, some in found.items() if some[True]}
    figures = measured(chosen.base, chosen.out, start.held_out, held, chosen)
    figures |= trained | closing_figures(model, steps, start)
    counts = {kind: len(some[False]) for kind, some in found.items()}
    write_card(chosen.out, card(chosen, figures, counts))


def card(chosen: Options, figures: dict[str, str], counts: dict[str, int]) -> Card:
    """Return the card."""
    told = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    return Card(
        title="smollm2-paraphraser",
        summary="An adapter that makes a paraphraser of SmolLM2-135M-Instruct, for DP-Paraphrase and sampler "
        "(`tedaudit models get smollm2-paraphraser` lays it over). The model of others is not part of it.",
        data=[
            LICENCES["paraphrases"],
            "sentences of the following, by opus-mt-en-fr into French and by opus-mt-fr-en back (Apache-2.0)",
            *(LICENCES[source] for source in SHARES),
        ],
        training=[
            f"frozen; corrections of rank {RANK} of all matrices of its 30 layers, AdamW, seed {chosen.seed}",
            f"{told}; rows a step: {', '.join(f'{n} {kind}' for kind, n in ROWS.items())}",
            f"sources of up to {SOURCE} tokens, targets of up to {TARGET}; the loss is on the targets",
            f"{PLAIN:.0%} of the pairs in lower case without their last marks",
        ],
        figures=figures,
        limits=[
            f"English, short texts: longer ones than {SOURCE} tokens were not seen.",
            "A paraphrase is what a translator would come back with: names, numbers and most words stay.",
            "SNIPS (training split) is in the mix: audits on SNIPS see text that the model was trained on.",
        ],
        command=chosen.command("smollm2_paraphraser.py"),
    )


if __name__ == "__main__":
    main()
