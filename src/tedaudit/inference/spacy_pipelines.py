"""spaCy pipelines by folder or by the name of an installed package; nothing is downloaded."""

from pathlib import Path
from typing import Any

from tedaudit.errors import ModelError
from tedaudit.paths import checksum_folder
from tedaudit.plugins.extras import require


def load_pipeline(name: str, user: str, instead: str = "") -> Any:
    """Return the pipeline with this name, for `user`; `instead` says what else would do."""
    require(user, "spacy", instead=instead)
    import spacy

    folder = Path(name).expanduser()
    try:
        return spacy.load(folder if folder.is_dir() else name)
    except (OSError, ValueError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ModelError(
            f"The spaCy pipeline '{name}' could not be loaded: {reason} Name a folder that contains one, or "
            f"install the package: python -m spacy download {name}."
        ) from error


def checksum_pipeline(nlp: Any) -> str:
    """Return a hash of all files of a pipeline."""
    return checksum_folder(Path(nlp.path))
