"""The first table: a row for each mechanism and epsilon, with the strongest attack and the verdict."""

import pytest

import tedaudit
from helpers import Failing, SharedWords, make_spec
from tedaudit.api import run
from tedaudit.results.telling_audit import tell_strongest


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """Two plans, attacks on the text and one on what was drawn, claims kept, broken and absent."""
    mechanisms = [{"name": "word-rr", "slots": 3}, "identity",
                  {"name": "function", "function": str.upper, "label": "loud"}]  # fmt: skip
    return run(
        make_spec(
            tmp_path_factory.mktemp("run"), mechanisms=mechanisms, epsilons=[0.5, 8], trials=200,
            attacks=["lexical", SharedWords(), "likelihood"],
            plans=[{"k": 2, "lambda": 0}, {"k": 4, "lambda": 0}],
        )
    )  # fmt: skip


def rows(result):
    table = tell_strongest(result).table
    return [dict(zip(table.headings, cells, strict=True)) for cells in table.cells]


def test_every_mechanism_and_epsilon_has_one_row_with_its_verdict_second(audited):
    section = tell_strongest(audited)
    assert section.table.headings[:4] == ("mechanism", "verdict", "epsilon", "eps_emp")
    settings = dict.fromkeys((finding.label, finding.epsilon.label) for finding in audited)
    assert [(row["mechanism"], row["epsilon"]) for row in rows(audited)] == list(settings)
    verdicts = {(one.witness.label, one.witness.epsilon.label): one.verdict for one in audited.claims}
    for number, row in enumerate(rows(audited)):
        verdict = verdicts.get((row["mechanism"], row["epsilon"]))
        assert row["verdict"] == ("no claim" if verdict is None else verdict.name)
        assert (number in section.table.marked) == (verdict is not None and verdict.is_violation)


def test_a_row_has_the_largest_bound_on_the_text_and_apart_from_it_what_a_draw_shows(audited):
    for row in rows(audited):
        own = [f for f in audited if (f.label, f.epsilon.label) == (row["mechanism"], row["epsilon"])]
        for column, found in (
            ("eps_emp", [finding for finding in own if not finding.sees_draw]),
            ("knows nothing", [finding for finding in own if not finding.sees_draw]),
            ("sees draw", [finding for finding in own if finding.sees_draw]),
        ):
            largest = max((finding.eps_emp for finding in found), default=None)
            assert row[column] == ("" if largest is None else f"{largest:.2f}")
        assert row["plan"] in {finding.plan for finding in own}
        assert not {"can call it", "knows model"} & set(row)  # nobody here does


def test_columns_that_say_nothing_are_left_out_and_not_explained():
    result = tedaudit.audit("identity", ["a b", "c d", "e f"], trials=100, attack="lexical")
    section = tell_strongest(result)
    assert not {"plan", "claim", "knows nothing", "sees draw"} & set(section.table.headings)
    assert "knows as much" not in section.reading
    assert "over all plans" not in section.reading
    assert "100 / 100" in section.table.cells[0]


def test_nothing_is_concluded_from_a_mechanism_that_fails(audited):
    result = tedaudit.audit(Failing(1.0), ["a b", "c d", "e f"], epsilon=1.0, trials=100, attack="lexical")
    [row] = rows(result)
    assert row["right / guesses"] == "nothing to conclude"
    assert "eps_emp" not in row
