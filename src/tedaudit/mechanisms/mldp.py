"""Six word-level mechanisms with metric guarantees, as the package mldp-text has them.

Paper:   Meisenbacher, Nandakumar, Klymenko and Matthes 2024, LREC-COLING; the mechanisms have papers of their
         own (Feyisetan 2020, Xu 2020 and 2021, Carvalho 2023, Weggenmann and Kerschbaum 2018).
Claim:   none that an audit for any two texts could judge: epsilon times the distance between two words.
Departs: the package itself runs, in an environment of its own; it rewrites words, and the card says how texts
         become words.
"""

import hashlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal

from tedaudit.errors import PluginError, SpecError, shorten
from tedaudit.mechanisms._json_lines import JsonLines
from tedaudit.mechanisms._programs import RunsPrograms
from tedaudit.paths import checksum_file
from tedaudit.plugins.batches import Rewrites
from tedaudit.plugins.values import Callee, Card, Claim, Draw

SCRIPT = Path(__file__).parent / "_scripts" / "run_mldp.py"
_PACKAGE = "mldp-text"
_PACKAGES = (_PACKAGE, "numpy", "scipy", "faiss-cpu", "gensim", "scikit-learn", "nltk")


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
        versions = _read_versions(_check_python(self.python))
        if not versions[_PACKAGE]:
            raise PluginError(f"'mldp': {_PACKAGE} is not installed for '{self.python}'. {_ENVIRONMENT}")
        named = {"documents": self.documents, "embeddings": self.embeddings}
        files = {key: checksum_file(Path(name).expanduser()) for key, name in named.items() if name}
        return {**versions, "script": hashlib.sha256(SCRIPT.read_bytes()).hexdigest()[:16], **files}

    def callee(self, candidates: int) -> Callee:  # noqa: ARG002 - the same for any number of candidates
        """Name the package, which is given a text per rewrite."""
        return Callee("the package mldp-text", "texts to")

    def rewrite(self, draws: Sequence[Draw]) -> Rewrites:
        """Return the package's rewrites; what it raises is a failed rewrite with the type as its code."""
        if not draws:
            return Rewrites.of([])
        settings = {
            "mechanism": self.mechanism, "nltk_data": _find_path(self.nltk_data),
            "lower_case": self.lower_case, "embeddings": _find_path(self.embeddings),
            "documents": _find_path(self.documents),
        }  # fmt: skip
        arguments = (
            _check_python(self.python), "-E", "-s", str(SCRIPT), json.dumps(settings, sort_keys=True),
        )  # fmt: skip
        talk = JsonLines(self._programs, seeded=True, is_adversary=self._is_adversary)
        return Rewrites.of([talk.rewrite(arguments, draw) for draw in draws])


# --- The environment that the package lives in; ours is kept out of it.

_ENVIRONMENT = (
    f"Make one: python3 -m venv FOLDER && FOLDER/bin/pip install {_PACKAGE}==0.1.2; then set `python` to "
    "FOLDER/bin/python. docs/adapters.md has the versions that were tried."
)
_ASK = """
import importlib.metadata, json, platform, sys
found = {"python": platform.python_version()}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        found[name] = ""
print(json.dumps(found))
"""


def _check_python(python: str) -> str:
    """Return the path of an interpreter, or say how to make an environment that has one."""
    if not python:
        raise SpecError(
            f"'mldp' needs `python`: the interpreter of an environment that has {_PACKAGE}. {_ENVIRONMENT}"
        )
    path = Path(python).expanduser()
    if not path.is_file():
        raise SpecError(f"'mldp': there is no interpreter '{python}'. {_ENVIRONMENT}")
    return str(path.absolute())


@lru_cache(maxsize=8)
def _read_versions(python: str) -> Mapping[str, str]:
    try:
        done = subprocess.run(  # noqa: S603 - an interpreter that the user named
            [python, "-E", "-s", "-c", _ASK, *_PACKAGES], capture_output=True, text=True, check=True,
            timeout=120, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        found: Mapping[str, str] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", "") or ""
        raise PluginError(
            f"'{python}' is not a Python interpreter that can list its packages: {error} "
            f"{shorten(str(said), 500)}"
        ) from error
    return found


def _find_path(name: str) -> str:
    """Return the path of a file or folder from anywhere; nothing if none is named."""
    return str(Path(name).expanduser().absolute()) if name else ""
