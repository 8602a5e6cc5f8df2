"""Build the table of public triples of the zoo, with the zoo's own parser and encoder.

    python recipes/parser.py ...; python recipes/encoder.py ...; python recipes/checksums.py
    python recipes/triples.py --data DATA --out zoo/src/tedaudit_zoo/models/triples

Needs the package tedaudit-zoo (pip install --editable zoo). Takes some minutes on one core. Sentences are
short and, but for a few, of our time. SNIPS is left out: a table must not hold triples of texts that are
audited.
"""

import random
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from common.options import options
from common.saving import Card, write_card
from common.text import LICENCES, is_held_out, sentences

from tedaudit.models.triples.build import TableRecipe, build_table
from tedaudit.models.triples.extraction import Extractor, Triple, load_extractor
from tedaudit.models.triples.table import WHOLE, TripleTable, choose_representatives, load_table
from tedaudit.models.triples.vectors import embed, load_dense_encoder

SHARES = {"tatoeba": 6, "ewt": 2, "wikitext2": 2, "gutenberg": 1}
LONGEST = 110  # characters of a sentence
TRIPLES = 50_000
CLUSTERS = 500
_CHARACTERS = 60  # of a triple
_PLAIN = re.compile(r"[A-Za-z0-9 ,.;:?!'$%&-]+")
_EXAMPLE_NAMES = re.compile(r"\b(Tom|Mary)\b")  # who are in every fourth sentence of Tatoeba
_PRONOUNS = frozenset(
    {"he", "i", "it", "one", "she", "that", "they", "this", "we", "what", "which", "who", "you"}
)


class Chosen:
    """Keeps of a text's triples those that DP-ST would keep, if they are about something."""

    def __init__(self, extractor: Extractor) -> None:
        self._extractor = extractor

    def extract(self, texts: Sequence[str]) -> list[list[Triple]]:
        """Return the longest of every group of like triples."""
        found = self._extractor.extract(texts)
        grouped = [choose_representatives(triples, 0.4, "longest", keep_single=True) for triples in found]
        return [[triple for triple in triples if _says_something(triple)] for triples in grouped]

    def fingerprint(self) -> Mapping[str, str]:
        """Return what determines the triples."""
        return self._extractor.fingerprint()


class Texts:
    """Sentences in random order, each source in its share, until there are enough triples."""

    def __init__(self, pools: dict[str, list[str]], seed: int, wanted: int) -> None:
        self._wanted, self._found = wanted, 0
        self.used = Counter[str]()
        self._lines = _mixed(pools, random.Random(seed))

    def __iter__(self) -> Iterator[str]:
        for source, line in self._lines:
            if self._found >= self._wanted:
                return
            self.used[source] += 1
            yield line

    def note(self, _read: int, found: int) -> None:
        """Take down how many triples there are by now."""
        self._found = found


def _short(lines: list[str]) -> list[str]:
    return [
        line
        for line in lines
        if len(line) <= LONGEST and _PLAIN.fullmatch(line) and not _EXAMPLE_NAMES.search(line)
    ]


def _mixed(pools: dict[str, list[str]], rng: random.Random) -> Iterator[tuple[str, str]]:
    """Return lines with their sources; a source that is used up drops out."""
    left = {source: iter(rng.sample(pool, len(pool))) for source, pool in pools.items()}
    while left:
        source = rng.choices(list(left), [SHARES[name] for name in left])[0]
        line = next(left[source], None)
        if line is None:
            del left[source]
        else:
            yield source, line


def _says_something(triple: Triple) -> bool:
    """Return whether a triple has letters in every part and something else than a pronoun at its end."""
    parts = all(any(character.isalpha() for character in part) for part in triple)
    return parts and triple.object.lower() not in _PRONOUNS


def measured(table: TripleTable, held_out: list[str]) -> dict[str, str]:
    """Return the size of the table, and how well it serves sentences that it was not made from."""
    found = Chosen(load_extractor("zoo:parser")).extract(held_out)
    triples = [triple.text for some in found for triple in some]
    vectors = embed(load_dense_encoder("zoo:encoder"), triples, table.dimensions)
    steps = range(0, len(vectors), 256)
    best = np.concatenate([table.similarity(vectors[i : i + 256], WHOLE).max(axis=1) for i in steps])
    sizes = [table.size(cluster) for cluster in range(table.clusters)]
    return {
        "triples": f"{len(table):,}",
        "clusters": f"{table.clusters:,}",
        "triples of a cluster": f"{min(sizes)} to {max(sizes)}, at the median {np.median(sizes):.0f}",
        "held-out sentences with a triple": f"{np.mean([bool(x) for x in found]):.0%} of {len(found):,}",
        "cosine of their triples with the nearest in the table": f"{best.mean():.2f} on average",
    }


def build(texts: Texts, folder: Path, clusters: int, seed: int) -> TripleTable:
    """Build the table and put it into its folder, which may exist."""
    recipe = TableRecipe(
        Chosen(load_extractor("zoo:parser")), "zoo:encoder", clusters, max_characters=_CHARACTERS, seed=seed
    )
    with tempfile.TemporaryDirectory() as scratch:
        build_table(texts, Path(scratch) / "table", recipe, texts.note)
        shutil.copytree(Path(scratch) / "table", folder, dirs_exist_ok=True)
    return load_table(str(folder))


def main() -> None:
    """Choose the sentences, build, measure."""
    chosen = options(__doc__)
    wanted, clusters = (200, 4) if chosen.dry_run else (TRIPLES, CLUSTERS)
    pools = {source: _short(sentences(chosen.data, source)) for source in SHARES}
    train = {source: [line for line in pool if not is_held_out(line)] for source, pool in pools.items()}
    held_out = [line for pool in pools.values() for line in pool if is_held_out(line)]
    held_out = random.Random(chosen.seed).sample(held_out, min(len(held_out), wanted // 10))
    texts = Texts(train, chosen.seed, wanted)
    table = build(texts, chosen.out, clusters, chosen.seed)
    card = Card(
        title="triples",
        summary="Public triples (subject | verb | object) with vectors of zoo:encoder (the first 32 "
        "dimensions, float16) and their clusters. DP-ST draws from them.",
        data=[f"{LICENCES[source]}: {number:,} sentences" for source, number in texts.used.items()],
        training=[
            f"triples of zoo:parser; of like ones in a text the longest; at most {_CHARACTERS} characters",
            f"sentences of at most {LONGEST} characters, none with Tom or Mary, Tatoeba's favourites",
            f"clusters by mini-batch k-means, seed {chosen.seed}",
        ],
        figures=measured(table, held_out),
        limits=[
            "The parser errs, so some triples are no good English.",
            "Commands and questions without a subject give no triple.",
        ],
        command="python recipes/triples.py --data DIR --out zoo/src/tedaudit_zoo/models/triples",
    )
    write_card(chosen.out, card)


if __name__ == "__main__":
    main()
