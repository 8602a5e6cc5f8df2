"""Formats of run directories: what an older one lacks is filled in when it is read.

Format 1 kept a plan's strategy and the mechanism that it belongs to in its name alone, recorded no
weights of the encoder that candidate sets were drawn with, and no models. Format 2 had no checksums. Format
3 had no list of the files beside the tables; one is made when something is written.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from tedaudit.errors import RunDirectoryError, join_names
from tedaudit.paths import describe_os_error
from tedaudit.store.checksums import FIELD, ChecksumError, check_json, parse_json, seal_json
from tedaudit.store.files import write_atomically
from tedaudit.store.shapes import misfit_of_manifest
from tedaudit.text.characters import replace_surrogates
from tedaudit.types import Knows

FORMAT = 5
READABLE = (5,)
SEALED_FORMAT = 3  # the first whose files carry checksums
NOT_CHECKED = "were written before files carried checksums: damage to them is not noticed"
NOT_RECORDED = "weights not recorded"
_NO_WEIGHTS = "lexical"  # the encoder that has none
_SCORES = {
    "embedding": "cosine", "lexical": "word cosine", "internal": "latent similarity",
    "likelihood": "log-likelihood", "llm": "ordered answers",
}  # fmt: skip
"""What the scores of an attack were in format 1, when its table did not say."""


def upgrade_manifest(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest of any readable format as one of the current format."""
    if manifest["format"] == FORMAT:
        return dict(manifest)
    older = _upgrade_first(manifest) if manifest["format"] == 1 else dict(manifest)
    older |= {"format": FORMAT, "files": ""}
    if manifest["format"] >= SEALED_FORMAT:
        return older
    note = f"tables of this run {NOT_CHECKED} (run of format {manifest['format']})"
    return {**older, "sealed": False, "format_notes": [*older["format_notes"], note]}


def _upgrade_first(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest of format 1 as one of format 2."""
    plans = {name: _upgrade_plan(name, plan) for name, plan in manifest["plans"].items()}
    notes = [
        f"plan {name}: {NOT_RECORDED} for the encoder that drew its candidates (run of format 1)"
        for name, plan in plans.items()
        if plan["determinants"].get("encoder") not in (None, _NO_WEIGHTS)
    ]
    return {**manifest, "plans": plans, "models": [], "format_notes": notes}


def score_of(about: Mapping[str, Any], attack: Mapping[str, Any]) -> str:
    """Return what the scores of a table of guesses are, as its attack's card said."""
    return str(about["score"]) if "score" in about else _SCORES.get(str(attack.get("name", "")), "")


def knowledge_of(about: Mapping[str, Any], score: str) -> tuple[Knows, bool]:
    """Return what an attack knows, and whether it sees what was drawn; older tables tell by their score."""
    if about.get("knows") in get_args(Knows):
        return about["knows"], bool(about.get("sees_draw"))
    if score in ("log-likelihood", "latent similarity"):
        return "its model and settings", True
    return "can call it" if about.get("own_rewrites") else "nothing", False


def _upgrade_plan(name: str, plan: Mapping[str, Any]) -> dict[str, Any]:
    """Read out of a plan's name what format 2 holds in fields."""
    base, _, owner = name.partition("@")
    how = base.removesuffix(f"-{plan['estimator']}").partition("-")[2]
    drawn: dict[str, Any] = {"strategy": None, "lambda": None, "top": None}
    if how.startswith("lambda"):
        drawn |= {"strategy": "transition", "lambda": _number(how.removeprefix("lambda"))}
    elif base != "k-all":
        strategy = how.rstrip("0123456789")
        drawn |= {"strategy": strategy, "top": int(how.removeprefix(strategy))}
    return {**plan, "base": base, "mechanism": owner or None, **drawn}


def _number(text: str) -> float | str:
    """Return a lambda as JSON holds it: an infinite one as a text."""
    return text if "inf" in text else float(text)


# --- The manifest of a run: what it says of itself, as read from and written to one JSON file.

_PARTS = ("name", "spec", "corpus", "plans")  # without which nothing can be read


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest in a file, in the current format and of the right shape."""
    data = _read(path)
    if not isinstance(data, dict) or data.get("format") not in READABLE:
        raise RunDirectoryError(
            f"'{path}' is not a manifest of format {join_names(map(str, READABLE))}; "
            "it was written by another version of tedaudit. Use a new run directory."
        )
    missing = [part for part in _PARTS if part not in data]
    if missing:
        raise _damaged(path, f"it lacks: {join_names(missing)}")
    try:
        if not check_json(data) and data["format"] >= SEALED_FORMAT:
            raise _damaged(path, f"it lacks: {FIELD}")
        manifest = upgrade_manifest({key: value for key, value in data.items() if key != FIELD})
    except (ChecksumError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise _damaged(path, str(error)) from error
    if misfit := misfit_of_manifest(manifest):
        raise _damaged(path, misfit)
    return manifest


def write_manifest(path: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the manifest, and return it as it will be read."""
    text = json.dumps({**content, "format": FORMAT}, default=str, ensure_ascii=False)
    plain: dict[str, Any] = json.loads(replace_surrogates(text))
    write_atomically(path, json.dumps(seal_json(plain), indent=2, ensure_ascii=False).encode())
    return plain


def _read(path: Path) -> Any:
    try:
        return parse_json(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RunDirectoryError(
            f"'{path.parent}' is not a run directory: it "
            f"{'is a file' if path.parent.is_file() else 'has no manifest.json'}. `tedaudit run` makes one."
        ) from error
    except OSError as error:
        raise RunDirectoryError(f"'{path}' cannot be read ({describe_os_error(error)}).") from error
    except (ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: Path, reason: str) -> RunDirectoryError:
    return RunDirectoryError(
        f"'{path}' is damaged ({reason}). Restore it, or move the folder away and run again."
    )
