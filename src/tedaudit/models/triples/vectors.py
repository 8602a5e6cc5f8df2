"""Triples as unit vectors with exact cosines, which no batch or machine can change."""

from collections.abc import Sequence

import numpy as np

from tedaudit.errors import ModelError
from tedaudit.models.encoders import exact
from tedaudit.models.encoders.sentence import Encoder, load_encoder
from tedaudit.models.places import resolve
from tedaudit.plugins.values import Array, Floats

_BITS = 20  # with which stored tables were made


def load_dense_encoder(name: str) -> Encoder:
    """Return a sentence encoder whose vectors can be truncated."""
    if name == "lexical":
        raise ModelError(
            "The encoder 'lexical' gives sparse vectors, which cannot be truncated to a few dimensions. "
            "Name a SentenceTransformer model: a folder, a hub id or zoo:NAME."
        )
    return load_encoder(resolve(name))


def embed(encoder: Encoder, texts: Sequence[str], dimensions: int) -> Floats:
    """Return one vector per text: the encoder's first dimensions, normalised again, rounded to the grid."""
    raw = np.asarray(encoder.encode(texts), dtype=np.float64)
    if raw.shape[1] < dimensions:
        raise ModelError(
            f"The encoder '{encoder.name}' gives {raw.shape[1]} dimensions, but {dimensions} are requested. "
            f"Set dimensions to {raw.shape[1]} or less, or use another encoder."
        )
    return normalise_to_grid(raw[:, :dimensions])


def normalise_to_grid(vectors: Array) -> Floats:
    """Return rows normalised and rounded; a row of zeros stays zero."""
    wide = np.asarray(vectors, dtype=np.float64)
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    return round_to_grid(wide / np.where(norms > 0, norms, 1.0))


def round_to_grid(vectors: Array) -> Floats:
    """Return the nearest multiples of 2^-20."""
    return np.asarray(exact.round_to_grid(np.asarray(vectors, dtype=np.float64), _BITS))
