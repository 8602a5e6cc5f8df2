"""Rewrite labelled texts, train classifiers on the rewrites, test them on clean text.

Every seed has rewrites of its own and a training of its own, so that the standard deviation holds the
mechanism's noise as well as the classifier's. A failed rewrite is trained on as the empty text: its label
was released too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tedaudit.abilities import WritesOnce
from tedaudit.execution.chunks import RewriteChunk
from tedaudit.execution.preparation import epsilons_of, load
from tedaudit.execution.work import SerialExecutor
from tedaudit.inference.tuning import Tuning
from tedaudit.plans.trials import Wanted, make_draws
from tedaudit.registry import Reference, build, determinants, written
from tedaudit.seeding import derive
from tedaudit.store.directory import check_table, claim_table, key_of
from tedaudit.store.tables import RewriteTable
from tedaudit.types import Corpus, Guess, Rewrite
from tedaudit.utility.classifiers import Classifier, Lesson, choose_classifier, macro_f1, majority
from tedaudit.utility.keeping import ScoreTable, StudyFolder
from tedaudit.utility.labels import Labelled, take_labels
from tedaudit.utility.results import Measured, Scores, Task, UtilityResult
from tedaudit.utility.settings import UtilitySpec

Progress = Callable[[str, int, int], None]
PURPOSE = "utility"
_BLOCK = 4096  # draws written at a time


@dataclass(frozen=True)
class Rewriter:
    """A mechanism as a study needs it; `replicates` says how many rewrites of a text it makes."""

    label: str
    reference: Reference
    determinants: Mapping[str, Any]
    epsilons: Sequence[float]
    replicates: int


def run_study(spec: UtilitySpec, progress: Progress | None = None) -> UtilityResult:
    """Run a study, or go on with it, and return what it found.

    Nothing is written before every setting has been checked against what lies in the folder.
    """
    folder = StudyFolder(spec.folder)
    folder.check()
    mechanisms = {one.title: build(one.reference("mechanism")) for one in spec.mechanisms}
    rewriters = [
        Rewriter(
            one.title, one.reference("mechanism"), determinants(mechanisms[one.title]),
            epsilons_of(one, mechanisms[one.title], spec.epsilons),
            1 if isinstance(mechanisms[one.title], WritesOnce) else spec.seeds,
        )
        for one in spec.mechanisms
    ]  # fmt: skip
    corpus = load(spec.corpus, mechanisms)
    data = take_labels(corpus, spec)
    tuning = Tuning(learning_rate=spec.learning_rate, device=spec.device)
    study = _Study(spec, corpus, data, choose_classifier(spec.classifier, tuning), folder)
    study.check(rewriters)
    with folder.locked(spec.model_dump(mode="json", fallback=written)):
        return study.run(rewriters, progress or (lambda *_: None))


class _Study:
    """One study over its folder."""

    def __init__(
        self, spec: UtilitySpec, corpus: Corpus, data: Labelled, classifier: Classifier, folder: StudyFolder
    ) -> None:
        self._spec, self._corpus, self._data = spec, corpus, data
        self._classifier, self._folder = classifier, folder
        self._told = classifier.determinants()
        self._done = self._total = 0
        self._progress: Progress = lambda *_: None

    def check(self, rewriters: Sequence[Rewriter]) -> None:
        """Refuse what was made with other settings."""
        for task in self._spec.roles:
            self._check(self._scores(task, None, 0.0))
            for rewriter in rewriters:
                for epsilon in rewriter.epsilons:
                    check_table(self._folder.rewrites(rewriter.label, epsilon), self._what(rewriter, epsilon))
                    self._check(self._scores(task, rewriter, epsilon))

    def run(self, rewriters: Sequence[Rewriter], progress: Progress) -> UtilityResult:
        """Do what is missing and put the result together."""
        spec, data = self._spec, self._data
        self._progress = progress
        self._total = len(spec.roles) * spec.seeds + sum(
            len(one.epsilons) * (len(data.train) * one.replicates + len(spec.roles) * spec.seeds)
            for one in rewriters
        )
        tasks = tuple(self._task(task) for task in spec.roles)
        measured = [one for rewriter in rewriters for one in self._measure(rewriter)]
        return UtilityResult(
            spec.name, spec.folder, self._corpus.name, spec.classifier, (len(data.train), len(data.test)),
            tasks, tuple(measured), (*self._corpus.notes, *data.notes), spec.note,
        )  # fmt: skip

    def _task(self, task: str) -> Task:
        """Return a task with its lines."""
        labels = self._data.labels[task]
        lower = macro_f1(labels.test, [majority(labels.train)] * len(labels.test))
        upper = self._trained(task, None, 0.0, [self._data.train])
        return Task(task, self._spec.roles[task], len(labels.classes), upper, lower)

    def _measure(self, rewriter: Rewriter) -> Iterator[Measured]:
        """Yield the scores of a mechanism by epsilon and task."""
        tables = self._rewrite(rewriter)
        for epsilon, table in tables.items():
            outputs = [self._outputs(table, replicate) for replicate in range(rewriter.replicates)]
            texts = [[text for text, _ in some] for some in outputs]
            failed = sum(bool(error) for some in outputs for _, error in some)
            for task in self._spec.roles:
                scores = self._trained(task, rewriter, epsilon, texts)
                total = sum(map(len, texts))
                yield Measured(rewriter.label, epsilon, task, scores, failed, total)

    def _outputs(self, table: RewriteTable, replicate: int) -> list[tuple[str, str]]:
        """Return the texts to train on with their error codes; a failed rewrite is the empty text."""
        where = np.asarray(self._data.positions, dtype=np.int64)
        found = table.outputs(where, np.full(len(where), replicate))
        return [("" if error else text, error) for text, error in found]

    def _trained(
        self, task: str, rewriter: Rewriter | None, epsilon: float, texts: Sequence[Sequence[str]]
    ) -> Scores:
        """Return the scores over all seeds; each has texts of its own, where there are several."""
        labels, table = self._data.labels[task], self._scores(task, rewriter, epsilon)
        found = []
        for seed in range(self._spec.seeds):
            key = derive(self._spec.seed, PURPOSE, "classifier", seed)
            lesson = Lesson(texts[seed % len(texts)], labels.train, self._data.test, key)
            found.append(table.score(seed, partial(self._f1, task, lesson)))
            self._advance(f"{rewriter.label if rewriter else 'not rewritten'}: learning {task}", 1)
        return Scores(tuple(found))

    def _f1(self, task: str, lesson: Lesson) -> float:
        return macro_f1(self._data.labels[task].test, self._classifier.predict(lesson))

    def _rewrite(self, rewriter: Rewriter) -> dict[float, RewriteTable]:
        """Make the rewrites that are missing, all epsilons of a text together."""
        tables = {}
        for epsilon in rewriter.epsilons:
            folder = self._folder.rewrites(rewriter.label, epsilon)
            tables[epsilon] = RewriteTable(folder, claim_table(folder, self._what(rewriter, epsilon), {}))
        executor = SerialExecutor(self._spec.batch_size)
        for (wanted, size), found in executor.run(self._chunks(rewriter, tables)):
            for epsilon, table in tables.items():
                mine = [at for at, (_, _, other) in enumerate(wanted) if other == epsilon]
                if mine:
                    some = [_released(found[at]) for at in mine]
                    table.append([wanted[at][0] for at in mine], [wanted[at][1] for at in mine], some)
            self._advance(f"{rewriter.label}: rewriting", size)
        return tables

    def _chunks(
        self, rewriter: Rewriter, tables: Mapping[float, RewriteTable]
    ) -> Iterator[tuple[tuple[list[Wanted], int], RewriteChunk]]:
        """Yield what is missing, block by block, with how much the block holds in all."""
        each = rewriter.replicates * len(tables)
        step = max(1, _BLOCK // each)
        for start in range(0, len(self._data.positions), step):
            texts = self._data.positions[start : start + step]
            wanted: list[Wanted] = []
            for replicate in range(rewriter.replicates):
                for epsilon, table in tables.items():
                    lacking = table.missing(np.asarray(texts), np.full(len(texts), replicate))
                    wanted += [(texts[at], replicate, epsilon) for at in np.flatnonzero(lacking).tolist()]
            wanted.sort()  # a text's draws stand together
            draws = make_draws(self._corpus.texts, wanted, self._spec.seed, PURPOSE)
            yield (wanted, len(texts) * each), RewriteChunk(rewriter.reference, draws)

    def _what(self, rewriter: Rewriter, epsilon: float) -> dict[str, Any]:
        """Return what determines a table of rewrites."""
        return {
            "purpose": PURPOSE, "corpus": self._corpus.fingerprint, "seed": self._spec.seed,
            "mechanism": rewriter.determinants, "epsilon": str(epsilon),
        }  # fmt: skip

    def _scores(self, task: str, rewriter: Rewriter | None, epsilon: float) -> ScoreTable:
        what: dict[str, Any] = {
            "data": self._data.determinants(task), "classifier": self._told, "seed": self._spec.seed,
            "test_split": self._spec.test_split,
            "rewrites": key_of(self._what(rewriter, epsilon)) if rewriter else "none",
        }  # fmt: skip
        return ScoreTable(self._folder.scores(task, rewriter.label if rewriter else "", epsilon), what)

    def _check(self, table: ScoreTable) -> None:
        check_table(table.folder, table.determinants)

    def _advance(self, what: str, amount: int) -> None:
        self._done += amount
        self._progress(what, self._done, self._total)


def _released(one: Rewrite | Guess) -> Rewrite:
    """Return what a classifier can learn from: the text; latents and tokens would only fill the disk."""
    return Rewrite(one.text, units=one.units, error=one.error) if isinstance(one, Rewrite) else Rewrite("")
