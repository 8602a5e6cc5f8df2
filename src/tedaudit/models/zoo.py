"""The small trained models of the package tedaudit-zoo: what is installed, and which fields default to them.

A field made by `zoo_or` is `zoo:NAME` if the zoo is installed, and another checkpoint otherwise.
TEDAUDIT_ZOO=off in the environment keeps the zoo out of the defaults; it can still be named.
"""

import importlib
import importlib.util
import json
import os
from dataclasses import field
from pathlib import Path
from typing import Any

from tedaudit.errors import ModelError

PREFIX = "zoo:"
_PACKAGE = "tedaudit_zoo"


def is_installed() -> bool:
    """Return whether the zoo's models can be used: the package is installed, and so is torch to run them."""
    return all(importlib.util.find_spec(name) is not None for name in (_PACKAGE, "torch", "transformers"))


def is_default() -> bool:
    """Return whether fields that are not set use the zoo's models."""
    return os.environ.get("TEDAUDIT_ZOO", "").lower() not in ("off", "0", "no") and is_installed()


def default_checkpoint(name: str, otherwise: str) -> str:
    """Return the zoo's model if it is the default, and the other checkpoint otherwise."""
    return PREFIX + name if is_default() else otherwise


def zoo_or(name: str, otherwise: str) -> Any:
    """Return a dataclass field whose default is the zoo's model, or another checkpoint without the zoo."""
    return field(
        default_factory=lambda: default_checkpoint(name, otherwise),
        metadata={"zoo": name, "otherwise": otherwise},
    )


def find_folder(reference: str) -> Path:
    """Return the folder of `zoo:NAME`, after checking its files against their hashes."""
    package = _import_zoo(reference)
    try:
        path: Path = package.path(reference.removeprefix(PREFIX))
    except package.ZooError as error:
        raise ModelError(f"'{reference}': {error}") from error
    return path


def list_folders() -> dict[str, Path]:
    """Return the installed models by name; none without the zoo."""
    if importlib.util.find_spec(_PACKAGE) is None:
        return {}
    folders: dict[str, Path] = _import_zoo(PREFIX).folders()
    return folders


def load_tokenizer(reference: str) -> Any | None:
    """Return the tokenizer of `zoo:NAME`, without its model; None if there is none or no library for it."""
    folder = list_folders().get(reference.removeprefix(PREFIX)) if reference.startswith(PREFIX) else None
    try:
        from tokenizers import Tokenizer
    except ImportError:
        return None
    return None if folder is None else Tokenizer.from_file(str(folder / "tokenizer.json"))


def read_positions(reference: str) -> int | None:
    """Return how many tokens the model `zoo:NAME` has positions for, if that is a number of its own."""
    config = json.loads((list_folders()[reference.removeprefix(PREFIX)] / "config.json").read_text("utf-8"))
    return config["n_positions"] if config.get("model_type") == "gpt2" else None


def _import_zoo(reference: str) -> Any:
    try:
        return importlib.import_module(_PACKAGE)
    except ImportError as error:
        raise ModelError(
            f"'{reference}' is a model of the zoo, which is not installed. Install it with: "
            "pip install tedaudit-zoo; or name another checkpoint: a folder or a hub id."
        ) from error
