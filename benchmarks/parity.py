"""The published variants beside the formulas of their releases, on the demo corpus with the zoo's models.

    python benchmarks/parity.py --nltk-data DIR > docs/results/parity.md

A formula is written down here from what the release does, in float64, with the library's own tokenizer and
model and nothing of the mechanism; the model runs on one text at a time. What is printed is the largest total
variation distance, over all places compared, from the distribution that the mechanism draws from.
"""

import argparse
import math
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import nltk
import numpy as np
import torch

from tedaudit.inference.nltk_words import load_splitter, load_stop_words
from tedaudit.registry import Reference, build
from tedaudit.types import Draw

GRID = (10.0, 100.0, 1000.0)
HEADER = """# Published variants beside their releases

```
python benchmarks/parity.py --nltk-data DIR
```

Every row compares what a mechanism draws from with a formula written down from its release, in float64: the
largest total variation distance over {texts} texts of the demo corpus, with the zoo's models, on a CPU.

What is left has two causes. Logits and latents are float32 on either side, and sums in other batches differ
in the last digits: the exponential mechanism magnifies that by epsilon over twice the clip range, and little
noise hides little. DP-ST rounds coordinates to multiples of 2^-20, so that cosines are the same on every
machine. How the variants differ from the releases otherwise is on their cards (`tedaudit ls mechanisms`).
"""


@dataclass(frozen=True)
class Row:
    """One line of the table: what is compared, and its figure at each epsilon or one for all."""

    mechanism: str
    what: str
    figures: Sequence[str]


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nltk-data", default="", help="a folder with nltk's punkt_tab and stopwords")
    parser.add_argument("--texts", type=int, default=20)
    parser.add_argument("--mechanism", action="append", choices=list(COMPARISONS))
    options = parser.parse_args()
    torch.set_num_threads(1)
    corpus = build(Reference("corpus", "demo", {})).load()
    texts = corpus.texts[:: len(corpus.texts) // options.texts][: options.texts]
    print(HEADER.format(texts=len(texts)))
    print("| mechanism, variant | what | " + " | ".join(f"eps {epsilon:g}" for epsilon in GRID) + " |")
    print("|---|---|" + "---|" * len(GRID), flush=True)
    for name in options.mechanism or COMPARISONS:
        for row in COMPARISONS[name](texts, options.nltk_data):
            figures = (
                row.figures if len(row.figures) == len(GRID) else [*row.figures, *[""] * (len(GRID) - 1)]
            )
            print(f"| {row.mechanism} | {row.what} | {' | '.join(figures)} |", flush=True)


def exponential(logits: Any, clip: Any, epsilon: float) -> Any:
    """Return the exponential mechanism over clipped logits; `top_k` keeps the largest and all that tie."""
    clipped = np.clip(logits, np.float32(clip.low), np.float32(clip.high)).astype(np.float64)
    exponents = epsilon * clipped / (2 * (clip.high - clip.low))
    weights = np.exp(exponents - exponents.max())
    if clip.top_k:
        weights[clipped < np.sort(clipped)[-clip.top_k]] = 0.0
    return weights / weights.sum()


def variation(one: Any, other: Any) -> float:
    """Return the total variation distance of two distributions."""
    return float(np.abs(one - other).sum() / 2)


def show(distances: Sequence[float]) -> str:
    """Return the largest distance."""
    return f"{max(distances):.1e}"


def compare_dp_mlm(texts: Sequence[str], nltk_data: str) -> Iterator[Row]:
    """Compare words, what is kept, and the distribution of every drawn word."""
    mechanism = build(Reference("mechanism", "dp-mlm", {"variant": "published", "nltk_data": nltk_data}))
    name, split = "dp-mlm, published", load_splitter(nltk_data).split
    if nltk_data:
        nltk.data.path.insert(0, nltk_data)
        same = sum(mechanism.pieces(text) == tuple(nltk.word_tokenize(text)) for text in texts)
        yield Row(name, "words, with nltk's `word_tokenize`: equal", [f"{same} of {len(texts)}"])
    numbers, stop = mechanism._number_slots(), load_stop_words(nltk_data).words
    words = {text: split(text) for text in texts}
    agree = [
        (numbers.find_kept(word) is not None) == (word in stop or word in string.punctuation)
        for text in texts
        for word in words[text]
    ]
    yield Row(name, "words kept or drawn: equal", [f"{sum(agree)} of {len(agree)}"])
    places = mechanism._lay_out(texts, numbers)
    found = {
        place: logits[row].cpu()
        for slots, rows, logits in mechanism._compute_logits(places)
        for place, row in zip(slots, rows, strict=True)
    }
    expected = {place: _mask(mechanism, words[place[0]], place[1]) for place in places.drawn}
    clip, given = mechanism._choose_clip(), {place: logits.numpy() for place, logits in found.items()}
    largest = max(float(np.abs(given[place] - expected[place]).max()) for place in found)
    yield Row(name, "logits: largest difference of a number", [f"{largest:.1e}"])
    yield Row(name, f"draws of {len(found)} words, from the same logits", [
        show([variation(_drawn(mechanism, found[p], e), exponential(given[p], clip, e)) for p in found])
        for e in GRID
    ])  # fmt: skip
    yield Row(name, f"draws of {len(found)} words, from the library's own logits", [
        show([variation(_drawn(mechanism, found[p], e), exponential(expected[p], clip, e)) for p in found])
        for e in GRID
    ])  # fmt: skip


def _drawn(mechanism: Any, logits: Any, epsilon: float) -> Any:
    """Return the distribution that a mechanism samples from."""
    from tedaudit.inference.sampling import log_probabilities

    return log_probabilities(mechanism._choose_clip(), logits[None], epsilon)[0].exp().numpy()


def _mask(mechanism: Any, words: Sequence[str], slot: int) -> Any:
    """Return the logits for a masked word behind the original, a space before either."""
    checkpoint = mechanism._load_checkpoint()
    tokenizer = checkpoint.tokenizer
    masked = [*words[:slot], tokenizer.mask_token, *words[slot + 1 :]]
    ids = tokenizer.encode(" " + " ".join(words), " " + " ".join(masked))
    with torch.no_grad():
        logits = checkpoint.model(torch.tensor([ids])).logits[0, ids.index(tokenizer.mask_token_id)]
    return logits.numpy()


def compare_generator(name: str, fill: Callable[[str], str]) -> Callable[[Sequence[str], str], Iterator[Row]]:
    """Compare the distribution of the first token, and of the second after the likeliest first."""

    def compare(texts: Sequence[str], _: str) -> Iterator[Row]:
        published = build(Reference("mechanism", name, {"variant": "published"}))
        short = replace(published, length="fixed", max_tokens=2)
        clip, figures = published._choose_clip(), [list[str](), list[str]()]
        first = {text: _next(published, fill(text), ()) for text in texts}
        second = {text: _next(published, fill(text), (int(first[text].argmax()),)) for text in texts}
        for epsilon in GRID:
            table = np.exp(short.first_token(texts, epsilon))
            wanted = [exponential(first[text], clip, epsilon) for text in texts]
            figures[0].append(show([variation(*pair) for pair in zip(table, wanted, strict=True)]))
            distances = []
            for text, one in zip(texts, wanted, strict=True):
                likeliest = int(first[text].argmax())
                pairs = [(likeliest, token) for token in range(len(one))]
                scores = np.exp(np.concatenate(short.log_likelihoods(pairs, [[text]] * len(pairs), epsilon)))
                distances.append(variation(scores / scores.sum(), exponential(second[text], clip, epsilon)))
            figures[1].append(show(distances))
        yield Row(f"{name}, published", "the first token", figures[0])
        yield Row(f"{name}, published", "the second token", figures[1])

    return compare


def _next(mechanism: Any, prompt: str, drawn: Sequence[int]) -> Any:
    """Return the logits of the next token after a prompt and the tokens drawn so far."""
    checkpoint = mechanism._load_checkpoint()
    ids = checkpoint.tokenizer(prompt)["input_ids"]
    with torch.no_grad():
        if checkpoint.model.config.is_encoder_decoder:
            start = [checkpoint.model.config.decoder_start_token_id, *drawn]
            out = checkpoint.model(input_ids=torch.tensor([ids]), decoder_input_ids=torch.tensor([start]))
        else:
            out = checkpoint.model(torch.tensor([[*ids, *drawn]]))
    return out.logits[0, -1].numpy()


def gaussian_distance(distance: float, scale: float) -> float:
    """Return the total variation distance of two Gaussians of one scale."""
    return math.erf(distance / scale / math.sqrt(8))


def compare_latents(
    name: str, variant: str, encode: Callable[[Any, str], Any], size: Callable[[Any], float]
) -> Any:
    """Compare latents, as the distance of two Gaussians, and the scale of the noise."""

    def compare(texts: Sequence[str], _: str) -> Iterator[Row]:
        mechanism = build(Reference("mechanism", name, {"variant": variant}))
        found = mechanism.encode(texts)
        gaps = [np.ravel(encode(mechanism, text)) - latent for text, latent in zip(texts, found, strict=True)]
        distances = [float(np.linalg.norm(gap)) for gap in gaps]
        factor = math.sqrt(2 * math.log(1.25 / 1e-5))
        scales = [size(mechanism) * factor / epsilon for epsilon in GRID]
        off = [abs(mechanism.noise_scale(e) / s - 1) for e, s in zip(GRID, scales, strict=True)]
        yield Row(f"{name}, {variant}", "latents, as noise hides them", [
            show([gaussian_distance(d, s) for d in distances]) for s in scales
        ])  # fmt: skip
        largest = max(float(np.abs(gap).max()) for gap in gaps)
        yield Row(f"{name}, {variant}", "latents: largest difference of a number", [f"{largest:.1e}"])
        yield Row(f"{name}, {variant}", "scale of the noise: relative difference", [f"{o:.1e}" for o in off])

    return compare


def _encode_bart(mechanism: Any, text: str, width: int | None, low: float) -> Any:
    """Return BART's encoder output, padded to a width or not, clipped by value, kept dimensions alone."""
    checkpoint = mechanism._load_checkpoint()
    most = width or min(512, checkpoint.model.config.max_position_embeddings)
    padding = "max_length" if width else False
    encoded = checkpoint.tokenizer(
        text, return_tensors="pt", padding=padding, truncation=True, max_length=most
    )
    with torch.no_grad():
        hidden = checkpoint.model.get_encoder()(
            input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"]
        ).last_hidden_state[0]
    return np.clip(hidden.double().numpy()[:, mechanism._load_bart().kept], low, 0.1)


def _encode_adept(mechanism: Any, text: str) -> Any:
    """Return the last state of the LSTM over a text without padding, clipped to a norm of 5."""
    checkpoint = mechanism._load_checkpoint()
    tokenizer = checkpoint.tokenizer
    words = tokenizer(text, add_special_tokens=False)["input_ids"][:18]
    ids = torch.tensor([[tokenizer.bos_token_id, *words, tokenizer.eos_token_id]])
    with torch.no_grad():
        _, (hidden, cell) = checkpoint.model.module["encoder"](checkpoint.model.module["embedding"](ids))
    state = torch.cat([hidden[0, 0], cell[0, 0]]).double().numpy()
    return state * min(1.0, 5.0 / np.linalg.norm(state))


def compare_dp_st(texts: Sequence[str], _: str) -> Iterator[Row]:
    """Compare the draw of a triple from the nearest cluster, and what is returned unchanged."""
    mechanism = build(Reference("mechanism", "dp-st", {"variant": "published"}))
    plain = replace(mechanism, length="fixed", overflow="stable")
    table, encoder = mechanism._load_public()
    figures, bare = [], [text for text in texts if not mechanism.pieces(text)]
    for epsilon in GRID:
        distances = [0.0]
        for text in (text for text in texts if len(mechanism.pieces(text)) == 1):
            raw = np.asarray(encoder.encode(mechanism.pieces(text)), dtype=np.float64)[
                :, : mechanism.dimensions
            ]
            query = raw[0] / np.linalg.norm(raw[0])
            cluster = int((table._centroids @ query).argmax())
            members = np.flatnonzero(table.cluster == cluster)
            utilities = np.maximum(0, table._vectors[members].astype(np.float64) @ query)
            weights = np.exp(epsilon * (utilities - utilities.max()) / 2)
            scores = [plain.log_likelihood((int(number),), [text], epsilon)[0] for number in members]
            distances.append(variation(np.exp(scores), weights / weights.sum()))
        figures.append(show(distances))
    yield Row("dp-st, published", "texts with one triple: its draw", figures)
    copied = mechanism.rewrite([Draw(text, 10.0, 1) for text in bare])
    same = sum(rewrite.text == text for rewrite, text in zip(copied, bare, strict=True))
    yield Row(
        "dp-st, published", "texts without a grouped triple: returned unchanged", [f"{same} of {len(bare)}"]
    )


def _root(mechanism: Any) -> float:
    return math.sqrt(len(mechanism._load_bart().kept))


COMPARISONS: dict[str, Callable[[Sequence[str], str], Iterator[Row]]] = {
    "dp-mlm": compare_dp_mlm,
    "dp-prompt": compare_generator(
        "dp-prompt", lambda text: f"Document : {text}\nParaphrase of the document :"
    ),
    "dp-paraphrase": compare_generator("dp-paraphrase", lambda text: f"{text} >>>>> "),
    "dp-bart": compare_latents(
        "dp-bart", "published", lambda m, text: _encode_bart(m, text, 20, -0.1),
        lambda m: 2 * 0.1 * math.sqrt(20) * _root(m),
    ),
    "port": compare_latents(
        "dp-bart", "port", lambda m, text: _encode_bart(m, text, None, -0.2), lambda m: 2 * 0.1 * _root(m)
    ),
    "adept": compare_latents("adept", "published", _encode_adept, lambda _: 10.0),
    "dp-st": compare_dp_st,
}  # fmt: skip


if __name__ == "__main__":
    main()
