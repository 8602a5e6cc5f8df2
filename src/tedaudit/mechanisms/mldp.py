"""Six word-level mechanisms with metric guarantees, as the package mldp-text has them.

Paper:   Meisenbacher, Nandakumar, Klymenko and Matthes 2024, LREC-COLING; the mechanisms have papers of their
         own (Feyisetan 2020, Xu 2020 and 2021, Carvalho 2023, Weggenmann and Kerschbaum 2018).
Claim:   none that an audit for any two texts could judge: epsilon times the distance between two words.
Departs: the package itself runs, in an environment of its own; it rewrites words, and the card says how texts
         become words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from tedaudit.batches import Rewrites
from tedaudit.errors import SpecError
from tedaudit.mechanisms._package import Package, find_path, rewrite_by_script
from tedaudit.mechanisms._programs import RunsPrograms
from tedaudit.paths import checksum_file
from tedaudit.types import Callee, Card, Claim, Draw

_BESIDE = ("numpy", "scipy", "faiss-cpu", "gensim", "scikit-learn", "nltk")
_PACKAGE = Package("mldp", "mldp-text", "0.1.2", "run_mldp.py", _BESIDE)


@dataclass(frozen=True)
class MLDP(RunsPrograms):
    """Runs mldp-text under `python`, the interpreter of an environment in which it is installed.

    `mechanism` is one of its six. A text is lower-cased (the package's vocabulary is), split by nltk's
    Treebank rules, and the rewritten words are joined by spaces. `embeddings` is a file of word vectors,
    after a line with their number and dimensions; without it, the package's own GloVe vectors are used.
    `documents`, a file with one public text per line, is for syntf, which also needs nltk's WordNet: in the
    folder `nltk_data`, or wherever nltk looks.
    """

    python: str = field(default="", metadata={"incidental": True})
    """The interpreter of an environment in which mldp-text is installed."""
    mechanism: Literal[
        "multivariate-calibrated", "truncated-gumbel", "vickrey", "tem", "mahalanobis", "syntf"
    ] = "multivariate-calibrated"
    """Which of the package's six mechanisms."""
    lower_case: bool = True
    """Whether to lower-case texts first, since the package's vocabulary is lower-case."""
    embeddings: str = field(default="", metadata={"incidental": True})  # by its checksum, as the next
    """A file of word vectors; by default the package's own GloVe vectors."""
    documents: str = field(default="", metadata={"incidental": True})
    """A file with one public text per line, for syntf."""
    nltk_data: str = ""
    """A folder with nltk's WordNet, for syntf; by default wherever nltk looks."""
    timeout: float = field(default=300.0, kw_only=True, metadata={"incidental": True})
    card: ClassVar[Card] = Card(
        name="mldp",
        code=("python",),
        english=("embeddings: the default word vectors",),
        summary="Six word-level mechanisms with metric guarantees: the package mldp-text, run on its own.",
        paper="Meisenbacher et al. 2024 (LREC-COLING); package mldp-text 0.1.2",
        claim="none for any two texts: per word, epsilon times the distance of two words",
        departures=(
            "flaw: words outside its vocabulary of 33,860 (names, punctuation) come back as they are",
            "flaw: as many words out as in",
            "flaw: tem scores the rest of the vocabulary wrongly, and loses more than epsilon times distance",
            "flaw: tem fails on a word if all words are near it and the rest is drawn",
            "flaw: truncated-gumbel draws among few neighbours, and uses squared distances as distances",
            "flaw: vickrey never returns a word whose own vector is the nearest",
            "flaw: syntf draws among a word's synonyms alone; words without any come back as they are",
            "flaw: the nearest words are looked for in half of the clusters of an approximate index",
            "truncated-gumbel: distances measured from the word 'the', as its own random word fails on 3.11",
            "ours: nltk's Treebank words, lower-cased, joined by spaces; no download of WordNet at import",
            "ours: noise from numpy's and random's global generators, seeded with the key of each draw",
        ),
    )

    def __post_init__(self) -> None:
        self._set_up_programs()
        if self.mechanism == "syntf" and not self.documents:
            raise SpecError("'mldp': syntf needs `documents`, a file with one public text per line.")
        for name in (self.documents, self.embeddings):
            if name and not Path(name).expanduser().is_file():
                raise SpecError(f"'mldp': there is no file '{name}'.")

    def claim(self, epsilon: float) -> Claim | None:  # noqa: ARG002 - nothing, at any epsilon
        """Promise nothing: a metric guarantee says nothing of two texts whose words are far apart."""
        return None

    def fingerprint(self) -> Mapping[str, str]:
        """Return the versions of what is installed, and checksums of our script and the documents."""
        named = {"documents": self.documents, "embeddings": self.embeddings}
        files = {key: checksum_file(Path(name).expanduser()) for key, name in named.items() if name}
        return {**_PACKAGE.fingerprint(self.python), **files}

    def callee(self, candidates: int) -> Callee:  # noqa: ARG002 - the same for any number of candidates
        """Name the package, which is given a text per rewrite."""
        return Callee("the package mldp-text", "texts to")

    def rewrite(self, draws: Sequence[Draw]) -> Rewrites:
        """Return the package's rewrites; what it raises is a failed rewrite with the type as its code."""
        if not draws:
            return Rewrites.of([])
        settings = {
            "mechanism": self.mechanism, "nltk_data": find_path(self.nltk_data),
            "lower_case": self.lower_case, "embeddings": find_path(self.embeddings),
            "documents": find_path(self.documents),
        }  # fmt: skip
        arguments = _PACKAGE.start(self.python, settings)
        return rewrite_by_script(self._programs, arguments, draws, is_adversary=self._is_adversary)
