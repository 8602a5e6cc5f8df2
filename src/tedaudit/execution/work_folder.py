"""Has rewriting done on another machine: a folder of work goes there, and comes back with results.

`write_work` puts a file there for every block of rewrites that a run lacks: the texts of its draws, and no
others. Folder and files are closed to other users. `python -m tedaudit.worker
FOLDER` does them, wherever the folder lies; it needs no table, spec or terminal library. A run with a
`FolderEngine` then takes the results instead of computing them. Files are named by their content.

A checksum shows damage, not who made a result. So where both machines compute on a CPU, eight draws of each
result are made again and compared. Where they do not, or where a mechanism gives no draw twice, the run says
that rows were made elsewhere and not repeated.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.abilities import CallsUserCode
from tedaudit.batches import Draws, Rewrites
from tedaudit.errors import RunDirectoryError
from tedaudit.execution.backlog import Backlog, OwnDraws
from tedaudit.execution.chunks import Chunk, RewriteChunk
from tedaudit.execution.engines.protocol import Engine, TellsStatus
from tedaudit.execution.engines.serial import SerialEngine
from tedaudit.execution.pieces import cut_rewriting
from tedaudit.execution.repeats import count_differing
from tedaudit.execution.wire import (
    Determinants,
    find_device,
    read_chunk,
    read_result,
    seal_chunk,
    write_sealed,
)
from tedaudit.execution.work import CHUNK, RESULT, Bench, Result
from tedaudit.paths import describe_os_error, parse_path
from tedaudit.preparing.jobs import Job
from tedaudit.preparing.preparation import PreparedAudit, prepare
from tedaudit.seeding import key_numbers
from tedaudit.spec.model import AuditSpec
from tedaudit.types import Rewrite

REPEATED = 8  # draws of a result that are made again,
TOLERATED = 1 / 8  # and the share that may differ: processors round differently, which seldom turns a draw
DrawName = tuple[int, float]  # key and epsilon of a draw
Repeat = Callable[[RewriteChunk], Rewrites | None]
MechanismName = tuple[str, bool]  # the identity of its reference, and whether it rewrites for an adversary


def write_work(spec: AuditSpec, folder: Path) -> tuple[int, int]:
    """Write the rewriting that a run lacks; return how many blocks there are, and how many have no result."""
    folder = parse_path(folder)
    audit = prepare(spec)
    _create_folder(folder)
    results = _Results(folder, _describe_jobs(audit))
    names = {_write_named(folder, job, chunk) for job, chunk, _ in _find_waiting(audit, results)}
    return len(names) + results.files, len(names)


def count_waiting(audit: PreparedAudit, folder: Path) -> dict[str, tuple[int, int]]:
    """Return for each mechanism the rewrites that neither run nor folder has: audited, and for adversaries.

    Nothing is written; a folder that is not there holds nothing.
    """
    counts = {job.label: (0, 0) for job in audit.jobs}
    results = _Results(parse_path(folder), _describe_jobs(audit))
    for job, _, is_own in _find_waiting(audit, results):
        audited, own = counts[job.label]
        counts[job.label] = audited + int((~is_own).sum()), own + int(is_own.sum())
    return counts


def _describe_jobs(audit: PreparedAudit) -> Callable[[Chunk], Determinants]:
    """Return what tells of a chunk what determines its plug-ins; weights were read before."""
    known = {job.reference.identity: job.determinants for job in audit.jobs}
    return lambda chunk: {reference.identity: known[reference.identity] for reference in chunk.references}


def _find_waiting(
    audit: PreparedAudit, results: "_Results"
) -> Iterator[tuple[Job, RewriteChunk, npt.NDArray[np.bool_]]]:
    """Yield the draws that have no rewrite anywhere, each once, with whether they are for an adversary."""
    planned = set[tuple[str, int, float]]()
    for job in audit.jobs:
        backlog = Backlog(job)
        for piece, chunk in cut_rewriting(backlog, OwnDraws(backlog), audit):
            is_lacking = ~results.has(chunk)
            is_own = np.zeros(len(chunk), dtype=np.bool_)
            is_own[piece.place[len(piece.wanted) :]] = True
            draws, is_own = chunk.draws[is_lacking], is_own[is_lacking]
            draw_names = [(job.label, *name) for name in _names(draws)]
            is_new = np.array([name not in planned for name in draw_names], dtype=np.bool_)
            planned.update(draw_names)  # by a plan before this one
            if is_new.any():
                yield job, replace(chunk, draws=draws[is_new]), is_own[is_new]


class FolderEngine:
    """Takes the rewrites that lie in a folder, draw by draw; another engine does the others.

    Before any is taken, `note` is told the identity of the mechanism, how many files have rewrites of it, and
    how many of these were not repeated.
    """

    def __init__(self, folder: Path, engine: Engine | None = None) -> None:
        self._engine, self._bench = engine or SerialEngine(), Bench()
        self.note: Callable[[str, int, int], None] = lambda *_: None
        self._results = _Results(parse_path(folder), self._bench.describe, self._repeat)
        self._chunks: dict[int, tuple[RewriteChunk, npt.NDArray[np.bool_]]] = {}
        self._complete: list[tuple[int, Rewrites]] = []
        self._noted = set[MechanismName]()

    @property
    def has_room(self) -> bool:
        """Whether another chunk may be submitted now."""
        return not self._complete and self._engine.has_room

    @property
    def status(self) -> str:
        """What the other engine says of its workers."""
        return self._engine.status if isinstance(self._engine, TellsStatus) else ""

    def offer(self, plugins: Mapping[str, Any]) -> None:
        """Give plug-ins that are built already to the engine that may need them."""
        self._engine.offer(plugins)
        self._bench.adopt(plugins)

    def _repeat(self, chunk: RewriteChunk) -> Rewrites | None:
        """Return the rewrites of a chunk made again; None if nobody knows what a second call would change."""
        if isinstance(self._bench.plugin(chunk.plugin), CallsUserCode):
            return None
        again = self._bench.perform(chunk)
        assert isinstance(again, Rewrites)  # noqa: S101 - by the kind of the chunk
        return again

    def submit(self, ticket: int, chunk: Chunk) -> None:
        """Take a chunk; draws whose rewrite is in the folder are not done again."""
        if not isinstance(chunk, RewriteChunk):
            self._engine.submit(ticket, chunk)
            return
        if chunk.repeats:  # what a folder holds would be compared with itself
            self._complete.append((ticket, Rewrites.of([])))
            return
        known = self._results.has(chunk)
        identity = chunk.plugin.identity
        if known.any() and (identity, chunk.own) not in self._noted:
            self._noted.add((identity, chunk.own))
            self.note(identity, *self._results.count_files(identity))
        if known.all():
            self._complete.append((ticket, self._results.rewrites(chunk)))
        else:
            self._chunks[ticket] = chunk, known
            self._engine.submit(ticket, replace(chunk, draws=chunk.draws[~known]))

    def finished(self) -> Iterator[tuple[int, Result]]:
        """Yield what is there, and what the other engine has finished, put together with what was known."""
        while self._complete:
            yield self._complete.pop(0)
        for ticket, result in self._engine.finished():
            chunk, known = self._chunks.pop(ticket, (None, None))
            if chunk is None or known is None or not isinstance(result, Rewrites):
                yield ticket, result
            else:
                yield ticket, self._combine(chunk, known, result)
            while self._complete:
                yield self._complete.pop(0)

    def _combine(self, chunk: RewriteChunk, known: npt.NDArray[np.bool_], new: Rewrites) -> Rewrites:
        """Return the rewrites of all draws in their order: those from the folder, and the new ones."""
        old = self._results.rewrites(replace(chunk, draws=chunk.draws[known]))
        order = np.argsort(np.concatenate([np.flatnonzero(known), np.flatnonzero(~known)]), kind="stable")
        return Rewrites.join([old, new])[order]


class _Results:
    """The rewrites in a folder, by mechanism, key and epsilon; each mechanism's results are read once."""

    def __init__(
        self, folder: Path, describe: Callable[[Chunk], Determinants], repeat: Repeat | None = None
    ) -> None:
        self._folder, self._describe, self._make_again = folder, describe, repeat
        self._found: dict[MechanismName, list[Path]] | None = None
        self._known: dict[MechanismName, dict[DrawName, Rewrite]] = {}
        self._is_repeated: dict[str, list[bool]] = {}  # of each file, by the identity of the mechanism
        self.files = 0  # whose results are used

    def has(self, chunk: RewriteChunk) -> npt.NDArray[np.bool_]:
        """Return which draws of a chunk have a rewrite."""
        known = self._read(chunk) if len(chunk) else {}
        return np.array([name in known for name in _names(chunk.draws)], dtype=np.bool_)

    def rewrites(self, chunk: RewriteChunk) -> Rewrites:
        """Return the rewrites of a chunk, all of whose draws have one."""
        known = self._read(chunk) if len(chunk) else {}
        return Rewrites.of([known[name] for name in _names(chunk.draws)])

    def _read(self, chunk: RewriteChunk) -> dict[DrawName, Rewrite]:
        wanted = chunk.plugin.identity, chunk.own
        if wanted not in self._known:
            known: dict[DrawName, Rewrite] = {}
            files, determinants = self._find().get(wanted, []), self._describe(chunk)
            for file in files:
                unit = read_chunk(file)
                result = file.with_suffix(RESULT)
                rewrites, device = read_result(result, unit, determinants)
                if isinstance(unit.chunk, RewriteChunk) and isinstance(rewrites, Rewrites):  # it was, and is
                    self._check(result, unit.chunk, rewrites, device)
                    known.update(zip(_names(unit.chunk.draws), rewrites, strict=True))
            self.files += len(files)
            self._known[wanted] = known
        return self._known[wanted]

    def _check(self, file: Path, chunk: RewriteChunk, rewrites: Rewrites, device: str) -> None:
        """Refuse a result whose draws, made again here, are others; note one of which that cannot be told."""
        rows = np.linspace(0, len(chunk) - 1, min(REPEATED, len(chunk))).astype(np.int64)
        few, made = replace(chunk, draws=chunk.draws[rows]), rewrites[rows]
        again = self._make_again(few) if self._make_again and device == find_device() == "cpu" else None
        differing = 0 if again is None else count_differing(made, again)
        if again is not None and differing > TOLERATED * len(rows):
            repeated = self._make_again(few) if self._make_again else None
            if repeated is not None and not count_differing(again, repeated):
                raise RunDirectoryError(
                    f"'{file}' holds other rewrites than '{chunk.plugin.name}' makes here: of {len(rows)} "
                    f"draws that were made again {differing} gave another output. Other code made it, or it "
                    "was edited. Delete it: `python -m tedaudit.worker FOLDER` makes it again."
                )
            again = None  # it never gives the same twice
        self._is_repeated.setdefault(chunk.plugin.identity, []).append(again is not None)

    def count_files(self, identity: str) -> tuple[int, int]:
        """Return how many files with rewrites of a mechanism were read, and how many were not repeated."""
        repeated = self._is_repeated.get(identity, [])
        return len(repeated), repeated.count(False)

    def _find(self) -> dict[MechanismName, list[Path]]:
        """Return the files that have a result. All are read: a damaged one may be anybody's."""
        if self._found is None:
            self._found = {}
            for file in sorted(self._folder.glob(f"*{CHUNK}")):
                if file.with_suffix(RESULT).exists():
                    chunk = read_chunk(file).chunk
                    if isinstance(chunk, RewriteChunk):
                        self._found.setdefault((chunk.plugin.identity, chunk.own), []).append(file)
        return self._found


def _create_folder(folder: Path) -> None:
    """Make the folder, closed to others; an empty one that lay open is closed too."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not any(folder.iterdir()):
            folder.chmod(0o700)
    except OSError as error:
        raise RunDirectoryError(
            f"'{folder}' cannot be used as a folder of work ({describe_os_error(error)}); name another with "
            "--work."
        ) from error


def _names(draws: Draws) -> list[DrawName]:
    return list(zip(key_numbers(draws.keys), draws.epsilons.tolist(), strict=True))


def _write_named(folder: Path, job: Job, chunk: Chunk) -> Path:
    """Write a chunk; return its file, which is named by its content."""
    sealed = seal_chunk(chunk, {job.reference.identity: job.determinants})
    target = folder / f"{sealed[-1].hex()[:24]}{CHUNK}"
    write_sealed(target, sealed)
    return target
