"""Read tables of texts: csv, tsv, jsonl, parquet and txt, plain or compressed; write rows of a csv.

Every value of a csv or tsv stays the string it is in the file; a tsv has no quoting; a txt has one
text per line. Errors name the file and, if possible, the line.

A cell of a csv that a spreadsheet would run as a formula is written with an apostrophe before it, and so is a
line inside a cell, which a program that does not know the quotes takes for a row. It is taken off again from
files that `tedaudit rewrite` wrote, and from no other: elsewhere it may be part of a text.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tedaudit.errors import CorpusError, did_you_mean, join_names
from tedaudit.paths import describe_os_error, parse_path
from tedaudit.text import unpacking
from tedaudit.text.characters import UNSPACED_BLOCKS
from tedaudit.text.unpacking import COMPRESSIONS

Table = dict[str, list[Any]]

FORMATS = ("csv", "jsonl", "ndjson", "parquet", "tsv", "txt")
TEXT_NAMES = (
    *("text", "sentence", "review", "utterance", "document", "content", "message", "original"),
    *("body", "comment", "query", "question", "post", "tweet", "transcript", "input", "source"),
)

_MARKS = r"[=+\-@\t\r]"
FORMULA = rf"(?:^|[\r\n])['\"]*{_MARKS}"
"""What every cell has that needs an apostrophe, and few others: `guard_cell` knows which."""
_CELL = re.compile(rf"'*{_MARKS}")  # apostrophes too, so that taking one off gives the cell back
_LINE = re.compile(rf"([\r\n])(?=['\"]*{_MARKS})")  # quotes, which a program that ends the row here may drop
_GUARDED_LINE = re.compile(rf"([\r\n])'(?=['\"]*{_MARKS})")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_RELEASED = ("rewrite", "error")  # the last columns of what `tedaudit rewrite` writes


def guard_cell(value: Any) -> Any:
    """Return the value of a cell of a csv so that no spreadsheet runs it; numbers stay as they are."""
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    guarded = _LINE.sub(r"\1'", value)
    return f"'{guarded}" if _CELL.match(value) else guarded


def _take_guard_off(cell: str) -> str:
    whole = cell[1:] if cell.startswith("'") and _CELL.match(cell) else cell
    return _GUARDED_LINE.sub(r"\1", whole)


def csv_line(values: Iterable[Any]) -> str:
    """Return a row of a csv, every cell guarded and its line feed included.

    The csv module quotes a line break only if it is part of what ends a row: that has both, and is cut.
    """
    out = io.StringIO(newline="")
    csv.writer(out).writerow(map(guard_cell, values))
    return out.getvalue().removesuffix("\r\n") + "\n"


def table_format(path: Path) -> str:
    """Return the format that a file's name ends in, compression aside; "" if it is not a known one."""
    endings = path.name.lower().split(".")[1:]
    if endings and endings[-1] in COMPRESSIONS:
        endings.pop()
    return endings[-1] if endings and endings[-1] in FORMATS else ""


def read_table(path: str | Path, *, encoding: str = "utf-8", header: bool = True) -> Table:
    """Return the columns of a table by name; without a header they are column_1, column_2 and so on."""
    file = parse_path(path)
    kind = table_format(file)
    if not kind and file.is_file():
        raise CorpusError(
            f"The name of '{file}' does not tell its format. It must end in one of: {join_names(FORMATS)}; "
            f"then, if compressed, in one of: {join_names(COMPRESSIONS)}. Rename the file, or convert it."
        )
    if kind == "parquet":
        table = _read_parquet(read_bytes(file), file)
    else:
        text = decode(read_bytes(file), file, encoding)
        if kind == "txt":
            table = {"text": lines_of(text)}
        elif kind in ("jsonl", "ndjson"):
            table = _build_from_objects(json_objects(text, file), file)
        else:
            table = _build_from_rows(read_rows(text, file, kind), file, header=header)
    if not any(table.values()):
        raise CorpusError(
            f"'{file}' has no rows, only the columns: {join_columns(table)}. Is it the right file?"
        )
    return table


def read_text(path: str | Path, *, encoding: str = "utf-8") -> str:
    """Return the whole text of a file, decompressed if its name says so."""
    file = parse_path(path)
    return decode(read_bytes(file), file, encoding)


def read_bytes(file: Path) -> bytes:
    """Return the content of a file, decompressed if its name says so; an empty file is refused."""
    try:
        if file.is_dir():
            names = join_names(entry.name for entry in file.iterdir())
            raise CorpusError(f"'{file}' is a folder, not a file. It contains: {names}.")
        if not file.exists():
            near = [entry.name for entry in file.parent.iterdir()] if file.parent.is_dir() else []
            raise CorpusError(
                f"There is no file '{file.absolute()}'.{did_you_mean(file.name, near)} Check the path."
            )
        raw = file.read_bytes()
    except OSError as error:
        raise CorpusError(
            f"'{file}' cannot be read ({describe_os_error(error)}). Check the path and its permissions."
        ) from error
    ending = file.suffix.lower().lstrip(".")
    if raw and ending in COMPRESSIONS:
        raw = _decompress(raw, ending, file)
    if not raw:
        raise CorpusError(f"'{file}' is empty. Is it the right file, and was it downloaded completely?")
    return raw


def _decompress(raw: bytes, ending: str, file: Path) -> bytes:
    try:
        return unpacking.unpack(raw, ending)
    except unpacking.TooLargeError as error:
        raise CorpusError(f"'{file}': {error}. Unpack it yourself and name the unpacked file.") from error
    except unpacking.NoLibraryError as error:
        raise CorpusError(
            f"'{file}' is compressed with zstd, but no zstd library is installed. "
            f"Run: pip install pyarrow; or decompress it: zstd -d '{file}'."
        ) from error
    except unpacking.DAMAGE as error:
        raise CorpusError(
            f"'{file}' is damaged or not a .{ending} file: {error}. Download it again, or decompress it."
        ) from error


def decode(raw: bytes, file: Path, encoding: str) -> str:
    """Return bytes as text; an error names the invalid byte and its position in the file."""
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        marked = raw[:2] in (b"\xff\xfe", b"\xfe\xff")
        wide = "utf-16" if marked else "utf-16-le" if b"\0" in raw[1:200:2] else ""
        other = wide or ("utf-8" if "utf" not in encoding.lower() else "latin-1")
        raise CorpusError(
            f"'{file}' is not {encoding}: byte 0x{raw[error.start : error.start + 1].hex()} at offset "
            f"{error.start:,}, line {line:,}. Convert the file to UTF-8, or set the encoding "
            f"of a corpus, such as 'encoding: {other}'."
        ) from error
    except (LookupError, ValueError) as error:  # a few encodings raise no more than the latter
        known = "ascii, cp1252, latin-1, utf-8, utf-16 and Python's other text encodings"
        reason = f"there is no encoding '{encoding}'" if isinstance(error, LookupError) else str(error)
        raise CorpusError(f"'{file}': {reason}. Known encodings: {known}.") from error
    return text.removeprefix("\ufeff")


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, split at line feeds only; a trailing line feed adds no empty line."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def json_objects(text: str, file: Path) -> list[dict[str, Any]]:
    """Return one object per line that is not blank."""
    objects: list[dict[str, Any]] = []
    for number, line in enumerate(lines_of(text), 1):
        if line.strip():
            objects.append(parse_object(line, number, file))
    return objects


def parse_object(line: str, number: int, file: Path) -> dict[str, Any]:
    """Return the object on a line of a file."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CorpusError(
            f"'{file}', line {number:,} is not JSON: {explain_json(error)}. "
            'Every line must be one object, such as {"text": "..."}: fix or remove the line.'
        ) from error
    if not isinstance(value, dict):
        raise CorpusError(
            f"'{file}', line {number:,} is JSON of type {type(value).__name__}. "
            'Every line must be one object, such as {"text": "..."}.'
        )
    return value


def explain_json(error: Exception) -> str:
    """Return what is wrong with some JSON, and where if that is known."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos + 1:,}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else "a number has too many digits"


def _build_from_objects(objects: Sequence[Mapping[str, Any]], file: Path) -> Table:
    names = dict.fromkeys(name for item in objects for name in item)
    if len(names) * len(objects) > unpacking.MOST_CELLS:
        raise CorpusError(
            f"'{file}' has {len(objects):,} lines with {len(names):,} names in all, which is too large for a "
            "table. Every line should have the same few names: keep the text and the labels only."
        )
    return {name: [item.get(name) for item in objects] for name in names}


def _read_parquet(raw: bytes, file: Path) -> Table:
    try:
        return unpacking.unpack_parquet(raw)
    except unpacking.TooLargeError as error:
        raise CorpusError(
            f"'{file}': {error}. Cut it into smaller files, or keep the text and the labels only."
        ) from error
    except unpacking.DAMAGE as error:
        raise CorpusError(
            f"'{file}' is damaged or not a parquet file: {error}. Download or write it again."
        ) from error


def read_rows(text: str, file: Path, kind: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a csv or tsv, each with the line that it starts at; a blank line has no field."""
    return _read_csv_rows(text, file) if kind == "csv" else _read_tsv_rows(text)


def _read_csv_rows(text: str, file: Path) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise CorpusError(
                f"'{file}', the row that starts at line {line:,} is not csv: {error}. The usual cause is a "
                "quotation mark that is not closed or not doubled. Fix it; store very long texts as .jsonl."
            ) from error
        yield line, row


def _read_tsv_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(lines_of(text), 1):
        yield number, line.split("\t") if line else []


def _build_from_rows(rows: Iterable[tuple[int, list[str]]], file: Path, *, header: bool) -> Table:
    """Return rows of equal width as columns; a blank line is a row of empty strings, so it is counted."""
    remaining = iter(rows)
    first = next((row for _, row in remaining if row), None)
    if first is None:
        raise CorpusError(f"'{file}' has only blank lines. Is it the right file?")
    width = len(first)
    is_guarded = header and table_format(file) == "csv" and tuple(first[-2:]) == _RELEASED
    if is_guarded:
        first = [_take_guard_off(name) for name in first]
    if header and width == 1 and ";" in first[0] and table_format(file) == "csv":
        raise CorpusError(
            f"'{file}': the first row is one field with semicolons in it. Spreadsheet programs in many "
            "countries write .csv files like that: save it with commas, or as .jsonl; if the row is a "
            "text, set 'header: false'."
        )
    names = [f"column_{position}" for position in range(1, width + 1)]
    table_rows: list[list[str]] = [] if header else [first]
    if header:
        names = [name.strip() or names[position] for position, name in enumerate(first)]
        duplicates = {name for name in names if names.count(name) > 1}
        if duplicates:
            raise CorpusError(
                f"'{file}' has duplicate columns: {join_columns(duplicates)}. Rename one; or, if the first "
                "row is already data, set 'header: false'."
            )
    for line, row in remaining:
        refuse_width(row, width, line, file)
        cells = [_take_guard_off(cell) for cell in row] if is_guarded else row
        table_rows.append(cells or [""] * width)
    return {name: [row[position] for row in table_rows] for position, name in enumerate(names)}


def refuse_width(row: Sequence[str], width: int, line: int, file: Path) -> None:
    """Refuse a row that has other than so many fields, and some."""
    if row and len(row) != width:
        raise CorpusError(
            f"'{file}', line {line:,} has {len(row)} fields, but the first row has {width}. In a .csv, "
            "a field with a comma must be in double quotes; in a .tsv, no field may contain a tab. "
            "Fix the line, or save the table as .jsonl."
        )


def choose_column(
    table: Mapping[str, Sequence[Any]], wanted: str, source: str, *, advice: str = ""
) -> tuple[str, str]:
    """Return the text column, and a note if it was guessed among several; `advice` is added to errors."""
    if wanted:
        if wanted in table:
            return wanted, ""
        raise CorpusError(
            f"{source} has no column '{wanted}'. It has: {join_columns(table)}.{did_you_mean(wanted, table)} "
            f"Name one of them with 'column'.{advice}"
        )
    by_usual_name = {name.strip().lower(): name for name in reversed(list(table))}
    chosen = next((by_usual_name[usual] for usual in TEXT_NAMES if usual in by_usual_name), "")
    if not chosen:
        of_strings = [name for name, values in table.items() if _holds_strings(values)]
        if len(of_strings) != 1:
            raise CorpusError(
                f"{source}: which column is the text? It has: {join_columns(table)}. "
                f"Name one of them with 'column'.{advice}"
            )
        chosen = of_strings[0]
    others = [name for name in table if name != chosen]
    note = f"column '{chosen}' taken as the text (others: {join_columns(others)}); name one with 'column'"
    return chosen, note if others else ""


def _holds_strings(values: Sequence[Any]) -> bool:
    filled = [value for value in values if value is not None]
    return bool(filled) and all(isinstance(value, str) for value in filled)


def take_text(table: Mapping[str, list[Any]], column: str, source: str) -> tuple[list[str], Table]:
    """Return the texts of a column, "" for missing ones, and the other columns."""
    texts: list[str] = []
    for row, value in enumerate(table[column], 1):
        if value is not None and not isinstance(value, str):
            raise CorpusError(
                f"{source}, row {row:,}: column '{column}' has a value of type {type(value).__name__}, "
                "not a text. Name the text column with 'column', or write its values as strings."
            )
        texts.append(value or "")
    return texts, {name: values for name, values in table.items() if name != column}


# --- Names of columns in messages: a file without a header has its first row there, which may be texts.

_SENTENCE = re.compile(rf"[{UNSPACED_BLOCKS}]{{9}}")  # so many characters without a space may be one


def show_name(name: str, place: int | None = None) -> str:
    """Return a column's name if it is one; of what may be a text, the length, and the place if known."""
    if len(name) <= 40 and len(name.split()) <= 3 and not _SENTENCE.search(name):
        return name
    where = "" if place is None else f"column {place}, "
    return f"({where}a name of {len(name):,} characters)"


def join_columns(names: Iterable[str]) -> str:
    """Return names of columns as one sorted list, without those that may be texts."""
    return join_names(map(show_name, names))
