"""How the library would search beams with a checkpoint: the settings that our own search knows."""

from dataclasses import dataclass
from typing import Any

from tedaudit.inference.bart_decoder import has_known_decoder

_LONGEST = 64  # tokens: a beam looks at the places of all beams, and in long texts those are many
_INERT = {
    "transformers_version", "_from_model_config", "use_cache", "output_attentions", "output_hidden_states",
    "return_dict_in_generate", "bos_token_id", "pad_token_id", "num_beams", "max_length", "early_stopping",
    "do_sample", "num_return_sequences", "temperature", "top_k", "top_p",
}  # fmt: skip
"""Settings that change no beam search that is called with a number of beams, a length and early stopping."""
_KNOWN = {
    "decoder_start_token_id", "eos_token_id", "forced_bos_token_id", "forced_eos_token_id", "length_penalty",
    "no_repeat_ngram_size",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rules:
    """How the library would search with this checkpoint."""

    start: int
    ends: tuple[int, ...]
    first: int | None
    last: int | None
    penalty: float
    no_repeat: int
    beams: int
    length: int

    @property
    def prefix(self) -> list[int]:
        """The tokens that every text begins with."""
        return [self.start] if self.first is None else [self.start, self.first]

    @property
    def kept(self) -> int:
        """How many continuations of a row are looked at: enough to go on if each beam could end."""
        return max(2, 1 + len(self.ends)) * self.beams


def describe_search(model: Any) -> str:
    """Return how a checkpoint's own settings search, for the key of a table."""
    beams, early = model.generation_config.num_beams or 1, model.generation_config.early_stopping
    return "greedy" if beams == 1 else f"{beams} beams, early stopping {early}"


def read_rules(model: Any, beams: int | None, length: int) -> Rules | None:
    """Return the rules of a checkpoint; None if it has a setting or a decoder that only the library knows.

    Without a number of beams the checkpoint's own is taken, and whether it stops early.
    """
    config = model.generation_config
    if beams is None:
        beams = config.num_beams or 1
        if beams > 1 and config.early_stopping is not True:
            return None
    changed = {name for name, value in config.to_diff_dict().items() if value is not None}
    if not has_known_decoder(model) or changed - _INERT - _KNOWN or config.decoder_start_token_id is None:
        return None
    given = config.eos_token_id
    ends = () if given is None else tuple(given) if isinstance(given, list) else (given,)
    last = config.forced_eos_token_id
    rules = Rules(
        int(config.decoder_start_token_id), ends, config.forced_bos_token_id,
        last[0] if isinstance(last, list) and len(last) == 1 else last,
        1.0 if config.length_penalty is None else float(config.length_penalty),
        config.no_repeat_ngram_size or 0, beams, length,
    )  # fmt: skip
    is_plain = ends and not isinstance(rules.last, list) and len(rules.prefix) + 1 < length
    fits = (
        length <= min(_LONGEST, model.config.max_position_embeddings)
        and rules.kept <= model.config.vocab_size
    )
    return rules if is_plain and fits else None
