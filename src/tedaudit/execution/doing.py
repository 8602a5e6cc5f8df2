"""Does a unit of trials from end to end: rewrites, guesses, judges, and yields the files of its tables.

The rewrites of an epsilon wait for guessing as the bytes of their files, which are small; they are read when
its turn comes, with those that were there before. A latent that is too large for a table waits in memory: it
never leaves the process that made it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tedaudit.batches import Rewrites
from tedaudit.execution.units import (
    Finished,
    Guessing,
    OwnTable,
    Parts,
    Piece,
    Positions,
    Result,
    RewriteChunk,
    Rewriting,
    SealedPart,
    Unit,
    Work,
    ask,
    cut,
    read_persons,
    restore_withheld,
    withhold,
)
from tedaudit.execution.work import Bench
from tedaudit.plans.trials import judge, late_tie_keys
from tedaudit.store.guesses import make_guesses_part
from tedaudit.store.held_parts import HeldParts
from tedaudit.store.rewrites import PartMaker, is_too_large
from tedaudit.text.characters import replace_surrogates


def do(work: Work, bench: Bench) -> Iterator[Result]:
    """Yield what becomes of some work: the parts of a unit and its end, or the result of a chunk."""
    if isinstance(work, Unit):
        yield from _do_unit(work, bench)
    else:
        yield bench.perform(work)


def _do_unit(unit: Unit, bench: Bench) -> Iterator[Parts | Finished]:
    """Yield the parts of a unit as they are made: rewrites first, then guesses; and then its end."""
    epsilons = [_Epsilon(unit, rewriting) for rewriting in unit.rewriting]
    own = [_OwnRewrites(unit, table) for table in unit.own_tables]
    for piece in cut(unit) if unit.rewrites else ():
        made = _rewrite(unit, piece, bench)
        parts = [part for table in own for part in table.take(piece, made)]
        for at, epsilon in enumerate(epsilons):
            which = np.flatnonzero(piece.at == at)
            if len(which):
                parts += epsilon.take(piece.rows[which], made[which])
        if parts:
            yield tuple(parts)
    differing = sum(epsilon.differing for epsilon in epsilons)
    while epsilons:
        for part in epsilons.pop(0).guess(bench):  # what it holds is not needed any more then
            yield (part,)
    yield Finished(differing)


def _rewrite(unit: Unit, piece: Piece, bench: Bench) -> Rewrites:
    """Return the rewrites of a piece: those that were given, and those that the mechanism makes now."""
    where = np.full(len(piece.draws), -1)
    if unit.given is not None:
        for at, rewriting in enumerate(unit.rewriting):
            here = piece.at == at
            where[here] = rewriting.given[piece.rows[here]] if len(rewriting.given) else -1
        if len(unit.own_given):
            where[piece.own >= 0] = unit.own_given[piece.own[piece.own >= 0]]
    new = np.flatnonzero(where < 0)
    if len(new) == len(where):
        return bench.perform(RewriteChunk(unit.mechanism, piece.draws, own=piece.must_tell))
    assert unit.given is not None  # noqa: S101 - something was found in it
    old = np.flatnonzero(where >= 0)
    parts = [unit.given[where[old]]]
    if len(new):
        parts.append(bench.perform(RewriteChunk(unit.mechanism, piece.draws[new], own=piece.must_tell)))
    return Rewrites.join(parts)[np.argsort(np.concatenate([old, new]))]


class _OwnRewrites:
    """Rewrites for adversaries at one epsilon; no attack is given their latents: large ones are not kept."""

    def __init__(self, unit: Unit, table: OwnTable) -> None:
        self._unit, self._table = unit, table
        self._maker = PartMaker(table.key, unit.pool, table.number)

    def take(self, piece: Piece, made: Rewrites) -> Iterator[SealedPart]:
        """Yield the part of those in a piece, if there are any."""
        unit, table = self._unit, self._table
        which = np.flatnonzero((piece.own >= 0) & (piece.draws.epsilons == float(table.epsilon)))
        if not len(which):
            return
        wanted, some = unit.own.rows(piece.own[which]), made[which]
        keep = not is_too_large(some.latents, unit.own_size, unit.latent_bytes)
        part = self._maker.make(wanted.text, wanted.replicate, some, keep_latents=keep)
        yield SealedPart(table.epsilon, "", part.number, part.content, len(which), own=True)


class _Epsilon:
    """The rows of a unit at one epsilon: their rewrites, wherever they lie, and what attacks say of them."""

    def __init__(self, unit: Unit, rewriting: Rewriting) -> None:
        self._unit, self._rewriting = unit, rewriting
        self._guessing = [guessing for guessing in unit.guessing if guessing.epsilon == rewriting.epsilon]
        self._sees = sorted({part for guessing in self._guessing for part in guessing.sees})
        self._maker = PartMaker(rewriting.key, unit.pool, rewriting.number)
        self._held = HeldParts(rewriting.key)
        for part in rewriting.stored:
            self._held.add_file(Path(part.path), part.content)
        self.differing = 0

    def take(self, rows: Positions, made: Rewrites) -> Iterator[SealedPart]:
        """Yield the part of rewrites that are new; of others keep the latents that no table has kept."""
        is_new = self._rewriting.lacking[rows]
        if is_new.all():
            yield self._make_part(rows, made)
            return
        if is_new.any():
            yield self._make_part(rows[is_new], made[is_new])
        again, known = rows[~is_new], made[~is_new]
        stored = self._fetch(again, ["tokens"])
        self.differing += count_differing(stored, known)
        self._held.add_rewrites(*self._places(again), replace(stored, latents=known.latents))

    def _make_part(self, rows: Positions, made: Rewrites) -> SealedPart:
        unit, rewriting = self._unit, self._rewriting
        is_large = is_too_large(made.latents, unit.plan_size, unit.latent_bytes)
        part = self._maker.make(*self._places(rows), made, keep_latents=unit.keeps_latents or not is_large)
        left_out = part.left_out.rows
        if left_out and "latent" in self._sees:
            self._held.add_rewrites(*self._places(rows), made)
        elif self._guessing:
            self._held.add_content(part.content)
        size = len(rows)
        return SealedPart(
            rewriting.epsilon, "", part.number, part.content, size, rows=rows, left_out=left_out
        )

    def guess(self, bench: Bench) -> Iterator[SealedPart]:
        """Yield the parts of all guesses, attack by attack, in the order of rows."""
        if not self._guessing:
            return
        unit = self._unit
        outputs = self._fetch(np.arange(len(unit.plan)), self._sees)
        for guessing in self._guessing:
            for start, stop in guessing.runs:
                some = outputs[start - unit.start : stop - unit.start]
                yield self._guess_run(guessing, range(start, stop), some, bench)

    def _guess_run(self, guessing: Guessing, rows: range, outputs: Rewrites, bench: Bench) -> SealedPart:
        unit = self._unit
        plan = unit.plan.rows(rows.start - unit.start, rows.stop - unit.start)
        keys = late_tie_keys(unit.seed, unit.plan_name, guessing.attack, rows)
        guesses = bench.perform(ask(guessing, outputs, plan, unit.pool, keys, unit.mechanism))
        whole = restore_withheld(guesses, withhold(guessing.sees, outputs.failed), unit.candidates)
        persons = read_persons(whole, plan.known, averages=guessing.averages)
        judged = judge(persons, outputs.failed, plan, keys)
        content = make_guesses_part(rows, judged, guessing.key)
        return SealedPart(guessing.epsilon, guessing.attack, rows.start, content, len(rows))

    def _fetch(self, rows: Positions, parts: Sequence[str]) -> Rewrites:
        return self._held.fetch(*self._places(rows), parts)

    def _places(self, rows: Positions) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return the texts and replicates of some rows."""
        return self._unit.plan.source[rows], self._unit.plan.replicate[rows]


def count_differing(made: Rewrites, again: Rewrites) -> int:
    """Return how many of these draws gave another text or error, as tables hold them, when made again."""
    told = ([*zip(map(replace_surrogates, one.texts), one.errors, strict=True)] for one in (made, again))
    return sum(old != new for old, new in zip(*told, strict=False))
