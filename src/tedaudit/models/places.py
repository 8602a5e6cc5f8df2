"""Where a model lies: the folder or hub id behind its name, and the clip range that was measured on it."""

import json
import os
import shlex
import socket
from pathlib import Path
from urllib.parse import quote, urlsplit

from tedaudit.errors import ModelError
from tedaudit.models.adapters import is_adapter
from tedaudit.models.catalogue import CLIPS, find_model, find_models_folder
from tedaudit.models.catalogue import PREFIX as GOT
from tedaudit.models.zoo import PREFIX, find_folder
from tedaudit.paths import parse_path

CLIP = "clip.json"


def resolve(name: str) -> str:
    """Return the folder or hub id that a reference stands for."""
    if name.startswith(PREFIX):
        return str(_refuse_adapter(name, find_folder(name)))
    if name.startswith(GOT):
        return str(find_model(name))
    folder = parse_path(name)  # refuses what neither a folder nor a model can be called
    return str(folder) if folder.is_dir() else name


def _refuse_adapter(name: str, folder: Path) -> Path:
    """Return a folder of the zoo unless it holds an adapter alone."""
    if is_adapter(folder):
        bare = name.removeprefix(PREFIX)
        raise ModelError(
            f"'{name}' is an adapter, and no model by itself: `tedaudit models get {bare}` lays it over its "
            f"base, and {GOT}{bare} names what comes out."
        )
    return folder


def is_hub_reachable(name: str) -> bool:
    """Return whether a model can be downloaded from the hub; a folder needs none."""
    return not parse_path(name).is_dir() and is_hub_answering()


def is_hub_answering() -> bool:
    """Return whether there is a hub; without one, the libraries would try for a minute.

    Behind a proxy this is left to the libraries.
    """
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    if any(os.environ.get(key) for key in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")):
        return True
    address = urlsplit(constants.ENDPOINT)
    try:
        port = address.port or (443 if address.scheme == "https" else 80)
        socket.create_connection((address.hostname or "", port), timeout=5).close()
    except OSError:
        return False
    return True


def place_clip(source: str, revision: str = "") -> Path:
    """Return the file with a model's clip range: in its folder, or for a hub id in the folder of models."""
    folder = parse_path(source)
    if folder.is_dir():
        return folder / CLIP
    name = f"{source}@{revision}" if revision else source
    return find_models_folder() / CLIPS / f"{quote(name, safe='@')}.json"


def find_clip(source: str, revision: str = "") -> tuple[float, float] | None:
    """Return the range of logits that was measured on a folder or hub id; None if none was."""
    return read_clip(place_clip(source, revision))


def read_clip(file: Path) -> tuple[float, float] | None:
    """Return the range of logits in a file, or in a folder's `clip.json`; None without that file."""
    file = file / CLIP if file.is_dir() else file
    if not file.is_file():
        return None
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        low, high = float(values["low"]), float(values["high"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"'{file}' must contain numbers named low and high ({error!r}). Remove it, or measure the range "
            "again with: tedaudit models clip MODEL --force"
        ) from error
    return low, high


def caution_range(
    name: str,
    low: float | None,
    high: float | None,
    released: tuple[float, float],
    measured_on: str,
    revision: str = "",
) -> tuple[str, ...]:
    """Return what to know of a clip range if an end of it was measured on another model than this.

    A folder or a hub id is taken for the model that its last part names.
    """
    source = resolve(name)
    is_given = low is not None and high is not None
    if is_given or Path(source).name.lower() == measured_on.lower() or find_clip(source, revision):
        return ()
    ends = released[0] if low is None else low, released[1] if high is None else high
    end = "" if low is None and high is None else f" at the {'lower' if low is None else 'upper'} end"
    command = f"tedaudit models clip {shlex.quote(name)}" + (f" --revision {revision}" if revision else "")
    caution = (
        f"no clip range was measured on '{name}': its logits are clipped to [{ends[0]:.4g}, {ends[1]:.4g}], "
        f"as measured on {measured_on}{end}. The claim holds, but an epsilon does not mean what it means "
        "there: draws may be nearly random, or nearly without noise. Measure a range on public texts with "
        f"`{command}`, which stores it with the model, or set `low` and `high`"
    )
    return (caution,)
