"""The folder of a link study: figures as JSON, a report, and the records as a table."""

import json
from pathlib import Path

import numpy as np

from tedaudit.errors import RunDirectoryError, join_names
from tedaudit.reports.writers.markdown import markdown_list, markdown_text, write_section
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.files import TEMPORARY, clear_leftovers, write_atomically
from tedaudit.studies.link.result import LinkResult
from tedaudit.studies.link.table import Release
from tedaudit.studies.link.telling import (
    list_limits,
    tell,
    tell_findings,
    tell_headline,
    tell_source,
    tell_title,
)
from tedaudit.text.readers import csv_line

FIGURES, REPORT, RECORDS, DOCUMENT = "link.json", "report.md", "records.csv", "committee.html"


def check_folder(folder: Path) -> None:
    """Refuse a folder that contains something else than an earlier study."""
    if folder.exists() and not folder.is_dir():
        raise RunDirectoryError(f"'{folder}' is a file; name a folder with `out` (--out).")
    entries = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    if FIGURES not in entries and any(not name.startswith(TEMPORARY) for name in entries):
        raise RunDirectoryError(
            f"'{folder}' is not empty and holds no link study (no {FIGURES}; it has: "
            f"{join_names(entries[:5])}). Name a new or empty folder with `out` (--out)."
        )


def refuse_other_release(folder: Path, release: Release) -> None:
    """Refuse a folder with the study of another table, or with a file that is none: it would be replaced."""
    try:
        known = json.loads((folder / FIGURES).read_text("utf-8"))
    except FileNotFoundError:
        return
    except (OSError, ValueError):
        known = None
    if not isinstance(known, dict) or "records" not in known:
        raise RunDirectoryError(
            f"'{folder / FIGURES}' does not belong to a link study, and would be replaced. Name another "
            "folder with `out` (--out), or delete that file."
        )
    if known.get("release") not in (None, release.checksum):
        raise RunDirectoryError(
            f"'{folder}' holds the study of another table ({known['records']} records), which would be "
            "replaced. Name another folder with `out` (--out), or delete that one."
        )


def write_link(result: LinkResult, folder: Path) -> list[Path]:
    """Write figures, report and records into a folder that is closed to others; an earlier study is replaced.

    None of the files holds a text; report, figures and records name ids.
    """
    RunDirectory(folder).create()
    clear_leftovers(folder)
    (folder / DOCUMENT).unlink(missing_ok=True)  # it tells the figures of the earlier study
    content = {
        FIGURES: json.dumps(result.to_dict(), indent=2, ensure_ascii=False, allow_nan=False),
        REPORT: write_report(result),
        RECORDS: write_records(result),
    }
    for name, text in content.items():
        write_atomically(folder / name, text.encode("utf-8", "replace"))
    return [folder / name for name in content]


def write_report(result: LinkResult, count: int = 10) -> str:
    """Return the report as Markdown: sentences, tables, and what they do not say."""
    parts = [
        f"# {markdown_text(tell_title(result))}\n",
        f"**{markdown_text(tell_headline(result))}**\n",
        markdown_list(tell_findings(result)) + "\n",
        *(write_section(section).rstrip() + "\n" for section in tell(result, count)),
        "## What this does not say\n",
        markdown_list(list_limits(result)) + "\n",
        f"{markdown_text(tell_source())}\n",
    ]
    if result.notes:
        parts += ["## Notes\n", markdown_list(result.notes) + "\n"]
    return "\n".join(parts)


def write_records(result: LinkResult, *, texts: bool = False) -> str:
    """Return all records as csv, those with the most evidence first; with `texts`, their texts too."""
    names = [name for found in result for name in (f"rank_{found.attack}", f"margin_{found.attack}")]
    more = ["original", "rewrite"] if texts else []
    lines = [csv_line(["id", "attack", "rank", "tied", "margin", "same_original", *names, *more])]
    release = result.release
    for record in result.rank_evidence():
        by_attack = [
            value
            for found in result
            for value in (_plain(found.ranks.rank[record.row]), _plain(found.ranks.margin[record.row]))
        ]
        own = [release.originals[record.row], release.rewrites[record.row]] if texts else []
        row = [record.id, record.attack, _plain(record.rank), record.tied, _plain(record.margin),
               record.sharing, *by_attack, *own]  # fmt: skip
        lines.append(csv_line(row))
    return "".join(lines)


def _plain(value: float) -> str:
    return f"{value:.6g}" if np.isfinite(value) else ""
