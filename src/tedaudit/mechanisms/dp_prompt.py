"""Paraphrase with a prompted sequence-to-sequence model, one private draw per token (DP-Prompt).

Paper:   Utpala, Hooker and Chen 2023, Findings of EMNLP.
Claim:   epsilon per drawn token, for the whole text: n tokens cost n epsilon.
Departs: clipping, prompt and bounds follow the re-implementation by Meisenbacher et al. 2024 that
         the TeDA paper ran (the official code does not clip), sjmeis/DPMLM 3ce9390, LLMDP.py; "sound"
         draws at most a public number of tokens, "published" at most as many as the prompt has.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tedaudit.errors import SpecError
from tedaudit.mechanisms._generator import LEAKS, Autoregressive
from tedaudit.models.loading import Task
from tedaudit.models.zoo import zoo_or
from tedaudit.plugins.values import Card


@dataclass(frozen=True)
class DPPrompt(Autoregressive):
    """FLAN-T5, or the zoo's T5 if installed; `model` takes any encoder-decoder checkpoint."""

    model: str = zoo_or("seq2seq", "google/flan-t5-base")
    """The encoder-decoder that paraphrases: a folder, a hub id or zoo:NAME."""
    prompt: str = "Document : {text}\nParaphrase of the document :"
    """The prompt. {text} stands for the text."""
    _task: ClassVar[Task] = "seq2seq"
    prompts: ClassVar[Task | None] = "seq2seq"
    released_range: ClassVar[tuple[float, float]] = (-19.22705113016047, 7.48324937989716)
    measured_on: ClassVar[str] = "flan-t5-base"
    card: ClassVar[Card] = Card(
        name="dp-prompt",
        english=("model: the default model", "prompt: the default prompt"),
        needs=("models",),
        summary="Prompted paraphrase by FLAN-T5, every token by the exponential mechanism.",
        paper="Utpala, Hooker and Chen 2023 (Findings of EMNLP); as released in sjmeis/DPMLM 3ce9390",
        claim="epsilon per token, each drawn given the whole text: n tokens cost n epsilon",
        departures=(
            "sound: a public cap on new tokens, the end token is a charged draw, long texts are cut",
            "published: at most as many new tokens as the prompt has, which reveals the text's length",
            "published: a prompt of more than 512 tokens is cut at its end, so that it loses the instruction",
            "published: probabilities in float64, not float32; white space around the text is removed",
        ),
        leaks=LEAKS,
        not_leaks=(("overlong", "truncate cuts every prompt at the same public length, as cut does"),),
        slope=(10, 25, 100),
    )
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "sound": {"length": "fixed", "top_k": 0, "overlong": "cut"},
        "published": {"length": "input", "top_k": 0, "overlong": "truncate"},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if "{text}" not in self.prompt:
            raise SpecError(f"'dp-prompt': the prompt is {self.prompt!r}; it must contain {{text}}.")

    def fill_prompt(self, text: str) -> str:
        """Return what the model is given for a text."""
        return self.prompt.replace("{text}", text)
