"""Lint: the generation settings of a Hugging Face model folder, as `generate` would use them."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tedaudit.errors import ModelError
from tedaudit.leaks.lint.notes import LintReport
from tedaudit.mechanisms._clipped_logits import FORMATS, zeros_from
from tedaudit.paths import parse_path
from tedaudit.plugins.values import Note

_NAME = "generation_config.json"
_NEUTRAL: Mapping[str, Any] = {
    "top_k": 0, "top_p": 1.0, "typical_p": 1.0, "min_p": 0.0, "epsilon_cutoff": 0.0, "eta_cutoff": 0.0,
    "repetition_penalty": 1.0, "encoder_repetition_penalty": 1.0, "no_repeat_ngram_size": 0,
    "encoder_no_repeat_ngram_size": 0, "diversity_penalty": 0.0, "exponential_decay_length_penalty": None,
    "bad_words_ids": None, "suppress_tokens": None, "begin_suppress_tokens": None, "sequence_bias": None,
    "forced_bos_token_id": None, "forced_eos_token_id": None, "guidance_scale": None, "min_length": 0,
    "min_new_tokens": 0, "penalty_alpha": None, "top_h": None,
}  # fmt: skip
"""Settings that change which tokens can be drawn, or how likely, and the value that changes nothing."""
_PUBLIC = frozenset(
    {"bad_words_ids", "suppress_tokens", "begin_suppress_tokens", "sequence_bias", "forced_bos_token_id",
     "forced_eos_token_id", "min_length", "min_new_tokens", "exponential_decay_length_penalty"}
)  # fmt: skip
_DEFAULT_TOP_K = 50


def lint_model(folder: str | Path) -> LintReport:
    """Return what a model folder's generation settings mean for a mechanism that calls `generate`."""
    place = parse_path(folder)
    if not place.is_dir():
        raise ModelError(f"'{folder}' is not a folder; --model takes the folder of a model.")
    settings = _read(place / _NAME)
    config = _read(place / "config.json")
    if settings is None and config is None:
        raise ModelError(f"'{folder}' has neither {_NAME} nor config.json: it is not the folder of a model.")
    notes = [*_check_settings(settings), *_check_format(config or {})]
    return LintReport.of(str(folder), notes)


def check_setting(key: str, value: Any) -> Note | None:
    """Return what one setting of `generate` does to the set of outputs; None if it does nothing."""
    if key not in _NEUTRAL or value is None or value == _NEUTRAL[key]:
        return None
    neutral = _NEUTRAL[key]
    fix = f"{key}={neutral}" if neutral is not None else f"remove {key}"
    if key in _PUBLIC:
        text = f"{key} is set: it changes what can be drawn, so it must be public and the same for every text"
        return Note(level="info", rule=key, text=text, fix=fix)
    if key == "top_k":
        text = f"top_k is {value}: only that many tokens can be drawn, and the text decides which"
    else:
        text = (
            f"{key} is {value}: even after clipping, the text decides which tokens can be drawn or how "
            "likely they are"
        )
    return Note(level="error", rule=key, text=text, fix=fix)


def _check_settings(settings: Mapping[str, Any] | None) -> Iterator[Note]:
    if settings is None:
        text = (
            f"there is no {_NAME}: `generate` uses the library's defaults, such as top_k = {_DEFAULT_TOP_K}"
        )
        yield Note(
            level="warning",
            rule="top_k",
            text=text,
            fix="pass top_k=0 to generate, or write it into that file",
        )
        return
    for key, value in settings.items():
        note = check_setting(key, value)
        if note is not None:
            yield note
    if settings.get("top_k") is None:
        text = f"top_k is not set: the library's default is {_DEFAULT_TOP_K}, if tokens are drawn at all"
        yield Note(level="warning", rule="top_k", text=text, fix="top_k=0")
    if not settings.get("do_sample", False):
        text = (
            "do_sample is not true: the likeliest tokens are taken, without any noise, unless a call sets it"
        )
        yield Note(
            level="warning",
            rule="do_sample",
            text=text,
            fix="do_sample=true, with temperature 2 (high - low) / epsilon",
        )
    if (settings.get("num_beams") or 1) > 1:
        text = (
            f"num_beams is {settings['num_beams']}: a beam is chosen by its probability, not by the mechanism"
        )
        yield Note(level="warning", rule="num_beams", text=text, fix="num_beams=1")
    text = "no logits are clipped by these settings: a mechanism has to do it before the temperature"
    yield Note(level="info", rule="clip range", text=text, fix="clip logits to a fixed range first")


def _check_format(config: Mapping[str, Any]) -> Iterator[Note]:
    written = str(config.get("dtype") or config.get("torch_dtype") or "float32")
    if written in FORMATS:
        text = f"a softmax in {written} has exact zeros from about epsilon {zeros_from(written):.0f} on"
        yield Note(
            level="info", rule="smallest probability", text=text, fix="compute probabilities in float64"
        )


def _read(file: Path) -> Mapping[str, Any] | None:
    if not file.is_file():
        return None
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"'{file}' cannot be read as JSON ({type(error).__name__}).") from error
    if not isinstance(found, dict):
        raise ModelError(f"'{file}' must hold settings by name; it holds a {type(found).__name__}.")
    return found
