"""Classifiers by one string: `tfidf`, or an encoder that is trained for one epoch.

A classifier is a dataclass whose fields are its whole configuration. Every training starts from the
same state, and what chance there is comes from the seed alone.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from tedaudit.inference.tuning import Tuning, body_checksum, tuned_predictions
from tedaudit.seeding import derive

TFIDF = "tfidf"


@dataclass(frozen=True)
class Lesson:
    """What a classifier is given: training texts with their classes, texts to classify, and a seed."""

    texts: Sequence[str]
    labels: Sequence[str]
    unseen: Sequence[str]
    seed: int


class Classifier(Protocol):
    """Learns from labelled texts and names the class of others."""

    def predict(self, lesson: Lesson) -> list[str]:
        """Return one class per unseen text, in order."""
        ...

    def determinants(self) -> dict[str, Any]:
        """Return what determines its predictions, the lesson apart."""
        ...


@dataclass(frozen=True)
class Tfidf:
    """TF-IDF over words and logistic regression: no chance in it, so that the seed changes nothing."""

    iterations: int = 1000

    def predict(self, lesson: Lesson) -> list[str]:
        """Return one class per unseen text; where no word is left to learn from, the most frequent one."""
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression

        words = TfidfVectorizer(sublinear_tf=True)
        analyse = words.build_analyzer()
        if not any(analyse(text) for text in lesson.texts):
            return [majority(lesson.labels)] * len(lesson.unseen)
        model = LogisticRegression(max_iter=self.iterations)
        model.fit(words.fit_transform(lesson.texts), lesson.labels)
        return [str(label) for label in model.predict(words.transform(lesson.unseen))]

    def determinants(self) -> dict[str, Any]:
        """Return name, version and fields."""
        return {"name": TFIDF, "version": 1, **asdict(self)}


@dataclass(frozen=True)
class Encoder:
    """The body of any checkpoint, mean-pooled, with a linear layer on top; all of it is trained."""

    model: str
    tuning: Tuning

    def predict(self, lesson: Lesson) -> list[str]:
        """Train on the lesson from the checkpoint's own weights, and classify."""
        classes = sorted(set(lesson.labels))
        number = {label: at for at, label in enumerate(classes)}
        targets = [number[label] for label in lesson.labels]
        key = derive(lesson.seed, "training")
        found = tuned_predictions(self.model, self.tuning, (lesson.texts, targets), lesson.unseen, key)
        return [classes[at] for at in found]

    def determinants(self) -> dict[str, Any]:
        """Return name, version, what steers the training, and a hash of the weights it starts from."""
        settings = {
            key: value for key, value in asdict(self.tuning).items() if key not in ("device", "dtype")
        }
        weights = body_checksum(self.model, self.tuning.device)
        return {"name": self.model, "version": 1, **settings, "weights": weights}


def choose_classifier(name: str, tuning: Tuning) -> Classifier:
    """Return the classifier that a string names; whether an encoder can be loaded shows when it is."""
    return Tfidf() if name == TFIDF else Encoder(name, tuning)


def majority(labels: Sequence[str]) -> str:
    """Return the most frequent class, the first by name where several are."""
    counts = Counter(labels)
    return min(counts, key=lambda label: (-counts[label], label))


def macro_f1(truth: Sequence[str], found: Sequence[str]) -> float:
    """Return the mean F1 over the classes of the test texts: the same ones for every classifier."""
    from sklearn.metrics import f1_score

    score = f1_score(list(truth), list(found), labels=sorted(set(truth)), average="macro", zero_division=0)
    return float(score)
