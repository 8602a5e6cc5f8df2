"""Recipes are scripts beside the package: their folder is put on the path."""

import lzma
import random
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "recipes"))

LINES = {
    "text/gutenberg.txt.xz": 150, "text/tatoeba.txt.xz": 150, "text/wikitext2.txt.xz": 150,
    "text/paraphrases.tsv.xz": 300, "snli/entailment.tsv": 300, "snips/snips_2017_train.csv": 300,
    "ud-ewt/train.conllu.xz": 3000, "ud-ewt/dev.conllu.xz": 1500, "ud-ewt/test.conllu.xz": 1500,
}  # fmt: skip


@pytest.fixture(scope="module")
def data(corpora, tmp_path_factory):
    """The beginning of every file of the public text: a dry run reads some of them whole."""
    if not (corpora / "text").is_dir():
        pytest.skip("TEDAUDIT_DATA has no public text")
    folder = tmp_path_factory.mktemp("data")
    for name, count in LINES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        compressed = name.endswith(".xz")
        with (lzma.open if compressed else open)(corpora / name, "rb") as whole:
            first = b"".join(islice(whole, count))
        if name.startswith("ud-ewt"):
            first = first[: first.rindex(b"\n\n") + 2]  # whole sentences
        (folder / name).write_bytes(lzma.compress(first) if compressed else first)
    return folder


@pytest.fixture
def unchanged_state():
    """A recipe is a script and may seed and set what it likes: put back what it has changed."""
    torch = pytest.importorskip("torch")
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    precision = torch.get_float32_matmul_precision()
    yield
    random.setstate(states[0])
    np.random.set_state(states[1])  # noqa: NPY002
    torch.set_rng_state(states[2])
    torch.set_float32_matmul_precision(precision)
