"""The first table: every number whole at 80 columns and below, and none larger than what all rows share."""

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from helpers import Failing, SharedWords, given, make_spec, sentences
from tedaudit.api import run
from tedaudit.plugins.nominal import NO_EPSILON, Nominal
from tedaudit.reports.first_screen import Cell, Pivot, lay_out, make_pivots

WORDY = "a mechanism whose name somebody took for a description of what it does"


def draw(pivot, width):
    """Return the lines that a terminal of this width shows."""
    stream = io.StringIO()
    console = Console(file=stream, width=width, highlight=False, markup=False, emoji=False)
    for table in lay_out(pivot, width):
        console.print(table)
    return stream.getvalue().splitlines()


def make(mechanisms, epsilons, attacks=("lexical", "embedding"), unit="per word"):
    """A pivot in which every cell has a number of its own."""
    cells = {}
    for i, label in enumerate(mechanisms):
        for j, epsilon in enumerate(epsilons):
            cells[label, Nominal(epsilon)] = Cell(f"{i}.{j:02}*", attacks[(i + j) % len(attacks)])
    return Pivot("a title", cells, dict.fromkeys(mechanisms, unit))


SHAPES = {
    "one cell": make(["word-rr"], [1]),
    "the demo": make([f"mechanism-{n}" for n in range(6)], [10, 25, 100, 400, 1600]),
    "twenty epsilons": make([f"m{n}" for n in range(3)], [0.1 * 1.7**n for n in range(20)]),
    "twenty epsilons, twelve mechanisms": make([f"mechanism-{n}" for n in range(12)], list(range(1, 21))),
    "long names": make([WORDY, f"{WORDY} as well"], [1, 1000], [f"{WORDY} 1", f"{WORDY} 2"]),
    "wide letters": make(["機構" * 9, "ה" * 30], [1, 4, 16]),
    "without epsilon": make(["identity", "constant"], [NO_EPSILON], unit=""),
}


@pytest.mark.parametrize("width", [30, 50, 80, 120])
@pytest.mark.parametrize("name", list(SHAPES))
def test_every_number_is_whole_and_no_line_is_wider_than_the_terminal(name, width):
    pivot = SHAPES[name]
    lines = draw(pivot, width)
    words = [word for line in lines for word in line.split()]
    for cell in pivot.cells.values():
        assert words.count(cell.value) == 1, cell.value
    assert max(map(cell_len, lines)) <= width


def test_attacks_are_named_where_there_is_room_and_never_in_part():
    wide = "\n".join(draw(SHAPES["the demo"], 80))
    assert "lexical" in wide
    assert "embedding" in wide
    narrow = draw(SHAPES["the demo"], 50)
    assert not any("lex" in line for line in narrow)


def test_many_epsilons_become_rows_and_stay_one_table():
    assert len(lay_out(SHAPES["twenty epsilons"], 80)) == 1
    assert any(line.strip().startswith("epsilon") for line in draw(SHAPES["twenty epsilons"], 80)[:2])
    assert len(lay_out(SHAPES["twenty epsilons, twelve mechanisms"], 80)) > 1


def test_one_attack_alone_is_in_the_title_and_not_in_every_cell(tmp_path):
    [pivot] = make_pivots(run(make_spec(tmp_path, mechanisms=["identity"], attacks=["lexical"])))
    assert pivot.title == "eps_emp by nominal epsilon; adversary knows nothing of the mechanism (lexical)"
    assert "lexical" not in "\n".join(draw(pivot, 80))


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """Mechanisms that give all away, nothing, something, and that fail; attacks on text and on the draw."""
    return run(
        make_spec(
            tmp_path_factory.mktemp("run"), epsilons=[0.01, 12], trials=200, corpus=given(sentences(40)),
            mechanisms=["identity", "constant", {"name": "word-rr", "slots": 6}, Failing(1.0)],
            attacks=["lexical", SharedWords(), "likelihood"],
            plans=[{"k": 2, "lambda": 0}, {"k": 4, "lambda": 0}],
        )
    )  # fmt: skip


def test_a_cell_is_the_largest_bound_at_the_error_that_all_rows_share(audited):
    of_text = make_pivots(audited)[0]
    for (label, epsilon), cell in of_text.cells.items():
        own = [f for f in audited if (f.label, f.epsilon) == (label, epsilon) and f.attack != "likelihood"]
        if cell.finding is not None and cell.finding.leaks:
            most = max(f.eps_emp for f in own)
            assert cell.value.rstrip("*") == f"{most:.2f}"
            assert most < max(f.alone for f in own)  # with the error of a row alone it would be larger


def test_the_ceiling_a_zero_and_what_cannot_be_told_are_marked(audited):
    cells = make_pivots(audited)[0].cells
    assert cells["identity", NO_EPSILON].value.endswith("*")
    assert cells["constant", NO_EPSILON].value == "0.00"
    assert cells["constant", NO_EPSILON].attack == ""
    assert {cells["failing", Nominal(e)].value for e in (0.01, 12)} == {"?"}


def test_what_only_the_draw_tells_has_a_table_of_its_own(audited):
    of_text, of_draw = make_pivots(audited)
    assert "likelihood" not in of_text.attacks
    assert of_draw.title == (
        "eps_emp by nominal epsilon; adversary sees what was drawn, tokens or latent (likelihood)"
    )
    assert of_draw.attacks == ["likelihood"]


def test_the_unit_of_a_claim_goes_with_its_mechanism(audited):
    shown = "\n".join(draw(make_pivots(audited)[0], 80))
    assert "per word" in shown
    assert make_pivots(audited)[0].units["identity"] == ""
