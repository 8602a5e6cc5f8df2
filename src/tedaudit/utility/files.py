"""The files of a study: utility.json, utility.md and a figure; and a copy for an audit's report."""

import json
from pathlib import Path

from tedaudit.errors import RunDirectoryError
from tedaudit.reports.figures import figures_missing, save_figure
from tedaudit.reports.markdown import markdown_list, markdown_table, markdown_text
from tedaudit.reports.utility import FILE
from tedaudit.store.directory import RunDirectory
from tedaudit.store.files import make_folders, write_atomically
from tedaudit.utility.figure import figure
from tedaudit.utility.results import HEADINGS, RIGHT, UtilityResult, caption, cells, describe_changes


def write_study(result: UtilityResult, run: Path | None = None) -> list[Path]:
    """Write the result into the study's folder, and into an audit's if one is named; return the files."""
    content = json.dumps(result.to_dict(), indent=2, ensure_ascii=False).encode()
    written = [result.folder / FILE, result.folder / "utility.md"]
    make_folders(result.folder, None)
    write_atomically(written[0], content)
    write_atomically(written[1], markdown(result).encode())
    if not figures_missing():
        written += save_figure(figure(result), result.folder / "utility")
    if run is not None:
        store = check_run(run)
        store.files.write({store.utility: content}, redacted=False)
        written.append(store.utility)
    return written


def check_run(run: Path) -> RunDirectory:
    """Return an audit's run directory, or raise an error if it is not one."""
    store = RunDirectory(run)
    if not store.manifest_path.is_file():
        raise RunDirectoryError(
            f"'{run}' is not the run directory of an audit: it has no manifest.json. Name another with --run."
        )
    return store


def markdown(result: UtilityResult) -> str:
    """Return the table as Markdown, with its caption."""
    table, notes = (
        markdown_table(HEADINGS, cells(result), RIGHT),
        markdown_list([*result.notes, *describe_changes(result)]),
    )
    return f"# Utility {result.name}\n\n{table}\n\n{markdown_text(caption(result))}\n\n## Notes\n\n{notes}\n"
