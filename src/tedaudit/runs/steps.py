"""The steps of an audit: each is a pure function of what it carries, and names the files that it makes.

A step carries rows and references and no texts, which whoever does it has once (`Shared`); so it can be
done in this process, in another one or on another machine with the same result. Rows are rewritten by text,
so that a mechanism does its noise-free work once, and guessed in their own order: how often a text is a
candidate in a batch that was sorted by text would give the secret away.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from zlib import crc32

import numpy as np
import numpy.typing as npt

from tedaudit.plugins.batches import Draws, Guesses, Observations, OwnRewrites, Ragged, Rewrites
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.registry import Reference
from tedaudit.plugins.values import Plan
from tedaudit.runs.bench import Bench, GuessChunk, RewriteChunk
from tedaudit.runs.files import make_folders, read_part, write_atomically
from tedaudit.runs.guesses import make_guesses_part, name_rows
from tedaudit.runs.held_parts import gather_rewrites
from tedaudit.runs.jobs import PreparedAttack, list_replicates
from tedaudit.runs.listing import Made
from tedaudit.runs.preparation import PreparedAudit
from tedaudit.runs.rewrites import make_rewrites_part, name_part
from tedaudit.seeding import KeyWords, LateKeys
from tedaudit.trials.authors import score_persons
from tedaudit.trials.judge import (
    OWN,
    Wanted,
    judge,
    late_tie_keys,
    make_draws,
    number_draws,
    number_rows,
)

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Table:
    """Where the files of a table lie in the run, and the key that they carry."""

    folder: str
    key: str


@dataclass(frozen=True, eq=False)
class RewriteStep:
    """Draws of one mechanism, in the order in which it is given them: a file at each epsilon."""

    mechanism: Reference
    wanted: Wanted
    tables: tuple[tuple[Nominal, Table], ...]
    number: int  # of the piece, and of its files
    seed: int
    is_own: bool = False  # for adversaries, with keys of their own,
    must_tell: bool = False  # and by code that must be told so
    is_numbered: bool = False  # whether rewrites are there already: keys of draws are their numbers
    keeps_latents: bool = True  # or whoever needs them makes them again

    def __len__(self) -> int:
        return len(self.wanted)

    @property
    def turn(self) -> int:
        """A number by which parts of a run share steps."""
        return self.number

    @property
    def called(self) -> tuple[Reference, ...]:
        """The plug-ins that it calls."""
        return (self.mechanism,)

    @property
    def what(self) -> str:
        """How messages call it; no text is told."""
        draws = f"{len(self):,} {'own ' if self.is_own else ''}draws"
        return f"The rewriting of {draws} by '{self.mechanism.name}'{_at([e for e, _ in self.tables])}"

    def list_files(self) -> dict[Nominal, str]:
        """Return the names of the files that it makes."""
        return {epsilon: f"{table.folder}/{name_part(self.number)}" for epsilon, table in self.tables}

    def draw(self, texts: Sequence[str]) -> Draws:
        """Return the draws that the mechanism is given."""
        if self.is_numbered and not self.is_own:
            return number_draws(texts, self.wanted)
        purpose = {"purpose": OWN} if self.is_own else {}
        return make_draws(texts, self.wanted, self.seed, **purpose)


@dataclass(frozen=True, eq=False)
class Learning:
    """The own rewrites that an attack learns from: how many of each text, and the files that they are in."""

    numbers: npt.NDArray[np.int32]
    table: Table
    files: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class GuessStep:
    """What an attack guesses of consecutive rows of a plan at one epsilon: one file."""

    title: str  # of the attack
    attack: PreparedAttack
    mechanism: Reference
    epsilon: Nominal
    plan_name: str
    plan: Plan  # its rows of it
    start: int
    candidates: int
    table: Table
    rewrites: Table
    files: tuple[str, ...]  # of rewrites, in which those of the rows are
    seed: int
    practises: bool = False
    learning: Learning | None = None
    makes_latents: bool = False  # which no table keeps

    def __len__(self) -> int:
        return len(self.plan)

    @property
    def rows(self) -> range:
        """The rows of the plan."""
        return range(self.start, self.start + len(self.plan))

    @property
    def turn(self) -> int:
        """A number by which parts of a run share steps."""
        return crc32(self.file.encode())

    @property
    def called(self) -> tuple[Reference, ...]:
        """The plug-ins that it calls itself; the attack may call the mechanism besides."""
        return (self.attack.reference,)

    @property
    def what(self) -> str:
        """How messages call it."""
        rows = f"trials {self.rows.start:,} to {self.rows.stop:,}"
        return f"The guessing of {rows} by '{self.attack.reference.name}'{_at([self.epsilon])}"

    @property
    def file(self) -> str:
        """The name of the file that it makes."""
        return f"{self.table.folder}/{name_rows(self.rows)}"

    @property
    def sources(self) -> tuple[str, ...]:
        """The files that it reads."""
        return self.files + (() if self.learning is None else self.learning.files)

    def ask(
        self,
        outputs: Rewrites,
        texts: Sequence[str],
        keys: KeyWords | LateKeys,
        practice: Sequence[str],
        own: OwnRewrites | None,
    ) -> GuessChunk:
        """Return the question: the rows that the attack is given, and what it may see of them."""
        withheld = self._withhold(outputs)
        given = np.flatnonzero(~withheld) if withheld.any() else slice(None)
        candidates = None if self.plan.candidates is None else self.plan.candidates[given]
        seen = Observations(
            outputs=outputs[given].reveal(self.attack.card.sees),
            pool=texts,
            candidates=candidates,
            tie_keys=keys[given],
        )
        known = self.mechanism if self.attack.knows_mechanism else None
        practised = practice if self.practises else ()
        return GuessChunk(
            plugin=self.attack.reference,
            observations=seen,
            mechanism=known,
            epsilon=self.epsilon,
            practice=practised,
            own=own,
        )

    def read(self, guesses: Guesses, outputs: Rewrites) -> Guesses:
        """Return a guess for every row, and for persons if they are asked for.

        An unusable one stands in the place of a rewrite that was not given: its trial counts, as wrong.
        """
        withheld = self._withhold(outputs)
        if withheld.any():
            nobody = Guesses.unusable([self.candidates] * int(withheld.sum()))
            order = np.empty(len(withheld), dtype=np.int64)
            order[np.flatnonzero(~withheld)] = np.arange(len(guesses))
            order[np.flatnonzero(withheld)] = len(guesses) + np.arange(len(nobody))
            guesses = Guesses.join([guesses, nobody])[order]
        known = self.plan.known
        if known == 1:
            return guesses
        scores = np.stack([guess.scores for guess in guesses])
        starts = np.arange(0, scores.shape[1], known)
        averages = self.attack.is_likelihood
        return Guesses(score_persons(scores, starts, averages=averages), guesses.usable)

    def _withhold(self, outputs: Rewrites) -> Mask:
        """Return which rewrites the attack is not given: failed ones, unless it sees their codes."""
        failed = outputs.failed
        return np.zeros_like(failed) if "error" in self.attack.card.sees else failed


Step = RewriteStep | GuessStep
Read = Callable[[str], bytes]


def _at(epsilons: Sequence[Nominal]) -> str:
    given = [epsilon.label for epsilon in epsilons if epsilon.is_given]
    return f" at epsilon {', '.join(given)}" if given else ""


@dataclass(frozen=True)
class Shared:
    """What all steps of a run need, given once to whoever does them."""

    root: Path
    texts: Sequence[str]
    practice: Sequence[str]  # for attacks that try the mechanism themselves
    batch_size: int
    references: Mapping[str, Reference]  # of objects that live in the first process, by their identity


class Worker:
    """Does steps, and keeps plug-ins and what they have learnt in between."""

    def __init__(self, shared: Shared) -> None:
        self.shared, self.bench = shared, Bench(shared.batch_size)
        self._learnt: tuple[Learning, OwnRewrites] | None = None

    def do(self, step: Step, read: Read | None = None) -> dict[str, bytes]:
        """Return the files of a step; those that it needs are read from the run, or given."""
        if isinstance(step, RewriteStep):
            return self._rewrite(step)
        return self._guess(step, read)

    def _read(self, name: str) -> bytes:
        return read_part(self.shared.root / name)

    def _rewrite(self, step: RewriteStep) -> dict[str, bytes]:
        made = self.bench.perform(
            RewriteChunk(step.mechanism, step.draw(self.shared.texts), own=step.must_tell)
        )
        if not step.keeps_latents:
            made = replace(made, latents=Ragged.absent(len(made), np.float32))
        files, wanted = step.list_files(), step.wanted
        contents = {}
        for epsilon, table in step.tables:
            which = np.flatnonzero(wanted.epsilon == float(epsilon))
            which = which[np.argsort(number_rows(wanted.text[which], wanted.replicate[which]), kind="stable")]
            rows = wanted.rows(which)
            contents[files[epsilon]] = make_rewrites_part(
                name_part(step.number), table.key, self.shared.texts, (rows.text, rows.replicate), made[which]
            )
        return contents

    def _guess(self, step: GuessStep, read: Read | None) -> dict[str, bytes]:
        guesses, outputs, keys = self.answer(step, read)
        judged = judge(guesses, outputs.failed, step.plan, keys)
        return {step.file: make_guesses_part(step.rows, judged, step.table.key)}

    def answer(self, step: GuessStep, read: Read | None = None) -> tuple[Guesses, Rewrites, LateKeys]:
        """Return the guesses of a step, the outputs that they are on, and the keys of ties."""
        read = read or self._read
        outputs = self._fetch(step, read)
        own = None if step.learning is None else self._fetch_own(step, step.learning, read)
        keys = late_tie_keys(step.seed, step.plan_name, step.title, step.rows)
        asked = step.ask(outputs, self.shared.texts, keys, self.shared.practice, own)
        return step.read(self.bench.perform(asked), outputs), outputs, keys

    def _fetch(self, step: GuessStep, read: Read) -> Rewrites:
        """Return the outputs of the rows, in their order; latents that no table keeps are made again."""
        parts = ((self.shared.root / name, read(name)) for name in step.files)
        plan, sees = step.plan, step.attack.card.sees
        outputs = gather_rewrites(parts, step.rewrites.key, (plan.source, plan.replicate), sees)
        if not step.makes_latents:
            return outputs
        return replace(outputs, latents=self.make_latents(step.mechanism, plan, step.epsilon, step.seed))

    def make_latents(self, mechanism: Reference, plan: Plan, epsilon: Nominal, seed: int) -> Ragged:
        """Return the latents of some rows, which their keys determine."""
        wanted = Wanted(plan.source, plan.replicate, np.full(len(plan), float(epsilon)))
        draws = make_draws(self.shared.texts, wanted, seed)
        return self.bench.make_latents(mechanism, draws)

    def _fetch_own(self, step: GuessStep, learning: Learning, read: Read) -> OwnRewrites:
        """Return own rewrites, cut down to what the attack may see, without latents; the last are kept."""
        if self._learnt is not None and self._learnt[0].files == learning.files:
            known = self._learnt[0]
            if known.table == learning.table and np.array_equal(known.numbers, learning.numbers):
                return self._learnt[1]
        text, replicate = list_replicates(learning.numbers)
        shown = [part for part in step.attack.card.sees if part != "latent"]
        parts = ((self.shared.root / name, read(name)) for name in learning.files)
        rewrites = gather_rewrites(parts, learning.table.key, (text, replicate), shown).reveal(shown)
        own = OwnRewrites(self.shared.texts, text.astype(np.int32), rewrites)
        self._learnt = learning, own
        return own


def open_worker(audit: PreparedAudit) -> Worker:
    """Return somebody who does the steps of an audit in this process, with its plug-ins as they are built."""
    references = [job.reference for job in audit.jobs]
    references += [attack.reference for job in audit.jobs for attack in job.attacks.values()]
    live = {reference.identity: reference for reference in references if not reference.is_named}
    root, practice = audit.store.root.absolute(), audit.practice.texts
    worker = Worker(
        Shared(
            root=root,
            texts=audit.corpus.texts,
            practice=practice,
            batch_size=audit.spec.batch_size,
            references=live,
        )
    )
    worker.bench.adopt(audit.plugins)
    return worker


def commit(root: Path, contents: Mapping[str, bytes]) -> list[Made]:
    """Write the files of a step into a run, and return what there is to list of them."""
    made = []
    for name, content in contents.items():
        path = root / name
        make_folders(path.parent, root)
        write_atomically(path, content)
        made.append(Made(name, hashlib.sha256(content).hexdigest()))
    return made
