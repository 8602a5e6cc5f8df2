"""Work that can travel: what one plug-in is asked, and units of trials that one worker does from end to end.

Work names its plug-ins by references and carries everything else that it needs, so that it can be done in
this process, in another one or on another machine with the same result.

A unit is consecutive rows of a plan, at all epsilons of a mechanism. Inside it rows are rewritten by text, so
that a mechanism does its noise-free work once, and guessed in their own order: how often a text is a
candidate in a batch that was sorted by text would give the secret away.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tedaudit.batches import Draws, Guesses, Observations, OwnRewrites, Rewrites
from tedaudit.nominal import NO_EPSILON, Nominal
from tedaudit.plans.authors import score_persons
from tedaudit.plans.trials import OWN, Wanted, make_draws, number_draws, number_rows
from tedaudit.plugins.registry import Reference
from tedaudit.seeding import KeyWords, LateKeys, derive, uniforms
from tedaudit.types import Draw, Observation, Plan

Mask = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.int64]
_NOWHERE = np.zeros(0, dtype=np.int64)
NO_DRAWS = Wanted(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))


@dataclass(frozen=True)
class RewriteChunk:
    """Draws for one mechanism: by text, so that it can do the noise-free work once, or shuffled.

    `repeats` says that all of it has been done before, and is done again to be compared; `own` that it is
    done for an adversary by code that must be told so (`CallsUserCode`).
    """

    plugin: Reference
    draws: Draws
    repeats: bool = False
    own: bool = False

    @property
    def references(self) -> tuple[Reference, ...]:
        """The plug-ins that it needs."""
        return (self.plugin,)

    def __len__(self) -> int:
        return len(self.draws)

    def batch(self, start: int, stop: int) -> Sequence[Draw]:
        """Return what the mechanism is given of a run of rows."""
        return self.draws[start:stop]


@dataclass(frozen=True)
class GuessChunk:
    """Outputs with their candidates, for one attack.

    `mechanism` and `epsilon` say what made the outputs, for attacks that use it; `practice` holds texts
    for those that try it themselves, and `own` rewrites of the candidates for those that ask for them.
    """

    plugin: Reference
    observations: Observations
    mechanism: Reference | None = None
    epsilon: Nominal = NO_EPSILON
    practice: Sequence[str] = ()
    own: OwnRewrites | None = None

    @property
    def references(self) -> tuple[Reference, ...]:
        """The plug-ins that it needs."""
        return (self.plugin,) if self.mechanism is None else (self.plugin, self.mechanism)

    def __len__(self) -> int:
        return len(self.observations)

    def batch(self, start: int, stop: int) -> Sequence[Observation]:
        """Return what the attack sees of a run of rows."""
        return self.observations[start:stop]


Chunk = RewriteChunk | GuessChunk


# --- a unit of trials


@dataclass(frozen=True)
class Stored:
    """A part of a table that is there already: its file or, for a machine that does not see it, its bytes."""

    path: str
    content: bytes = b""


@dataclass(frozen=True)
class Rewriting:
    """What a unit rewrites at one epsilon, and where its other rows lie.

    `again` are rows whose latent no table has kept and an attack has yet to see: their texts stay as they
    are. `given` says where in the unit's given rewrites those of the rows lie, -1 for nowhere.
    """

    epsilon: Nominal
    key: str  # of its table
    number: int  # of the first part that it writes
    lacking: Mask
    again: Mask
    stored: tuple[Stored, ...] = ()
    given: Positions = field(default_factory=lambda: _NOWHERE)


@dataclass(frozen=True)
class OwnTable:
    """Where own rewrites at an epsilon go."""

    epsilon: Nominal
    key: str
    number: int  # of the first part that is written


@dataclass(frozen=True)
class Guessing:
    """What an attack guesses in a unit at one epsilon: runs of rows of the plan, each for a part."""

    attack: str
    reference: Reference
    sees: tuple[str, ...]
    epsilon: Nominal
    runs: tuple[tuple[int, int], ...]
    key: str = ""  # of its table
    knows_mechanism: bool = False
    practice: Sequence[str] = ()
    own: OwnRewrites | None = None
    averages: bool = False  # whether scores are likelihoods: of texts that are known of a person, their mean


@dataclass(frozen=True)
class Unit:
    """Consecutive rows of a plan from `start` on: what is left to do for them.

    `own` are rewrites for adversaries, of texts that the unit reads anyway or, if it has no rows, of others.
    `given` are rewrites that were made elsewhere.
    """

    mechanism: Reference
    plan_name: str
    plan_size: int
    plan: Plan  # its rows of it
    start: int
    pool: Sequence[str]
    seed: int
    block: int  # rows that are rewritten, or guessed, before a part is written
    rewriting: tuple[Rewriting, ...] = ()
    guessing: tuple[Guessing, ...] = ()
    own: Wanted = field(default_factory=lambda: NO_DRAWS)
    own_tables: tuple[OwnTable, ...] = ()
    own_size: int = 0  # own rewrites of the whole plan, at an epsilon
    given: Rewrites | None = None
    own_given: Positions = field(default_factory=lambda: _NOWHERE)
    candidates: int = 2
    is_shuffled: bool = False  # whether draws come in random order: code of others may remember them
    must_tell: bool = False  # whether that code is told which rewrites are for adversaries
    is_numbered: bool = False  # whether rewrites are there already: keys of draws are their numbers
    keeps_latents: bool = True  # of any size;
    latent_bytes: int = 0  # otherwise so many bytes in a table

    @property
    def stop(self) -> int:
        """Where its rows end."""
        return self.start + len(self.plan)

    @property
    def called(self) -> tuple[Reference, ...]:
        """The plug-ins that it calls itself; attacks may call the mechanism besides."""
        return (*((self.mechanism,) if self.rewrites else ()), *(g.reference for g in self.guessing))

    @property
    def rewrites(self) -> bool:
        """Whether there is anything to rewrite."""
        return len(self.own) > 0 or any((r.lacking | r.again).any() for r in self.rewriting)

    @property
    def references(self) -> tuple[Reference, ...]:
        """The plug-ins that it needs."""
        needs_mechanism = self.rewrites or any(guessing.knows_mechanism for guessing in self.guessing)
        return (
            *((self.mechanism,) if needs_mechanism else ()),
            *{guessing.reference.identity: guessing.reference for guessing in self.guessing}.values(),
        )


@dataclass(frozen=True)
class Piece:
    """Draws that a unit makes together. Each is for a row at one of the unit's epsilons, or is an own one."""

    draws: Draws
    rows: Positions  # of the unit; -1 for an own rewrite
    at: Positions  # which of the unit's epsilons; -1
    own: Positions  # which of the unit's own rewrites; -1 for an audited one
    must_tell: bool = False


def cut(unit: Unit) -> Iterator[Piece]:
    """Yield the rewriting of a unit, a block at a time: by text, or shuffled.

    An own rewrite is made with the first audited draws of its text.
    """
    if not len(unit.plan):
        yield _assemble(unit, _NOWHERE, _NOWHERE, np.arange(len(unit.own)))
        return
    source, replicate = unit.plan.source, unit.plan.replicate
    wanted = [rewriting.lacking | rewriting.again for rewriting in unit.rewriting]
    epsilons = np.array([float(rewriting.epsilon) for rewriting in unit.rewriting])
    by_text = np.argsort(number_rows(source, replicate), kind="stable")
    order = by_text[np.logical_or.reduce(wanted)[by_text]]
    taken = 0  # of the own rewrites, which come by text
    for start in range(0, len(order), unit.block):
        some = order[start : start + unit.block]
        by_epsilon = [some[lacking[some]] for lacking in wanted]
        rows = np.concatenate(by_epsilon)
        at = np.repeat(np.arange(len(by_epsilon)), list(map(len, by_epsilon)))
        if unit.is_shuffled:
            which = np.argsort(_toss(unit, by_epsilon), kind="stable")
        else:
            which = np.lexsort((epsilons[at], replicate[rows], source[rows]))
        end = int(np.searchsorted(unit.own.text, source[some[-1]], side="right"))
        yield _assemble(unit, rows[which], at[which], np.arange(taken, end))
        taken = end


def _assemble(unit: Unit, rows: Positions, at: Positions, own: Positions) -> Piece:
    """Return the piece of some audited and own draws, those of a text side by side."""
    draws = []
    if len(rows):
        source, replicate = unit.plan.source[rows], unit.plan.replicate[rows]
        epsilons = np.array([float(rewriting.epsilon) for rewriting in unit.rewriting])[at]
        wanted = Wanted(source, replicate, epsilons)
        if unit.is_numbered:
            draws.append(number_draws(unit.pool, wanted))
        else:
            draws.append(make_draws(unit.pool, wanted, unit.seed))
    if len(own):
        draws.append(make_draws(unit.pool, unit.own.rows(own), unit.seed, OWN))
    nobody = np.full(len(own), -1)
    columns = (
        np.concatenate([rows, nobody]), np.concatenate([at, nobody]),
        np.concatenate([np.full(len(rows), -1), own]),
    )  # fmt: skip
    if len(draws) == 1:
        return Piece(draws[0], *columns, must_tell=unit.must_tell and not len(rows))
    together = Draws.join(draws)
    order = np.argsort(together.text, kind="stable")
    rows, at, own = (column[order] for column in columns)
    return Piece(together[order], rows, at, own)


def _toss(unit: Unit, by_epsilon: Sequence[Positions]) -> npt.NDArray[np.float64]:
    """Return a coin for each of these rows; it is the row's own, whatever else is missing."""
    coins = []
    for rewriting, rows in zip(unit.rewriting, by_epsilon, strict=True):
        key = derive(unit.seed, "order", unit.plan_name, rewriting.epsilon.name)
        coins.append(uniforms([key], len(unit.plan), unit.start)[0][rows])
    return np.concatenate(coins)


def shuffle_own(own: Wanted, seed: int) -> Wanted:
    """Return own draws in an order that tells nothing of their texts."""
    columns = (own.text.tolist(), own.replicate.tolist(), own.epsilon.astype(str).tolist())
    keys = [derive(seed, OWN, "order", *row) for row in zip(*columns, strict=True)]
    return own.rows(np.argsort(uniforms(keys, 1)[:, 0], kind="stable"))


def withhold(sees: Sequence[str], failed: Mask) -> Mask:
    """Return which rewrites an attack is not given: the failed ones, unless it sees their codes."""
    return np.zeros_like(failed) if "error" in sees else failed


def ask(
    guessing: Guessing,
    outputs: Rewrites,
    plan: Plan,
    pool: Sequence[str],
    keys: KeyWords | LateKeys,
    mechanism: Reference,
) -> GuessChunk:
    """Return the question about some rows: those that the attack is given, and what it may see of them."""
    withheld = withhold(guessing.sees, outputs.failed)
    given = np.flatnonzero(~withheld) if withheld.any() else slice(None)
    seen = Observations(
        outputs[given].reveal(guessing.sees),
        pool,
        None if plan.candidates is None else plan.candidates[given],
        keys[given],
    )
    known = mechanism if guessing.knows_mechanism else None
    return GuessChunk(guessing.reference, seen, known, guessing.epsilon, guessing.practice, guessing.own)


def restore_withheld(guesses: Guesses, withheld: Mask, candidates: int) -> Guesses:
    """Put an unusable guess in the place of every rewrite that was not given: its trial counts, as wrong."""
    if not withheld.any():
        return guesses
    nobody = Guesses.unusable([candidates] * int(withheld.sum()))
    order = np.empty(len(withheld), dtype=np.int64)
    order[np.flatnonzero(~withheld)] = np.arange(len(guesses))
    order[np.flatnonzero(withheld)] = len(guesses) + np.arange(len(nobody))
    return Guesses.join([guesses, nobody])[order]


def read_persons(guesses: Guesses, known: int, *, averages: bool) -> Guesses:
    """Return guesses of persons, of each of whom so many texts were candidates."""
    if known == 1:
        return guesses
    scores = np.stack([guess.scores for guess in guesses])
    starts = np.arange(0, scores.shape[1], known)
    return Guesses(score_persons(scores, starts, averages=averages), guesses.usable)


# --- what comes back


@dataclass(frozen=True)
class SealedPart:
    """A file that a unit has made, for one of its tables: of an attack's guesses, or of rewrites."""

    epsilon: Nominal
    attack: str  # "" for rewrites
    at: int  # its first row or, for rewrites, its number
    content: bytes
    size: int  # rows in it
    own: bool = False  # rewrites for adversaries
    rows: Positions = field(default_factory=lambda: _NOWHERE)  # of the unit, if it holds audited rewrites
    left_out: int = 0  # latents that it has not kept


@dataclass(frozen=True)
class Finished:
    """The end of a unit. `differing` counts rewrites made again that gave another text."""

    differing: int = 0


@dataclass(frozen=True)
class Interrupted:
    """The end of a unit whose worker was lost after it had returned parts: the rest is to be done."""


Work = Chunk | Unit
Parts = tuple[SealedPart, ...]  # that were made together
Result = Rewrites | Guesses | Parts | Finished | Interrupted
