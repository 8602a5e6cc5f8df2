"""Cuts the work of a job into chunks: spans of rows, rewriting by text or shuffled, guessing by table.

Own rewrites of a text, for adversaries, are made together with its audited ones, so that a mechanism does
its noise-free work once. Code of others gets them in chunks of their own: it may have to be told which are
which, and what it remembers of them should not stand beside an audited draw of the same text.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tedaudit.batches import Draws, Guesses, Observations, OwnRewrites, Rewrites
from tedaudit.execution.backlog import Backlog, OwnDraws
from tedaudit.execution.chunks import GuessChunk, RewriteChunk
from tedaudit.nominal import Nominal
from tedaudit.plans.trials import Wanted, make_draws, number_rows
from tedaudit.preparing.jobs import Job
from tedaudit.preparing.preparation import PreparedAudit
from tedaudit.preparing.stretches import PURPOSE
from tedaudit.seeding import KeyWords, LateKeys, derive, uniforms
from tedaudit.types import Floats

_SPAN = 1 << 18  # rows that are rewritten in the order of their texts,
_SPAN_BYTES = 100 * 1024 * 1024  # as far as their rewrites stay in a table's memory


_NOTHING = Wanted(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))
_NOWHERE = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Piece:
    """Some of the missing rewriting: of how many rows, and up to which row all is there after it.

    `place` says where each draw stands in the chunk: first those that are wanted, then the own ones.
    """

    wanted: Wanted
    rows: int
    ready: int
    own: Wanted
    own_left: int  # own rewrites that are still missing after it
    place: npt.NDArray[np.int64]


Rewriting = tuple[Piece, RewriteChunk]
Rows = Mapping[Nominal, npt.NDArray[np.bool_]]  # which rows of a plan, at each epsilon


def cut_rewriting(backlog: Backlog, own: OwnDraws, audit: PreparedAudit) -> Iterator[Rewriting]:
    """Yield the rewriting that is missing, in pieces of one block's size.

    Within a span rows go by text: what a mechanism does for all draws of a text, whatever their noise,
    it then does once in a span and not once in a block. Code of others may remember what it was called
    with, so its draws are shuffled within each block: their order tells nothing of the texts. Own rewrites
    of texts that have no audited draw to go with come after the first span.

    Rows whose latent was not kept, and is needed, are rewritten again. If it is for an attack that waits for
    own rewrites, these come first, so that no latent has to wait.
    """
    job, again = backlog.job, {epsilon: backlog.find_again(epsilon) for epsilon in backlog.rewrites}
    later = _find_sources(backlog) if len(own) and not job.shuffled else np.zeros(0, dtype=np.int32)
    if job.keeps_latents and any(rows.any() for rows in again.values()):
        yield from _cut_own(job, own, later[:0], 0, audit)
    for span in spans(job, audit):
        for wanted, rows, ready in _cut_span(backlog, again, span, audit):
            along = _NOTHING if job.shuffled else own.take(wanted.text)
            yield _assemble(job, audit, Piece(wanted, rows, ready, along, len(own), _NOWHERE))
        if span.start == 0:
            yield from _cut_own(job, own, later, span.stop, audit)


def _cut_own(
    job: Job, own: OwnDraws, later: npt.NDArray[np.int32], ready: int, audit: PreparedAudit
) -> Iterator[Rewriting]:
    """Yield the own rewrites that are made alone: of all texts but those whose turn comes later."""
    for alone in own.take_others(later, audit.spec.block_size):
        piece = Piece(_NOTHING, 0, ready, _shuffle(job, audit, alone), len(own), _NOWHERE)
        yield _assemble(job, audit, piece)


def _find_sources(backlog: Backlog) -> npt.NDArray[np.int32]:
    """Return the texts that audited rewrites are missing of."""
    source, replicate = backlog.job.plan.source, backlog.job.plan.replicate
    lacking = np.logical_or.reduce([table.missing(source, replicate) for table in backlog.rewrites.values()])
    return np.unique(source[lacking])


def _cut_span(
    backlog: Backlog, again: Rows, span: range, audit: PreparedAudit
) -> Iterator[tuple[Wanted, int, int]]:
    """Yield the audited draws of a span: of how many rows they are, and up to which row all is there then."""
    job, size = backlog.job, audit.spec.block_size
    plan = job.plan.rows(span.start, span.stop)
    source, replicate = plan.source, plan.replicate
    missing = {
        epsilon: table.missing(source, replicate) | again[epsilon][span.start : span.stop]
        for epsilon, table in backlog.rewrites.items()
    }
    by_text = np.argsort(number_rows(source, replicate), kind="stable")
    order = by_text[np.logical_or.reduce(list(missing.values()))[by_text]]
    for start in range(0, max(1, len(order)), size):
        rows = order[start : start + size]
        by_epsilon = {epsilon: rows[lacking[rows]] for epsilon, lacking in missing.items()}
        which = np.concatenate(list(by_epsilon.values()))
        epsilons = np.repeat([float(epsilon) for epsilon in by_epsilon], list(map(len, by_epsilon.values())))
        wanted = Wanted(source[which], replicate[which], epsilons)
        if job.shuffled:
            wanted = wanted.rows(np.argsort(_toss(job, audit, span, by_epsilon), kind="stable"))
        else:
            wanted = wanted.sort()
        if start + size < len(order):
            yield wanted, len(rows), span.start
        else:  # the last, with the rows that lacked nothing
            yield wanted, len(rows) + len(span) - len(order), span.stop


def _assemble(job: Job, audit: PreparedAudit, piece: Piece) -> Rewriting:
    """Return a piece with its chunk: audited and own draws of a text stand together."""
    texts, seed = audit.corpus.texts, audit.spec.seed
    draws = make_draws(texts, piece.wanted, seed)
    is_alone = not len(piece.wanted)
    if len(piece.own):
        own = make_draws(texts, piece.own, seed, PURPOSE)
        draws = own if is_alone else Draws.join([draws, own])
    place = np.arange(len(draws))
    if len(piece.own) and not is_alone:
        order = np.argsort(draws.text, kind="stable")
        place[order] = np.arange(len(order))
        draws = draws[order]
    must_tell = is_alone and len(piece.own) > 0 and job.is_seeded is not None
    return replace(piece, place=place), RewriteChunk(job.reference, draws, own=must_tell)


def _shuffle(job: Job, audit: PreparedAudit, own: Wanted) -> Wanted:
    """Return own draws in an order that tells nothing of the texts, if code of others makes them."""
    if not job.shuffled:
        return own
    columns = (own.text.tolist(), own.replicate.tolist(), own.epsilon.astype(str).tolist())
    keys = [derive(audit.spec.seed, PURPOSE, "order", *row) for row in zip(*columns, strict=True)]
    return own.rows(np.argsort(uniforms(keys, 1)[:, 0], kind="stable"))


def _toss(
    job: Job, audit: PreparedAudit, span: range, rows: Mapping[Nominal, npt.NDArray[np.int64]]
) -> Floats:
    """Return a coin for each of these rows of a span; it is the row's own, whatever else is missing."""
    purpose = (audit.spec.seed, "order", job.plan_name)
    coins = [
        uniforms([derive(*purpose, epsilon.name)], len(span), span.start)[0][chosen]
        for epsilon, chosen in rows.items()
    ]
    return np.concatenate(coins)


def spans(job: Job, audit: PreparedAudit) -> Iterator[range]:
    """Yield the rows of a plan in spans: a block, so that there is something to see soon, then ever more.

    Rewrites of a span lie in the order of their texts and are read in the order of trials, so they must
    fit into memory: a span is smaller if texts are long, and one block if there are latents, or if draws
    are shuffled.
    """
    block, texts = audit.spec.block_size, audit.corpus.texts
    room = _SPAN_BYTES // (256 + 2 * sum(map(len, texts)) // len(texts))  # tokens, and a text like its source
    largest = block if job.bulky or job.shuffled else max(block, min(_SPAN, room) // block * block)
    start, size = 0, block
    while start < len(job.plan):
        stop = min(start + size, len(job.plan))
        yield range(start, stop)
        start, size = stop, min(3 * stop, largest)


@dataclass(frozen=True, slots=True)
class Guessing:
    """Rows that an attack guesses at an epsilon."""

    rows: range
    epsilon: Nominal
    attack: str


def cut_guessing(
    job: Job,
    guessing: Guessing,
    outputs: Rewrites,
    keys: KeyWords | LateKeys,
    audit: PreparedAudit,
    own: OwnRewrites | None = None,
) -> GuessChunk:
    """Return the guessing for the rows that the attack is given, cut down to what it may see of them.

    `keys` are the rows' keys for ties (`tie_keys`).
    """
    rows, prepared = guessing.rows, job.attacks[guessing.attack]
    plan = job.plan.rows(rows.start, rows.stop)
    withheld = prepared.withheld(outputs.failed)
    given = np.flatnonzero(~withheld) if withheld.any() else slice(None)
    seen = Observations(
        outputs[given].reveal(prepared.card.sees),
        audit.corpus.texts,
        None if plan.candidates is None else plan.candidates[given],
        keys[given],
    )
    return GuessChunk(
        prepared.reference,
        seen,
        job.reference if prepared.knows_mechanism else None,
        guessing.epsilon,
        job.practice.texts if prepared.own_rewrites else (),
        own,
    )


def restore_withheld(guesses: Guesses, withheld: npt.NDArray[np.bool_], candidates: int) -> Guesses:
    """Put an unusable guess in the place of every rewrite that was not given: its trial counts, as wrong."""
    if not withheld.any():
        return guesses
    nobody = Guesses.unusable([candidates] * int(withheld.sum()))
    order = np.empty(len(withheld), dtype=np.int64)
    order[np.flatnonzero(~withheld)] = np.arange(len(guesses))
    order[np.flatnonzero(withheld)] = len(guesses) + np.arange(len(nobody))
    return Guesses.join([guesses, nobody])[order]
