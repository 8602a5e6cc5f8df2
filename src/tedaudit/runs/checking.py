"""Reads every file of a run to see whether it is what was written: nothing is computed or changed."""

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256

from tedaudit.errors import RunDirectoryError
from tedaudit.runs.directory import REPEATS, RunDirectory
from tedaudit.runs.files import read_frame, read_part
from tedaudit.runs.listing import Listing
from tedaudit.runs.looks import STUDIES
from tedaudit.runs.missing import find_missing
from tedaudit.runs.table_folder import TableFolder

_REWRITES, _GUESSES = r"part-(\d{6})\.parquet", r"part-(\d{9})-(\d{9})\.parquet"
_TABLES = (
    ("rewrites", "*/*", _REWRITES),
    ("own_rewrites", "*/*", _REWRITES),
    ("guesses", "*/*/*/*", _GUESSES),
)


def find_damage(run: RunDirectory) -> tuple[int, list[str]]:
    """Return how many files of a run were read, its studies included, and what does not fit, a line each."""
    told = list(_examine(run))
    told += _examine_list(run, list(filter(None, told)))
    number, found = len(told), [line for line in told if line]
    for study in _find_studies(run):
        more, others = find_damage(study)
        number, found = number + more, [*found, *others]
    return number, found


def list_missing(run: RunDirectory) -> list[str]:
    """Return what a run and its studies lack, a line each; `find_damage` has lost files."""
    found = [one for one in find_missing(run, thorough=True) if one.kind != "file"]
    told = [
        f"'{run.root}' lacks {one}. Restore it, or run the same command again, which makes it."
        for one in found
    ]
    return told + [line for study in _find_studies(run) for line in list_missing(study)]


def _find_studies(run: RunDirectory) -> list[RunDirectory]:
    return [RunDirectory(path.parent) for path in sorted((run.root / STUDIES).rglob(run.manifest_path.name))]


def _examine(run: RunDirectory) -> Iterator[str]:
    """Yield for every file why it does not fit, or nothing."""
    try:
        manifest = run.manifest()
    except RunDirectoryError as error:  # without it, nothing says what should be here
        yield str(error)
        return
    yield ""
    corpus = manifest["corpus"]
    keys = {f"corpus/{split}.parquet": corpus["fingerprint"] for split in corpus["splits"]}
    keys |= {f"corpus/{REPEATS}": corpus["fingerprint"]} if corpus.get("has_repeats") else {}
    keys |= {f"plans/{name}.parquet": plan["key"] for name, plan in manifest["plans"].items()}
    for name, key in keys.items():
        if (run.root / name).exists():
            yield _try(read_frame, run.root / name, key)
    for name, places, pattern in _TABLES:
        for path in sorted((run.root / name).glob(places)):
            folder = TableFolder(path, run.root)
            if folder.was_begun():
                yield from _examine_table(folder, pattern)
                yield _try(folder.place_of_guesses, manifest["plans"]) if name == "guesses" else ""
    try:
        yield from run.files.examine()
    except RunDirectoryError as error:
        yield str(error)


def _examine_list(run: RunDirectory, told: Sequence[str]) -> Iterator[str]:
    """Yield why lists of files, and files on them that nothing was `told` of, do not fit, or nothing."""
    listing = Listing(run.root)
    for path in listing.paths:
        is_spoilt = path in listing.spoilt
        yield f"'{path}' has a line that says nothing. Run the same command again." if is_spoilt else ""
    for name, digest in listing.digests.items():
        path = run.root / name
        if name not in listing:
            yield f"'{path}' is in '{listing.path}' and not there. Restore it, or run the same command again."
        elif not any(str(path) in line for line in told) and sha256(read_part(path)).hexdigest() != digest:
            yield f"'{path}' is not the file that is in '{listing.path}'. Restore one, or run again without."


def _examine_table(folder: TableFolder, pattern: str) -> Iterator[str]:
    try:
        info, parts = folder.info(), folder.parts(pattern)
    except RunDirectoryError as error:
        yield str(error)
        return
    for path, _ in parts:
        yield _try(read_frame, path, info.key)


def _try(read: Callable[..., object], *given: object, **named: object) -> str:
    try:
        read(*given, **named)
    except RunDirectoryError as error:
        return str(error)
    return ""
