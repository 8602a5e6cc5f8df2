"""Runs the stages of an audit over a run directory: resumes what is there, extends it, adds nothing twice."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tedaudit.execution.chunks import GuessChunk, RewriteChunk
from tedaudit.execution.preparation import Job, Setting, prepare
from tedaudit.execution.work import Executor, SerialExecutor
from tedaudit.plans.trials import Wanted, judge, make_draws, stripped, tie_keys
from tedaudit.results.reading import AuditResult, read_result
from tedaudit.spec.model import AuditSpec
from tedaudit.store.directory import claim_table
from tedaudit.store.tables import GuessTable, RewriteTable
from tedaudit.types import Guess, Plan, Rewrite

Progress = Callable[[str, int, int], None]  # what is done, how much of it, out of how much
_CELLS = 4_000_000  # scores held at a time
_SPAN = 1 << 18  # rows that are rewritten in the order of their texts,
_SPAN_BYTES = 100 * 1024 * 1024  # as far as their rewrites stay in a table's memory


def run(
    spec: AuditSpec,
    progress: Progress | None = None,
    executor: Executor | None = None,
    *,
    page: bool = True,
) -> AuditResult:
    """Run an audit, or go on with it, and return what it found; `page` says whether to write report.html.

    Nothing is written before every setting has been checked against what lies in the directory.
    """
    setting = prepare(spec)
    store = setting.store
    with store.locked():
        if store.manifest_bytes() != setting.seen:  # another process was faster
            setting = prepare(spec)
        setting.write()
        runner = _Runner(setting, progress or (lambda *_: None), executor or SerialExecutor(spec.batch_size))
        for job in setting.jobs:
            runner.run(job)
        setting.note_looks()
        from tedaudit.reports.files import write_reports

        result = read_result(store)
        write_reports(result, page=page)
    return result


@dataclass(frozen=True, slots=True)
class Piece:
    """Some of the rewriting that is missing: of how many rows, and up to which row all is there after it."""

    wanted: list[Wanted]
    rows: int
    ready: int


class _Runner:
    """The running of one audit; `done` counts rewrites and guesses for the progress shown."""

    def __init__(self, setting: Setting, progress: Progress, executor: Executor) -> None:
        self._setting, self._progress, self._executor = setting, progress, executor
        self._total = sum(len(job.plan) * len(job.epsilons) * (1 + len(job.attacks)) for job in setting.jobs)
        self._done = 0

    def run(self, job: Job) -> None:
        """Do what is missing of one mechanism and plan, span by span."""
        rewrites = {e: RewriteTable(*self._table(job.rewrites_at(e))) for e in job.epsilons}
        guesses = {
            (e, name): GuessTable(*self._table(job.guesses_at(e, name)))
            for e in job.epsilons
            for name in job.attacks
        }
        pieces = self._rewrite(job, rewrites)
        work = self._guess_chunks(job, rewrites, guesses, pieces)
        for (where, rows, failed), found in self._executor.run(work):
            whole = _with_failed([g for g in found if isinstance(g, Guess)], failed, job.candidates)
            keys = tie_keys(self._setting.spec.seed, job.plan_name, where[1], rows)
            guesses[where].append(rows, judge(whole, failed, job.plan.rows(rows.start, rows.stop), keys))
            self._advance(f"{job.label}: {where[1]}", len(rows))
        for _ in pieces:  # rewrites that no attack has asked for
            pass

    def _table(self, parts: tuple[Path, dict[str, Any], dict[str, Any]]) -> tuple[Path, str]:
        folder, determinants, about = parts
        return folder, claim_table(folder, determinants, about)

    def _rewrite(self, job: Job, tables: dict[float, RewriteTable]) -> Iterator[int]:
        """Rewrite what is missing; yield after each piece up to which row everything is there."""
        for piece, found in self._executor.run(rewrite_chunks(job, tables, self._setting)):
            for epsilon, table in tables.items():
                mine = [i for i, (_, _, e) in enumerate(piece.wanted) if e == epsilon]
                if mine:
                    some = [found[i] for i in mine]
                    table.append(
                        [piece.wanted[i][0] for i in mine],
                        [piece.wanted[i][1] for i in mine],
                        [rewrite for rewrite in some if isinstance(rewrite, Rewrite)],
                    )
            self._advance(f"{job.label}: rewriting", piece.rows * len(tables))
            yield piece.ready

    def _guess_chunks(
        self,
        job: Job,
        rewrites: dict[float, RewriteTable],
        guesses: dict[tuple[float, str], GuessTable],
        pieces: Iterator[int],
    ) -> Iterator[tuple[tuple[tuple[float, str], range, list[bool]], GuessChunk]]:
        """Yield what is left to guess, each piece once its rewrites are there; one table after the other."""
        size = max(1, min(self._setting.spec.block_size, _CELLS // job.candidates))
        gaps = [(rows, where) for where, table in guesses.items() for rows in table.gaps(len(job.plan), size)]
        self._advance("", len(job.plan) * len(guesses) - sum(len(rows) for rows, _ in gaps))
        ends = [span.stop for span in spans(job, self._setting)]
        ready = 0
        for rows, where in sorted(
            gaps, key=lambda gap: (bisect_left(ends, gap[0].stop), gap[1], gap[0].start)
        ):
            while ready < rows.stop:
                ready = next(pieces)
            some = job.plan.rows(rows.start, rows.stop)
            outputs = rewrites[where[0]].fetch(some.source, some.replicate)
            failed = [bool(output.error) for output in outputs]
            yield (where, rows, failed), self._chunk(job, where, some, rows, outputs)

    def _chunk(
        self, job: Job, where: tuple[float, str], plan: Plan, rows: range, outputs: Sequence[Rewrite]
    ) -> GuessChunk:
        """Return the work for the rows whose rewriting did not fail, cut down to what the attack may see."""
        epsilon, name = where
        attack = job.attacks[name]
        kept = [i for i, output in enumerate(outputs) if not output.error]
        keys = tie_keys(self._setting.spec.seed, job.plan_name, name, rows)
        return GuessChunk(
            attack.reference,
            self._setting.corpus.texts,
            [stripped(outputs[i], attack.sees) for i in kept],
            None if plan.candidates is None else plan.candidates[kept],
            [keys[i] for i in kept],
            job.reference if attack.knows_mechanism else None,
            epsilon,
            self._setting.practice if attack.own_rewrites else (),
        )

    def _advance(self, what: str, amount: int) -> None:
        self._done += amount
        self._progress(what, self._done, self._total)


def rewrite_chunks(
    job: Job, tables: dict[float, RewriteTable], setting: Setting
) -> Iterator[tuple[Piece, RewriteChunk]]:
    """Yield the rewriting that is missing, in pieces of one block's size.

    Within a span rows go by text: what a mechanism does for all draws of a text, whatever their noise,
    it then does once in a span and not once in a block.
    """
    size = setting.spec.block_size
    for span in spans(job, setting):
        plan = job.plan.rows(span.start, span.stop)
        source, replicate = plan.source, plan.replicate
        lacking = {epsilon: table.missing(source, replicate) for epsilon, table in tables.items()}
        by_text = np.lexsort((replicate, source))
        order = by_text[np.logical_or.reduce(list(lacking.values()))[by_text]]
        for start in range(0, max(1, len(order)), size):
            rows = order[start : start + size]
            wanted = sorted(
                (int(source[row]), int(replicate[row]), epsilon)
                for epsilon, some in lacking.items()
                for row in rows[some[rows]]
            )
            draws = make_draws(setting.corpus.texts, wanted, setting.spec.seed)
            if start + size < len(order):
                piece = Piece(wanted, len(rows), span.start)
            else:  # the last, with the rows that lacked nothing
                piece = Piece(wanted, len(rows) + len(span) - len(order), span.stop)
            yield piece, RewriteChunk(job.reference, draws)


def spans(job: Job, setting: Setting) -> Iterator[range]:
    """Yield the rows of a plan in spans: a block, so that there is something to see soon, then ever more.

    Rewrites of a span lie in the order of their texts and are read in the order of trials, so they must
    fit into memory: where texts are long it is smaller, and with latents one block.
    """
    block, texts = setting.spec.block_size, setting.corpus.texts
    room = _SPAN_BYTES // (256 + 2 * sum(map(len, texts)) // len(texts))  # tokens, and a text like its source
    largest = block if job.bulky else max(block, min(_SPAN, room) // block * block)
    start, size = 0, block
    while start < len(job.plan):
        stop = min(start + size, len(job.plan))
        yield range(start, stop)
        start, size = stop, min(3 * stop, largest)


def _with_failed(guesses: Sequence[Guess], failed: Sequence[bool], candidates: int) -> list[Guess]:
    """Put an unusable guess in the place of every failed rewrite: the trial stays in the count."""
    nobody = Guess(np.zeros(candidates), usable=False)
    answered = iter(guesses)
    return [nobody if one else next(answered) for one in failed]
