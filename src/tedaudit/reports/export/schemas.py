"""The published JSON schemas: made from the documents, shipped with the package, named by what they describe.

`python -m tedaudit.reports.export.schemas` writes them anew after a change to the documents.
"""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from tedaudit.errors import SpecError, did_you_mean, join_names
from tedaudit.reports.export.documents import SCHEMAS, make_document

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def name_file(kind: str) -> str:
    """Return the file of a schema, such as summary-2.schema.json."""
    number = SCHEMAS[kind].rpartition(":")[2]
    return f"{kind}-{number}.schema.json"


def make_schema(kind: str) -> dict[str, Any]:
    """Return the schema of a kind of file; a field that it does not name is refused."""
    made = TypeAdapter(make_document(kind)).json_schema()
    return {"$schema": _DIALECT, "$id": SCHEMAS[kind], **made}


def read_schema(kind: str) -> dict[str, Any]:
    """Return a schema as it is shipped."""
    if kind not in SCHEMAS:
        raise SpecError(
            f"There is no schema '{kind}'.{did_you_mean(kind, SCHEMAS)} There are: {join_names(SCHEMAS)}."
        )
    shipped = files("tedaudit.reports.export") / "schemas" / name_file(kind)
    schema: dict[str, Any] = json.loads(shipped.read_text(encoding="utf-8"))
    return schema


def write_schemas(folder: Path) -> list[Path]:
    """Write the schema of every kind of file into a folder, and return what was written."""
    written = []
    for kind in SCHEMAS:
        path = folder / name_file(kind)
        path.write_text(json.dumps(make_schema(kind), indent=2) + "\n", encoding="utf-8")
        written.append(path)
    return written


if __name__ == "__main__":
    write_schemas(Path(__file__).with_name("schemas"))
