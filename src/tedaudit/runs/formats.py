"""The manifest of a run: what it says of itself, as read from and written to one JSON file.

There is one format. A run of another is refused, whether an older or a newer tedaudit made it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tedaudit.errors import RunDirectoryError, join_names
from tedaudit.paths import describe_os_error
from tedaudit.runs.checksums import FIELD, ChecksumError, check_json, parse_json, seal_json
from tedaudit.runs.files import write_atomically
from tedaudit.runs.shapes import misfit_of_manifest
from tedaudit.text.characters import replace_surrogates

FORMAT = 5
_PARTS = ("name", "spec", "corpus", "plans", "looks", "models", "tables", "files", "history")


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest in a file, of the right format and shape."""
    data = _read(path)
    _check_format(path, data.get("format") if isinstance(data, dict) else None)
    missing = [part for part in _PARTS if part not in data]
    if missing:
        raise _damaged(path, f"it lacks: {join_names(missing)}")
    try:
        is_sealed = check_json(data)
    except ChecksumError as error:
        raise _damaged(path, str(error)) from error
    if not is_sealed:
        raise _damaged(path, f"it lacks: {FIELD}")
    manifest = {key: value for key, value in data.items() if key != FIELD}
    if misfit := misfit_of_manifest(manifest):
        raise _damaged(path, misfit)
    return manifest


def _check_format(path: Path, found: object) -> None:
    """Refuse a manifest of another format; say who wrote it and what to do."""
    if type(found) is not int:
        raise _damaged(path, "it names no format")
    if found != FORMAT:
        who, way = "an older", "Make the run again with this version, in a new folder."
        if found > FORMAT:
            who, way = "a newer", "Update tedaudit."
        raise RunDirectoryError(
            f"'{path.parent}' is a run of format {found}, made by {who} tedaudit; this one reads format "
            f"{FORMAT}. {way}"
        )


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
