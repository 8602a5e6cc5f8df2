"""The manifest of a run: what it says of itself, as read from and written to one JSON file."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tedaudit.characters import replace_surrogates
from tedaudit.errors import RunDirectoryError, join_names
from tedaudit.paths import describe_os_error
from tedaudit.store.checksums import FIELD, ChecksumError, check_json, parse_json, seal_json
from tedaudit.store.files import write_atomically
from tedaudit.store.formats import FORMAT, READABLE, SEALED_FORMAT, upgrade_manifest
from tedaudit.store.shapes import misfit_of_manifest

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
