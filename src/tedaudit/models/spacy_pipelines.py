"""spaCy pipelines by folder or by the name of an installed package; nothing is downloaded.

A package of a pipeline is a folder with data and two lines of code: the data is read, and no code is run, so
that whoever reads the settings of others imports nothing that they name.
"""

import importlib.util
import json
from pathlib import Path
from typing import Any

from tedaudit.errors import ModelError
from tedaudit.paths import checksum_folder
from tedaudit.plugins.extras import require


def load_pipeline(name: str, user: str, instead: str = "") -> Any:
    """Return the pipeline with this name, for `user`; `instead` says what else would do."""
    require(user, "spacy", instead=instead)
    import spacy

    try:
        return spacy.load(_find_data(name))
    except (OSError, ValueError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ModelError(
            f"The spaCy pipeline '{name}' could not be loaded: {reason} Name a folder that contains one, or "
            f"install the package: python -m spacy download {name}."
        ) from error


def _find_data(name: str) -> Path:
    """Return the folder with the data of a pipeline: itself, or in the package of that name."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    spec = importlib.util.find_spec(name) if name.isidentifier() else None
    for place in (spec.submodule_search_locations or ()) if spec else ():
        about = Path(place) / "meta.json"
        if about.is_file():
            meta = json.loads(about.read_text(encoding="utf-8"))
            return Path(place) / f"{meta['lang']}_{meta['name']}-{meta['version']}"
    raise OSError(f"there is no such folder, and no package of a pipeline is called '{name}'.")


def checksum_pipeline(nlp: Any) -> str:
    """Return a hash of all files of a pipeline."""
    return checksum_folder(Path(nlp.path))
