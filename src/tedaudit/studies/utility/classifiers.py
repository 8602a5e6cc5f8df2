"""Classifiers, each named by one string: `tfidf`, or an encoder that is trained for one epoch.

A classifier is a dataclass whose fields are its whole configuration. Every training starts from the
same state, and all randomness comes from the seed.
"""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, ClassVar, Protocol

from tedaudit.models.encoders.lexical import choose_reading
from tedaudit.models.tuning import Tuning, body_checksum, train_and_predict
from tedaudit.seeding import derive
from tedaudit.text.plain_data import PlainData
from tedaudit.text.readers import show_name
from tedaudit.text.words import is_unspaced, split_words

TFIDF = "tfidf"
_MOST_NAMED = 5  # classes


@dataclass(frozen=True)
class Lesson:
    """What a classifier is given: training texts with their classes, texts to classify, and a seed."""

    texts: Sequence[str]
    labels: Sequence[str]
    unseen: Sequence[str]
    seed: int


class Classifier(Protocol):
    """Learns from labelled texts and predicts the class of others."""

    def predict(self, lesson: Lesson) -> list[str]:
        """Return one class per unseen text, in order."""
        ...

    def determinants(self) -> dict[str, Any]:
        """Return what determines its predictions, apart from the lesson."""
        ...


@dataclass(frozen=True)
class Tfidf:
    """TF-IDF over words and logistic regression: deterministic, so the seed changes nothing.

    If the texts to classify are plainly not Latin, words are those of `tedaudit.text.words`, and in scripts
    without spaces letters and pairs of them: scikit-learn's pattern takes a whole sentence for a word.
    """

    iterations: int = 1000

    def predict(self, lesson: Lesson) -> list[str]:
        """Return one class per unseen text; the most frequent one if there are no words to learn from."""
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression

        words = TfidfVectorizer(sublinear_tf=True, analyzer=_analyse if read_by(lesson.unseen) else "word")
        analyse = words.build_analyzer()
        if not any(analyse(text) for text in lesson.texts):
            return [majority(lesson.labels)] * len(lesson.unseen)
        model = LogisticRegression(max_iter=self.iterations)
        model.fit(words.fit_transform(lesson.texts), lesson.labels)
        return [str(label) for label in model.predict(words.transform(lesson.unseen))]

    def determinants(self) -> dict[str, Any]:
        """Return name, version and fields."""
        return {"name": TFIDF, "version": 1, **asdict(self)}


def read_by(texts: Sequence[str]) -> dict[str, str]:
    """Return how TF-IDF reads texts that are plainly not Latin, as it determines results; else nothing."""
    reading = choose_reading(texts)
    return {"reading": reading} if reading else {}


def _analyse(text: str) -> list[str]:
    """Return the words of a text of any script; of scripts without spaces also pairs of neighbours."""
    words = split_words(unicodedata.normalize("NFC", text).lower())
    return words + [
        f"{one} {other}" for one, other in pairwise(words) if is_unspaced(one) and is_unspaced(other)
    ]


@dataclass(frozen=True)
class TextEncoder:
    """The body of any checkpoint, mean-pooled, with a linear layer on top; all of it is trained."""

    model: str
    tuning: Tuning

    def predict(self, lesson: Lesson) -> list[str]:
        """Train on the lesson from the checkpoint's own weights, and classify."""
        classes = sorted(set(lesson.labels))
        indices = {label: index for index, label in enumerate(classes)}
        targets = [indices[label] for label in lesson.labels]
        key = derive(lesson.seed, "training")
        predictions = train_and_predict(self.model, self.tuning, (lesson.texts, targets), lesson.unseen, key)
        return [classes[index] for index in predictions]

    def determinants(self) -> dict[str, Any]:
        """Return name, version, the training settings, and a hash of the initial weights."""
        settings = {
            key: value for key, value in asdict(self.tuning).items() if key not in ("device", "dtype")
        }
        weights = body_checksum(self.model, self.tuning.device)
        return {"name": self.model, "version": 1, **settings, "weights": weights}


def choose_classifier(name: str, tuning: Tuning) -> Classifier:
    """Return the classifier that a string names; an encoder is loaded, and may fail, only when it is used."""
    return Tfidf() if name == TFIDF else TextEncoder(name, tuning)


@dataclass(frozen=True, slots=True)
class NotLearnt(PlainData):
    """A label column from which nothing can be learnt, and why; `unseen` has its classes to test on alone."""

    column: str
    reason: str
    unseen: tuple[tuple[str, int], ...] = ()
    is_private: bool = True
    in_json: ClassVar[str] = "column, is_private as private, reason, unseen_classes"

    @property
    def unseen_classes(self) -> dict[str, int]:
        """How often each class is tested on that nobody could learn."""
        return dict(self.unseen)

    def __str__(self) -> str:
        told = f"'{self.column}' {self.reason}"
        return f"{told}; only to be tested on: {name_classes(self.unseen)}" if self.unseen else told


def list_unseen(learnt: Sequence[str], tested: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Return the classes that nobody can learn, with how often they are tested on, frequent ones first."""
    known = set(learnt)
    counts = Counter(label for label in tested if label not in known)
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def name_classes(unseen: Sequence[tuple[str, int]]) -> str:
    """Return classes with their number as one list; what may be a text is not quoted."""
    named = [
        f"'{label}' ({number:,})"
        if show_name(label) == label
        else f"one of {len(label):,} characters ({number:,})"
        for label, number in unseen[:_MOST_NAMED]
    ]
    more = len(unseen) - len(named)
    return ", ".join([*named, f"{more:,} more"] if more else named)


def majority(labels: Sequence[str]) -> str:
    """Return the most frequent class; among ties, the first by name."""
    counts = Counter(labels)
    return min(counts, key=lambda label: (-counts[label], label))


def macro_f1(truth: Sequence[str], predicted: Sequence[str]) -> float:
    """Return the mean F1 over the classes of the test texts, which are the same for every classifier."""
    from sklearn.metrics import f1_score

    score = f1_score(
        list(truth), list(predicted), labels=sorted(set(truth)), average="macro", zero_division=0
    )
    return float(score)
