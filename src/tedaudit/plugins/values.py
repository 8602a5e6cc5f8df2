"""The values that pass between the stages of an audit, and what a plug-in must offer.

What a stage must not know is not in its type: an attack gets an `Observation`, which has neither
the secret nor the key of the draw.
"""

import hashlib
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from tedaudit.errors import SpecError, join_names
from tedaudit.text.plain_data import PlainData, Unbounded

# --- What is known of the privacy loss between two texts beyond the loss of the one output that was drawn.


@dataclass(frozen=True, slots=True)
class PairLoss:
    """Figures on a pair of texts and one output; NaN or None for what is unknown.

    `largest` is the largest loss that any output can have, the larger of both directions; infinite if an
    output of one text is impossible for the other. If the loss is that of Gaussian noise, `mu` is the
    distance of the two means in standard deviations: no output has a largest loss then, and epsilon follows
    from mu at every delta. `terms` are the parts of the output's loss, one for each slot, token or triple:
    they add up to the log-likelihood of the first text minus that of the second. `ends` are those of both
    log-likelihoods, lower ones first, for an output that is a text and not what was drawn for it.
    """

    largest: float = math.nan
    mu: float = math.nan
    terms: npt.NDArray[np.float64] | None = None
    ends: tuple[float, float, float, float] | None = None


UNKNOWN = PairLoss()


Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Unit = Literal["token", "word", "triple", "sentence", "document"]
Seen = Literal["text", "tokens", "latent", "error"]
Score = Literal[
    "", "cosine", "word cosine", "latent similarity", "log-likelihood", "text log-likelihood",
    "ordered answers",
]  # fmt: skip
Knows = Literal["nothing", "can call it", "its model and settings"]
Level = Literal["error", "warning", "info"]
UNBOUNDED = "so an output is possible for one text and impossible for another, and no finite epsilon holds"


@dataclass(frozen=True, slots=True)
class Draw:
    """One rewriting request. All noise is a function of the key.

    `epsilon` is nominal; it is infinite if the mechanism takes none.
    """

    text: str
    epsilon: float
    key: int


DIGEST = "#"
"""Stands in an error code before the digest of a message, where that is asked for."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What a mechanism released for one draw; `error` is a code and never holds a text.

    A failed rewrite is an output too: whoever receives it sees that it failed, and with which code. Errors of
    the machine or the network are none (see `tedaudit.models.calling`): they never become a `Rewrite`.
    """

    text: str
    tokens: tuple[int, ...] | None = None
    latent: Array | None = None
    units: int | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """What an attack sees of one trial: the output, the candidates and a key for its own coin tosses."""

    output: Rewrite
    candidates: Sequence[str]
    tie_key: int


@dataclass(frozen=True, slots=True)
class Guess:
    """One score per candidate, higher for the likelier source. Ties are broken by the auditor.

    `shown` says at which place each candidate was shown, if the attack reads them in an order; `loss` more
    of two scores that are likelihoods.
    """

    scores: Floats
    usable: bool = True
    shown: npt.NDArray[np.int32] | None = None
    loss: PairLoss | None = None


@dataclass(frozen=True, slots=True)
class Claim(PlainData):
    """What a mechanism promises: epsilon never travels without its unit, delta and neighbours.

    `actual` is the epsilon that the noise really gives at that delta, if the mechanism can
    recompute it; a release that uses a wrong constant promises `epsilon` and delivers `actual`.
    """

    epsilon: Unbounded
    """The epsilon that is promised for one unit; may be infinite."""
    unit: Unit
    """What epsilon is charged for."""
    delta: float = 0.0
    """The delta that is promised for one unit."""
    max_units: int | None = 1
    """Units of a release; None if unbounded."""
    neighbours: str = "any two texts"
    """Between which texts the promise holds."""
    actual: float | None = None
    """The epsilon that the noise really gives, if the mechanism knows it."""
    in_json: ClassVar[str] = "*, total, total_delta"

    def __post_init__(self) -> None:
        if math.isnan(self.epsilon) or self.epsilon < 0:
            raise SpecError(f"A claim's epsilon is {self.epsilon}; it must be 0 or larger.")
        if self.actual is not None and (math.isnan(self.actual) or self.actual < 0):
            raise SpecError(f"A claim's actual epsilon is {self.actual}; it must be 0 or larger, or None.")
        if not 0 <= self.delta < 1:
            raise SpecError(f"A claim's delta is {self.delta}; it must be at least 0 and below 1.")
        if self.unit not in get_args(Unit):
            raise SpecError(f"A claim's unit is '{self.unit}'; it is one of: {join_names(get_args(Unit))}.")
        if self.max_units is not None and not 1 <= self.max_units <= 10**15:
            shown = self.max_units if self.max_units < 1 else "too large"
            raise SpecError(f"A claim's max_units is {shown}; it must be 1 to 10^15, or None for unbounded.")
        if re.search(r"\b(metric|distance)", self.neighbours.lower()):
            raise SpecError(
                f"The claim holds for '{self.neighbours}': a metric (distance-scaled) guarantee. "
                "The audit bounds the loss between any two texts, so it can neither support nor "
                "refute it. Audit the mechanism without a claim, or state one for any two texts."
            )

    @property
    def total(self) -> Unbounded:
        """Epsilon of a whole release by basic composition; infinite if the units are unbounded.

        Any number of units that cost nothing cost nothing.
        """
        if self.epsilon == 0:
            return 0.0
        return math.inf if self.max_units is None else self.epsilon * self.max_units

    @property
    def total_delta(self) -> float:
        """Delta of a whole release by basic composition."""
        if self.delta == 0:
            return 0.0
        return 1.0 if self.max_units is None else min(1.0, self.delta * self.max_units)

    def repeat(self, times: int) -> "Claim":
        """Return what is promised for so many releases together, by basic composition."""
        return self if self.max_units is None else replace(self, max_units=self.max_units * times)

    def __str__(self) -> str:
        delta = f", delta {self.total_delta:g}" if self.delta else ""
        if self.actual is not None and not math.isclose(self.actual, self.epsilon, rel_tol=1e-3):
            delta += f" (really {self.actual:.4g})"
        if self.max_units == 1:
            return f"{self.epsilon:g} per {self.unit}{delta}"
        times = "unbounded" if self.max_units is None else f"x {self.max_units} = {self.total:g}"
        return f"{self.epsilon:g} per {self.unit} {times}{delta}"


@dataclass(frozen=True, slots=True)
class Leak:
    """A value of a mechanism's field with which no finite epsilon holds, and the value to set instead.

    A `value` of None stands for any but `instead`. `says` is what the setting does; "{value}" in it is the
    value that is set. `shows` names the tests of `tedaudit leaks` that find it, as a report names them, or
    groups of them: "length" of any kind, "copied words" of any kind, "everything" that is released. If any
    does, that two texts are told apart may come from it too. `rule` is what lint calls it: the field's name
    if nothing is said.
    """

    field: str
    value: Any
    instead: Any
    says: str
    shows: tuple[str, ...] = ()
    rule: str = ""

    @property
    def fix(self) -> str:
        """The field with the value that does not leak, as a setting is written."""
        written = str(self.instead).lower() if isinstance(self.instead, bool) else str(self.instead)
        return f"{self.field}={written}"

    def is_set(self, mechanism: Any) -> bool:
        """Return whether the field of a mechanism has the value that leaks."""
        value = getattr(mechanism, self.field)
        return bool(value != self.instead if self.value is None else value == self.value)

    def describe(self, mechanism: Any) -> str:
        """Return what the setting does, and that no finite epsilon holds."""
        return f"{self.says.replace('{value}', str(getattr(mechanism, self.field)))}, {UNBOUNDED}"


@dataclass(frozen=True, slots=True)
class Card:
    """What a plug-in says of itself wherever it is listed. Raise `version` when its results change.

    An attack's `sees` names the parts of a rewrite that it is given. One that sees "error" is given failed
    rewrites, of which there is a code and no more, and its guess on them counts; no other attack is given
    them, and such a trial counts as wrong. `score` says what its scores are, if they are more than an order:

    - "cosine", "word cosine": of the output with each candidate, by sentence embeddings or by words;
    - "latent similarity": of the released latent with each candidate's own;
    - "log-likelihood": of what was drawn under the mechanism itself, so that a posterior follows from it;
    - "text log-likelihood": of the published text under the mechanism itself, or what stands in its place;
    - "ordered answers": the candidates were read in an order, and `Guess.shown` says in which.

    An attack's `knows` says what it must know of the mechanism beside the output and the candidates: nothing,
    enough to call it on texts of its own, or its model and settings. Privacy is promised against the last.

    `needs` names the extras (`plugins/extras.py`) without which it cannot be used with default settings.
    `english` says what was made for English: "what", or "field: what" of a field's default value alone.

    Of a mechanism, `leaks` are the values of its fields with which no finite epsilon holds, and `not_leaks`
    the fields that set its variants apart and leak nothing by themselves, each with the reason. `slope` has
    epsilons between which attacks on the text go from nothing found to nearly all. `public` names fields that
    must hold public data if they are given, each with what it is. `code` names the fields that hold code or
    a program to run: whoever did not write a spec is asked before one is.
    """

    name: str
    summary: str
    paper: str = ""
    claim: str = ""
    departures: tuple[str, ...] = ()
    sees: tuple[Seen, ...] = ("text",)
    version: int = 1
    score: Score = ""
    knows: Knows = "nothing"
    needs: tuple[str, ...] = ()
    english: tuple[str, ...] = ()
    leaks: tuple[Leak, ...] = ()
    not_leaks: tuple[tuple[str, str], ...] = ()
    slope: tuple[float, ...] = ()
    public: tuple[tuple[str, str], ...] = ()
    code: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Note(PlainData):
    """One thing that lint sees without a sample.

    An error is one for which the claim cannot hold as it is stated, a warning something that breaks it under
    a condition that is named, and info what a reader of results should know. `fix` says what to set
    or change.
    """

    level: Level
    rule: str
    text: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class InputLimit:
    """How many units of a text a mechanism reads, what they are, and what counts them; the rest is cut."""

    count: Callable[[str], int]
    limit: int
    unit: str


@dataclass(frozen=True, slots=True)
class ModelUse:
    """A trained model behind a plug-in's results: its name, and a checksum, else that of its fingerprint."""

    part: str
    name: str
    checksum: str = ""


@dataclass(frozen=True, slots=True)
class Callee:
    """What a plug-in calls outside of tedaudit; a rewrite or a trial takes `per_row` calls.

    As in "60 questions to the judge": the unit is "questions to".
    """

    name: str
    unit: str = "calls of"
    per_row: int = 1


@dataclass(frozen=True, slots=True)
class Repeats:
    """Rows that were left out because an earlier one has their text: where that stands, and their columns."""

    positions: tuple[int, ...] = ()
    columns: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Split:
    """Distinct texts in order, with columns of the same length: those of the first row with each text.

    `repeats` are the further rows with these texts, of whom several may be the author.
    """

    texts: tuple[str, ...]
    columns: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    repeats: Repeats = field(default_factory=Repeats)

    def __len__(self) -> int:
        return len(self.texts)

    def values(self, column: str) -> Iterator[tuple[int, Any]]:
        """Yield the value of a column for every row, repeats last, with the position of its text."""
        yield from enumerate(self.columns[column])
        if column in self.repeats.columns:
            yield from zip(self.repeats.positions, self.repeats.columns[column], strict=True)


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus by split; candidates come from the training split. `notes` tell what was done to it."""

    name: str
    splits: Mapping[str, Split]
    notes: tuple[str, ...] = ()
    _hashed: tuple[tuple[str, ...], str] = field(default=((), ""), init=False, repr=False, compare=False)

    @property
    def texts(self) -> tuple[str, ...]:
        """The candidate pool: the distinct texts of the training split."""
        return self.splits["train"].texts

    @property
    def fingerprint(self) -> str:
        """A hash of the candidate pool, in order; worked out once, because the pool may be large."""
        if not self._hashed[1] or self._hashed[0] is not self.texts:
            digest = hashlib.sha256()
            for text in self.texts:
                raw = text.encode("utf-8", "surrogatepass")
                digest.update(len(raw).to_bytes(8, "little") + raw)
            object.__setattr__(self, "_hashed", (self.texts, digest.hexdigest()))
        return self._hashed[1]


def fold_text(text: str) -> str:
    """Return the form in which texts count as the same: Unicode NFC, white space folded."""
    return " ".join(unicodedata.normalize("NFC", text).split())


@dataclass(frozen=True)
class Plan:
    """Which texts are candidates together and which of them is rewritten; one row per observation.

    `candidates` holds positions in the pool, the text that was sampled first in column 0; it is
    None if every row's candidates are the whole pool. `secret` indexes into the candidates.
    `replicate` counts how often the plan has rewritten that text before, so that every row has
    noise of its own. The rows of one trial follow each other: as many as the estimator needs, or
    as many rewrites as an adversary sees. If a candidate is a person, of whom several texts are
    `known`, so many columns of `candidates` are theirs, and `released` says which text is rewritten.
    """

    candidates: npt.NDArray[np.int32] | None
    secret: npt.NDArray[np.int32]
    replicate: npt.NDArray[np.int32]
    released: npt.NDArray[np.int32] | None = None
    known: int = 1

    def __len__(self) -> int:
        return len(self.secret)

    @cached_property
    def source(self) -> npt.NDArray[np.int32]:
        """The position in the pool of the text that is rewritten, per row; gathered once."""
        if self.released is not None:
            return self.released
        if self.candidates is None:
            return self.secret
        return np.asarray(self.candidates[np.arange(len(self)), self.secret], dtype=np.int32)

    def pick(self, rows: Sequence[int]) -> "Plan":
        """Return the rows with these numbers."""
        return self._take(np.asarray(rows, dtype=np.int64))

    def rows(self, start: int, stop: int) -> "Plan":
        """Return a run of consecutive rows."""
        return self._take(slice(start, stop))

    def _take(self, rows: npt.NDArray[np.int64] | slice) -> "Plan":
        candidates = None if self.candidates is None else self.candidates[rows]
        released = None if self.released is None else self.released[rows]
        return Plan(
            candidates=candidates,
            secret=self.secret[rows],
            replicate=self.replicate[rows],
            released=released,
            known=self.known,
        )


class Mechanism(Protocol):
    """Rewrites texts. A dataclass whose fields are its whole configuration."""

    card: ClassVar[Card]

    def claim(self, epsilon: float) -> Claim | None:
        """Return what is promised at this epsilon, or None if nothing is."""
        ...

    def rewrite(self, draws: Sequence[Draw]) -> Sequence[Rewrite]:
        """Return one rewrite per draw, in order."""
        ...


class Attack(Protocol):
    """Names the source of an output. Its card says which parts of a rewrite it sees."""

    card: ClassVar[Card]

    def guess(self, seen: Sequence[Observation]) -> Sequence[Guess]:
        """Return one guess per observation, in order."""
        ...


class CorpusLoader(Protocol):
    """Reads a corpus. A dataclass whose fields are its whole configuration."""

    card: ClassVar[Card]

    def load(self) -> Corpus:
        """Return the corpus, splits kept apart, texts distinct within each."""
        ...
