"""A run as one file: which formats there are, and what each can hold."""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from tedaudit.errors import SpecError, escape_control, join_names
from tedaudit.reports.export.documents import SCHEMAS
from tedaudit.reports.export.frames import frame_losses, frame_rows, frame_trials, list_documents
from tedaudit.reports.export.gates import make_junit, make_step_summary
from tedaudit.reports.writers.latex import PREAMBLE, write_section
from tedaudit.results.findings import AuditResult
from tedaudit.results.gates import Gates
from tedaudit.results.redaction import redact_result
from tedaudit.results.summary import NO_FINDINGS
from tedaudit.results.telling_audit import plans, tell_bounds
from tedaudit.text.readers import FORMULA, guard_cell
from tedaudit.version import __version__

Format = Literal["csv", "latex", "parquet", "json", "junit", "markdown"]
What = Literal["rows", "trials", "losses"]
SUFFIXES: dict[str, Format] = {
    ".csv": "csv", ".tex": "latex", ".parquet": "parquet", ".json": "json", ".xml": "junit",
    ".md": "markdown",
}  # fmt: skip
TABLES: tuple[Format, ...] = ("csv", "parquet", "json")  # formats of data, which hold any of the three
GATED: tuple[Format, ...] = ("junit", "markdown")  # formats that tell how gates came out


@dataclass(frozen=True, slots=True)
class Export:
    """What is wanted: the format, what of the run, whether with texts or TeDA bounds, under which gates."""

    format: Format
    what: What = "rows"
    texts: bool = False
    redact: bool = False
    teda: bool = False
    gates: Gates = field(default_factory=Gates)

    def __post_init__(self) -> None:
        if self.what != "rows" and self.format not in TABLES:
            raise SpecError(
                f"--what {self.what} is data: --format is one of {join_names(TABLES)}, not {self.format}."
            )
        if self.texts and self.what != "trials":
            raise SpecError(f"--texts belongs to --what trials; --what {self.what} has no texts.")
        if self.texts and self.redact:
            raise SpecError("--texts and --redact cannot be combined: one asks for what the other omits.")
        if self.teda and self.format != "latex":
            raise SpecError(
                f"--teda belongs to --format latex, not {self.format}: data has it as `teda_bound`."
            )
        if self.format == "junit" and not self.gates:
            raise SpecError(
                "JUnit shows how gates came out: name one, as --fail-on violated or --fail-above 2.0."
            )
        if self.gates and self.format not in GATED:
            raise SpecError(
                f"--fail-on and --fail-above belong to --format {' or '.join(GATED)}; for other formats, "
                "`tedaudit report RUN --fail-on violated` is the gate."
            )


def make_export(result: AuditResult, export: Export) -> bytes:
    """Return the content of the file."""
    shown = redact_result(result, result.run.manifest()) if export.redact else result
    if export.format in TABLES:
        return _write_table(shown, _make_frame(result, shown, export), export)
    documents: dict[str, Callable[[], str]] = {
        "latex": lambda: make_latex(shown, teda=export.teda),
        "junit": lambda: make_junit(shown, export.gates),
        "markdown": lambda: make_step_summary(shown, export.gates),
    }
    return documents[export.format]().encode("utf-8", "replace")


def make_latex(result: AuditResult, *, teda: bool = False) -> str:
    """Return one table per plan, with TeDA bounds if asked for; the document needs booktabs."""
    told = zip(plans(result), tell_bounds(result, teda=teda), strict=True)
    tables = [write_section(section, (result.name, plan)) for plan, section in told]
    missing = "" if result.finished else f"% {escape_control(result.unfinished)}.\n"
    return PREAMBLE + missing + "\n".join(tables or [f"% {NO_FINDINGS}\n"])


def _make_frame(result: AuditResult, shown: AuditResult, export: Export) -> pl.DataFrame:
    if export.what == "rows":
        return frame_rows(shown)
    read = frame_losses if export.what == "losses" else lambda run: frame_trials(run, texts=export.texts)
    return _rename(read(result), result, shown)


def _rename(frame: pl.DataFrame, result: AuditResult, shown: AuditResult) -> pl.DataFrame:
    """Return the frame with names as they may be shown; tables are found by the names that they have."""
    pairs = list(zip(result, shown, strict=True))
    names: dict[str, dict[str, str]] = {
        "mechanism": {old.label: new.label for old, new in pairs},
        "attack": {old.attack: new.attack for old, new in pairs},
        "plan": {old.plan: new.plan for old, new in pairs},
    }
    columns = [pl.col(name).replace(known) for name, known in names.items() if name in frame.columns]
    return frame.with_columns(*columns)


def _write_table(shown: AuditResult, frame: pl.DataFrame, export: Export) -> bytes:
    schema = SCHEMAS[export.what]
    if export.format == "csv":
        return frame.select(pl.all().map_batches(_guard)).write_csv().encode()
    if export.format == "json":
        head = {"schema": schema, "run": shown.name, "tedaudit": __version__}
        told = {**head, export.what: list_documents(frame)}
        return json.dumps(told, ensure_ascii=False, indent=1).encode()
    buffer = io.BytesIO()
    frame.write_parquet(buffer, metadata={"schema": schema, "tedaudit": __version__})
    return buffer.getvalue()


def _guard(column: pl.Series) -> pl.Series:
    """Return a column of which no cell is a formula to a spreadsheet."""
    if column.dtype != pl.String or not column.str.contains(FORMULA).any():
        return column
    return column.map_elements(guard_cell, pl.String)
