"""The result of a study: macro F1 by mechanism, epsilon and task, between an upper and a lower line."""

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tedaudit.plugins.nominal import Nominal
from tedaudit.results.family import judge_gate, leave_untested
from tedaudit.results.utility import PRIVATE, SCORE
from tedaudit.results.verdict import Verdict
from tedaudit.studies.utility.classifiers import NotLearnt
from tedaudit.studies.utility.matched import Guessed
from tedaudit.studies.utility.settings import Role
from tedaudit.text.plain_data import PlainData, pick

NOT_GUESSED = leave_untested(
    "no test text was rewritten to guess the column from (`private_records` is 0, or rewrites come from a "
    "table, for which there is `tedaudit link`), or no two of different values could be matched"
)


@dataclass(frozen=True)
class Scores(PlainData):
    """The macro F1 of one classifier over the seeds; `spread` is their sample standard deviation.

    `redrawn` is the mean over the seeds on each redrawn test set; empty if predictions were not stored.
    """

    values: tuple[float, ...]
    redrawn: tuple[float, ...] = ()
    in_json: ClassVar[str] = "mean as score, spread, test_error, values as scores"

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return statistics.fmean(self.values)

    @property
    def spread(self) -> float:
        """The standard deviation over the seeds, 0 for one seed."""
        return statistics.stdev(self.values) if len(self.values) > 1 else 0.0

    @property
    def test_error(self) -> float | None:
        """The standard error of the mean that comes from the test texts; None if it is not known."""
        return statistics.stdev(self.redrawn) if len(self.redrawn) > 1 else None

    @property
    def error(self) -> float:
        """The standard error of the mean: of the seeds, and of the test texts as far as it is known."""
        return math.hypot(self.spread / math.sqrt(len(self.values)), self.test_error or 0.0)


@dataclass(frozen=True)
class Change:
    """By how much a score differs from another one, with a 95% interval (approximate: normal)."""

    value: float
    error: float

    @property
    def low(self) -> float:
        """The lower end."""
        return self.value - 1.96 * self.error

    @property
    def high(self) -> float:
        """The upper end."""
        return self.value + 1.96 * self.error

    @property
    def told(self) -> str:
        """In a word: rises, falls, or no change shown."""
        return "rises" if self.low > 0 else "falls" if self.high < 0 else "no change shown"

    def __str__(self) -> str:
        return f"{self.value:+.3f} ({self.low:+.3f} to {self.high:+.3f})"


def compare_scores(first: Scores, second: Scores) -> Change | None:
    """Return the second less the first, on the same redrawn test sets; None if these are not known."""
    if not first.redrawn or len(first.redrawn) != len(second.redrawn):
        return None
    of_tests = statistics.stdev(b - a for a, b in zip(first.redrawn, second.redrawn, strict=True))
    of_seeds = [scores.spread / math.sqrt(len(scores.values)) for scores in (first, second)]
    return Change(second.mean - first.mean, math.hypot(of_tests, *of_seeds))


@dataclass(frozen=True)
class Task:
    """A label column: its role in the study, and the lines between which its scores lie.

    `upper` is the score of a classifier trained on texts not rewritten, `lower` that of the most frequent
    class.
    """

    name: str
    role: Role
    classes: int
    upper: Scores
    lower: float
    unseen: tuple[
        tuple[str, int], ...
    ] = ()  # classes of test texts that nobody could learn, with their number
    in_json: ClassVar[str] = "name as column, title as task, role, classes, upper, lower, unseen_classes"

    @property
    def unseen_classes(self) -> dict[str, int]:
        """How many test texts each class has that nobody could learn."""
        return dict(self.unseen)

    @property
    def title(self) -> str:
        """The name of its score in tables and figures."""
        return self.name + (SCORE if self.role == "utility" else PRIVATE)


@dataclass(frozen=True)
class Measurement:
    """One mechanism at one epsilon on one task; `failed` of the rewrites failed and were empty.

    `guessed` is what the rewrites of test texts tell of a private column; None if nobody guessed from them.
    """

    mechanism: str
    epsilon: Nominal
    task: str
    scores: Scores
    failed: int
    rewrites: int
    guessed: Guessed | None = None

    @property
    def name(self) -> str:
        """Mechanism, epsilon and column in a few words."""
        at = f" at epsilon {self.epsilon.label}" if self.epsilon.is_given else ""
        return f"{self.mechanism}{at}, '{self.task}'"


@dataclass(frozen=True)
class UtilityResult(PlainData):
    """Everything that a study found, and its settings."""

    name: str
    folder: Path
    corpus: str
    classifier: str
    sizes: tuple[int, int]  # training and test texts
    tasks: tuple[Task, ...]
    measured: tuple[Measurement, ...]
    notes: tuple[str, ...]
    note: str = ""
    held_out_by: str = ""  # what chose the test texts, if the corpus has no split for them
    not_learnt: tuple[NotLearnt, ...] = ()  # columns that were asked for, and left out
    in_json: ClassVar[str] = (
        "name, corpus, classifier, seeds, sizes.0 as train, sizes.1 as test, note, caption, notes, "
        "held_out_by, tasks, not_learnt, rows"
    )

    def __iter__(self) -> Iterator[Measurement]:
        return iter(self.measured)

    def task(self, name: str) -> Task:
        """Return a task by the name of its column."""
        return next(task for task in self.tasks if task.name == name)

    @property
    def seeds(self) -> int:
        """How often each classifier was trained."""
        return len(self.tasks[0].upper.values)

    @property
    def caption(self) -> str:
        """What the numbers are, in words."""
        return caption(self)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Each measurement with the title and the role of its task."""
        tasks = {task.name: pick(task, "title as task, role") for task in self.tasks}
        return [
            pick(m, "mechanism, epsilon")
            | tasks[m.task]
            | pick(m, "*scores, failed, rewrites, guessed as guessed_from_rewrites")
            for m in self
        ]

    def judge_limit(self, limit: float) -> dict[str, Verdict]:
        """Return whether the bound of each private column is above a limit; all bounds share the error.

        A column from which nothing could be learnt is not tested.
        """
        left_out = {f"'{one.column}'": leave_untested(str(one)) for one in self.not_learnt if one.is_private}
        private = [m for m in self if self.task(m.task).role == "private"]
        return {
            m.name: NOT_GUESSED
            if m.guessed is None
            else judge_gate([m.guessed.row], m.guessed.error, limit)[0]
            for m in private
        } | left_out

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; an epsilon of null means that the mechanism takes none."""
        return pick(self) | {"held_out_by": self.held_out_by or None}


def caption(result: UtilityResult) -> str:
    """Return in words what the numbers are."""
    train, test = result.sizes
    times = "once" if result.seeds == 1 else f"{result.seeds} times, each on other rewrites"
    held = f" that {result.held_out_by} held out" if result.held_out_by else ""
    text = (
        f"Corpus {result.corpus}: {result.classifier}, trained {times}, on {train:,} rewritten texts, "
        f"tested on {test:,} clean ones{held}. Macro F1; std is the standard deviation over the seeds, "
        "test error the part of the mean's standard error that comes from the test texts (bootstrap)."
    )
    if any(task.role == "private" for task in result.tasks):
        text += " For a private attribute, lower is more private."
    return f"{text} {result.note}".rstrip()
