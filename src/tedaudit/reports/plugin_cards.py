"""The cards of the plug-ins that a run used, if they are still installed."""

import sys
from collections.abc import Mapping
from typing import Any

from tedaudit.errors import TedauditError
from tedaudit.plugins.registry import Kind, find
from tedaudit.reports.redaction import LEFT_OUT
from tedaudit.types import Card

_KINDS: dict[str, Kind] = {"mechanisms": "mechanism", "attacks": "attack"}
_NOT_SETTINGS = {"name", "label", "epsilons"}


def describe_plugins(spec: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return what the mechanisms and attacks of a spec say about themselves, with the settings they had."""
    return {
        kinds: [_describe(kind, plugin) for plugin in spec.get(kinds, [])] for kinds, kind in _KINDS.items()
    }


def _describe(kind: Kind, plugin: Mapping[str, Any]) -> dict[str, Any]:
    settings = {
        key: value
        for key, value in plugin.items()
        if key not in _NOT_SETTINGS and value not in (None, "", LEFT_OUT)
    }
    description: dict[str, Any] = {
        "name": plugin["name"], "label": plugin.get("label") or "",
        "settings": {key: str(value) for key, value in settings.items()},
    }  # fmt: skip
    card = _find_card(kind, plugin["name"])
    if card is None:
        missing = f"This {kind} is not installed here, or was given in Python: its card is not available."
        return {**description, "missing": missing}
    return {
        **description, "summary": card.summary, "paper": card.paper, "claim": card.claim,
        "departures": list(card.departures), "sees": list(card.sees) if kind == "attack" else [],
        "version": card.version,
    }  # fmt: skip


def _find_card(kind: Kind, name: str) -> Card | None:
    """Return a card; code that a spec names by `py:` is used if already loaded, never imported for it."""
    if name.startswith("py:") and name.removeprefix("py:").partition(":")[0] not in sys.modules:
        return None
    try:
        card = getattr(find(kind, name), "card", None)
    except (TedauditError, ImportError):
        return None
    return card if isinstance(card, Card) else None
