"""The notebooks are run from the first cell to the last, in a kernel of their own."""

import json

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


def tell(notebook):
    """Return what a notebook printed and showed, with a word for every picture."""
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    return [
        "picture"
        if "image/png" in data
        else "".join(output.get("text", "")) + "".join(data.get("text/html", ""))
        for output in outputs
        for data in [output.get("data", {})]
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_what_is_stored(path, monkeypatch):
    for needed in ("nbclient", "nbformat", "ipykernel", "matplotlib"):
        pytest.importorskip(needed)
    monkeypatch.syspath_prepend(str(path.parent))
    from execute import execute

    made = tell(execute(path))
    assert [words for words in PRINTED[path.stem] if words not in "".join(made)] == []
    stored = tell(json.loads(path.read_text("utf-8")))
    assert stored == made, "python docs/notebooks/execute.py stores them anew"


def test_there_is_one_for_each_reader():
    assert {path.stem for path in NOTEBOOKS} == set(PRINTED)
