"""Has rewriting done on another machine: a folder of work goes there, and comes back with results.

`write_work` puts a file there for every block of rewrites that a run lacks. `python -m tedaudit.worker
FOLDER` does them, wherever the folder lies; it needs no table, spec or terminal library. A run with a
`FolderExecutor` then takes the results instead of computing them. Files are named by their content.
"""

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tedaudit.chunks import Chunk, RewriteChunk, read_result, write_chunk
from tedaudit.runner import rewrite_chunks
from tedaudit.setting import prepare
from tedaudit.spec import AuditSpec
from tedaudit.store import check_table
from tedaudit.tables import RewriteTable
from tedaudit.worker import CHUNK, RESULT, Executor, Result, Tag


def write_work(spec: AuditSpec, folder: Path) -> tuple[int, int]:
    """Write the rewriting that a run lacks; return how many blocks there are, and how many have no result."""
    setting = prepare(spec)
    folder.mkdir(parents=True, exist_ok=True)
    names = set()
    for job in setting.jobs:
        tables = {
            e: RewriteTable(job.rewrites_at(e)[0], check_table(*job.rewrites_at(e)[:2])) for e in job.epsilons
        }
        for _, chunk in rewrite_chunks(job, tables, setting):
            if chunk.draws:
                names.add(_place(folder, chunk, write=True))
    return len(names), sum(not name.with_suffix(RESULT).exists() for name in names)


class FolderExecutor:
    """Takes the results that lie in a folder; what is not there is done by another executor."""

    def __init__(self, folder: Path, otherwise: Executor) -> None:
        self._folder, self._otherwise = folder, otherwise

    def run(self, work: Iterable[tuple[Tag, Chunk]]) -> Iterator[tuple[Tag, Result]]:
        """Yield the result of every chunk, in order."""
        for tag, chunk in work:
            result = self._found(chunk)
            if result is None:
                yield from self._otherwise.run([(tag, chunk)])
            else:
                yield tag, result

    def _found(self, chunk: Chunk) -> Result | None:
        if not isinstance(chunk, RewriteChunk) or not chunk.draws:
            return None
        place = _place(self._folder, chunk, write=False).with_suffix(RESULT)
        return read_result(place, chunk) if place.exists() else None


def _place(folder: Path, chunk: Chunk, *, write: bool) -> Path:
    """Return where a chunk lies, by its content; where asked, put it there."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        file = Path(scratch) / "chunk"
        write_chunk(file, chunk)
        place = folder / f"{hashlib.sha256(file.read_bytes()).hexdigest()[:24]}{CHUNK}"
        if write and not place.exists():
            file.rename(place)
    return place
