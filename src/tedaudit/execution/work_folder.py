"""Has rewriting done on another machine: a folder of work goes there, and comes back with results.

`write_work` puts a file there for every block of rewrites that a run lacks: the texts of its draws, and no
others. Folder and files are closed to other users. `python -m tedaudit.worker
FOLDER` does them, wherever the folder lies; it needs no table, spec or terminal library. A run with a
`WorkFolder` then takes the results instead of computing them. Files are named by their content.

A checksum shows damage, not who made a result. So where both machines compute on a CPU, eight draws of each
result are made again and compared. Where they do not, or where a mechanism gives no draw twice, the run says
that rows were made elsewhere and not repeated.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tedaudit.batches import Draws, Rewrites
from tedaudit.errors import RunDirectoryError
from tedaudit.execution.backlog import Backlog
from tedaudit.execution.doing import count_differing
from tedaudit.execution.units import Chunk, RewriteChunk, Unit, cut
from tedaudit.execution.wire import (
    Determinants,
    find_device,
    read_chunk,
    read_result,
    seal_chunk,
    write_sealed,
)
from tedaudit.execution.work import CHUNK, RESULT, Bench
from tedaudit.paths import describe_os_error, parse_path
from tedaudit.plugins.abilities import CallsUserCode
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
        units = (unit for _, unit in Backlog(job).units(audit, list(job.attacks)) if unit is not None)
        for piece in (piece for unit in units if unit.rewrites for piece in cut(unit)):
            chunk = RewriteChunk(job.reference, piece.draws, own=piece.must_tell)
            is_lacking = ~results.has(chunk)
            draws, is_own = piece.draws[is_lacking], piece.own[is_lacking] >= 0
            draw_names = [(job.label, *name) for name in _names(draws)]
            is_new = np.array([name not in planned for name in draw_names], dtype=np.bool_)
            planned.update(draw_names)  # by a plan before this one
            if is_new.any():
                yield job, replace(chunk, draws=draws[is_new]), is_own[is_new]


class WorkFolder:
    """The rewrites that lie in a folder: a run takes them, draw by draw, and makes the others.

    Before any is taken, the run notes how many files have rewrites of a mechanism, and how many of these were
    not repeated.
    """

    def __init__(self, folder: Path, audit: PreparedAudit) -> None:
        self._bench, self._audit = Bench(), audit
        self._bench.adopt(audit.plugins)
        self._results = _Results(parse_path(folder), self._bench.describe, self._repeat)
        self._noted = set[MechanismName]()

    def fill(self, unit: Unit) -> Unit:
        """Return a unit with those of its rewrites that the folder has."""
        given: list[Rewrites] = []
        found = [np.full(len(unit.plan), -1) for _ in unit.rewriting]
        own, size = np.full(len(unit.own), -1), 0
        for piece in cut(unit) if unit.rewrites else ():
            chunk = RewriteChunk(unit.mechanism, piece.draws, own=piece.must_tell)
            known = np.flatnonzero(self._results.has(chunk))
            if not len(known):
                continue
            self._note(chunk)
            given.append(self._results.rewrites(replace(chunk, draws=piece.draws[known])))
            places = size + np.arange(len(known))
            size += len(known)
            for at, where in enumerate(found):
                here = piece.at[known] == at
                where[piece.rows[known][here]] = places[here]
            is_own = piece.own[known] >= 0
            own[piece.own[known][is_own]] = places[is_own]
        if not given:
            return unit
        rewriting = tuple(replace(r, given=where) for r, where in zip(unit.rewriting, found, strict=True))
        return replace(unit, given=Rewrites.join(given), rewriting=rewriting, own_given=own)

    def _note(self, chunk: RewriteChunk) -> None:
        identity = chunk.plugin.identity
        if (identity, chunk.own) not in self._noted:
            self._noted.add((identity, chunk.own))
            self._audit.note_elsewhere(identity, *self._results.count_files(identity))

    def _repeat(self, chunk: RewriteChunk) -> Rewrites | None:
        """Return the rewrites of a chunk made again; None if nobody knows what a second call would change."""
        if isinstance(self._bench.plugin(chunk.plugin), CallsUserCode):
            return None
        return self._bench.perform(chunk)


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
