"""Which public triples a written text seems to tell: one in a sentence, by its words or by its vector.

A writer puts triples into sentences of its own. One that keeps the words of a triple shows it; several
triples may have the same words. Any other sentence is taken for the triple whose vector is nearest.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from tedaudit.models.encoders.sentence import Encoder
from tedaudit.models.triples.table import WHOLE, TripleTable
from tedaudit.models.triples.vectors import embed
from tedaudit.plugins.values import Floats
from tedaudit.text.characters import replace_surrogates

Told = list[tuple[int, ...]]  # for each sentence the numbers of the triples that it may be
_END = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"\w+")
_CELLS = 1 << 23  # cosines in memory at a time


def read_triples(table: TripleTable, encoder: Encoder, texts: Sequence[str]) -> dict[str, Told]:
    """Return what each distinct text seems to tell; every distinct sentence is looked up once."""
    sentences = {text: _split(replace_surrogates(text)) for text in dict.fromkeys(texts)}
    distinct = list(dict.fromkeys(part for parts in sentences.values() for part in parts))
    known = {part: _find_by_words(table, part) for part in distinct}
    others = [part for part in distinct if not known[part]]
    step = max(1, _CELLS // len(table))
    for start in range(0, len(others), step):
        block = others[start : start + step]
        near = table.similarity(embed(encoder, block, table.dimensions), WHOLE).argmax(axis=1)
        known |= {part: (number,) for part, number in zip(block, near.tolist(), strict=True)}
    return {text: [known[part] for part in parts] for text, parts in sentences.items()}


def add_alignments(masses: Floats, alone: float) -> float:
    """Return the logarithm of the sum over all ways to match slots (rows) with sentences, both in order.

    `masses` are log-probabilities that a slot draws what a sentence tells; `alone` is the weight of a slot
    whose triple is told in no sentence, and of a sentence that tells none.
    """
    slots, sentences = masses.shape
    sums = np.full((slots + 1, sentences + 1), -np.inf)
    sums[0] = alone * np.arange(sentences + 1)
    for slot in range(slots):
        sums[slot + 1, 0] = sums[slot, 0] + alone
        for place in range(sentences):
            matched = sums[slot, place] + masses[slot, place]
            skipped = np.logaddexp(sums[slot, place + 1], sums[slot + 1, place]) + alone
            sums[slot + 1, place + 1] = np.logaddexp(matched, skipped)
    return float(sums[slots, sentences])


def _split(text: str) -> list[str]:
    """Return the sentences of a text that have words."""
    return [part for part in _END.split(text) if _WORD.search(part)]


def _find_by_words(table: TripleTable, sentence: str) -> tuple[int, ...]:
    """Return the numbers of all triples that have just these words."""
    codes, order = _index_words(table)
    code = _hash_words(sentence)
    first, last = np.searchsorted(codes, code, "left"), np.searchsorted(codes, code, "right")
    return tuple(sorted(order[first:last].tolist()))


@lru_cache(maxsize=2)
def _index_words(table: TripleTable) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """Return hashes of the words of all triples, sorted, and whose they are."""
    hashes = (_hash_words(table.text(number)) for number in range(len(table)))
    codes = np.fromiter(hashes, dtype=np.uint64, count=len(table))
    order = np.argsort(codes, kind="stable")
    return codes[order], order


def _hash_words(text: str) -> np.uint64:
    words = " ".join(_WORD.findall(text.casefold())).encode()
    return np.uint64(int.from_bytes(blake2b(words, digest_size=8).digest(), "little"))
