"""Has rewriting done on another machine: a folder of work goes there, and comes back with results.

`write_work` puts a file there for every block of rewrites that a run lacks. `python -m tedaudit.worker
FOLDER` does them, wherever the folder lies; it needs no table, spec or terminal library. A run with a
`FolderExecutor` then takes the results instead of computing them. Files are named by their content.
"""

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from tedaudit.execution.chunks import (
    Chunk,
    RewriteChunk,
    described,
    first_line,
    read_chunk,
    read_result,
    write_chunk,
)
from tedaudit.execution.preparation import prepare
from tedaudit.execution.runner import rewrite_chunks
from tedaudit.execution.work import CHUNK, RESULT, Executor, Result, SerialExecutor, Tag
from tedaudit.spec.model import AuditSpec
from tedaudit.store.directory import check_table
from tedaudit.store.tables import RewriteTable
from tedaudit.types import Draw, Rewrite


def write_work(spec: AuditSpec, folder: Path) -> tuple[int, int]:
    """Write the rewriting that a run lacks; return how many blocks there are, and how many have no result."""
    setting = prepare(spec)
    folder.mkdir(parents=True, exist_ok=True)
    there = FolderExecutor(folder, SerialExecutor())
    names, planned = set(), set[tuple[str, int, float]]()
    for job in setting.jobs:
        tables = {
            e: RewriteTable(job.rewrites_at(e)[0], check_table(*job.rewrites_at(e)[:2])) for e in job.epsilons
        }
        for _, chunk in rewrite_chunks(job, tables, setting):
            left = [
                draw
                for draw in there.lacking(chunk)
                if (job.label, draw.key, draw.epsilon) not in planned  # by a plan before this one
            ]
            planned |= {(job.label, draw.key, draw.epsilon) for draw in left}
            if left:
                names.add(_written(folder, replace(chunk, draws=left)))
    return len(names) + there.taken, len(names)


class FolderExecutor:
    """Takes the rewrites that lie in a folder, draw by draw; others are done by another executor."""

    def __init__(self, folder: Path, otherwise: Executor) -> None:
        self._folder, self._otherwise = folder, otherwise
        self._known: dict[str, dict[tuple[int, float], Rewrite]] = {}
        self.taken = 0  # files whose results are used

    def lacking(self, chunk: RewriteChunk) -> list[Draw]:
        """Return the draws of a chunk that the folder has no rewrite for."""
        found = self._results(chunk) if chunk.draws else {}
        return [draw for draw in chunk.draws if (draw.key, draw.epsilon) not in found]

    def run(self, work: Iterable[tuple[Tag, Chunk]]) -> Iterator[tuple[Tag, Result]]:
        """Yield the result of every chunk, in order."""
        for tag, chunk in work:
            if isinstance(chunk, RewriteChunk) and chunk.draws:
                yield tag, self._rewrites(chunk)
            else:
                yield from self._otherwise.run([(tag, chunk)])

    def _rewrites(self, chunk: RewriteChunk) -> list[Rewrite]:
        """Return the rewrites of all draws: those that were found, and the others made here."""
        found = self._results(chunk)
        left = self.lacking(chunk)
        made: dict[tuple[int, float], Rewrite] = {}
        if left:
            for _, result in self._otherwise.run([(None, replace(chunk, draws=left))]):
                some = [one for one in result if isinstance(one, Rewrite)]
                made = {(draw.key, draw.epsilon): one for draw, one in zip(left, some, strict=True)}
        return [(made.get((d.key, d.epsilon)) or found[d.key, d.epsilon]) for d in chunk.draws]

    def _results(self, chunk: RewriteChunk) -> dict[tuple[int, float], Rewrite]:
        """Return all rewrites by this mechanism that lie in the folder, by key and epsilon; read once."""
        wanted = described(chunk.plugin)
        if wanted not in self._known:
            found = self._known[wanted] = {}
            for file in sorted(self._folder.glob(f"*{CHUNK}")):
                result = file.with_suffix(RESULT)
                if not result.exists() or first_line(file) != wanted:
                    continue
                done = read_chunk(file)
                if isinstance(done, RewriteChunk):
                    self.taken += 1
                    for draw, one in zip(done.draws, read_result(result, done), strict=True):
                        if isinstance(one, Rewrite):
                            found[draw.key, draw.epsilon] = one
        return self._known[wanted]


def _written(folder: Path, chunk: Chunk) -> Path:
    """Write a chunk where it is not there yet; return its file, which is named by its content."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        file = Path(scratch) / "chunk"
        write_chunk(file, chunk)
        place = folder / f"{hashlib.sha256(file.read_bytes()).hexdigest()[:24]}{CHUNK}"
        if not place.exists():
            file.rename(place)
    return place
