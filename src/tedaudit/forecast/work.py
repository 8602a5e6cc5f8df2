"""What an audit still has to do, in rows of model work: what is stored already is not counted again.

Rewrites are counted exactly, as long as no call fails and no row is lost. Guesses, likelihoods and texts for
encoders are upper limits: most attacks are not given failed rewrites, and equal outputs are encoded once.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tedaudit.batches import Guesses, Rewrites
from tedaudit.estimators.likelihood_check import LIKELIHOOD
from tedaudit.execution.backlog import Backlog, count_own, count_practice, count_rewrites, open_backlogs
from tedaudit.execution.work_folder import count_waiting
from tedaudit.forecast.samples import TimedSample
from tedaudit.plans.trials import judge
from tedaudit.plugins.abilities import Prepares, UsesModels
from tedaudit.preparing.jobs import Job
from tedaudit.preparing.preparation import PreparedAudit
from tedaudit.seeding import derive, key_words, uniforms
from tedaudit.store import rewrites
from tedaudit.store.directory import RunDirectory
from tedaudit.store.guesses import GuessTable
from tedaudit.store.rewrites import RewriteTable, is_too_large
from tedaudit.store.table_folder import TableFolder
from tedaudit.text.plain_data import PlainData
from tedaudit.types import Plan

_ENCODER = "encoder"  # a word in what a plug-in calls a model of this kind
_WORDS = "lexical"  # an encoder that counts words and is no model
_EXERCISE = 4  # texts that an attack may have to encode for each rewrite that it practises on


@dataclass(frozen=True, slots=True)
class Rewriting(PlainData):
    """The rewrites that a mechanism has to make, by whom they are for."""

    label: str
    audited: int
    own: int  # of candidates, for attacks that are given them
    practice: int  # by attacks that try the mechanism themselves
    repeats: int  # of a user's function, to see whether it repeats itself
    in_json: ClassVar[str] = "*, rows"

    @property
    def rows(self) -> int:
        """All of them."""
        return self.audited + self.own + self.practice + self.repeats

    @property
    def stored(self) -> int:
        """Those that are kept in the run directory."""
        return self.audited + self.own

    @property
    def by_attacks(self) -> int:
        """Those that no audited trial uses."""
        return self.own + self.practice


@dataclass(frozen=True, slots=True)
class Guessing(PlainData):
    """The guesses that an attack has to make on a mechanism and plan, at all epsilons."""

    label: str
    plan: str
    attack: str
    candidates: int
    rows: int
    likelihoods: int = 0  # of outputs under candidates
    encoded: int = 0  # texts that an encoder reads: outputs, and what is encoded in practice


@dataclass(frozen=True, slots=True)
class Work:
    """All that is left to do."""

    rewriting: tuple[Rewriting, ...]
    guessing: tuple[Guessing, ...]
    sets_encoded: int  # texts that a model embeds to draw candidate sets
    pool_encoded: int  # texts that attacks embed once, as candidates

    @property
    def encoded(self) -> int:
        """Texts for encoders in all."""
        return self.sets_encoded + self.pool_encoded + sum(part.encoded for part in self.guessing)

    def of(self, label: str) -> list[Guessing]:
        """Return the guessing on one mechanism."""
        return [part for part in self.guessing if part.label == label]


def count_work(audit: PreparedAudit, folder: Path | None = None) -> Work:
    """Return what is left to do; rewrites that lie in a folder of work are not counted."""
    all_backlogs, by_label = open_backlogs(audit.jobs), dict[str, list[Backlog]]()
    for backlog in all_backlogs:
        by_label.setdefault(backlog.job.label, []).append(backlog)
    waiting = None if folder is None or not folder.is_dir() else count_waiting(audit, folder)
    rewriting = []
    for label, backlogs in by_label.items():
        audited, repeats = count_rewrites(backlogs)
        own = count_own(backlogs)
        if waiting is not None:
            audited, own = waiting[label]
        if folder is not None:
            repeats = 0  # what another machine returned is not compared with itself
        rewriting.append(Rewriting(label, audited, own, count_practice(backlogs), repeats))
    guessing = [part for backlog in all_backlogs for part in _count_guessing(backlog, audit)]
    preparing = {part.attack for part in guessing if part.encoded}
    sets = 0 if audit.spec.encoder == _WORDS else audit.embedded
    return Work(tuple(rewriting), tuple(guessing), sets, len(preparing) * len(audit.corpus.texts))


def _count_guessing(backlog: Backlog, audit: PreparedAudit) -> list[Guessing]:
    gaps: dict[str, list[int]] = {}
    for _, attack, rows in backlog.count_gaps():
        gaps.setdefault(attack, []).append(rows)
    return [_describe(backlog.job, attack, rows, audit) for attack, rows in gaps.items()]


def _describe(job: Job, attack: str, gaps: Sequence[int], audit: PreparedAudit) -> Guessing:
    prepared, rows = job.attacks[attack], sum(gaps)
    plugin = audit.plugins[prepared.reference.identity]
    asks = prepared.card.score == LIKELIHOOD
    encoded = 0
    if rows and uses_encoder(plugin):
        practised = prepared.own_rewrites * sum(map(bool, gaps))
        encoded = rows + practised * (1 + _EXERCISE)
    return Guessing(
        job.label, job.plan_name, attack, job.candidates, rows, rows * job.candidates if asks else 0, encoded
    )


def uses_encoder(attack: Any) -> bool:
    """Return whether an attack reads texts with a trained encoder; words in common need no model."""
    if not isinstance(attack, Prepares) or not isinstance(attack, UsesModels):
        return False
    return any(_ENCODER in use.part for use in attack.models())


# --- How much room a run takes: real rows written to a folder that is removed at once, and measured there.

_ROWS = 256  # guesses that are invented if none was made


@dataclass(frozen=True, slots=True)
class PartSize:
    """What a part of a table takes: so much in any case, and so much for each row."""

    fixed: float
    per_row: float

    def predict(self, rows: int, block: int) -> float:
        """Return the bytes of so many rows in parts of a block's size."""
        return ceil(rows / block) * self.fixed + rows * self.per_row


def measure_frame(audit: PreparedAudit) -> int:
    """Return the bytes of what a new run writes before any row: the texts and the plans; 0 if it exists."""
    if audit.store.exists():
        return 0
    with tempfile.TemporaryDirectory(prefix="tedaudit-") as folder:
        run = RunDirectory(Path(folder) / "run")
        run.create()
        run.write_corpus(audit.corpus)
        if audit.tells_repeats:
            run.write_repeats(audit.corpus)
        for job in audit.jobs:
            run.write_plan(job.plan_name, job.plan, job.plan_key)
        return _weigh(run.root)


def predict_rewrites(part: Rewriting, sample: TimedSample, audit: PreparedAudit) -> float:
    """Return the bytes of the rewrites that a mechanism still has to make; large latents are not kept."""
    jobs = [job for job in audit.jobs if job.label == part.label]
    tables, block, latents = len(jobs[0].epsilons), audit.spec.block_size, sample.rewrites.latents
    is_large = is_too_large(latents, max(len(job.plan) for job in jobs), rewrites.KEPT_BYTES)
    own_large = is_too_large(latents, max(int(job.own_numbers.sum()) for job in jobs), rewrites.KEPT_BYTES)
    total = 0.0
    for rows, keep in (
        (part.audited, any(job.keeps_latents for job in jobs) or not is_large),
        (part.own, not own_large),
    ):
        size = _measure_rewrites(sample.rewrites, audit.corpus.texts, keep_latents=keep)
        total += tables * size.predict(ceil(rows / tables), block)
    return total


def _measure_rewrites(rewrites: Rewrites, pool: tuple[str, ...], *, keep_latents: bool) -> PartSize:
    def write(folder: Path, rows: int) -> None:
        numbers, table = np.arange(rows), RewriteTable(TableFolder(folder), "")
        table.append(numbers % len(pool), numbers, rewrites[:rows], pool, keep_latents=keep_latents)

    return _measure(write, len(rewrites))


def predict_guesses(part: Guessing, made: Guesses | None, audit: PreparedAudit) -> float:
    """Return the bytes of the guesses that an attack still has to make, if they are like those made."""
    guesses = _invent_guesses(part.candidates) if made is None else made
    size = _measure(lambda folder, rows: _write_guesses(folder, guesses[:rows]), len(guesses))
    jobs = [job for job in audit.jobs if job.label == part.label]
    tables = len(jobs[0].epsilons)
    return tables * size.predict(ceil(part.rows / tables), audit.spec.block_size)


def _measure(write: Callable[[Path, int], None], rows: int) -> PartSize:
    """Return the size of a part, by one row and by all of them."""
    sizes = []
    for number in (1, rows):
        with tempfile.TemporaryDirectory(prefix="tedaudit-") as folder:
            write(Path(folder), number)
            sizes.append(_weigh(Path(folder)))
    per_row = (sizes[1] - sizes[0]) / (rows - 1) if rows > 1 else 0.0
    return PartSize(sizes[0] - per_row, per_row)


def _invent_guesses(candidates: int) -> Guesses:
    """Return guesses that are as hard to pack as any: scores at random."""
    coins = uniforms([derive(0, "disk")], _ROWS * candidates)[0].reshape(_ROWS, candidates)
    return Guesses(coins, np.ones(_ROWS, dtype=np.bool_))


def _write_guesses(folder: Path, guesses: Guesses) -> None:
    rows = len(guesses)
    nothing = np.zeros(rows, dtype=np.int32)
    keys = key_words([derive(0, "disk", row) for row in range(rows)])
    judged = judge(guesses, np.zeros(rows, dtype=np.bool_), Plan(None, nothing, nothing), keys)
    GuessTable(TableFolder(folder), "").append(range(rows), judged)


def _weigh(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
