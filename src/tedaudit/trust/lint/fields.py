"""Lint: fields of built-in mechanisms that are set to something for which no finite epsilon holds."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tedaudit.mechanisms.sampler import Sampler
from tedaudit.trust.lint.notes import UNBOUNDED, Note
from tedaudit.trust.lint.sampling import lint_sampling


@dataclass(frozen=True, slots=True)
class Rule:
    """A value of a field, what it does, and the value to set in its place."""

    name: str
    field: str
    value: Any
    text: str
    good: str


_RULES = (
    Rule("stop words", "keep_stop_words", True, "stop words are released as they are", "false"),
    Rule("punctuation", "keep_punctuation", True, "punctuation is released as it is", "false"),
    Rule("case", "copy_case", True, "the case of each first letter is copied from the private word", "false"),
    Rule("length rule", "length", "input", "how long the output can be depends on the text", "fixed"),
    Rule("copied words", "pairs", "released", "a word that the release fails to mask comes back as it is",
         "plain"),
    Rule("failures", "overlong", "error", "a prompt beyond the context fails, others do not", "cut"),
    Rule("clean-up", "clean_up", "released", "repeats of the private prompt are taken out of the output",
         "strip"),
    Rule("copied text", "no_triples", "copy", "a text without a triple to replace is returned unchanged",
         "null"),
    Rule("cluster", "cluster_choice", "nearest", "the nearest cluster is chosen without noise", "private"),
    Rule("failures", "overflow", "error", "at a large epsilon exp overflows for some texts",
         "stable"),
    Rule("number of draws", "triple_count", "input", "as many triples are drawn as the text has", "fixed"),
    Rule("length rule", "mask", "text", "the decoder attends to as many positions as the text has", "full"),
    Rule("length rule", "positions", "text", "the latent has as many positions as the text has tokens",
         "window"),
)  # fmt: skip


def lint_fields(plugin: Any) -> Iterator[Note]:
    """Yield what the fields of a built-in mechanism say by themselves."""
    for rule in _RULES:
        if getattr(plugin, rule.field, None) == rule.value:
            yield Note("error", rule.name, f"{rule.text}, {UNBOUNDED}", f"{rule.field}={rule.good}")
    if isinstance(plugin, Sampler):
        yield from lint_sampling(plugin)
        return
    for check in (_check_top_k, _check_shared_noise, _check_split_budget, _check_given_range, _check_words):
        yield from check(plugin)


def _check_top_k(plugin: Any) -> Iterator[Note]:
    kept = getattr(plugin, "top_k", 0)
    if kept:
        text = f"only the {kept} likeliest tokens, with ties, can be drawn, and the text decides which, "
        yield Note("error", "top_k", text + UNBOUNDED, "top_k=0")


def _check_shared_noise(plugin: Any) -> Iterator[Note]:
    if getattr(plugin, "positions", "") == "text":
        text = (
            "one noise vector is added to every position: the differences between positions carry no noise, "
        )
        yield Note("error", "shared noise", text + UNBOUNDED, "positions=window")


def _check_split_budget(plugin: Any) -> Iterator[Note]:
    if getattr(plugin, "triple_count", "") == "input":
        text = "the epsilon of a triple is epsilon / n(x), n(x) the number of triples of the private text"
        yield Note(
            "error", "budget of the text", f"{text}: the budget itself tells n(x)", "triple_count=fixed"
        )


def _check_given_range(plugin: Any) -> Iterator[Note]:
    if getattr(plugin, "low", None) is not None or getattr(plugin, "high", None) is not None:
        text = "the clip range was given by hand; it must not have been measured on private texts"
        yield Note("info", "public data", text, "low, high: leave out for the range stored with the model")


def _check_words(plugin: Any) -> Iterator[Note]:
    for field, what in (("vocabulary", "vocabulary"), ("stop_words", "list of stop words")):
        if getattr(plugin, field, ""):
            text = f"the {what} was given; it must be public and not taken from private texts"
            yield Note(
                "info", "public data", text, f"{field}: leave out for the one that comes with tedaudit"
            )
