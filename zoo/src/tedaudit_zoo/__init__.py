"""Small trained models for tedaudit: one folder each, with a card, checked against their hashes when used.

`path("mlm")` is the folder of a model; tedaudit reads it where a checkpoint is named `zoo:mlm`.
"""

import hashlib
import json
from functools import cache, lru_cache
from pathlib import Path

__version__ = "0.1.0"
__all__ = ["ZooError", "card", "folders", "names", "path"]

_ROOT = Path(__file__).parent
_MODELS = _ROOT / "models"
_CURE = "Install the zoo again with: pip install --force-reinstall tedaudit-zoo."


class ZooError(Exception):
    """A model is unknown, missing or damaged; the message says which file, and what to do."""


def names() -> list[str]:
    """Return the names of all models."""
    return sorted(_hashes())


def folders() -> dict[str, Path]:
    """Return every model's folder, unchecked."""
    return {name: _MODELS / name for name in names()}


@cache
def path(name: str) -> Path:
    """Return the folder of a model, after its files were compared with their hashes."""
    if name not in _hashes():
        raise ZooError(f"there is no model '{name}' in the zoo. There are: {', '.join(names())}.")
    for file, expected in _hashes()[name].items():
        place = _MODELS / name / file
        if not place.is_file():
            raise ZooError(f"the file {place} is missing. {_CURE}")
        if hashlib.sha256(place.read_bytes()).hexdigest() != expected:
            raise ZooError(f"the file {place} is damaged: its content does not fit its hash. {_CURE}")
    return _MODELS / name


def card(name: str) -> str:
    """Return a model's card: data, licence, figures, limits."""
    return (path(name) / "card.md").read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _hashes() -> dict[str, dict[str, str]]:
    place = _ROOT / "checksums.json"
    try:
        found: dict[str, dict[str, str]] = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ZooError(f"the file {place} cannot be read ({error}). {_CURE}") from error
    return found
