"""Train the masked language model of the zoo, a small RoBERTa, for DP-MLM and classifiers.

    python recipes/mlm.py --data DIR --out zoo/src/tedaudit_zoo/models/mlm

DP-MLM shows the model a text and, behind a separator, the same text with one word masked. So half of the rows
are such pairs. Mostly the word is masked in the original too, so that it must be guessed from the context;
sometimes it can be seen there. The other half are plain texts. A word of several tokens is replaced by one
mask, and its first token is to be found. Some rows start at a late position, or have a gap before the second
text, because long texts reach positions that the short rows do not.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from common.edits import spaced
from common.options import Options
from common.rows import IGNORED, Tables, squeezed
from common.saving import Card, clip_range, save_model, write_card
from common.text import LICENCES, SHARES, is_held_out, sample_of, sentences
from common.training import Plan, begin, closing_figures, device, train_on
from common.vocabulary import END, MASK, PAD, START, encoded, tokenizer_for
from transformers import RobertaConfig, RobertaForMaskedLM

from tedaudit.models.clip_range import mask_words
from tedaudit.models.loading import load_checkpoint
from tedaudit.models.sampling.masked import masked_logits
from tedaudit.models.triples.treebank import split_words

WIDTH = 38  # tokens of a text; a row is two texts and four special tokens
MASKED = 0.2  # share of a text's words
MOST = 7  # words masked in a text
SINGLE = 0.5  # share of rows that are two texts without a separator instead of a pair
VISIBLE = 0.08  # share of pairs whose original is whole, and again of masked words that it shows
MOVED = 0.25  # share of rows that start late, and again of rows with a gap
GAP = 64
POSITIONS = 512
SPACED = 0.7  # share of texts with spaces around all marks, as DP-MLM gives them
LETTERS = 130  # of several sentences taken together
FIRST = 2  # RoBERTa's first position
PLAN = Plan(steps=12_000, rate=1e-3, warm_up=300)


class MaskedLoss(torch.nn.Module):
    """The loss at a fixed number of places per row: the head runs there only."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Any, positions: Any, places: Any, labels: Any) -> Any:
        """Return the mean loss of the labels that count."""
        logits = self.logits(ids, positions, places)
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)

    def logits(self, ids: Any, positions: Any, places: Any) -> Any:
        """Return the logits at the places of each row."""
        mask = (ids != PAD).long()
        hidden = self.model.base_model(
            input_ids=ids, attention_mask=mask, position_ids=positions
        ).last_hidden_state
        chosen = hidden.gather(1, places[:, :, None].expand(-1, -1, hidden.shape[2]))
        return self.model.lm_head(chosen)


@dataclass(frozen=True)
class Vocabulary:
    """What a table holds: codes of tokens, which say whether a word starts there, and the mask."""

    mask: int
    starts: Callable[[Any], Any]
    """Of every code, whether a word starts with it."""
    is_whole: Callable[[Any, Any], Any]
    """Of codes and where words start, which starts may be asked for: those of words of one token."""
    tokens: Callable[[Any], Any]
    """Of every code, its token."""


class Batches:
    """Makes rows of masked texts of a width."""

    def __init__(self, texts: Tables, vocabulary: Vocabulary, size: int, width: int = WIDTH) -> None:
        self._texts, self._vocabulary, self._size, self._width = texts, vocabulary, size, width

    def __call__(
        self,
        *,
        single: float = SINGLE,
        visible: tuple[float, float] = (VISIBLE, VISIBLE),
        moved: float = MOVED,
        lonely: float = 0.0,
    ) -> Any:
        """Return ids, positions, the places to predict and what stands there.

        `visible` has the share of pairs whose original is whole, and of masked words that any shows; `lonely`
        is the share of rows with one word masked in each text.
        """
        first, second = self._texts.pick(self._size)[0], self._texts.pick(self._size)[0]
        alone, most = _chance(second[:, :1], single), torch.full_like(second[:, :1], MOST)
        if lonely:
            most = torch.where(_chance(most, lonely), 1, most)
        picked, hidden = self._picked(second, most)
        shown = _chance(second[:, :1], visible[0]) | _chance(second, visible[1])
        other, other_hidden = self._picked(first, most)
        first = torch.where(alone, first, second)
        first_hidden = torch.where(alone, other_hidden, hidden & ~self._of_words(second, shown))
        ids, places = self._row(first, first_hidden, second, hidden, alone)
        labels = torch.cat(
            [torch.where(alone, self._labels(first, other), IGNORED), self._labels(second, picked)], dim=1
        )
        at = torch.cat([1 + other[0], self._width + 3 + picked[0]], dim=1)
        chosen = places.gather(1, at).clamp(min=0)
        return ids, self._positions(ids, places[:, self._width + 1], moved), chosen, labels

    def _picked(self, ids: Any, most: Any) -> tuple[tuple[Any, Any], Any]:
        """Return which tokens start a masked word, with how many of them count, and all tokens masked."""
        starts = self._vocabulary.starts(ids)
        able = self._vocabulary.is_whole(ids, starts)
        wanted = (starts.sum(dim=1, keepdim=True) * MASKED).round().clamp(min=1).minimum(most)
        score = torch.rand(ids.shape, device=ids.device).masked_fill(~able, -1.0)
        best, where = score.topk(MOST, dim=1)
        counts = (torch.arange(MOST, device=ids.device) < wanted) & (best >= 0)
        chosen = torch.zeros_like(starts).scatter(1, where, counts)
        return (where, counts), self._of_words(ids, chosen)

    def _of_words(self, ids: Any, chosen: Any) -> Any:
        """Return for every token what holds for the first token of its word."""
        numbers = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
        first = torch.where(self._vocabulary.starts(ids), numbers, 0).cummax(dim=1).values
        return chosen.gather(1, first) & (ids != PAD)

    def _row(self, first: Any, first_hidden: Any, second: Any, hidden: Any, alone: Any) -> tuple[Any, Any]:
        """Return the whole row, words replaced by one mask each, and where every token has gone."""
        start, end = (torch.full_like(alone, token, dtype=torch.long) for token in (START, END))
        between = end.masked_fill(alone, PAD)
        texts = self._masked(first, first_hidden), self._masked(second, hidden)
        whole = torch.cat([start, texts[0], between, between, texts[1], end], dim=1)
        return squeezed(whole, whole != PAD)

    def _masked(self, ids: Any, hidden: Any) -> Any:
        starts, mask = self._vocabulary.starts(ids), self._vocabulary.mask
        return torch.where(hidden, torch.where(starts, mask, PAD), self._vocabulary.tokens(ids))

    def _labels(self, ids: Any, picked: tuple[Any, Any]) -> Any:
        where, counts = picked
        return torch.where(counts, self._vocabulary.tokens(ids).gather(1, where), IGNORED)

    def _positions(self, ids: Any, gap_from: Any, moved: float) -> Any:
        """Return position ids: mostly one by one from the first, in some rows later or with a gap."""
        width = ids.shape[1]
        numbers = torch.arange(width, device=ids.device).expand_as(ids)
        late = torch.randint(POSITIONS - width - GAP, ids[:, :1].shape, device=ids.device)
        gap = torch.randint(GAP, ids[:, :1].shape, device=ids.device)
        found = FIRST + numbers + late * _chance(ids[:, :1], moved)
        found = found + gap * _chance(ids[:, :1], moved) * (numbers > gap_from[:, None])
        return torch.where(ids == PAD, PAD, found)


def _chance(like: Any, share: float) -> Any:
    return torch.rand(like.shape, device=like.device) < share


def new_model(vocabulary: int) -> Any:
    """Return a small RoBERTa with random weights."""
    config = RobertaConfig(
        vocab_size=vocabulary, hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
        intermediate_size=1024, max_position_embeddings=POSITIONS + FIRST, type_vocab_size=1,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        bos_token_id=START, pad_token_id=PAD, eos_token_id=END,
    )  # fmt: skip
    return RobertaForMaskedLM(config)


def taken_together(texts: Sequence[str], rng: random.Random) -> list[str]:
    """Return texts of one sentence or of a few short ones, most of them spaced out."""
    found, waiting = list[str](), ""
    for text in texts:
        waiting = f"{waiting} {text}".strip()
        if len(waiting) >= LETTERS * rng.random():
            found.append(spaced(waiting) if rng.random() < SPACED else waiting)
            waiting = ""
    return found


def vocabulary_of(tokenizer: Any, place: torch.device) -> Vocabulary:
    """Return that of our own tokenizer: a token that starts a word holds the space before it."""
    tokens = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    starts = torch.tensor([token.startswith("Ġ") for token in tokens], device=place)
    return Vocabulary(MASK, lambda ids: starts[ids], lambda _, found: found, lambda ids: ids)


def many_masked(folder: Path, batches: Batches, passes: int) -> float:
    """Return the share of masked words found in held-out pairs where the original hides them too."""
    whole = MaskedLoss(load_checkpoint("masked", str(folder), dtype="float32").model)
    right = total = 0
    with torch.inference_mode():
        for _ in range(passes):
            ids, positions, places, labels = batches(single=0.0, visible=(0.0, 0.0), moved=0.0)
            guesses = whole.logits(ids, positions, places).argmax(dim=2)
            right += int((guesses == labels).sum())
            total += int((labels != IGNORED).sum())
    return right / total


def one_masked(folder: Path, texts: Sequence[str], *, hidden: bool) -> float:
    """Return how often a word is found that is masked alone, as DP-MLM does it, each word in turn."""
    checkpoint = load_checkpoint("masked", str(folder), dtype="float32")
    rows = [row for text in texts for row in mask_words(checkpoint, text, hidden=hidden)]
    words = [word for text in texts for word in split_words(text)]
    wanted = [checkpoint.tokenizer(word, add_special_tokens=False)["input_ids"][0] for word in words]
    right = 0
    for numbers, logits in masked_logits(checkpoint, rows):
        guesses = logits.argmax(dim=1).tolist()
        right += sum(guess == wanted[i] for guess, i in zip(guesses, numbers, strict=True))
    return right / len(rows)


def main() -> None:
    """Train, save, load what was saved and measure that."""
    start = begin(__doc__)
    chosen, held_out = start.chosen, start.held_out
    place, tokenizer = device(), tokenizer_for("roberta")
    words, size = vocabulary_of(tokenizer, place), 8 if chosen.dry_run else 1024
    rows = taken_together(start.texts, random.Random(chosen.seed))
    table = Tables(place, encoded(tokenizer, rows, WIDTH))
    kept = Tables(place, encoded(tokenizer, [spaced(text) for text in held_out], WIDTH))
    model = new_model(len(tokenizer))
    start.say(len(rows), "texts")
    steps = train_on(MaskedLoss(model), Batches(table, words, size), PLAN, chosen)
    save_model(chosen.out, model, tokenizer)
    some = sample_of(held_out, chosen.seed, 3 if chosen.dry_run else 1000)
    commands = [text for text in sentences(chosen.data, "snips") if is_held_out(text)][: len(some)]
    figures = clip_range(chosen.out, some)
    hidden = many_masked(chosen.out, Batches(kept, words, size), 2 if chosen.dry_run else 20)
    figures[f"{MASKED:.0%} of words masked, original hidden: words right"] = f"{hidden:.1%}"
    for name, lines in (("one word masked", some), ("one word masked, SNIPS commands", commands)):
        figures[f"{name}, original hidden: words right"] = f"{one_masked(chosen.out, lines, hidden=True):.1%}"
        figures[f"{name}, original visible: words right"] = (
            f"{one_masked(chosen.out, lines, hidden=False):.1%}"
        )
    figures |= closing_figures(model, steps, start)
    write_card(chosen.out, card(chosen, figures, len(rows)))


def card(chosen: Options, figures: dict[str, str], count: int) -> Card:
    """Return the card."""
    return Card(
        title="mlm",
        summary="A small RoBERTa (4 layers, 256 dimensions) for DP-MLM, and to start classifiers from.",
        data=[LICENCES[source] for source in SHARES],
        training=[
            f"{count:,} texts of up to {WIDTH} tokens, 1,024 rows a step, AdamW, seed {chosen.seed}",
            f"half of the rows are pairs; in {VISIBLE:.0%} of them the original is whole",
            f"in the other pairs the original shows {VISIBLE:.0%} of the masked words",
            f"{MASKED:.0%} of the words masked, each by one mask; the first token of the word is to be found",
            f"{MOVED:.0%} of the rows start at a late position, {MOVED:.0%} have a gap in their positions",
        ],
        figures=figures,
        limits=[
            "English. Figures are of held-out sentences of the training mix.",
            "A word counts as right if its first token is: words of several tokens cannot be drawn whole.",
            f"Texts had at most {WIDTH} tokens: in longer ones the original is copied less reliably.",
            "SNIPS (training split) is in the mix: audits on SNIPS see text that the model was trained on.",
        ],
        command=chosen.command("mlm.py"),
    )


if __name__ == "__main__":
    main()
