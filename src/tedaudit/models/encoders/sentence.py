"""Sentence encoders by name: `lexical`, any SentenceTransformer model (name or folder), or `zoo:encoder`.

A folder with a tokenizer and a table of vectors as integers (see `loading`) is a static encoder: a
text's vector is the mean of its tokens' vectors. It takes numpy alone: importing torch and the libraries of
models takes longer than a small audit.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tedaudit.errors import EncoderError, ModelError
from tedaudit.models.encoders.lexical import LexicalEncoder
from tedaudit.models.encoders.lexical_index import LexicalIndex
from tedaudit.models.loading import (
    WEIGHTS,
    checksum,
    count_positions,
    read_quantised,
)
from tedaudit.models.missing import drop_pooler, note_missing, refuse_missing
from tedaudit.models.places import is_hub_reachable, resolve
from tedaudit.models.silence import silence_loading
from tedaudit.plugins.extras import explain_missing

TABLE = "embedding.weight"  # the name of a static encoder's vectors in its weights file
_PADDING_STEP = 8
_TOKENS = 65_536  # of a pass on a GPU: long texts take little more of its memory than short ones


class Encoder(Protocol):
    """Turns texts into unit rows, dense or sparse, each depending only on its own text."""

    name: str

    def fit(self, texts: Sequence[str]) -> None:
        """Fit to the pool of texts that will be compared, if the encoder uses it."""
        ...

    def encode(self, texts: Sequence[str]) -> Any:
        """Return one unit row per text."""
        ...

    def fingerprint(self) -> Mapping[str, str]:
        """Return what determines the vectors."""
        ...


def load_encoder(name: str, *, half: bool = False) -> Encoder:
    """Return the encoder with that name; the last two models stay loaded.

    `half` lets a model on a GPU compute in float16: precise enough for comparing texts, but not for the
    distances that candidate sampling multiplies by lambda.
    """
    return LexicalEncoder() if name == "lexical" else _load_once(name, half=half)


def embed_pool(encoder: Encoder, texts: Sequence[str]) -> Any:
    """Fit an encoder to a pool and return the pool's vectors: a matrix, or an index in less memory."""
    if isinstance(encoder, LexicalEncoder):
        return LexicalIndex(encoder, texts)
    encoder.fit(texts)
    return encoder.encode(texts)


@lru_cache(maxsize=2)
def _load_once(name: str, *, half: bool) -> "ModelEncoder":
    with _explain_failure(name):
        is_static = (Path(resolve(name)) / WEIGHTS).is_file()
    return StaticEncoder(name) if is_static else SentenceEncoder(name, half=half)


class ModelEncoder(ABC):
    """What encoders that were trained have in common: equal texts are encoded once, a few at a time."""

    name: str
    _together: int
    _dimensions: int

    def fit(self, texts: Sequence[str]) -> None:  # noqa: B027 - not for a subclass to define
        """Do nothing: the model needs no fitting."""

    def encode(self, texts: Sequence[str]) -> Any:
        """Return one unit row (float32) per text; equal texts are encoded once."""
        distinct = sorted(set(texts), key=lambda text: (len(text), text))
        if not distinct:
            return np.zeros((0, self._dimensions), dtype=np.float32)
        size = self._together
        parts = [self._encode_some(distinct[i : i + size]) for i in range(0, len(distinct), size)]
        table = np.concatenate(parts)
        invalid = int((~np.isfinite(table).all(axis=1)).sum())
        if invalid:
            raise EncoderError(
                f"Encoder '{self.name}' returned values that are not numbers (NaN or infinity) for "
                f"{invalid} of {len(distinct)} texts. Its weights or its number format are damaged: load it "
                "again, or use another encoder such as 'lexical'."
            )
        position = {text: i for i, text in enumerate(distinct)}
        return table[[position[text] for text in texts]]

    @abstractmethod
    def fingerprint(self) -> Mapping[str, str]:
        """Return a checksum of the weights; damaged weights raise an error before anything is computed."""

    @abstractmethod
    def _encode_some(self, texts: list[str]) -> Any:
        """Return one unit row per text."""

    def _refuse_damage(self, key: str) -> None:
        raise EncoderError(
            f"Encoder '{self.name}' has weights that are not numbers (NaN, in '{key}'): its file is "
            "damaged. Download it again, or use another encoder such as 'lexical'."
        )


class StaticEncoder(ModelEncoder):
    """A vector for each token of a tokenizer; a text's vector is their mean, scaled to length one."""

    _together = 16_384

    def __init__(self, name: str) -> None:
        _refuse_without(name, "tokenizers", "safetensors")
        self.name = name
        with _explain_failure(name):
            from tokenizers import Tokenizer

            folder = Path(resolve(name))
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            arrays = read_quantised(folder / WEIGHTS)
            refuse_missing(name, {TABLE} - arrays.keys(), "a static encoder: a tokenizer and its vectors")
            self._table = arrays[TABLE]
            if self._tokenizer.get_vocab_size() != len(self._table):
                tokens = self._tokenizer.get_vocab_size()
                raise ValueError(f"it has {tokens} tokens and {len(self._table)} vectors.")
        self._dimensions = self._table.shape[1]

    def fingerprint(self) -> Mapping[str, str]:
        """Return a checksum of the vectors."""
        if np.isnan(self._table).any():
            self._refuse_damage(TABLE)
        digest = hashlib.sha256(f"0.{TABLE}".encode() + self._table.tobytes())  # as `checksum` has them
        return {"encoder weights": digest.hexdigest()[:16]}

    def _encode_some(self, texts: list[str]) -> Any:
        from scipy import sparse

        rows = [read.ids for read in self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
        lengths = np.array([len(row) for row in rows])
        ids = np.fromiter((token for row in rows for token in row), np.int64, int(lengths.sum()))
        ones = np.ones(len(ids), np.float32)
        starts = np.append(0, np.cumsum(lengths))
        counts = sparse.csr_matrix((ones, ids, starts), shape=(len(texts), len(self._table)))
        means = (counts @ self._table) / np.maximum(lengths, 1)[:, None].astype(np.float32)
        sizes = np.sqrt(np.square(means, dtype=np.float64).sum(axis=1, keepdims=True))
        return means / np.maximum(sizes, 1e-12).astype(np.float32)


class SentenceEncoder(ModelEncoder):
    """A SentenceTransformer model whose vectors do not depend on the batch.

    Matrix kernels sum in an order that depends on the shape, so every forward pass has a shape
    that follows from the text alone: its length rounded up, times a fixed number of rows.
    """

    def __init__(self, name: str, *, half: bool = False) -> None:
        self.name = name
        self._model = _load_model(name)
        self._dimensions = self._model.get_embedding_dimension() or 0
        gpu = self._model.device.type == "cuda"
        self._gpu, self._together = gpu, 16_384 if gpu else 1024
        self._half = half and gpu
        if self._half:
            self._model.half()
        self._pad = getattr(self._model.tokenizer, "pad_token_id", 0) or 0
        self._tokenize = find_tokenizing(self._model, self._pad)

    def fingerprint(self) -> Mapping[str, str]:
        """Return a checksum of the weights."""
        for key, value in self._model.state_dict().items():
            if bool(value.isnan().any()):
                self._refuse_damage(key)
        number_format = {"encoder numbers": "float16"} if self._half else {}
        return {"encoder weights": checksum(self._model), **number_format}

    def _encode_some(self, texts: list[str]) -> Any:
        import torch

        features = self._tokenize(texts)
        with torch.inference_mode():
            if "attention_mask" not in features:  # static embeddings: rows are independent anyway
                return self._forward(features)
            lengths = features["attention_mask"].sum(dim=1).numpy()
            padded = -(-lengths // _PADDING_STEP) * _PADDING_STEP
            if self._model.max_seq_length:  # a model has no positions beyond its window
                padded = np.maximum(lengths, np.minimum(padded, self._model.max_seq_length))
            out = np.zeros((len(texts), self._dimensions), dtype=np.float32)
            for width in np.unique(padded):
                members = np.flatnonzero(padded == width)
                rows = count_rows(int(width), gpu=self._gpu)
                for start in range(0, len(members), rows):
                    batch = members[start : start + rows]
                    out[batch] = self._forward(self._reshape(features, batch, int(width)))[: len(batch)]
        return out

    def _reshape(self, features: Mapping[str, Any], batch: Any, width: int) -> dict[str, Any]:
        """Return the features of some rows, cut or padded to the width; the last row fills the batch."""
        import torch

        filling = count_rows(width, gpu=self._gpu) - len(batch)
        rows = np.concatenate([batch, np.full(filling, batch[-1])])
        padding = {"input_ids": self._pad}
        shaped: dict[str, Any] = {}
        for key, value in features.items():
            if not isinstance(value, torch.Tensor):
                shaped[key] = value
                continue
            cut = value[rows][:, :width]
            missing = width - cut.shape[1]
            shaped[key] = torch.nn.functional.pad(cut, (0, missing), value=padding.get(key, 0))
        return shaped

    def _forward(self, features: Mapping[str, Any]) -> Any:
        import torch

        device = self._model.device
        moved = {k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in features.items()}
        vectors = self._model(moved)["sentence_embedding"].float()
        return torch.nn.functional.normalize(vectors, dim=1).cpu().numpy()


def count_rows(width: int, *, gpu: bool) -> int:
    """Return how many texts of a width are encoded in one pass, however many there are to encode."""
    return max(16, min(1024, _TOKENS // max(1, width))) if gpu else 16


def _refuse_without(name: str, *modules: str) -> None:
    instead = "or use the encoder 'lexical', which needs no model"
    missing = explain_missing(f"Encoder '{name}'", *modules, instead=instead)
    if missing:
        raise EncoderError(missing)


@contextmanager
def _explain_failure(name: str) -> Iterator[None]:
    try:
        yield
    except ModelError as error:
        raise EncoderError(str(error)) from error
    except Exception as error:  # a damaged file may raise any exception
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".") + "."
        raise EncoderError(
            f"Encoder '{name}' could not be loaded: {reason} Name a folder with a "
            "SentenceTransformer model, or a hub model that this machine can download or has in its cache; "
            "the encoder 'lexical' needs none."
        ) from error


def _load_model(name: str) -> Any:
    _refuse_without(name, "torch", "sentence_transformers")
    from sentence_transformers import SentenceTransformer

    with _explain_failure(name), silence_loading():
        source = resolve(name)
        with note_missing() as lacking:
            model = SentenceTransformer(source, local_files_only=not is_hub_reachable(source))
        refuse_missing(name, lacking, "a sentence encoder")
        for part in _list_transformers(model):
            if lacking:  # the pooler alone, on which no vector depends
                drop_pooler(part)
            limit = count_positions(part)
            if limit and (model.max_seq_length or limit) > limit:
                model.max_seq_length = limit
    if hasattr(getattr(model, "tokenizer", None), "padding_side"):
        model.tokenizer.padding_side = "right"  # rows are cut to their own length from the right
    model.eval()
    return model


def _list_transformers(model: Any) -> list[Any]:
    from transformers import PreTrainedModel

    return [part for part in model.modules() if isinstance(part, PreTrainedModel)]


# --- Texts to the tokens that a sentence encoder reads, several times faster than by its library.
#
# The library's own path handles every text and every number in Python. Which way is taken is found out once
# for each encoder: ours if it gives the same tokens for a few awkward texts, or else the library's.

Features = Mapping[str, Any]
_PROBE = ["A short one.", "", "  Two  spaces, \u00dcml\u00e4ute and 12 numbers ", "word " * 2000]
_KNOWN = {"input_ids", "attention_mask", "token_type_ids"}


def find_tokenizing(model: Any, pad: int) -> Callable[[list[str]], Features]:
    """Return what makes the features of texts for a SentenceTransformer model."""
    expected: Features = model.preprocess(_PROBE)
    library: Callable[[list[str]], Features] = model.preprocess
    fast = getattr(getattr(model, "tokenizer", None), "backend_tokenizer", None)
    if "attention_mask" not in expected or fast is None or not _has_known_tables(expected):
        return library
    fast.no_padding()
    if model.max_seq_length:
        fast.enable_truncation(model.max_seq_length)
    padded = partial(_tokenize_padded, fast, pad)
    return padded if _is_same_table(padded(_PROBE), expected) else library


def _tokenize_padded(fast: Any, pad: int, texts: list[str]) -> Features:
    """Return token ids and the mask of what is not padding, as tables."""
    import torch

    rows = [encoding.ids for encoding in fast.encode_batch_fast(texts)]
    lengths = np.array([len(row) for row in rows])
    mask = np.arange(max(1, lengths.max())) < lengths[:, None]
    ids = np.full(mask.shape, pad, dtype=np.int64)
    ids[mask] = np.concatenate(rows) if lengths.any() else []
    return {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask.astype(np.int64))}


def _has_known_tables(features: Features) -> bool:
    """Return whether a model reads ids and a mask alone, and types only if all are the first."""
    if {key for key, value in features.items() if hasattr(value, "shape")} - _KNOWN:
        return False
    return "token_type_ids" not in features or not bool(features["token_type_ids"].any())


def _is_same_table(actual: Features, expected: Features) -> bool:
    """Return whether two tables agree but for what padding is filled with."""
    if not _is_equal(actual["attention_mask"].bool(), expected["attention_mask"].bool()):
        return False
    is_read = expected["attention_mask"].bool()
    return bool((actual["input_ids"] == expected["input_ids"])[is_read].all())


def _is_equal(one: Any, other: Any) -> bool:
    return one.shape == other.shape and bool((one == other).all())
