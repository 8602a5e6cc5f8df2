"""Lint: what ordinary sampling settings do to the set of outputs, and what a checkpoint would have chosen."""

from collections.abc import Iterator, Mapping

from tedaudit.mechanisms.sampler import Sampler
from tedaudit.trust.lint.notes import UNBOUNDED, Note

_CUTS = {"top_k": 0, "top_p": 1.0, "min_p": 0.0, "typical_p": 1.0}
_BANS = {"no_repeat_ngram_size": 0, "encoder_no_repeat_ngram_size": 0}
_PENALTIES = {"repetition_penalty": 1.0, "encoder_repetition_penalty": 1.0}


def lint_sampling(plugin: Sampler) -> Iterator[Note]:
    """Yield what the settings of a sampler say by themselves."""
    for key, (value, off) in _list_set(plugin, _CUTS).items():
        text = f"{key} is {value}: which tokens can be drawn depends on the text, {UNBOUNDED}"
        yield Note("error", key, text, f"{key}={off}")
    for key, (value, off) in _list_set(plugin, {**_BANS, **_PENALTIES}).items():
        if plugin.has_encoder and not key.startswith("encoder"):
            text = f"{key} is {value}: with an encoder it sees only what was drawn, the same for every text"
            yield Note("info", key, text)
        elif key in _BANS:
            text = f"{key} is {value}: what stands in the private prompt cannot be drawn, {UNBOUNDED}"
            yield Note("error", key, text, f"{key}={off}")
        else:
            text = f"{key} is {value}: how likely a token is depends on whether the private prompt has it"
            yield Note("warning", key, text, f"{key}={off}")
    text = "no logits are clipped: nothing bounds how much likelier one text makes a token than another"
    yield Note("info", "clip range", text, "dp-prompt or dp-paraphrase, which clip them")
    for key, value in plugin.find_ignored().items():
        text = f"{key} is {getattr(plugin, key)} here, and {value} in the checkpoint's generation settings"
        yield Note("info", "checkpoint", text, f"{key}={value} to audit what `generate` does without it")


def _list_set(plugin: Sampler, neutral: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Return the settings that are not neutral, each with its value and the neutral one."""
    found = {key: (getattr(plugin, key), off) for key, off in neutral.items()}
    return {key: (value, off) for key, (value, off) in found.items() if value != off}
