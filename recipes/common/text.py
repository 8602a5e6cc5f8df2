"""Public English text, where it comes from, and what of it is held out.

Corpora that are audited (ATIS, SST-2, Trustpilot, the demo) are never read here; nor are the review
sentences of vaderSentiment, since more than a third of them are sentences of SST-2. SNIPS is read: its
overlap is named on the cards.
"""

import csv
import hashlib
import lzma
import random
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

LICENCES = {
    "gutenberg": "Project Gutenberg, 800 books, public domain in the United States",
    "tatoeba": "Tatoeba sentences, CC BY 2.0 FR",
    "wikitext2": "WikiText-2 (Wikipedia), CC BY-SA 3.0",
    "ewt": "UD English EWT, training split, CC BY-SA 4.0",
    "snips": "SNIPS 2017 voice commands, training split, CC0",
    "paraphrases": "Tatoeba pairs with a translation in common, CC BY 2.0 FR",
    "snli": "SNLI entailment pairs (dev and test), CC BY-SA 4.0",
}
# How often a source's sentences come in the mix: modern, short and spoken text more than old books.
SHARES = {"gutenberg": 1, "tatoeba": 3, "wikitext2": 1, "ewt": 6, "snips": 6}
_PLAIN = 0.3  # share of sentences that are shown in lower case and without their final mark
_HELD_OUT = 50  # one sentence in so many

Pair = tuple[str, str]


def sentences(data: Path, source: str, limit: int = 0) -> list[str]:
    """Return the distinct sentences of a source, in their order; of the first so many only, where asked."""
    readers = {"ewt": _ewt, "snips": _snips}
    read = readers[source](data) if source in readers else _lines(data / "text" / f"{source}.txt.xz")
    clean = (_mended(line) if source == "wikitext2" else line for line in read)
    return list(dict.fromkeys(islice((line for line in clean if line), limit or None)))


def is_held_out(text: str) -> bool:
    """Return whether a sentence is kept for measuring; its case and final mark do not matter."""
    return hashlib.blake2b(_bare(text).encode()).digest()[0] % _HELD_OUT == 0


def mix(data: Path, seed: int, limit: int = 0) -> tuple[list[str], list[str]]:
    """Return training sentences, each source as often as its share, and held-out ones, once each."""
    train: list[str] = []
    held_out: list[str] = []
    for source, share in SHARES.items():
        some = sentences(data, source, limit)
        held_out += [line for line in some if is_held_out(line)]
        train += [line for line in some if not is_held_out(line)] * share
    rng = random.Random(seed)
    rng.shuffle(train)
    return [(rng.random() < _PLAIN and _bare(line)) or line for line in train], held_out


_PAIRS = {"snli": "snli/entailment.tsv", "paraphrases": "text/paraphrases.tsv.xz"}


def pairs(data: Path, source: str) -> list[Pair]:
    """Return pairs of sentences: of `paraphrases` both ways, of `snli` premise and hypothesis."""
    found = read_pairs(data / _PAIRS[source])
    return found if source == "snli" else found + [(b, a) for a, b in found]


def read_pairs(path: Path) -> list[Pair]:
    """Return the pairs of a file, with a tab between both."""
    return [(a, b) for a, _, b in (line.partition("\t") for line in _lines(path)) if a and b]


def split(found: Sequence[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Return the pairs to train on and those held out, none of whose sentences is trained on."""
    train = [pair for pair in found if not any(map(is_held_out, pair))]
    return train, [pair for pair in found if is_held_out(pair[0])]


def sample_of(texts: Sequence[str], seed: int, count: int = 1000) -> list[str]:
    """Return some texts of two to thirty words by chance, a third of them in lower case without marks."""
    rng = random.Random(seed)
    able = [text for text in texts if 2 <= len(text.split()) <= 30]
    some = rng.sample(able, min(count, len(able)))
    return [text.lower().rstrip(".?! ") if i % 3 == 0 else text for i, text in enumerate(some)]


def _bare(text: str) -> str:
    return text.lower().rstrip(".?!;, ")


def _lines(path: Path) -> Iterator[str]:
    with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as lines:
        for line in lines:
            yield line.decode("utf-8").strip()


def _ewt(data: Path) -> Iterator[str]:
    for line in _lines(data / "ud-ewt" / "train.conllu.xz"):
        if line.startswith("# text = "):
            yield line.removeprefix("# text = ")


def _snips(data: Path) -> Iterator[str]:
    with (data / "snips" / "snips_2017_train.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.reader(lines):
            yield row[1].strip()


def _mended(line: str) -> str:
    """Undo the tokenisation of WikiText; lines with unknown words are left out."""
    if "<unk>" in line or line.startswith("="):
        return ""
    line = re.sub(r" @([-,.])@ ", r"\1", line)
    line = re.sub(r" ([,.;:?!)\]%]|'s\b|n't\b|'\w\w?\b)", r"\1", line)
    return re.sub(r"([(\[$]) ", r"\1", line).replace('" ', '"', 1).strip()
