"""What linking found: shares, bounds, records by evidence and inferred columns, as one value."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tedaudit.estimators import Bound
from tedaudit.estimators.abstaining import Part, count_parts
from tedaudit.estimators.intervals import mean_rate_interval
from tedaudit.results.family import compare_limit, judge_gate, leave_untested
from tedaudit.results.row import Row
from tedaudit.results.verdict import Verdict
from tedaudit.studies.link.authors import EVERYONE, PAIRED, Exposure
from tedaudit.studies.link.inference import Inference, Share
from tedaudit.studies.link.ranks import Ranks, order_evidence
from tedaudit.studies.link.table import Release
from tedaudit.studies.utility.classifiers import NotLearnt
from tedaudit.text.plain_data import PlainData, pick, to_data
from tedaudit.version import __version__

PLACES = (1, 5, 10)
ALL, PAIRS = "all originals", "disjoint pairs"
_FEWEST_SURE = 10  # guesses in the smallest part that is told


@dataclass(frozen=True, slots=True)
class LinkedAttack:
    """What one attack found; counts are of the first record of each original."""

    attack: str
    ranks: Ranks  # of all records
    places: Mapping[int, Share]  # how many originals were among the first so many
    sure: tuple[Part, ...]  # right guesses among the most certain ones, all originals being candidates
    rows: Mapping[str, Row]  # by how the trials were made: all originals, or disjoint pairs
    models: tuple[Mapping[str, str], ...] = ()
    compares: str = ""  # words or meaning, if it is known and no other attack compares the same

    @property
    def name(self) -> str:
        """What it does in plain words, or else its name."""
        return f"compares {self.compares}" if self.compares else self.attack

    @property
    def linkability(self) -> Share:
        """How many rewrites lead to their own original before any other."""
        return self.places[1]


@dataclass(frozen=True, slots=True)
class RecordEvidence(PlainData):
    """A record by the attack that ranks it highest: evidence, and no risk, as there is one rewrite of it."""

    row: int
    id: str
    attack: str
    rank: float
    tied: int
    margin: float
    sharing: int
    in_json: ClassVar[str] = "id, attack, rank, tied, margin, sharing as same_original"


@dataclass(frozen=True)
class LinkResult(PlainData):
    """Everything that was found out about a release; `folder` is where it was written, if it was."""

    release: Release = field(repr=False)
    """The table that was linked."""
    attacks: tuple[LinkedAttack, ...]
    """What each attack found."""
    inferences: tuple[Inference, ...]
    """What classifiers inferred of private columns."""
    alpha: float
    """Twice the one-sided error of each interval and of all bounds together."""
    seed: int
    """Of coins, pairs and held-out records."""
    notes: tuple[str, ...] = ()
    """What a reader should know."""
    source: str = ""
    """The name of the file, without its folder; empty if the table came from memory."""
    made: date = field(default_factory=lambda: datetime.now().astimezone().date())
    """The day on which it was linked."""
    folder: Path | None = None
    """Where files were written; None if they were not."""
    exposures: tuple[Exposure, ...] = ()
    """What several rewrites tell of whoever wrote them: of authors, and of records with several rewrites."""
    not_inferred: tuple[NotLearnt, ...] = ()
    """Private columns that nobody could guess, and why."""
    in_json: ClassVar[str] = "release.checksum as release, records, originals, alpha, seed, eps_emp, error"

    def __iter__(self) -> Iterator[LinkedAttack]:
        return iter(self.attacks)

    @property
    def records(self) -> int:
        """How many records the table has."""
        return len(self.release)

    @property
    def originals(self) -> int:
        """Distinct originals: the candidates of every rewrite."""
        return len(self.release.pool)

    @property
    def error(self) -> float:
        """The one-sided error of the bounds of all rows together."""
        return self.alpha / 2

    @property
    def rows(self) -> dict[tuple[str, str], Row]:
        """All rows that have a bound: by attack, and by how the trials were made."""
        return {(found.attack, design): row for found in self for design, row in found.rows.items()}

    @property
    def bounds(self) -> dict[tuple[str, str], tuple[Bound, Part | None]]:
        """The bound of every row, which share the error, and the most certain guesses if it is theirs."""
        return {named: row.bound_by(self._row_error) for named, row in self.rows.items()}

    @property
    def eps_emp(self) -> float:
        """The largest bound of all rows and private columns, which share the error."""
        return max(
            *(bound.lower for bound, _ in self.bounds.values()),
            *(found.epsilon or 0.0 for found in self.inferences),
        )

    @property
    def number_of_bounds(self) -> int:
        """How many bounds share the error: of one rewrite, of several, and of private columns."""
        exposed = sum(len(found.rows) for exposure in self.exposures for found in exposure.attacks)
        return len(self.rows) + exposed + sum(found.epsilon is not None for found in self.inferences)

    @property
    def strongest(self) -> LinkedAttack:
        """The attack that found most originals."""
        return max(self.attacks, key=lambda found: found.linkability.right)

    def judge_limit(self, limit: float) -> dict[str, Verdict]:
        """Return whether the bound of each row, largest first, and column is above a limit, error shared.

        A column that nobody could guess is not tested.
        """
        largest = sorted(self.rows.items(), key=lambda item: -item[1].bound(self._row_error).lower)
        verdicts = judge_gate([row for _, row in largest], self._row_error, limit)
        names = [f"{attack}, {design}" for (attack, design), _ in largest]
        columns = {
            f"'{found.column}' guessed": compare_limit(found.epsilon, found.ceiling, limit)
            for found in self.inferences
            if found.epsilon is not None
        }
        columns |= {f"'{one.column}' guessed": leave_untested(str(one)) for one in self.not_inferred}
        return dict(zip(names, verdicts, strict=True)) | columns

    def rank_evidence(self, count: int | None = None) -> list[RecordEvidence]:
        """Return records, those that lead to their original most surely first; all without a count."""
        order, best = order_evidence([found.ranks for found in self])
        sharing = self.release.sharing
        found = []
        for row in order[:count].tolist():
            attack = self.attacks[best[row]]
            found.append(
                RecordEvidence(
                    row=row,
                    id=self.release.ids[row],
                    attack=attack.attack,
                    rank=float(attack.ranks.rank[row]),
                    tied=int(attack.ranks.tied[row]),
                    margin=float(attack.ranks.margin[row]),
                    sharing=int(sharing[row]),
                )
            )
        return found

    def to_dict(self, count: int = 10) -> dict[str, Any]:
        """Return everything safe for JSON, with the ids of so many records and no text."""
        return {
            "tedaudit": __version__, "kind": "link", **pick(self),
            "attacks": [self._describe(found) for found in self],
            **pick(self, "inferences as inference, not_inferred"),
            "several_rewrites": [self._describe_exposure(exposure, count) for exposure in self.exposures],
            "records_by_evidence": to_data(self.rank_evidence(count)), **pick(self, "notes"),
        }  # fmt: skip

    def exposed_bounds(self, exposure: Exposure) -> dict[tuple[str, str, int], tuple[Bound, Part | None]]:
        """Return the bounds for several rewrites together: by attack, how trials were made, and number.

        They share the error with all other bounds.
        """
        return {
            (found.attack, design, number): row.bound_by(self._row_error)
            for found in exposure.attacks
            for (design, number), row in found.rows.items()
        }

    @property
    def known_alpha(self) -> float:
        """Twice the error of each statement from how many rewrites on somebody is known: all share it."""
        return self.alpha / max(1, 2 * sum(len(exposure.attacks) for exposure in self.exposures))

    @property
    def _row_error(self) -> float:
        return self.error / self.number_of_bounds

    def _describe(self, found: LinkedAttack) -> dict[str, Any]:
        places = [
            {"places": place, "chance": place / self.originals, **share.to_dict()}
            for place, share in found.places.items()
        ]
        sure = [pick(part, "size as most_certain, right") for part in found.sure]
        bounds = [
            {"trials_from": design, **bound.to_dict(), "surest": to_data(surest)}
            for (attack, design), (bound, surest) in self.bounds.items()
            if attack == found.attack
        ]  # fmt: skip
        return {
            "attack": found.attack, "linkability": places, "singling_out": sure, "bounds": bounds,
            "models": to_data(found.models),
        }  # fmt: skip

    def _describe_exposure(self, exposure: Exposure, count: int) -> dict[str, Any]:
        """Return how many were named, bounds for n rewrites together, and where to look first."""
        people, bounds = exposure.people, self.exposed_bounds(exposure)
        attacks = []
        for found in exposure.attacks:
            named = [
                {
                    "rewrites": number, **share.to_dict(), "from_originals": found.originals.get(number),
                    "bounds": [
                        {
                            "trials_from": design, **bound.to_dict(), "surest": to_data(surest),
                            "lower_for_one": bound.lower / number,
                        }
                        for (attack, design, n), (bound, surest) in bounds.items()
                        if (attack, n) == (found.attack, number)
                    ],
                }
                for number, share in found.named.items()
            ]  # fmt: skip
            known = [
                {
                    "trials_from": design, "trials": found.trials(design),
                    "enough_trials": found.has_enough(design),
                    "rewrites": found.known_from(design, self.known_alpha),
                }
                for design in (EVERYONE, PAIRED)
            ]  # fmt: skip
            every = {"named": found.every, "from_originals": found.every_original}
            attacks.append({
                "attack": found.attack, "named": named, "known_from": known, "all_rewrites": every,
            })  # fmt: skip
        return {
            "of": people.kind, "knows": people.knows, "candidates": len(people), "left_out": people.left_out,
            "equal_rewrites": people.copies, "fewest_rewrites": people.spread[0],
            "most_rewrites": people.spread[1], "attacks": attacks,
            "by_evidence": to_data(exposure.rank_evidence(count)),
        }  # fmt: skip


def count_places(ranks: Ranks, release: Release, alpha: float) -> dict[int, Share]:
    """Return how many originals came among the first places, with intervals for the expected share."""
    place, size = ranks.place[release.first], len(release.pool)
    counts = {most: int((place <= most).sum()) for most in PLACES if most < size}
    return {most: Share(n, size, *mean_rate_interval(n, size, alpha)) for most, n in counts.items()}


def count_sure(ranks: Ranks, release: Release) -> tuple[Part, ...]:
    """Return how many of the most certain guesses were right: all of them, half, a quarter and so on."""
    first, size = release.first, len(release.pool)
    sizes = [size >> halving for halving in range(size.bit_length()) if size >> halving >= _FEWEST_SURE]
    every = np.ones(size, dtype=np.bool_)
    return count_parts(
        ranks.found[first], ranks.lead[first].astype(np.float32), every, sizes or [size], size
    ).parts
