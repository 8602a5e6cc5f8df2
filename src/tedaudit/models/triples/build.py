"""Builds a table of public triples from any corpus: extract, drop duplicates, embed, cluster, write.

Texts are read in batches and vectors go straight to disk, so memory grows with the number of
distinct triples by some 100 bytes each, not with the corpus.
"""

import hashlib
import lzma
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np

from tedaudit.errors import CorpusError, ModelError, SpecError
from tedaudit.models.encoders.sentence import Encoder
from tedaudit.models.triples.extraction import Extractor, load_extractor
from tedaudit.models.triples.table import TEXTS, TripleTable, load_table, nearest, save_arrays
from tedaudit.models.triples.vectors import embed, load_dense_encoder, normalise_to_grid, round_to_grid
from tedaudit.plugins.extras import require
from tedaudit.plugins.values import Array, Floats

Progress = Callable[[int, int], None]
_BATCH = 1024  # texts
_CHUNK = 1 << 16  # vectors assigned to clusters at a time
_PER_CLUSTER = 20  # vectors per cluster in the sample that clusters are fitted on


@dataclass(frozen=True)
class TableRecipe:
    """How a table is built. DP-ST's own has 50,000, 100,000 or 200,000 clusters of 15 million triples.

    `extractor` is a reference (see `load_extractor`) or an object; `encoder` a SentenceTransformer.
    Triples longer than `max_characters` are left out.
    """

    extractor: str | Extractor
    encoder: str
    clusters: int = 50_000
    dimensions: int = 32
    number_format: Literal["float16", "float32"] = "float16"
    max_characters: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("clusters", "dimensions", "max_characters"):
            if getattr(self, name) < 1:
                raise SpecError(f"{name} is {getattr(self, name)}; it must be 1 or more.")


def build_table(
    texts: Iterable[str], folder: str | Path, recipe: TableRecipe, progress: Progress | None = None
) -> TripleTable:
    """Write a table to a new folder and return it; `progress` gets the counts of texts and triples.

    The folder gets its name only once it is complete.
    """
    target = Path(folder).expanduser()
    if target.exists():
        raise SpecError(f"'{target}' already exists. Name a new folder for the table, or remove this one.")
    parses_here = isinstance(recipe.extractor, str) and not recipe.extractor.startswith("openie:")
    require("A table of triples", "torch", "sentence_transformers", "safetensors", *["spacy"] * parses_here)
    encoder = load_dense_encoder(recipe.encoder)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as scratch:
        built, work = Path(scratch) / "table", Path(scratch) / "vectors"
        built.mkdir()
        count = _collect(texts, recipe, encoder, (built / TEXTS, work), progress or (lambda _, __: None))
        vectors = np.memmap(work, recipe.number_format, "r", shape=(count, recipe.dimensions))
        centroids = _fit_centroids(vectors, recipe)
        cluster = np.concatenate([nearest(part, centroids) for part in _iterate_chunks(vectors)])
        used, cluster = np.unique(cluster, return_inverse=True)  # drop empty clusters
        arrays = {
            "vectors": vectors,
            "cluster": cluster.astype(np.int16 if len(used) < 1 << 15 else np.int32),
            "centroids": centroids[used].astype(np.float32),
        }
        about = {"encoder": recipe.encoder, **encoder.fingerprint(), "seed": str(recipe.seed)}
        save_arrays(built, arrays, about)
        built.rename(target)
    load_table.cache_clear()
    return load_table(str(target))


def _collect(
    texts: Iterable[str], recipe: TableRecipe, encoder: Encoder, files: tuple[Path, Path], progress: Progress
) -> int:
    """Write distinct triples and their vectors as they are found; return how many there are."""
    extractor = recipe.extractor
    if isinstance(extractor, str):
        extractor = load_extractor(extractor)
    read, seen = 0, set[bytes]()
    with lzma.open(files[0], "wb") as text_file, files[1].open("wb") as vector_file:
        for batch in _iterate_batches(texts):
            lines = [triple.text for triples in extractor.extract(batch) for triple in triples]
            new = list(_drop_seen((text for text in lines if len(text) <= recipe.max_characters), seen))
            if new:
                text_file.write("".join(f"{text}\n" for text in new).encode())
                rows = embed(encoder, new, recipe.dimensions)
                vector_file.write(rows.astype(recipe.number_format).tobytes())
            read += len(batch)
            progress(read, len(seen))
    if not seen:
        raise CorpusError(
            f"No triple was found in {read} texts. Triples need whole sentences with a verb: use another "
            "corpus, or a larger parser as the extractor."
        )
    if len(seen) < recipe.clusters:
        raise SpecError(
            f"The {read} texts have {len(seen)} distinct triples, fewer than the {recipe.clusters} clusters "
            f"requested. Give more texts, or set clusters to {len(seen)} or less; a hundredth is usual."
        )
    return len(seen)


def _fit_centroids(vectors: Array, recipe: TableRecipe) -> Floats:
    """Return unit centroids from mini-batch k-means on a sample."""
    try:
        from sklearn.cluster import MiniBatchKMeans
    except ImportError as error:
        raise ModelError("Clustering needs scikit-learn: pip install scikit-learn.") from error
    size = min(len(vectors), max(100_000, _PER_CLUSTER * recipe.clusters))
    rows = np.sort(np.random.default_rng(recipe.seed).choice(len(vectors), size, replace=False))
    batch = max(4096, recipe.clusters)
    means = MiniBatchKMeans(
        recipe.clusters, init="random", n_init=1, batch_size=batch, random_state=recipe.seed
    )
    return normalise_to_grid(means.fit(vectors[rows].astype(np.float32)).cluster_centers_)


def _iterate_batches(texts: Iterable[str]) -> Iterator[Sequence[str]]:
    rest = iter(texts)
    while batch := list(islice(rest, _BATCH)):
        yield batch


def _iterate_chunks(vectors: Array) -> Iterator[Floats]:
    for start in range(0, len(vectors), _CHUNK):
        yield round_to_grid(vectors[start : start + _CHUNK])


def _drop_seen(texts: Iterable[str], seen: set[bytes]) -> Iterator[str]:
    """Yield the texts not seen before; only a hash of each is remembered."""
    for text in texts:
        digest = hashlib.blake2b(text.encode(), digest_size=12).digest()
        if digest not in seen:
            seen.add(digest)
            yield text
