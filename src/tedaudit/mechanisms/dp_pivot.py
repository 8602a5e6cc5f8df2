"""Write what a text says in other words, without noise, and draw the rewrite from that alone (DP-Pivot).

Paper:   none, it is ours: DP-Prompt's draws behind a translation, by default English to French and back.
Claim:   epsilon per drawn token, for the whole text: n tokens cost n epsilon.
Departs: from DP-Prompt in what the model reads: not the text, but what a first model made of it. That leg has
         no noise and needs none, because nothing of it is released; it adds nothing to the claim either.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from tedaudit.errors import SpecError
from tedaudit.mechanisms._generator import LEAKS, Autoregressive
from tedaudit.mechanisms.sampler import Sampler
from tedaudit.models.loading import Task
from tedaudit.models.zoo import load_tokenizer, read_positions
from tedaudit.plugins.nominal import NO_EPSILON
from tedaudit.plugins.values import Card, Draw, InputLimit, ModelUse, Note

_REMEMBERED = 1 << 14  # texts whose first leg is kept
_SAME_KEY = 0  # whatever a draw's own key is: the first leg must be the same in all draws of a text


@dataclass(frozen=True)
class DPPivot(Autoregressive):
    """A first model writes what it finds likeliest; the second one draws under clipped logits.

    The first leg of a text is computed once. It is what the second model reads in place of the text, for
    rewrites and for likelihoods.
    """

    model: str = "models:opus-mt/fr-en"
    """The encoder-decoder that draws the rewrite: models:NAME, a folder, a hub id or zoo:NAME."""
    prompt: str = "{text}"
    """What it reads. {text} stands for the first leg."""
    first: str = "models:opus-mt/en-fr"
    """The model of the first leg, any that writes text: models:NAME, a folder, a hub id or zoo:NAME."""
    first_revision: str = ""
    """Branch, tag or commit of that model on the hub. Empty: the newest."""
    first_prompt: str = "{text}"
    """What it reads. {text} stands for the private text."""
    first_tokens: int = 64
    """Maximum number of tokens in the first leg, the same for every text."""
    first_dtype: str = "float32"
    """Number format of the first model. With few digits its words may depend on the batch on a GPU."""
    dtype: str = "auto"
    """Number format of the second model: auto (bfloat16 on CUDA, otherwise float32) or a torch dtype."""
    low: float | None = None
    """Lower end of the clip range for logits. Null: as stored with the model, or else as on the card."""
    high: float | None = None
    """Upper end of the clip range for logits. Null: as stored with the model, or else as on the card."""
    _task: ClassVar[Task] = "seq2seq"
    released_range: ClassVar[tuple[float, float]] = (-5.733, 12.075)
    measured_on: ClassVar[str] = "opus-mt-fr-en"
    card: ClassVar[Card] = Card(
        name="dp-pivot",
        english=("first: the first default model", "model: the second one"),
        needs=("models",),
        summary="A round trip by way of French: there without noise, back by the exponential mechanism.",
        paper="none",
        claim="epsilon per token, each drawn given the first leg of the whole text: n tokens cost n epsilon",
        departures=(
            "first leg: each time the likeliest token that the model allows; one key for all decides ties",
            "sound: a public cap on new tokens, the end token is charged, texts and first legs are cut",
            "clip range of the default models: measured on the French of 1,000 public sentences",
            "low: mean logit that 1% of tokens stay below; high: mean of the largest plus one deviation",
            "a GPU rounds by the batch: another one may have another first leg; the claim holds for any",
        ),
        leaks=LEAKS,
        slope=(10, 25, 100),
    )
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "sound": {"length": "fixed", "top_k": 0, "overlong": "cut"},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, prompt in (("prompt", self.prompt), ("first_prompt", self.first_prompt)):
            if "{text}" not in prompt:
                raise SpecError(f"'dp-pivot': {name} is {prompt!r}; it must contain {{text}}.")
        if self.first_tokens < 1:
            raise SpecError(f"first_tokens is {self.first_tokens}; it must be 1 or more.")

    def models(self) -> Sequence[ModelUse]:
        """Name both checkpoints."""
        return [*super().models(), ModelUse("first leg: weights", self.first)]

    def fingerprint(self) -> Mapping[str, str]:
        """Return what determines the draws, and what determines the first leg."""
        first = {f"first leg: {name}": value for name, value in self._first_leg.fingerprint().items()}
        return {**super().fingerprint(), **first}

    def arithmetic(self, epsilons: Sequence[float], texts: Sequence[str]) -> Iterator[Note]:
        """Yield what is known of the clip range and the probabilities; no release computes in float32."""
        return (note for note in super().arithmetic(epsilons, texts) if note.rule != "float32 softmax")

    def input_limit(self) -> InputLimit | None:
        """Return how many tokens the first model reads, counted if it is one of the zoo."""
        tokenizer = load_tokenizer(self.first)
        if tokenizer is None:
            return None
        bound = read_positions(self.first)
        room = self.context if bound is None else min(self.context, bound - self.first_tokens)
        return InputLimit(
            lambda text: len(tokenizer.encode(self.first_prompt.replace("{text}", text)).ids),
            room,
            "tokens with the prompt",
        )

    def pieces(self, text: str) -> tuple[str, ...]:
        """Return the tokens in which the first model reads the text alone."""
        return self._first_leg.pieces(text)

    def fill_prompt(self, text: str) -> str:
        """Return what the second model is given for a first leg."""
        return self.prompt.replace("{text}", text)

    def write_first_legs(self, texts: Sequence[str]) -> dict[str, str | None]:
        """Return what the first model makes of each distinct text; None if it refuses an over-long one."""
        known = _remember(self._first_leg)
        for oldest in list(known)[: max(0, len(known) - _REMEMBERED)]:
            del known[oldest]
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            legs = self._first_leg.rewrite([Draw(text, NO_EPSILON, _SAME_KEY) for text in missing])
            known.update(
                {text: None if leg.error else leg.text for text, leg in zip(missing, legs, strict=True)}
            )
        return {text: known[text] for text in texts}

    def _encode_prompts(self, texts: Sequence[str]) -> dict[str, tuple[int, ...] | None]:
        legs = self.write_first_legs(texts)
        prompts = super()._encode_prompts([leg for leg in legs.values() if leg is not None])
        return {text: None if leg is None else prompts[leg] for text, leg in legs.items()}

    def _is_precise(self) -> bool:
        return super()._is_precise() and self._first_leg._is_precise()  # noqa: SLF001

    @property
    def _first_leg(self) -> Sampler:
        """The first model, in a format of its own: a loss is confirmed in float64 with the same first leg."""
        return Sampler(
            model=self.first, revision=self.first_revision, prompt=self.first_prompt, top_k=1,
            max_new_tokens=self.first_tokens, overlong=self.overlong, context=self.context,
            dtype=self.first_dtype, device=self.device,
        )  # fmt: skip


@lru_cache(maxsize=4)
def _remember(first_leg: Sampler) -> dict[str, str | None]:  # noqa: ARG001 - each has a memory of its own
    """Return the first legs that are known; none of them is ever computed again while it is kept."""
    return {}
