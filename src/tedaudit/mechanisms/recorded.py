"""Audit a table of originals and rewrites: data alone, without running a mechanism.

Claim: stated by the table or the caller, for the whole text.

Every rewrite is used once, so candidate sets share no text: the trials stay independent, and a table of n
originals allows at most n // k of them. Rows with the same original are several rewrites of it: an audit
uses the first, or as many as it is to see of one text (`releases`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tedaudit.errors import CorpusError, SpecError, did_you_mean, join_names, quote
from tedaudit.plugins.batches import Draws, Rewrites
from tedaudit.plugins.nominal import NO_EPSILON, Nominal
from tedaudit.plugins.values import Card, Claim, Draw, Unit, fold_text
from tedaudit.seeding import derive
from tedaudit.text.readers import join_columns, read_table

Table = Mapping[tuple[float, str], Sequence[str]]


@dataclass(frozen=True)
class Recorded:
    """Looks rewrites up in a file."""

    path: str
    """The table: csv, tsv, jsonl or parquet, plain or compressed."""
    original_column: str = "original"
    """Column of originals."""
    rewrite_column: str = "rewrite"
    """Column of rewrites."""
    epsilon_column: str = "epsilon"
    """Column of epsilons, if there is one. Each value is audited separately."""
    label_column: str = "label"
    """Column that names the mechanism, if there is one."""
    select: str = ""
    """Which mechanism to audit, if the label column names several."""
    unit: Unit = "document"
    """The unit that the stated epsilon covers."""
    max_units: int = 1
    """The most units a text can have: the claim for a whole text is this many times epsilon."""
    delta: float = 0.0
    """Delta of the stated claim, for each unit."""
    card: ClassVar[Card] = Card(
        name="recorded",
        summary="A table of originals and rewrites: audits any rewriter from its data alone.",
        claim="as stated by the table or the caller",
        departures=("candidate sets share no text and every rewrite is used once, so T is at most n // k",),
    )
    _table: Table = field(init=False, repr=False, compare=False)
    _rows: tuple[Sequence[str], Mapping[str, Sequence[Any]]] = field(init=False, repr=False, compare=False)
    _has_epsilon: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        columns = read_table(Path(self.path))
        rows = self._select_rows(columns)
        object.__setattr__(self, "_has_epsilon", self.epsilon_column in columns)
        table: dict[tuple[float, str], list[str]] = {}
        texts: dict[int, str] = {}  # of each row
        for row in rows:
            epsilon = self._read_epsilon(columns, row)
            text = fold_text(_read_text(columns[self.original_column][row]))
            if text:
                table.setdefault((epsilon, text), []).append(_read_text(columns[self.rewrite_column][row]))
                texts[row] = text
        own = (self.original_column, self.rewrite_column, self.epsilon_column, self.label_column)
        others = {name: [values[row] for row in texts] for name, values in columns.items() if name not in own}
        object.__setattr__(self, "_table", table)
        object.__setattr__(self, "_rows", (list(texts.values()), others))

    def claim(self, epsilon: float) -> Claim | None:
        """Promise the epsilon from the table or the one asked for."""
        if not Nominal(epsilon).is_given:
            return None
        return Claim(epsilon, self.unit, delta=self.delta, max_units=self.max_units)

    def epsilons(self, asked: Sequence[float]) -> Sequence[float]:
        """Return the epsilons in the table, or the one claimed for the whole table."""
        if not self._has_epsilon:
            if len(asked) > 1:
                raise SpecError(
                    f"'{self.path}' has no column '{self.epsilon_column}', so all its rewrites belong to one "
                    f"epsilon; {len(asked)} were given: {', '.join(f'{e:g}' for e in asked)}."
                )
            return asked or (NO_EPSILON,)
        own = sorted({epsilon for epsilon, _ in self._table})
        missing = [e for e in asked if e not in own]
        if missing:
            raise SpecError(
                f"'{self.path}' has no rewrites at epsilon {', '.join(f'{e:g}' for e in missing)}; "
                f"it has: {', '.join(f'{e:g}' for e in own)}."
            )
        return asked or own

    def texts(self) -> Sequence[str]:
        """Return the originals: the corpus if the audit names none."""
        return list(dict.fromkeys(text for _, text in self._table))

    def rows(self) -> tuple[Sequence[str], Mapping[str, Sequence[Any]]]:
        """Return the original of every row, and the other columns of the table."""
        return self._rows

    def available(
        self, texts: Sequence[str], epsilons: Sequence[float], times: int = 1
    ) -> npt.NDArray[np.bool_]:
        """Return which texts have so many rewrites, or more, at each of these epsilons."""
        keys = [self._make_key(epsilon) for epsilon in epsilons]
        folded = map(fold_text, texts)
        return np.array([all(len(self._table.get((e, t), ())) >= times for e in keys) for t in folded])

    def fingerprint(self) -> Mapping[str, str]:
        """Return a hash of the table, so that a change is noticed even if the file was moved."""
        parts = [part for (e, t), outs in sorted(self._table.items()) for part in (repr(e), t, *outs)]
        return {"table": f"{derive(0, *parts):032x}"}

    def rewrite(self, draws: Sequence[Draw]) -> Rewrites:
        """Return the recorded rewrites: that of the draw's number, or the first for any other key."""
        batch = Draws.of(draws)
        names = [(self._make_key(e), fold_text(t)) for e, t in zip(batch.epsilons, batch.texts, strict=True)]
        numbers = np.where(batch.keys[:, 1:].any(axis=1), 0, batch.keys[:, 0]).tolist()
        outputs = [self._find(name, number) for name, number in zip(names, numbers, strict=True)]
        errors = ["not-recorded" if output is None else "" for output in outputs]
        return Rewrites.from_texts([output or "" for output in outputs], errors=errors)

    def _find(self, name: tuple[float, str], number: int) -> str | None:
        known = self._table.get(name)
        return None if known is None else known[number if number < len(known) else 0]

    def _make_key(self, epsilon: float) -> float:
        return epsilon if self._has_epsilon else NO_EPSILON

    def _read_epsilon(self, columns: Mapping[str, Sequence[Any]], row: int) -> float:
        if not self._has_epsilon:
            return NO_EPSILON
        value = columns[self.epsilon_column][row]
        try:
            epsilon = float(value)
        except (TypeError, ValueError, OverflowError):
            epsilon = math.nan
        if not 0 < epsilon < math.inf:
            raise CorpusError(
                f"'{self.path}', data row {row + 1}: '{self.epsilon_column}' is {quote(value)}; it must be a "
                "finite number above 0. If the column is not the privacy budget, set `epsilon_column` to "
                "another name."
            )
        return epsilon

    def _select_rows(self, columns: Mapping[str, Sequence[Any]]) -> Sequence[int]:
        for wanted, option in (
            (self.original_column, "original_column"),
            (self.rewrite_column, "rewrite_column"),
        ):
            if wanted not in columns:
                raise CorpusError(
                    f"'{self.path}' has no column '{wanted}'.{did_you_mean(wanted, columns)} "
                    f"It has: {join_columns(columns)}. Name the right one with `{option}`."
                )
        everything = range(len(columns[self.original_column]))
        if self.label_column not in columns:
            return everything
        labels = [str(value) for value in columns[self.label_column]]
        distinct = sorted(set(labels))
        if not self.select and len(distinct) == 1:
            return everything
        if self.select not in distinct:
            raise SpecError(
                f"'{self.path}' contains rewrites by {join_names(distinct)} (column '{self.label_column}'); "
                f"choose one with `select`{f', not {self.select!r}' if self.select else ''}; or, if the "
                "column means something else, set `label_column` to another name."
            )
        return [row for row in everything if labels[row] == self.select]


def _read_text(value: Any) -> str:
    return "" if value is None else str(value)
