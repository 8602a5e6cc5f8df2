"""The published JSON schemas: made from the documents, shipped with the package, named by what they describe.

`python -m tedaudit.reports.export.schemas` writes them anew after a change to the documents. A schema that
was released never changes: the next one gets the next number, and the file of the old one stays.
"""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

from tedaudit.errors import SpecError, did_you_mean, join_names
from tedaudit.reports.export.documents import Document
from tedaudit.reports.export.summary_documents import Losses, Rows, Summary, Trials

DOCUMENTS: dict[str, type[Document]] = {
    "summary": Summary, "rows": Rows, "trials": Trials, "losses": Losses,
}  # fmt: skip
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def name_schema(document: type[Document]) -> str:
    """Return the name of a document's schema, such as urn:tedaudit:summary:2."""
    (name,) = get_args(document.model_fields["schema_"].annotation)
    return str(name)


def name_file(document: type[Document]) -> str:
    """Return the file of a document's schema, such as summary-2.schema.json."""
    _, _, kind, number = name_schema(document).split(":")
    return f"{kind}-{number}.schema.json"


def make_schema(document: type[Document]) -> dict[str, Any]:
    """Return the schema of a document; a field that it does not name is refused."""
    made = document.model_json_schema(by_alias=True)
    return {"$schema": _DIALECT, "$id": name_schema(document), **made}


def read_schema(kind: str) -> dict[str, Any]:
    """Return a schema as it is shipped."""
    if kind not in DOCUMENTS:
        raise SpecError(
            f"There is no schema '{kind}'.{did_you_mean(kind, DOCUMENTS)} There are: {join_names(DOCUMENTS)}."
        )
    shipped = files("tedaudit.reports.export") / "schemas" / name_file(DOCUMENTS[kind])
    schema: dict[str, Any] = json.loads(shipped.read_text(encoding="utf-8"))
    return schema


def write_schemas(folder: Path) -> list[Path]:
    """Write the schema of every document into a folder, and return the files."""
    written = []
    for document in DOCUMENTS.values():
        path = folder / name_file(document)
        path.write_text(json.dumps(make_schema(document), indent=2) + "\n", encoding="utf-8")
        written.append(path)
    return written


if __name__ == "__main__":
    write_schemas(Path(__file__).with_name("schemas"))
