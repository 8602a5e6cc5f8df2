"""Fetch a model of the catalogue: from the hub at a pinned commit, or from a folder that somebody brought.

Every file is checked against its digest in a folder beside the one that it is meant for, which is renamed at
the end: nothing half-made has a model's name. Downloads, their retries and their bars are huggingface_hub's.
"""

import contextlib
import io
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tedaudit.errors import ModelError, join_names
from tedaudit.models.adapters import ADAPTER, WEIGHTS, lay_over, read_settings
from tedaudit.models.catalogue import ENTRIES, SOURCE, Entry, find_models_folder
from tedaudit.models.missing import refuse_missing
from tedaudit.models.places import CLIP, is_hub_answering
from tedaudit.models.silence import silence_downloads, silence_loading
from tedaudit.models.zoo import find_folder
from tedaudit.paths import digest_file, lock_file
from tedaudit.plugins.extras import require

RECIPE = "recipes/models_from_packages.py"


def is_here(entry: Entry) -> bool:
    """Return whether a model is complete, and made with the adapter that the zoo has now."""
    root = find_models_folder()
    if not entry.is_in(root) or not entry.adapter:
        return entry.is_in(root)
    made = _read_about(root / entry.name)
    return not made or made.get("adapter_sha256") == _digest_adapter(entry)


def find_base(entry: Entry) -> Entry:
    """Return the entry whose files are fetched: that of the base, if an adapter is laid over one."""
    return ENTRIES[entry.base] if entry.base else entry


def fetch(entry: Entry, brought: Path | None = None, *, quiet: bool = True) -> Path:
    """Put a model, and what it is based on, into the folder of models; return its folder.

    `brought` is a folder with the files of the model, or of its base; without it they are downloaded.
    """
    root = find_models_folder()
    folder = root / entry.name
    if is_here(entry):
        return folder
    _refuse_own(folder)
    _refuse_what_lacks(entry, brought)
    root.mkdir(parents=True, exist_ok=True)
    if entry.base:
        base = find_base(entry)
        _refuse_other_bits(fetch(base, brought, quiet=quiet), base)
    made, arriving = root / f".{entry.name}.partial", root / f".{entry.name}.arriving"
    with _hold(root / f".{entry.name}.lock", entry.name):
        if is_here(entry):  # somebody else was faster
            return folder
        shutil.rmtree(made, ignore_errors=True)  # of a process that was killed
        made.mkdir()
        try:
            if entry.adapter:
                taken = _lay_over(entry, made)
            else:
                if brought is None:
                    _download(entry, arriving, quiet=quiet)
                _copy_checked(entry, brought or arriving, made, is_ours=brought is None)
                taken = {"hub": [f"{one.id}@{one.revision}" for one in entry.hub]}
            _finish(entry, made, taken)
            _replace(folder, made)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        shutil.rmtree(arriving, ignore_errors=True)
    return folder


def _read_about(folder: Path) -> dict[str, Any]:
    """Return what a fetched folder says of itself; nothing of one that was put there by hand."""
    try:
        found: dict[str, Any] = json.loads((folder / SOURCE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def _digest_adapter(entry: Entry) -> str:
    """Return the digest of an adapter's weights in the zoo."""
    return digest_file(find_folder(entry.adapter) / ADAPTER)


# --- What is refused before anything is fetched.


def _refuse_own(folder: Path) -> None:
    """Refuse to replace what somebody put there, which is no whole model of that name."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / SOURCE).is_file():
        raise ModelError(
            f"'{folder}' is in the way: it is not the whole model, and was not made by this command. Remove "
            "it, or call it something else."
        )


def _refuse_what_lacks(entry: Entry, brought: Path | None) -> None:
    """Name what is not installed before anything is downloaded."""
    user = f"Getting '{entry.name}'"
    if entry.conversion:
        unpacking = ("transformers", "gguf", "accelerate") if entry.conversion == "gguf" else ()
        require(user, "torch", "safetensors", *unpacking)
    if entry.adapter:
        require(user, "safetensors", "tokenizers")
        made_for = read_settings(find_folder(entry.adapter)).base
        if made_for != entry.base:
            raise ModelError(
                f"'{entry.adapter}' was made for '{made_for}', and is not laid over "
                f"'{entry.base}'. Update tedaudit and tedaudit-zoo together."
            )
    elif brought is None:
        require(user, "huggingface_hub", instead="or name a folder with the files: --from FOLDER")


def _refuse_other_bits(folder: Path, base: Entry) -> None:
    """Refuse a base that is not what its name stands for: what is pinned, or was made when it was fetched."""
    known = _read_about(folder).get("files", {}) | {file.path: file.sha256 for file in base.files}
    if WEIGHTS in known and digest_file(folder / WEIGHTS) != known[WEIGHTS]:
        raise ModelError(
            f"'{folder / WEIGHTS}' is not the file that '{base.name}' has (its SHA-256 is not "
            f"{known[WEIGHTS]}), and no adapter is laid over it. Call that folder something else, and run "
            "the same command again."
        )


@contextmanager
def _hold(file: Path, name: str) -> Iterator[None]:
    """Keep other processes from fetching the same model meanwhile."""
    with file.open("w") as handle:  # it stays: who opened it before it was removed would hold another lock
        if not lock_file(handle.fileno()):
            raise ModelError(f"Another process is getting '{name}'. Wait for it to end.")
        yield


def _lay_over(entry: Entry, made: Path) -> dict[str, Any]:
    """Make a model of its base, which is here, and the zoo's adapter; return what it is made of."""
    lay_over(made.parent / entry.base, find_folder(entry.adapter), made)
    return {"base": entry.base, "adapter": entry.adapter, "adapter_sha256": _digest_adapter(entry)}


# --- Where the files come from.


def _download(entry: Entry, arriving: Path, *, quiet: bool) -> None:
    """Have huggingface_hub download the files; it keeps those that have arrived."""
    from huggingface_hub import hf_hub_download

    without = (
        f"Without it, `tedaudit models get {entry.name} --from FOLDER` takes the same files from a folder, "
        f"and {RECIPE} in tedaudit's repository makes them of packages from the package index."
    )
    if not is_hub_answering():
        raise ModelError(f"The hub cannot be reached. {without}")
    with silence_downloads() if quiet else contextlib.nullcontext():
        for one in entry.hub:
            for file in one.list_files(entry.files):
                name, local = one.name_of(file), arriving / one.folder
                try:
                    hf_hub_download(one.id, name, revision=one.revision, local_dir=local)
                except Exception as error:  # errors of the library's own library for HTTP, which changes
                    if isinstance(error, OSError) and error.errno is not None:
                        raise  # a disk that is full
                    raise ModelError(
                        f"The hub did not hand out '{name}' of {one.id} at {one.revision}: "
                        f"{' '.join(str(error).split()) or type(error).__name__} Files that have arrived "
                        f"are kept, and the same command goes on. {without}"
                    ) from error


def _copy_checked(entry: Entry, source: Path, made: Path, *, is_ours: bool = False) -> None:
    """Copy the files of a model, each checked by its digest; a wrong one of our own goes."""
    missing = [file.path for file in entry.files if not (source / file.path).is_file()]
    if missing:
        raise ModelError(
            f"'{source}' lacks {join_names(missing)}. It must hold the files of '{entry.name}' under these "
            f"names: {describe_hub(entry)}."
        )
    for file in entry.files:
        target = made / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / file.path, target)
        found = digest_file(target)
        if found == file.sha256:
            continue
        if is_ours:
            (source / file.path).unlink()
        todo = "Run the same command again to download it anew" if is_ours else "Bring it again from there"
        raise ModelError(
            f"'{source / file.path}' is not the file that was pinned, and is not used: its SHA-256 is "
            f"{found} and not {file.sha256}, that of {describe_hub(entry)}. {todo}; nothing was made."
        )


def describe_hub(entry: Entry) -> str:
    """Return the repositories of a model, and the folder that each belongs into."""
    return ", ".join(
        f"{one.id} at {one.revision}" + (f" in {one.folder}/" if one.folder else "") for one in entry.hub
    )


# --- What is made of the files.


def _replace(folder: Path, made: Path) -> None:
    """Put a model where one made with another adapter may lie; at no moment is half of either there."""
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.is_dir():
        folder.rename(old)
    made.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _finish(entry: Entry, made: Path, taken: Mapping[str, Any]) -> None:
    """Convert weights, add our clip ranges, and write down what the folder is."""
    if entry.conversion == "pickle":
        for file in sorted(made.rglob("pytorch_model.bin")):
            _convert_pickle(file)
    elif entry.conversion == "gguf":
        _convert_gguf(entry.name, made, made / entry.files[0].path)
    for folder, clip in entry.clips.items():
        _write_json(made / folder / CLIP, dict(clip))
    about = {
        "name": entry.name,
        "licence": entry.licence,
        **taken,
        "taken": {file.path: file.sha256 for file in entry.files},
        "files": {
            path.relative_to(made).as_posix(): digest_file(path)
            for path in sorted(made.rglob("*"))
            if path.is_file()
        },
    }
    _write_json(made / SOURCE, about)


def _write_json(path: Path, data: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def _convert_pickle(file: Path) -> None:
    """Store the weights of an old file as safetensors; those that share memory once, as they are tied."""
    import torch
    from safetensors.torch import save_file

    weights = torch.load(file, map_location="cpu", weights_only=True)
    kept: dict[str, Any] = {}
    seen: set[tuple[int, tuple[int, ...]]] = set()
    for name, tensor in weights.items():
        memory = (tensor.data_ptr(), tuple(tensor.shape))
        if memory not in seen:
            seen.add(memory)
            kept[name] = tensor.contiguous()
    save_file(kept, str(file.with_name("model.safetensors")), {"format": "pt"})
    del weights, kept
    file.unlink()


def _convert_gguf(name: str, folder: Path, file: Path) -> None:
    """Unpack a GGUF file to float32: a fresh model of its architecture, with its tokenizer."""
    import torch
    import transformers

    with silence_loading(), contextlib.redirect_stderr(io.StringIO()):  # a bar that cannot be turned off
        model, report = transformers.AutoModelForCausalLM.from_pretrained(
            folder, gguf_file=file.name, output_loading_info=True
        )
        refuse_missing(name, report["missing_keys"], "a GGUF file with all of its weights")
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=file.name)
        settings = model.config.to_dict()
        for key in ("quantization_config", "_name_or_path", "_model_name_or_path"):
            settings.pop(key, None)
        with torch.device("meta"):  # the weights are there already
            fresh = type(model)(type(model.config)(**settings))
        fresh.load_state_dict(model.state_dict(), assign=True)
        fresh.tie_weights()
        fresh.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    file.unlink()
