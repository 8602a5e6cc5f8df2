"""DP-MLM as its authors release it: the package dpmlm itself, on any masked language model in a folder.

Paper:   Meisenbacher, Chevli, Vladika and Matthes 2024, Findings of ACL.
Claim:   epsilon per drawn word, for the whole text: n words cost n epsilon, and nothing bounds n.
Departs: in nothing: the package runs in an environment of its own, because it switches gradients off for the
         whole process. `dp-mlm` with variant `published` is our own code for an earlier release.
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from tedaudit.batches import Rewrites
from tedaudit.errors import ModelError
from tedaudit.inference.loading import WEIGHTS, load_checkpoint
from tedaudit.inference.models.places import caution_range, read_clip, resolve
from tedaudit.inference.models.zoo import zoo_or
from tedaudit.inference.sampling.exponential import check_clip, choose_clip
from tedaudit.inference.silence import silence_loading
from tedaudit.mechanisms._package import Package, find_path, rewrite_by_script
from tedaudit.mechanisms._programs import RunsPrograms
from tedaudit.paths import checksum_folder
from tedaudit.types import Callee, Card, Claim, Draw, ModelUse

_BESIDE = ("torch", "transformers", "tokenizers", "numpy", "nltk")
_PACKAGE = Package("dpmlm-release", "dpmlm", "1.3.0", "run_dpmlm.py", _BESIDE)
_ENDLESS = 10**9  # what libraries write for a tokenizer of unknown length is far above it
_READ = (".json", ".txt", ".model", ".safetensors", ".bin")  # tokenizers and weights, no remarks on them
_RELEASED_RANGE = (-3.2093127, 16.304797887802124)  # the package's own
_MEASURED_ON = "roberta-base"


@dataclass(frozen=True)
class DPMLMRelease(RunsPrograms):
    """Runs dpmlm under `python`, the interpreter of an environment in which it is installed.

    `model` is a folder or a model of the zoo. `low` and `high` clip the logits; if not given, the range
    stored with the model is used, or else the package's own. `batch` calls its batch mode. nltk's punkt_tab
    and stopwords must lie in the folder `nltk_data`, or wherever nltk looks.
    """

    python: str = field(default="", metadata={"incidental": True})
    """The interpreter of an environment in which dpmlm is installed."""
    model: str = zoo_or("mlm", "FacebookAI/roberta-base")
    """A masked language model: a folder, or one of the zoo."""
    low: float | None = None
    """Lower end of the clip range for logits. By default that of the model, or else of the package."""
    high: float | None = None
    """Upper end of the clip range for logits. By default that of the model, or else of the package."""
    batch: bool = False
    """Whether to use the package's batch mode."""
    rewrite_stop_words: bool = False
    """Whether stop words are rewritten too; by default they are released as they are."""
    nltk_data: str = ""
    """A folder with nltk's punkt_tab and stopwords; by default wherever nltk looks."""
    timeout: float = field(default=300.0, kw_only=True, metadata={"incidental": True})
    card: ClassVar[Card] = Card(
        name="dpmlm-release",
        code=("python",),
        english=("model: the default model",),
        summary="DP-MLM as released: the package dpmlm, run on its own with any masked language model.",
        paper="Meisenbacher et al. 2024 (Findings of ACL); package dpmlm 1.3.0",
        claim="epsilon per word, each drawn given the whole text: n words cost n epsilon; no maximum",
        departures=(
            "flaw: stop words and punctuation are released as they are",
            "flaw: the case of a word's first letter is copied",
            "flaw: as many words out as in",
            "flaw: a word that the model does not read as masked comes back as it is",
            "flaw: in batch mode, such a word is drawn from what the model expects at the first token",
            "flaw: probabilities are in float32, so some words cannot be drawn at large epsilon",
            "flaw: its calibration takes the percentile 0.99 for 99.99, and clips nearly all logits",
            "ours: the calibrated range comes with the model, not from the package's calibration",
            "ours: the zoo's model is unpacked to float32 in a temporary folder",
            "ours: noise from numpy's global generator, seeded with the key of each draw",
        ),
    )

    def __post_init__(self) -> None:
        self._set_up_programs()
        check_clip(self.low, self.high)

    def claim(self, epsilon: float) -> Claim | None:
        """Promise epsilon per word; nothing bounds the number of words."""
        return Claim(epsilon, "word", max_units=None)

    def models(self) -> Sequence[ModelUse]:
        """Name the checkpoint."""
        return [ModelUse("weights", self.model)]

    def cautions(self) -> Sequence[str]:
        """Say if the clip range was measured on another model."""
        return caution_range(self.model, self.low, self.high, _RELEASED_RANGE, _MEASURED_ON)

    def fingerprint(self) -> Mapping[str, str]:
        """Return the versions of what is installed, and checksums of our script and the model."""
        low, high = self._choose_range()
        return {
            **_PACKAGE.fingerprint(self.python),
            "weights": checksum_folder(_find_folder(self.model), _READ),
            "clip range": f"{low!r} to {high!r}",
        }

    def callee(self, candidates: int) -> Callee:  # noqa: ARG002 - the same for any number of candidates
        """Name the package, which is given a text per rewrite."""
        return Callee("the package dpmlm", "texts to")

    def rewrite(self, draws: Sequence[Draw]) -> Rewrites:
        """Return the package's rewrites; what it raises is a failed rewrite with the type as its code."""
        if not draws:
            return Rewrites.of([])
        low, high = self._choose_range()
        _PACKAGE.check_python(self.python)  # before a model is unpacked, which takes its time
        settings = {
            "low": low, "high": high, "batch": self.batch, "rewrite_stop_words": self.rewrite_stop_words,
            "nltk_data": find_path(self.nltk_data), "model": _unpack(self.model),
        }  # fmt: skip
        arguments = _PACKAGE.start(self.python, settings)
        return rewrite_by_script(self._programs, arguments, draws, is_adversary=self._is_adversary)

    def _choose_range(self) -> tuple[float, float]:
        clip = choose_clip(self.low, self.high, read_clip(_find_folder(self.model)) or _RELEASED_RANGE)
        return clip.low, clip.high


def _find_folder(model: str) -> Path:
    folder = Path(resolve(model))
    if not folder.is_dir():
        raise ModelError(
            f"'dpmlm-release': '{model}' is not a folder. Name one with the weights, the configuration and "
            "the tokenizer of a masked language model, or a model of the zoo, such as zoo:mlm."
        )
    return folder


@lru_cache(maxsize=4)
def _hold_folder(model: str) -> "tempfile.TemporaryDirectory[str]":
    """Write a model with integers for weights as any library reads it; the folder goes when we do."""
    checkpoint = load_checkpoint("masked", model, "", "cpu", "float32")
    held = tempfile.TemporaryDirectory(prefix="tedaudit-")
    with silence_loading():
        checkpoint.model.save_pretrained(held.name)
        checkpoint.tokenizer.save_pretrained(held.name)
    file = Path(held.name, "tokenizer_config.json")  # by which the package knows how much a model reads
    described = {**json.loads(file.read_text("utf-8")), "model_max_length": checkpoint.positions}
    file.write_text(json.dumps(described), "utf-8")
    return held


def _unpack(model: str) -> str:
    """Return a folder that the package can read a model from."""
    folder = _find_folder(model)
    if (folder / WEIGHTS).is_file():
        return _hold_folder(model).name
    file = folder / "tokenizer_config.json"
    try:
        length = json.loads(file.read_text("utf-8")).get("model_max_length", _ENDLESS)
    except (OSError, ValueError, AttributeError) as error:
        raise ModelError(f"'dpmlm-release': '{file}' cannot be read ({error!r}).") from error
    if not isinstance(length, int) or not 0 < length < _ENDLESS:
        raise ModelError(
            f"'dpmlm-release': '{file}' has no `model_max_length` such as 512, without which the package "
            "fails on every text. Add the number of tokens that the model reads."
        )
    load_checkpoint("masked", model, "", "cpu", "float32")  # one that lacks weights is refused
    return str(folder.absolute())
