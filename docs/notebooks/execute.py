"""Runs the notebooks and stores their outputs: tables, words and pictures that are the same every time.

python docs/notebooks/execute.py
"""

import os
import tempfile
from pathlib import Path
from typing import Any

import nbclient
import nbformat


def execute(path: Path) -> Any:
    """Return a notebook with the outputs of a run in an empty folder; no model and no network are used."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        client = nbclient.NotebookClient(
            notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
        )
        client.execute(env={**os.environ, "HF_HUB_OFFLINE": "1", "TEDAUDIT_ZOO": "off"})
        left = [found.name for found in Path(folder).iterdir()]
    if left:
        raise RuntimeError(f"{path.name} left files behind: {', '.join(left)}.")
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"]}
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times
        if cell.cell_type == "code":
            cell.outputs = [output for output in map(_clean, cell.outputs) if output]
    return notebook


def _clean(output: Any) -> Any:
    """Drop the plain form of what has a better one, and what names a place in memory."""
    data = output.get("data", {})
    if len(data) > 1:
        data.pop("text/plain", None)
    return None if list(data) == ["text/plain"] and data["text/plain"].startswith("<") else output


if __name__ == "__main__":
    for place in sorted(Path(__file__).parent.glob("*.ipynb")):
        nbformat.write(execute(place), place)
