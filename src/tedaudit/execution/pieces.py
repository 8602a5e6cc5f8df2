"""Cuts the work of a job into chunks: spans of rows, rewriting by text or shuffled, guessing by table."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tedaudit.batches import Guesses, Observations, Rewrites
from tedaudit.execution.chunks import GuessChunk, RewriteChunk
from tedaudit.execution.jobs import Job
from tedaudit.execution.preparation import PreparedAudit
from tedaudit.nominal import Nominal
from tedaudit.plans.trials import Wanted, make_draws, tie_keys
from tedaudit.seeding import derive, uniforms
from tedaudit.store.rewrites import RewriteTable
from tedaudit.types import Floats

_SPAN = 1 << 18  # rows that are rewritten in the order of their texts,
_SPAN_BYTES = 100 * 1024 * 1024  # as far as their rewrites stay in a table's memory


@dataclass(frozen=True, slots=True)
class Piece:
    """Some of the missing rewriting: of how many rows, and up to which row all is there after it."""

    wanted: Wanted
    rows: int
    ready: int


def cut_rewriting(
    job: Job, tables: Mapping[Nominal, RewriteTable], audit: PreparedAudit
) -> Iterator[tuple[Piece, RewriteChunk]]:
    """Yield the rewriting that is missing, in pieces of one block's size.

    Within a span rows go by text: what a mechanism does for all draws of a text, whatever their noise,
    it then does once in a span and not once in a block. Code of others may remember what it was called
    with, so its draws are shuffled within each block: their order tells nothing of the texts.
    """
    size = audit.spec.block_size
    for span in spans(job, audit):
        plan = job.plan.rows(span.start, span.stop)
        source, replicate = plan.source, plan.replicate
        missing = {epsilon: table.missing(source, replicate) for epsilon, table in tables.items()}
        by_text = np.lexsort((replicate, source))
        order = by_text[np.logical_or.reduce(list(missing.values()))[by_text]]
        for start in range(0, max(1, len(order)), size):
            rows = order[start : start + size]
            by_epsilon = {epsilon: rows[lacking[rows]] for epsilon, lacking in missing.items()}
            which = np.concatenate(list(by_epsilon.values()))
            epsilons = np.repeat(
                [float(epsilon) for epsilon in by_epsilon], list(map(len, by_epsilon.values()))
            )
            wanted = Wanted(source[which], replicate[which], epsilons)
            if job.shuffled:
                wanted = wanted.rows(np.argsort(_toss(job, audit, span, by_epsilon), kind="stable"))
            else:
                wanted = wanted.sort()
            draws = make_draws(audit.corpus.texts, wanted, audit.spec.seed)
            if start + size < len(order):
                piece = Piece(wanted, len(rows), span.start)
            else:  # the last, with the rows that lacked nothing
                piece = Piece(wanted, len(rows) + len(span) - len(order), span.stop)
            yield piece, RewriteChunk(job.reference, draws)


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


def cut_guessing(
    job: Job, epsilon: Nominal, attack: str, rows: range, outputs: Rewrites, audit: PreparedAudit
) -> GuessChunk:
    """Return the guessing for the rows that the attack is given, cut down to what it may see of them."""
    prepared, plan = job.attacks[attack], job.plan.rows(rows.start, rows.stop)
    given = np.flatnonzero(~prepared.withheld(outputs.failed))
    keys = tie_keys(audit.spec.seed, job.plan_name, attack, rows)
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
        epsilon,
        job.practice.texts if prepared.own_rewrites else (),
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
