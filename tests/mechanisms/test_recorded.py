"""A table of originals and rewrites as a mechanism: what is looked up, what is claimed, what is refused."""

import json
import math

import pytest

from tedaudit.errors import CorpusError, SpecError
from tedaudit.mechanisms.recorded import Recorded
from tedaudit.plugins.protocols import BringsTexts, HasOwnEpsilons, WritesOnce
from tedaudit.plugins.values import Draw, Rewrite


@pytest.fixture
def table(tmp_path):
    """Return a function that writes rows to a file with the given suffix and returns its path."""

    def write(rows, name="table.csv"):
        path = tmp_path / name
        columns = list(dict.fromkeys(key for row in rows for key in row))
        if name.endswith("jsonl"):
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            lines = [columns, *([row.get(column, "") for column in columns] for row in rows)]
            path.write_text("".join(",".join(f'"{value}"' for value in line) + "\n" for line in lines))
        return str(path)

    return write


def rewritten(mechanism, *texts, epsilon=1.0):
    return mechanism.rewrite([Draw(text, epsilon, key) for key, text in enumerate(texts)])


PLAIN = [
    {"original": "a b", "rewrite": "x"},
    {"original": "c", "rewrite": "y, z"},
    {"original": "d", "rewrite": ""},
]
GRID = [
    {"original": text, "rewrite": f"{text} at {epsilon}", "epsilon": epsilon}
    for epsilon in (1, 10.0, "2.50")
    for text in ("a", "b", "c")
    if (text, epsilon) != ("c", 10.0)
]


@pytest.mark.parametrize("name", ["table.csv", "table.jsonl"])
def test_rewrites_are_looked_up(table, name):
    mechanism = Recorded(table(PLAIN, name))
    assert rewritten(mechanism, "c", "a b", "d", "c") == [
        Rewrite("y, z"), Rewrite("x"), Rewrite(""), Rewrite("y, z"),
    ]  # fmt: skip


def test_a_text_that_is_not_in_the_table_fails_with_a_code(table):
    assert rewritten(Recorded(table(PLAIN)), "e", "") == [Rewrite("", error="not-recorded")] * 2


def test_texts_are_the_same_whatever_their_white_space_and_unicode_form(table):
    mechanism = Recorded(table([{"original": " caf\u00e9  noir ", "rewrite": "x"}]))
    assert rewritten(mechanism, "cafe\u0301 noir", "caf\u00e9\tnoir") == [Rewrite("x")] * 2
    assert mechanism.texts() == ["caf\u00e9 noir"]


def test_the_table_brings_its_texts_and_has_one_rewrite_of_each(table):
    mechanism = Recorded(table(PLAIN))
    assert isinstance(mechanism, BringsTexts)
    assert isinstance(mechanism, WritesOnce)
    assert isinstance(mechanism, HasOwnEpsilons)
    assert mechanism.texts() == ["a b", "c", "d"]
    assert mechanism.available(["c", "e", " a  b"], [1.0]).tolist() == [True, False, True]
    assert mechanism.available([], [1.0]).tolist() == []


def test_a_text_that_occurs_twice_keeps_its_first_rewrite(table):
    rows = [*PLAIN, {"original": "c", "rewrite": "second"}, {"original": " c", "rewrite": "third"}]
    mechanism = Recorded(table(rows))
    assert rewritten(mechanism, "c") == [Rewrite("y, z")]
    assert mechanism.texts() == ["a b", "c", "d"]


def test_originals_that_are_missing_or_blank_are_left_out(table):
    rows = [
        {"original": None, "rewrite": "x"},
        {"original": " ", "rewrite": "y"},
        {"original": "a", "rewrite": "z"},
    ]
    assert Recorded(table(rows, "table.jsonl")).texts() == ["a"]
    assert Recorded(table([{"original": "", "rewrite": "x"}, {"original": "a", "rewrite": "z"}])).texts() == [
        "a"
    ]


def test_a_rewrite_that_is_missing_is_an_empty_text_and_stays_in_the_count(table):
    rows = [{"original": "a", "rewrite": None}, {"original": "b"}, {"original": "c", "rewrite": "x"}]
    mechanism = Recorded(table(rows, "table.jsonl"))
    assert rewritten(mechanism, "a", "b", "c") == [Rewrite(""), Rewrite(""), Rewrite("x")]
    assert mechanism.available(["a", "b"], []).all()


def test_numbers_in_json_are_texts_zero_included(table):
    mechanism = Recorded(
        table([{"original": 0, "rewrite": 7}, {"original": "a", "rewrite": 0}], "table.jsonl")
    )
    assert rewritten(mechanism, "0", "a") == [Rewrite("7"), Rewrite("0")]


def test_without_an_epsilon_column_the_table_belongs_to_the_one_that_is_asked_for(table):
    mechanism = Recorded(table(PLAIN))
    assert list(mechanism.epsilons([])) == [math.inf]
    assert list(mechanism.epsilons([3.0])) == [3.0]
    assert rewritten(mechanism, "c", epsilon=3.0) == rewritten(mechanism, "c", epsilon=math.inf)
    assert mechanism.claim(math.inf) is None
    with pytest.raises(SpecError, match="all its rewrites belong to one epsilon; 2 were given: 1, 2"):
        mechanism.epsilons([1.0, 2.0])


@pytest.mark.parametrize("name", ["table.csv", "table.jsonl"])
def test_with_an_epsilon_column_every_value_has_its_rewrites(table, name):
    mechanism = Recorded(table(GRID, name))
    assert list(mechanism.epsilons([])) == [1.0, 2.5, 10.0]
    assert list(mechanism.epsilons([10.0])) == [10.0]
    assert rewritten(mechanism, "a", epsilon=2.5) == [Rewrite("a at 2.50")]
    assert rewritten(mechanism, "c", epsilon=10.0) == [Rewrite("", error="not-recorded")]
    assert mechanism.available(["a", "b", "c"], [1.0, 10.0]).tolist() == [True, True, False]
    assert mechanism.available(["a", "b", "c"], [1.0, 2.5]).all()
    assert mechanism.texts() == ["a", "b", "c"]
    with pytest.raises(SpecError, match=r"has no rewrites at epsilon 5, 7; it has: 1, 2.5, 10"):
        mechanism.epsilons([1.0, 5.0, 7.0])


@pytest.mark.parametrize("value", ["none", "", "-1", "0", "nan", "1,5"])
def test_an_epsilon_that_is_not_a_number_above_zero_is_refused_with_its_row(table, value):
    rows = [
        {"original": "a", "rewrite": "b", "epsilon": 1},
        {"original": "c", "rewrite": "d", "epsilon": value},
    ]
    with pytest.raises(CorpusError) as caught:
        Recorded(table(rows))
    message = str(caught.value)
    assert f"data row 2: 'epsilon' is {value!r}" in message
    assert "`epsilon_column`" in message


def test_columns_may_have_other_names(table):
    rows = [{"source": "a", "output": "x", "budget": 4, "epsilon": "not it"}]
    mechanism = Recorded(
        table(rows), original_column="source", rewrite_column="output", epsilon_column="budget"
    )
    assert list(mechanism.epsilons([])) == [4.0]
    assert rewritten(mechanism, "a", epsilon=4.0) == [Rewrite("x")]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"orignal": "a", "rewrite": "b"}], "has no column 'original'. Did you mean 'orignal'?"),
        ([{"original": "a", "output": "b"}], "has no column 'rewrite'. It has: original, output."),
    ],
)
def test_a_missing_column_is_answered_with_those_there_are_and_the_option(table, rows, message):
    with pytest.raises(CorpusError) as caught:
        Recorded(table(rows))
    assert message in str(caught.value)
    assert "Name the right one with `" in str(caught.value)
    assert "_column`" in str(caught.value)


LABELLED = [
    {"original": text, "rewrite": f"{label} {text}", "label": label}
    for label in ("mild", "strong")
    for text in "ab"
]


def test_one_mechanism_of_several_is_selected(table):
    path = table(LABELLED)
    assert rewritten(Recorded(path, select="strong"), "b") == [Rewrite("strong b")]
    assert rewritten(Recorded(path, select="mild"), "b") == [Rewrite("mild b")]
    assert Recorded(path, select="mild").fingerprint() != Recorded(path, select="strong").fingerprint()


@pytest.mark.parametrize(("select", "end"), [("", "`select`;"), ("weak", "`select`, not 'weak';")])
def test_several_mechanisms_without_a_choice_are_refused(table, select, end):
    with pytest.raises(SpecError) as caught:
        Recorded(table(LABELLED), select=select)
    assert "contains rewrites by mild, strong (column 'label')" in str(caught.value)
    assert end in str(caught.value)
    assert "`label_column`" in str(caught.value)


def test_a_single_label_needs_no_choice_and_may_be_in_another_column(table):
    assert rewritten(Recorded(table(LABELLED[:2])), "a") == [Rewrite("mild a")]
    renamed = [{**row, "system": row["label"], "label": f"class {i}"} for i, row in enumerate(LABELLED)]
    mechanism = Recorded(table(renamed), label_column="system", select="strong")
    assert rewritten(mechanism, "a") == [Rewrite("strong a")]


def test_the_claim_is_the_epsilon_with_the_caller_s_unit(table):
    claim = Recorded(table(GRID), unit="word", max_units=7, delta=1e-5).claim(2.5)
    assert (claim.epsilon, claim.unit, claim.total) == (2.5, "word", 17.5)
    assert claim.total_delta == pytest.approx(7e-5)
    assert Recorded(table(GRID)).claim(2.5).unit == "document"


def test_the_fingerprint_follows_the_content_and_not_the_file(table):
    same = [Recorded(table(PLAIN, name)).fingerprint() for name in ("one.csv", "two.csv", "three.jsonl")]
    assert same[0] == same[1] == same[2]
    assert Recorded(table(PLAIN[::-1])).fingerprint() == same[0]
    changed = [*PLAIN[:2], {"original": "d", "rewrite": "changed"}]
    assert Recorded(table(changed)).fingerprint() != same[0]
    assert Recorded(table([{**row, "epsilon": 1} for row in PLAIN])).fingerprint() != same[0]


def test_a_file_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(CorpusError, match="There is no file"):
        Recorded(str(tmp_path / "nothing.csv"))
