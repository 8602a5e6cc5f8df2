"""A split as a table: texts come back as they were, whatever stands beside them."""

import json
import math
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tedaudit.api import load_corpus, run
from tedaudit.errors import RunDirectoryError
from tedaudit.plugins.values import Split
from tedaudit.runs.directory import RunDirectory, frame_of_split, split_of_frame

PLAIN = {
    "label": (1, 2, None), "tag": ("x", "", "z"), "share": (0.5, None, 2.0), "flag": (True, None, False),
    "none": (None, None, None), "large": (2**63 - 1, -(2**63), 0),
}  # fmt: skip


def _back(split):
    return split_of_frame(*frame_of_split(split), Path("p"))


def test_labels_of_one_plain_type_come_back_as_they_were():
    split = Split(("a", "b", "c"), PLAIN)
    assert _back(split) == split


@pytest.mark.parametrize("names", [("text",), ("text", "text_"), ("text_", "text", "texts"), ("text__", "x")])
def test_labels_may_be_called_as_the_texts_are(names):
    split = Split(("a", "b"), {name: (f"{name} 1", f"{name} 2") for name in names})
    assert _back(split) == split


@pytest.mark.parametrize(
    "values",
    [
        (1, "a", None), (1, 1.5, True), ([1, 2], [], None), ({"a": [1]}, {}, "x"), (2**63, 1, 2), (10**400,
        0, None),
        ([["deep"]], None, None), (math.inf, 1, None),
    ],
    ids=str,
)  # fmt: skip
def test_what_no_column_can_hold_is_stored_as_json(values):
    back = _back(Split(("a", "b", "c"), {"odd": values})).columns["odd"]
    assert [None if value is None else json.loads(value) for value in back] == list(values)


def test_half_a_surrogate_pair_in_a_label_is_replaced():
    back = _back(Split(("a", "b"), {"x\ud800": ("\udfff", "ok")}))
    assert back.columns == {"x?": ("?", "ok")}
    assert _back(Split(("a",), {"x": (("\ud800", 1),)})).columns["x"] == ('["\\ud800", 1]',)


@given(
    st.dictionaries(st.sampled_from(["text", "text_", "a", "texts"]), st.none() | st.integers() | st.text())
)
def test_no_column_is_lost_and_no_text_is_changed(labels):
    split = Split(("one", "two"), {name: (value, None) for name, value in labels.items()})
    back = _back(split)
    assert back.texts == split.texts
    assert set(back.columns) == set(split.columns)


@pytest.mark.parametrize("frame", [{"other": ["a"]}, {"text": [1]}, {"text": ["a", None]}])
def test_a_table_without_a_column_of_texts_is_damaged(frame):
    with pytest.raises(RunDirectoryError, match=r"'p' is damaged.*Delete it and run the same command again"):
        split_of_frame(pl.DataFrame(frame), {}, Path("p"))


@pytest.mark.parametrize("name", ["corpus.csv", "corpus.jsonl"])
def test_a_column_called_text_beside_the_text_column_overwrites_no_text(tmp_path, name):
    rows = [{"sentence": f"the text {number}", "text": f"a label {number}"} for number in range(9)]
    file = tmp_path / name
    if name.endswith("jsonl"):
        file.write_text("\n".join(map(json.dumps, rows)))
    else:
        pl.DataFrame(rows).write_csv(file)
    corpus = {"name": "files", "path": str(file), "column": "sentence"}
    run({"corpus": corpus, "mechanisms": ["identity"], "trials": 20, "out": str(tmp_path / "run"),
         "plans": [{"k": 2, "lambda": 0}], "encoder": "lexical"})  # fmt: skip
    stored = RunDirectory(tmp_path / "run").corpus()
    assert stored == load_corpus(**corpus)
    assert stored.texts[3] == "the text 3"
    assert stored.splits["train"].columns == {"text": tuple(row["text"] for row in rows)}
