"""The notebooks are run from the first cell to the last, in a kernel of their own."""

import json
import os

import pytest

from doc_pages import PROJECT

NOTEBOOKS = sorted((PROJECT / "docs" / "notebooks").glob("*.ipynb"))
PRINTED = {
    "researcher": ("eps_emp", "claim_total", "out of reach", "no violation found", "8 findings; the same"),
    "privacy-engineer": (
        "300 / 300</td>",
        "(ceiling)",
        "lead to their own original first",
        "Not private: mask_names",
    ),
}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_says_what_its_text_says(path, tmp_path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=place).execute(
        env={**os.environ, "HF_HUB_OFFLINE": "1"}
    )
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    shown = [output.get("text", "") or output.get("data", {}).get("text/html", "") for output in outputs]
    printed = "".join(shown)
    assert [words for words in PRINTED[path.stem] if words not in printed] == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path):
    """They would be texts, times and pictures that nobody can review."""
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None


def test_there_is_one_for_each_reader():
    assert {path.stem for path in NOTEBOOKS} == set(PRINTED)
