"""Rewrite labelled texts, train classifiers on the rewrites, test them on clean text.

Private columns are also guessed from rewrites of test texts, which is what an adversary sees (`matched`).

Every seed has its own rewrites and its own training, so that the standard deviation includes the
mechanism's noise as well as the classifier's. A failed rewrite is trained on as the empty text, because its
label was released too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.models.tuning import Tuning
from tedaudit.plugins.batches import Rewrites
from tedaudit.plugins.nominal import NO_EPSILON, Nominal
from tedaudit.plugins.protocols import WritesOnce, find_callee
from tedaudit.plugins.registry import Reference, build, describe_object, determinants
from tedaudit.plugins.values import Corpus
from tedaudit.runs.bench import Bench, RewriteChunk
from tedaudit.runs.calls import CallCounts
from tedaudit.runs.files import key_of
from tedaudit.runs.preparation import epsilons_of, load_texts
from tedaudit.runs.rewrites import RewriteTable
from tedaudit.runs.table_folder import TableFolder
from tedaudit.seeding import derive
from tedaudit.studies.utility.classifiers import (
    Classifier,
    Lesson,
    Tfidf,
    choose_classifier,
    macro_f1,
    majority,
    read_by,
)
from tedaudit.studies.utility.labels import LabelledTexts, take_labels
from tedaudit.studies.utility.matched import (
    Guessed,
    choose_tested,
    count_guessed,
    make_game,
    play,
)
from tedaudit.studies.utility.results import Measurement, Scores, Task, UtilityResult
from tedaudit.studies.utility.settings import UtilitySpec
from tedaudit.studies.utility.study_folder import Prediction, ScoreTable, StudyFolder
from tedaudit.trials.judge import Wanted, make_draws

Progress = Callable[[str, int, int], None]
Announce = Callable[[str], None]
PURPOSE, TESTED = "utility", "utility tests"  # whose noise: of training texts, and of test texts
_BLOCK = 4096  # draws written at a time


@dataclass(frozen=True)
class Rewriter:
    """A mechanism as a study needs it; `replicates` is the number of rewrites per text."""

    label: str
    reference: Reference
    determinants: Mapping[str, Any]
    epsilons: Sequence[Nominal]
    replicates: int
    plugin: Any


@dataclass(frozen=True)
class _Texts:
    """Texts to rewrite: some of a pool, each so many times, with noise for a purpose of its own."""

    purpose: str
    pool: Sequence[str]
    positions: Sequence[int]
    replicates: int


def run_study(
    spec: UtilitySpec, progress: Progress | None = None, announce: Announce | None = None
) -> UtilityResult:
    """Run a study, or resume it, and return its result.

    Nothing is written before every setting has been checked against the content of the folder. `announce`
    is told in one line how often functions and servers will be called, if any is.
    """
    folder = StudyFolder(spec.folder)
    folder.check()
    mechanisms = {m.title: build(m.reference("mechanism")) for m in spec.mechanisms}
    rewriters = [
        Rewriter(
            label=m.title,
            reference=m.reference("mechanism"),
            determinants=determinants(mechanisms[m.title]),
            epsilons=epsilons_of(m, mechanisms[m.title], spec.epsilons),
            replicates=1 if isinstance(mechanisms[m.title], WritesOnce) else spec.seeds,
            plugin=mechanisms[m.title],
        )
        for m in spec.mechanisms
    ]
    corpus = load_texts(spec.corpus, mechanisms)
    data = take_labels(corpus, spec)
    tuning = Tuning(learning_rate=spec.learning_rate, device=spec.device)
    study = _Study(spec, corpus, data, choose_classifier(spec.classifier, tuning), folder)
    study.check(rewriters)
    resumed = folder.exists()
    with folder.locked(spec.model_dump(mode="json", fallback=describe_object)):
        calls = study.count_calls(rewriters).describe(resumed=resumed)
        if announce is not None and calls:
            announce(calls)
        return study.run(rewriters, progress or (lambda *_: None))


class _Study:
    """One study over its folder."""

    def __init__(
        self,
        spec: UtilitySpec,
        corpus: Corpus,
        data: LabelledTexts,
        classifier: Classifier,
        folder: StudyFolder,
    ) -> None:
        self._spec, self._corpus, self._data = spec, corpus, data
        self._roles = {task: role for task, role in spec.roles.items() if task in data.labels}
        self._private = [task for task, role in self._roles.items() if role == "private"]
        self._classifier, self._folder = classifier, folder
        own = read_by(data.test) if isinstance(classifier, Tfidf) else {}
        self._classifier_key = {**classifier.determinants(), **own}
        self._tested = (
            choose_tested(data.test, spec.private_records, spec.seed) if self._private else ()
        )  # test texts
        self._error = 0.0  # of each bound and each end of a gain
        self._done = self._total = 0
        self._progress: Progress = lambda *_: None

    def check(self, rewriters: Sequence[Rewriter]) -> None:
        """Refuse tables that were made with other settings."""
        for task in self._roles:
            self._find_scores(task, None, NO_EPSILON).check()
            for rewriter in rewriters:
                for epsilon in rewriter.epsilons:
                    for texts in self._list_texts(rewriter):
                        determinants = self._describe_rewrites(rewriter, epsilon, texts)
                        self._find_rewrites(rewriter, epsilon, texts).check(determinants)
                    self._find_scores(task, rewriter, epsilon).check()

    def count_calls(self, rewriters: Sequence[Rewriter]) -> CallCounts:
        """Return how often functions and servers are to be called for the rewrites that are missing."""
        counts = CallCounts()
        for rewriter in rewriters:
            callee = find_callee(rewriter.plugin)
            if callee is not None:
                for texts in self._list_texts(rewriter):
                    chunks = self._list_chunks(rewriter, self._open_tables(rewriter, texts), texts)
                    counts.add(callee, sum(len(chunk) for _, _, chunk in chunks))
        return counts

    def run(self, rewriters: Sequence[Rewriter], progress: Progress) -> UtilityResult:
        """Compute what is missing and return the result."""
        spec, data = self._spec, self._data
        self._progress = progress
        self._total = len(self._roles) * spec.seeds + sum(
            len(rewriter.epsilons)
            * (
                sum(len(texts.positions) * texts.replicates for texts in self._list_texts(rewriter))
                + len(self._roles) * spec.seeds
                + (len(self._private) if self._is_guessed(rewriter) else 0)
            )
            for rewriter in rewriters
        )
        guessed = sum(len(one.epsilons) * len(self._private) for one in rewriters if self._is_guessed(one))
        self._error = spec.alpha / 2 / max(1, guessed)
        tasks = tuple(self._measure_task(task) for task in self._roles)
        measured = [scores for rewriter in rewriters for scores in self._measure(rewriter)]
        return UtilityResult(
            name=spec.name,
            folder=spec.folder,
            corpus=self._corpus.name,
            classifier=spec.classifier,
            sizes=(len(data.train), len(data.test)),
            tasks=tasks,
            measured=tuple(measured),
            notes=(*self._corpus.notes, *data.notes),
            note=spec.note,
            held_out_by=data.held_out_by,
            not_learnt=data.not_learnt,
        )

    def _measure_task(self, task: str) -> Task:
        """Return a task with its lines."""
        labels = self._data.labels[task]
        lower = macro_f1(labels.test, [majority(labels.train)] * len(labels.test))
        upper = self._train(task, None, NO_EPSILON, [self._data.train])
        return Task(
            name=task,
            role=self._roles[task],
            classes=len(labels.classes),
            upper=upper,
            lower=lower,
            unseen=labels.unseen,
        )

    def _measure(self, rewriter: Rewriter) -> Iterator[Measurement]:
        """Yield the scores of a mechanism by epsilon and task."""
        training, *tested = self._list_texts(rewriter)
        tables = self._rewrite(rewriter, training)
        tables_of_tests = [self._rewrite(rewriter, texts) for texts in tested]
        for epsilon, table in tables.items():
            outputs = [self._read_outputs(table, training, number) for number in range(rewriter.replicates)]
            texts = [[text for text, _ in replicate] for replicate in outputs]
            failed = sum(bool(error) for replicate in outputs for _, error in replicate)
            read = [self._read_outputs(one[epsilon], tested[0], 0) for one in tables_of_tests]
            for task, role in self._roles.items():
                scores = self._train(task, rewriter, epsilon, texts)
                total = sum(map(len, texts))
                guessed = (
                    self._guess(task, rewriter, epsilon, texts[0], read[0])
                    if read and role == "private"
                    else None
                )
                yield Measurement(
                    mechanism=rewriter.label,
                    epsilon=epsilon,
                    task=task,
                    scores=scores,
                    failed=failed,
                    rewrites=total,
                    guessed=guessed,
                )

    def _guess(
        self,
        task: str,
        rewriter: Rewriter,
        epsilon: Nominal,
        learnt: Sequence[str],
        read: Sequence[tuple[str, str]],
    ) -> Guessed | None:
        """Guess a private column from rewrites of test texts, after it was learnt from other rewrites.

        None if no two of them could be matched.
        """
        labels, tested, seed = self._data.labels[task], self._tested, self._spec.seed
        values = [labels.test[row] for row in tested]
        others = [column for column in self._roles if column != task]
        strata = [tuple(self._data.labels[column].test[row] for column in others) for row in tested]
        sizes = [len(self._data.test[row].split()) for row in tested]
        game = make_game(values, strata, sizes, seed, task)
        self._advance(f"{rewriter.label}: guessing {task}", 1)
        if not len(game.plan):
            return None
        lesson = Lesson(
            texts=learnt,
            labels=labels.train,
            unseen=[text for text, _ in read],
            seed=derive(seed, PURPOSE, "classifier", 0),
        )
        table = self._find_scores(task, rewriter, epsilon, "guesses")

        def predict() -> Prediction:
            classes = tuple(self._classifier.predict(lesson))
            return Prediction(macro_f1(values, classes), classes)

        named = table.predictions(0, predict).classes
        failed = [bool(error) for _, error in read]
        row = play(game, named, failed, rewriter.plugin.claim(float(epsilon)), self._error)
        return count_guessed(values, named, majority(labels.train), row, self._error)

    def _is_guessed(self, rewriter: Rewriter) -> bool:
        """Return whether private columns are guessed: a table has no fresh rewrites of test texts."""
        return bool(self._tested) and not isinstance(rewriter.plugin, WritesOnce)

    def _list_texts(self, rewriter: Rewriter) -> list[_Texts]:
        """Return what a mechanism rewrites: training texts, and test texts if private columns are guessed."""
        training = _Texts(
            purpose=PURPOSE,
            pool=self._corpus.texts,
            positions=self._data.positions,
            replicates=rewriter.replicates,
        )
        tests = _Texts(purpose=TESTED, pool=self._data.test, positions=self._tested, replicates=1)
        return [training, tests] if self._is_guessed(rewriter) else [training]

    def _read_outputs(self, table: RewriteTable, texts: _Texts, replicate: int) -> list[tuple[str, str]]:
        """Return rewrites with their error codes; a failed one is read as the empty text."""
        positions = np.asarray(texts.positions, dtype=np.int64)
        outputs = table.outputs(positions, np.full(len(positions), replicate))
        return [("" if error else text, error) for text, error in outputs]

    def _train(
        self, task: str, rewriter: Rewriter | None, epsilon: Nominal, texts: Sequence[Sequence[str]]
    ) -> Scores:
        """Return the scores over all seeds; each seed has its own texts, if there are several."""
        labels, table = self._data.labels[task], self._find_scores(task, rewriter, epsilon)
        found = []
        for seed in range(self._spec.seeds):
            key = derive(self._spec.seed, PURPOSE, "classifier", seed)
            lesson = Lesson(
                texts=texts[seed % len(texts)], labels=labels.train, unseen=self._data.test, seed=key
            )
            found.append(table.predictions(seed, partial(self._predict, task, lesson)))
            self._advance(f"{rewriter.label if rewriter else 'not rewritten'}: learning {task}", 1)
        return Scores(tuple(prediction.score for prediction in found), self._redraw(task, found))

    def _predict(self, task: str, lesson: Lesson) -> Prediction:
        classes = tuple(self._classifier.predict(lesson))
        return Prediction(macro_f1(self._data.labels[task].test, classes), classes)

    def _redraw(self, task: str, found: Sequence[Prediction]) -> tuple[float, ...]:
        """Return the mean score over the seeds on redrawn test sets, the same for all mechanisms."""
        truth = self._data.labels[task].test
        if any(len(prediction.classes) != len(truth) for prediction in found):  # none were stored
            return ()
        weights = redraw_tests(len(truth), derive(self._spec.seed, PURPOSE, "test texts"))
        return tuple(np.mean([resample_f1(truth, p.classes, weights) for p in found], axis=0).tolist())

    def _rewrite(self, rewriter: Rewriter, texts: _Texts) -> dict[Nominal, RewriteTable]:
        """Make the rewrites that are missing, all epsilons of a text together."""
        tables = self._open_tables(rewriter, texts)
        bench = Bench(self._spec.batch_size)
        bench.adopt({rewriter.reference.identity: rewriter.plugin})
        for wanted, size, chunk in self._list_chunks(rewriter, tables, texts):
            outputs = bench.perform(chunk)
            assert isinstance(outputs, Rewrites)  # noqa: S101 - by the kind of the chunk
            for epsilon, table in tables.items():
                rows = np.flatnonzero(wanted.epsilon == epsilon)
                if len(rows):
                    own = wanted.rows(rows)
                    table.append(own.text, own.replicate, _keep_texts(outputs[rows]), texts.pool)
            self._advance(f"{rewriter.label}: rewriting", size)
        return tables

    def _open_tables(self, rewriter: Rewriter, texts: _Texts) -> dict[Nominal, RewriteTable]:
        tables = {}
        for epsilon in rewriter.epsilons:
            folder = self._find_rewrites(rewriter, epsilon, texts)
            key = folder.claim(self._describe_rewrites(rewriter, epsilon, texts), {})
            tables[epsilon] = RewriteTable(folder, key)
        return tables

    def _list_chunks(
        self, rewriter: Rewriter, tables: Mapping[Nominal, RewriteTable], wanted_of: _Texts
    ) -> Iterator[tuple[Wanted, int, RewriteChunk]]:
        """Yield the missing draws block by block, with the total number of draws in the block."""
        each = wanted_of.replicates * len(tables)
        step = max(1, _BLOCK // each)
        for start in range(0, len(wanted_of.positions), step):
            texts = np.asarray(wanted_of.positions[start : start + step], dtype=np.int32)
            parts = []
            for replicate in range(wanted_of.replicates):
                for epsilon, table in tables.items():
                    lacking = texts[table.missing(texts, np.full(len(texts), replicate))]
                    parts.append((lacking, np.full(len(lacking), replicate), np.full(len(lacking), epsilon)))
            columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
            wanted = Wanted(columns[0], columns[1].astype(np.int32), columns[2]).sort()
            draws = make_draws(wanted_of.pool, wanted, self._spec.seed, wanted_of.purpose)
            yield wanted, len(texts) * each, RewriteChunk(rewriter.reference, draws)

    def _find_rewrites(self, rewriter: Rewriter, epsilon: Nominal, texts: _Texts) -> TableFolder:
        find = self._folder.tested if texts.purpose == TESTED else self._folder.rewrites
        return find(rewriter.label, epsilon)

    def _describe_rewrites(
        self, rewriter: Rewriter, epsilon: Nominal, texts: _Texts | None = None
    ) -> dict[str, Any]:
        """Return what determines a table of rewrites, of training texts if no others are named."""
        purpose = PURPOSE if texts is None else texts.purpose
        tests = {"tests": key_of({"texts": self._data.test})[:16]} if purpose == TESTED else {}
        return {
            "purpose": purpose, "corpus": self._corpus.fingerprint, "seed": self._spec.seed,
            "mechanism": rewriter.determinants, "epsilon": str(float(epsilon)), **tests,
        }  # fmt: skip

    def _find_scores(
        self, task: str, rewriter: Rewriter | None, epsilon: Nominal, kind: str = "scores"
    ) -> ScoreTable:
        guessed = {} if kind == "scores" else {"tested": key_of({"rows": self._tested})[:16]}
        settings: dict[str, Any] = {
            "data": self._data.determinants(task), "classifier": self._classifier_key,
            "seed": self._spec.seed, "test_split": self._spec.test_split,
            "rewrites": key_of(self._describe_rewrites(rewriter, epsilon)) if rewriter else "none",
            **guessed,
        }  # fmt: skip
        label = rewriter.label if rewriter else ""
        return ScoreTable(self._folder.scores(task, label, epsilon, kind), settings)

    def _advance(self, step: str, amount: int) -> None:
        self._done += amount
        self._progress(step, self._done, self._total)


def _keep_texts(outputs: Rewrites) -> Rewrites:
    """Return what a classifier can learn from: the text; latents and tokens would only fill the disk."""
    return Rewrites.from_texts(outputs.texts, errors=outputs.errors, units=outputs.units)


# --- The error that a score has because the test set is small: the test texts are drawn again, many times.
#
# All classifiers of a task are scored on the same redrawn test sets, so that a difference of two scores has
# an error of its own, in which the texts that are hard for both cancel. A bootstrap, and so approximate.

Floats = npt.NDArray[np.float64]
DRAWS = 1000


def redraw_tests(size: int, seed: int, draws: int = DRAWS) -> npt.NDArray[np.int64]:
    """Return how often each test text is in each redrawn test set, with a row per redrawn set."""
    random = np.random.default_rng(seed)
    return np.asarray(random.multinomial(size, np.full(size, 1 / size), size=draws), dtype=np.int64)


def resample_f1(truth: Sequence[str], predicted: Sequence[str], weights: npt.NDArray[np.int64]) -> Floats:
    """Return macro F1 on every redrawn test set, over the classes of the whole one."""
    actual, named = np.asarray(truth), np.asarray(predicted)
    scores = np.zeros(len(weights))
    classes = sorted(set(truth))
    for label in classes:
        right, either = (actual == label) & (named == label), (actual == label).astype(int) + (named == label)
        hits, all_named = weights @ right, weights @ either
        scores += 2 * hits / np.maximum(all_named, 1)  # no hits if nothing is named: 0, as sklearn has it
    return np.asarray(scores / len(classes), dtype=np.float64)
