"""The results of a run as frames: one row per finding, per trial and attack, or per loss and delta.

Columns and their types are those of the published documents, whatever a run has found: a column that is
empty everywhere has its type too, so that frames of several runs can be put below each other.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from tedaudit.errors import SpecError
from tedaudit.plugins.values import Array, Plan
from tedaudit.reports.export.documents import ROW, LossAt, TextTrial, Trial, list_told, make_plain
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.results.losses import read_losses
from tedaudit.results.reading import find_fresh
from tedaudit.text.characters import replace_surrogates
from tedaudit.text.plain_data import pick

_KINDS: Mapping[type, Any] = {bool: pl.Boolean, int: pl.Int64, float: pl.Float64, str: pl.String}


def list_columns(kind: type, line: str = "") -> pl.Schema:
    """Return the columns of a table of what is told of a class's values, with their types."""
    return pl.Schema(
        {name: _KINDS[make_plain(told.json_type)] for name, told in list_told(kind, line).items()}
    )


def frame_rows(result: AuditResult) -> pl.DataFrame:
    """Return one row per plan, mechanism, epsilon and attack: the table of estimates.parquet."""
    return pl.DataFrame([pick(finding, ROW) for finding in result], list_columns(Finding, ROW))


def frame_losses(result: AuditResult) -> pl.DataFrame:
    """Return one row per plan, mechanism, epsilon and delta that has losses; no row if none has."""
    rows = [LossAt(row, at).to_dict() for row in read_losses(result) for at in row.epsilons]
    return pl.DataFrame(rows, list_columns(LossAt))


def frame_trials(result: AuditResult, *, texts: bool = False) -> pl.DataFrame:
    """Return one row per trial and attack (two for the baseline), in the order of findings and trials.

    It holds no text of the corpus unless `texts` asks for source, rewrite and guess.
    """
    schema = list_columns(TextTrial if texts else Trial)
    frames = [_frame_finding(result, finding, schema, texts=texts) for finding in result]
    return pl.concat(frames) if frames else pl.DataFrame(schema=schema)


def _frame_finding(result: AuditResult, finding: Finding, schema: pl.Schema, *, texts: bool) -> pl.DataFrame:
    _refuse_renamed(result, finding)
    table, plan = result.guesses(finding), result.run.read_plan(finding.plan)
    found = table.read(["choice", "margin", "rank", "usable", "failed"])
    count = len(found["choice"])
    rows, plan = np.arange(count), plan.rows(0, count)
    guess = _find_named(plan, found["choice"])
    columns: dict[str, Any] = {
        "trial": rows // max(1, finding.bound.guesses // finding.bound.trials), "row": rows,
        "candidates": np.full(count, finding.bound.candidates), "secret": plan.secret,
        "choice": found["choice"], "rank": found["rank"], "margin": found["margin"].astype(np.float64),
        "right": found["choice"] == plan.secret, "usable": found["usable"], "failed": found["failed"],
        "counted": _find_counted(result, finding, count), "source": plan.source, "guess": guess,
    }  # fmt: skip
    if texts:
        columns |= _read_texts(result, finding, plan, guess)
    known = {"plan": finding.plan, "mechanism": finding.label, "attack": finding.attack}
    frame = pl.DataFrame(columns).with_columns(
        *(pl.lit(value).alias(name) for name, value in known.items()),
        pl.lit(finding.epsilon.json, dtype=pl.Float64).alias("epsilon"),
    )
    answered = pl.col("usable")
    named = [name for name in ("choice", "rank", "margin", "guess", "guess_text") if name in schema]
    blank = [pl.when(answered).then(pl.col(name)).alias(name) for name in named]
    return frame.with_columns(*blank).select(*schema).cast(schema)


def _refuse_renamed(result: AuditResult, finding: Finding) -> None:
    folder = result.run.guesses_folder(finding.plan, finding.label, finding.epsilon, finding.attack)
    if not folder.exists():
        raise SpecError(
            "The names of this result were redacted, so that its tables cannot be found: `load_run` reads "
            "the run with its own names."
        )


def _find_named(plan: Plan, choice: Array) -> Array:
    """Return the positions in the corpus of the texts that were named; anything without an answer."""
    chosen = np.maximum(choice, 0)
    return chosen if plan.candidates is None else plan.candidates[np.arange(len(chosen)), chosen]


def _find_counted(result: AuditResult, finding: Finding, count: int) -> Array:
    """Return which rows are behind the bound: fresh ones, of whole trials."""
    folder = result.run.guesses_folder(finding.plan, finding.label, finding.epsilon, finding.attack)
    start, _ = find_fresh(folder.info().about, count)
    rows = np.arange(count)
    return np.asarray((rows >= start) & (rows < start + finding.bound.guesses))


def _read_texts(result: AuditResult, finding: Finding, plan: Plan, guess: Array) -> dict[str, Sequence[Any]]:
    corpus = result.run.corpus().texts
    outputs = result.rewrites(finding).outputs(plan.source, plan.replicate)
    return {
        "source_text": [replace_surrogates(corpus[position]) for position in plan.source],
        "rewrite": [replace_surrogates(text) for text, _ in outputs],
        "guess_text": [replace_surrogates(corpus[position]) for position in guess],
    }


def to_pandas(frame: pl.DataFrame) -> Any:
    """Return the frame for those who use pandas, which must be installed."""
    try:
        import pandas as pd
    except ImportError as error:
        raise SpecError(
            "library='pandas' needs pandas, which is not installed: pip install pandas; or use the polars "
            "frame."
        ) from error
    return pd.DataFrame({name: frame[name].to_list() for name in frame.columns})


def list_documents(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame safe for JSON: numbers that are none or infinite become None."""
    rows = frame.iter_rows(named=True)
    return [{name: None if _is_odd(value) else value for name, value in row.items()} for row in rows]


def _is_odd(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
