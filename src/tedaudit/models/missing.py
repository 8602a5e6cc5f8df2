"""Weights that a checkpoint lacks: the library would make them by chance, or take zeros, and say nothing."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tedaudit.errors import ModelError

_UNUSED = "pooler."  # reads what no task here uses, and is missing in most checkpoints
_PATCHING = threading.Lock()


def refuse_missing(name: str, missing: Iterable[str], trained_as: str) -> None:
    """Refuse a checkpoint that lacks weights which are needed."""
    needed = sorted(key for key in missing if not key.startswith(_UNUSED))
    if needed:
        listed = ", ".join(needed[:4]) + (f" and {len(needed) - 4} more" if len(needed) > 4 else "")
        raise ModelError(
            f"Model '{name}' lacks {len(needed)} of the weights that it needs here: {listed}. They would be "
            "random, and others in every process. Name a checkpoint that was trained and saved as "
            f"{trained_as}."
        )


def drop_pooler(model: Any) -> None:
    """Take out a layer that nothing here uses; in most checkpoints it is missing, and would be random."""
    if getattr(model, "pooler", None) is not None:
        model.pooler = None


@contextmanager
def note_missing() -> Iterator[set[str]]:
    """Yield the names of weights that are missing in models which another library loads meanwhile.

    That library returns the model alone, so its call of `from_pretrained` is told to report, too.
    """
    from transformers import PreTrainedModel

    missing: set[str] = set()
    load = vars(PreTrainedModel)["from_pretrained"]

    def report(kind: Any, *args: Any, **options: Any) -> Any:
        model, found = load.__func__(kind, *args, **{**options, "output_loading_info": True})
        missing.update(found["missing_keys"])
        return (model, found) if options.get("output_loading_info") else model

    with _PATCHING:
        PreTrainedModel.from_pretrained = classmethod(report)
        try:
            yield missing
        finally:
            PreTrainedModel.from_pretrained = load


@contextmanager
def report_bias(model_type: str) -> Iterator[None]:
    """Have the library report a translator's bias of logits if it is missing: it would be taken for zeros."""
    if model_type != "marian":
        yield
        return
    from transformers import MarianMTModel

    bias, key = "final_logits_bias", "_keys_to_ignore_on_load_missing"
    ignored = getattr(MarianMTModel, key)
    with _PATCHING:
        setattr(MarianMTModel, key, [name for name in ignored if name != bias])
        try:
            yield
        finally:
            setattr(MarianMTModel, key, ignored)
