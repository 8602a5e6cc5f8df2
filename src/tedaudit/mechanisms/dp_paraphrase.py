"""Paraphrase with a language model fine-tuned on entailment pairs, token by token (DP-Paraphrase).

Paper:   Mattern, Weggenmann and Kerschbaum 2022, Findings of NAACL ("The limits of word level
         differential privacy").
Claim:   epsilon per drawn token, for the whole text: n tokens cost n epsilon.
Departs: no official code exists; follows the replication by Meisenbacher et al. 2024 (logits clipped
         to a fixed range instead of normalised). "published" keeps its library default top_k = 50,
         which truncates the support, and its length rule; "sound" has neither.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tedaudit.inference.loading import Task
from tedaudit.inference.zoo import zoo_or
from tedaudit.mechanisms._autoregressive import Autoregressive
from tedaudit.types import Card


@dataclass(frozen=True)
class DPParaphrase(Autoregressive):
    """GPT-2 fine-tuned to write a paraphrase after the separator; by default the zoo's model."""

    model: str = zoo_or("paraphraser", "gpt2")
    separator: str = " >>>>> "
    _task: ClassVar[Task] = "causal"
    released_range: ClassVar[tuple[float, float]] = (-96.85249956065758, -8.747697966442914)
    card: ClassVar[Card] = Card(
        name="dp-paraphrase",
        needs=("models",),
        summary="Paraphrase by a GPT-2 tuned on entailment pairs, every token by the exponential mechanism.",
        paper="Mattern, Weggenmann and Kerschbaum 2022 (NAACL Findings); after Meisenbacher et al. 2024",
        claim="epsilon per token, each draw in the whole text: n tokens cost n epsilon",
        departures=(
            "sound: the whole vocabulary, a public cap on new tokens, long texts are cut",
            "published: only the 50 likeliest tokens, at most as many new tokens as the prompt has",
            "plain gpt2 has not been trained to paraphrase: name a fine-tuned checkpoint",
        ),
    )
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "sound": {"length": "fixed", "top_k": 0, "overlong": "cut"},
        "published": {"length": "input", "top_k": 50, "overlong": "error"},
    }

    def _fill_prompt(self, text: str) -> str:
        return f"{text}{self.separator}"
