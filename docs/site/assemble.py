"""Puts the pages of the documentation together, for any builder that reads mkdocs.yml.

The pages of the repository are copied with their folders, so that their links hold on a code host and on the
site. The reference is written from the code. What comes out is plain Markdown, so that one builder can be
exchanged for another.

    python docs/site/assemble.py build/docs
"""

import base64
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from api_pages import write_api_pages
from setting_pages import write_setting_pages

PROJECT = Path(__file__).parents[2]
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "benchmarks/README.md", "zoo/README.md")
FOLDERS = ("docs", "examples")
_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")


def assemble(target: Path) -> None:
    """Write all pages into a folder; what lay in it before is deleted."""
    shutil.rmtree(target, ignore_errors=True)
    pages = [PROJECT / page for page in PAGES]
    for folder in FOLDERS:
        pages += sorted((PROJECT / folder).rglob("*.md"))
    for page in pages:
        text = page.read_text("utf-8")
        linked = [(page.parent / link).resolve() for link in _LINK.findall(text)]
        for file in [page, *(path for path in linked if path.suffix != ".md" and path.is_file())]:
            place = target / file.relative_to(PROJECT)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
    for notebook in sorted((PROJECT / "docs" / "notebooks").glob("*.ipynb")):
        page = target / notebook.relative_to(PROJECT).with_suffix(".md")
        page.parent.mkdir(parents=True, exist_ok=True)
        write_notebook(json.loads(notebook.read_text("utf-8")), page)
    shutil.copyfile(Path(__file__).parent / "site.css", target / "site.css")
    write_setting_pages(target / "reference")
    write_api_pages(target / "reference")


def write_notebook(notebook: dict[str, Any], page: Path) -> None:
    """Write a notebook as a page: its texts, its code in blocks, and what the code printed and drew."""
    parts: list[str] = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(f"```python\n{source}\n```" if cell["cell_type"] == "code" else source)
        for output in cell.get("outputs", []):
            parts.append(_write_output(output, page.with_name(f"{page.stem}-{len(parts)}.png")))
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _write_output(output: dict[str, Any], picture: Path) -> str:
    data = {kind: "".join(told) for kind, told in output.get("data", {}).items()}
    if "image/png" in data:
        picture.write_bytes(base64.b64decode(data["image/png"]))
        return f"![figure]({picture.name})"
    if "text/html" in data:
        flat = re.sub(r"<style.*?</style>", "", data["text/html"], flags=re.DOTALL)
        return " ".join(flat.split())
    printed = "".join(output.get("text", "")) or data.get("text/plain", "")
    return f"```console\n{printed.rstrip()}\n```"  # wrapped


if __name__ == "__main__":
    assemble(Path(sys.argv[1]))
