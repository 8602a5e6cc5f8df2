"""Paraphrase with a language model fine-tuned on entailment pairs, token by token (DP-Paraphrase).

Paper:   Mattern, Weggenmann and Kerschbaum 2022, Findings of NAACL ("The limits of word level
         differential privacy").
Claim:   epsilon per drawn token, for the whole text: n tokens cost n epsilon.
Departs: no official code exists; follows the replication by Meisenbacher et al. 2024, sjmeis/DPMLM
         3ce9390, LLMDP.py (logits clipped to a fixed range instead of normalised). "published" keeps its
         library default top_k = 50, which truncates the support, its length rule and what it does to the
         text in the end; "sound" has none of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from tedaudit.mechanisms._generator import LEAKS, Autoregressive
from tedaudit.models.loading import Task
from tedaudit.models.zoo import zoo_or
from tedaudit.plugins.values import Card, Leak


@dataclass(frozen=True)
class DPParaphrase(Autoregressive):
    """GPT-2 fine-tuned to write a paraphrase after the separator; by default the zoo's model.

    `clean_up` "released" takes repeats of the prompt, every > and no-break spaces out of the paraphrase. The
    tokens tell more than the text does then, except that a repeat of the prompt is missing in it.
    """

    model: str = zoo_or("paraphraser", "gpt2")
    """A causal model tuned to paraphrase: a folder, a hub id or zoo:NAME."""
    separator: str = " >>>>> "
    """The separator between a text and its paraphrase, as in the model's training."""
    clean_up: Literal["strip", "released"] = "strip"
    """strip: remove white space at both ends. released: also the prompt, every > and no-break spaces."""
    _task: ClassVar[Task] = "causal"
    prompts: ClassVar[Task | None] = "causal"
    released_range: ClassVar[tuple[float, float]] = (-96.85249956065758, -8.747697966442914)
    measured_on: ClassVar[str] = "gpt2-paraphraser"  # the release's, which its README links
    card: ClassVar[Card] = Card(
        name="dp-paraphrase",
        english=("model: the default model",),
        needs=("models",),
        summary="Paraphrase by a GPT-2 tuned on entailment pairs, every token by the exponential mechanism.",
        paper="Mattern, Weggenmann and Kerschbaum 2022 (NAACL Findings); as in sjmeis/DPMLM 3ce9390",
        claim="epsilon per token, each drawn given the whole text: n tokens cost n epsilon",
        departures=(
            "sound: the whole vocabulary, a public cap on new tokens, long texts are cut",
            "published: the 50 likeliest tokens, with ties, at most as many new tokens as the prompt has",
            "published: repeats of the prompt, every > and no-break spaces are taken out of the text",
            "published: fails on a prompt of over half the context; the release, only if a draw gets there",
            "published: probabilities in float64 where the release has float32",
            "plain gpt2 cannot paraphrase: name the release's gpt2-paraphraser (SNLI), linked in its README",
        ),
        version=2,
        leaks=(
            *LEAKS,
            Leak(
                field="clean_up",
                value="released",
                instead="strip",
                says="repeats of the private prompt are taken out of the output",
                rule="clean-up",
            ),
        ),
        slope=(10, 25, 100),
    )
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "sound": {"length": "fixed", "top_k": 0, "overlong": "cut", "clean_up": "strip"},
        "published": {"length": "input", "top_k": 50, "overlong": "error", "clean_up": "released"},
    }

    def fill_prompt(self, text: str) -> str:
        """Return what the model is given for a text."""
        return f"{text}{self.separator}"

    def _write(self, text: str, continuation: str) -> str:
        if self.clean_up == "strip":
            return super()._write(text, continuation)
        prompt = self.fill_prompt(text)
        whole = prompt + continuation  # the release cleans prompt and paraphrase as one text
        for unwanted, instead in ((prompt, ""), (prompt.strip(), ""), ("\N{NO-BREAK SPACE}", " "), (">", "")):
            whole = whole.replace(unwanted, instead)
        return whole.strip()

    def _only_strips(self) -> bool:
        return self.clean_up == "strip"
