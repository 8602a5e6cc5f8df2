"""Figures for a paper: one per plan, every finding drawn, nothing taken for mathematics or markup."""

import math
from itertools import pairwise

import pytest

from tedaudit.api import run
from tedaudit.corpora.files import Given
from tedaudit.estimators import Counts, reduced_form
from tedaudit.estimators.bound import epsilon_from_success
from tedaudit.plugins.nominal import NO_EPSILON, Nominal
from tedaudit.plugins.values import Claim
from tedaudit.reports.figures import epsilon_grid, figure, success_marks, write_figures
from tedaudit.reports.writers.figures import labels_with_room, save_figure
from tedaudit.results.findings import Finding
from tedaudit.results.verdict import Decision, Verdict
from tedaudit.runs.spec.model import parse_spec

figures = pytest.importorskip("matplotlib.figure")
TEXTS = [f"{who} {did} the {what}" for who in ("ann", "bob", "cat") for did in ("lost", "sold")
         for what in ("ring", "boat", "lamp")]  # fmt: skip


def finding(correct=80, **changes):
    parts = {
        "plan": "k2-lambda0", "label": "mine", "epsilon": Nominal(2), "claim": Claim(2.0, "word"),
        "attack": "lexical", "counts": Counts(100, (correct,), 2), "planned": 100,
        "bound": reduced_form(correct, 100, alpha=0.001), "alone": 1.0, "teda": reduced_form(correct, 100),
        "verdict": Verdict(Decision.NO_VIOLATION),
    }  # fmt: skip
    return Finding(**{**parts, **changes})


def lines(drawn, panel=0):
    """Return the points of every line with markers: the lower bounds."""
    axes = drawn.axes[panel]
    return [line.get_xydata() for line in axes.get_lines() if line.get_marker() not in ("None", "_")]


def words(drawn):
    """Return everything that is written in a figure."""
    return [text.get_text() for text in drawn.findobj(lambda part: hasattr(part, "get_text"))]


def test_every_plan_is_drawn_as_pdf_and_png(tmp_path):
    result = run(
        parse_spec({
            "corpus": {"name": "given", "live": Given(TEXTS)}, "mechanisms": ["word-rr", "constant"],
            "epsilons": [1, 4], "trials": 40, "out": str(tmp_path / "run"),
            "plans": [{"k": 2, "lambda": 0}, {"k": 3, "lambda": 0}],
        })
    )  # fmt: skip
    written = write_figures(result)
    names = {f"{plan}.{kind}" for plan in ("k2-lambda0", "k3-lambda0") for kind in ("pdf", "png")}
    assert {path.name for path in written} == names
    assert {path.parent for path in written} == {tmp_path / "run" / "figures"}
    for path in written:
        assert path.read_bytes().startswith(b"%PDF" if path.suffix == ".pdf" else b"\x89PNG")


def test_the_letters_of_a_pdf_can_be_searched_and_are_no_drawings(tmp_path):
    [pdf, _] = save_figure(figure([finding()]), tmp_path / "paper")
    content = pdf.read_bytes()
    assert b"/Type3" not in content  # which publishers refuse
    assert b"/Type0" in content


def test_a_figure_is_the_same_when_drawn_again(tmp_path):
    result = run(
        parse_spec({
            "corpus": {"name": "given", "live": Given(TEXTS)}, "mechanisms": ["constant"],
            "trials": 20, "out": str(tmp_path / "run"), "plans": [{"k": 2, "lambda": 0}],
        })
    )  # fmt: skip
    before = [path.read_bytes() for path in write_figures(result)]
    assert [path.read_bytes() for path in write_figures(result)] == before


def test_the_markers_are_at_the_lower_bounds_on_a_logarithmic_axis():
    findings = [
        finding(correct, epsilon=Nominal(epsilon)) for correct, epsilon in ((60, 1), (80, 10), (99, 100))
    ]
    drawn = figure(findings)
    assert isinstance(drawn, figures.Figure)
    assert drawn.axes[0].get_xscale() == "log"
    (points,) = lines(drawn)
    assert points[:, 1].tolist() == [one.bound.lower for one in findings]
    assert points[:, 0].tolist() == pytest.approx([1, 10, 100])


def test_the_ceiling_is_dashed_and_named():
    one = finding()
    drawn = figure([one])
    dashed = [line for line in drawn.axes[0].get_lines() if line.get_linestyle() == "--"]
    assert [line.get_ydata()[0] for line in dashed] == [one.bound.ceiling]
    assert f"ceiling {one.bound.ceiling:.2f}" in words(drawn)


def test_points_of_unequal_trials_have_ceilings_of_their_own_and_are_not_joined():
    """All guesses right, ever fewer trials: a line through the bounds would fall."""
    made = [(1, 1000), (2, 1000), (4, 200), (8, 100)]
    findings = [
        finding(epsilon=Nominal(e), bound=reduced_form(n, n, alpha=0.001), teda=reduced_form(n, n))
        for e, n in made
    ]
    drawn = figure(findings)
    (points,) = lines(drawn)
    heights = points[:, 1].tolist()
    ends = [pair for pair in pairwise(heights) if not any(map(math.isnan, pair))]
    assert ends == [(heights[0], heights[0])]  # one line, and it does not fall
    assert [height for height in heights if not math.isnan(height)] == [one.bound.lower for one in findings]
    [marks] = [
        line
        for line in drawn.axes[0].get_lines()
        if line.get_marker() == "_" and line.get_linestyle() == "None" and len(line.get_xdata()) == 4
    ]
    assert marks.get_ydata().tolist() == [one.bound.ceiling for one in findings]
    assert not [line for line in drawn.axes[0].get_lines() if line.get_linestyle() == "--"]
    assert any("100 to 1,000 trials" in told for told in words(drawn))


def test_an_interval_reaches_from_the_bound_to_the_upper_end():
    one = finding(80)
    (bars,) = figure([one]).axes[0].collections
    ((_, low), (_, high)) = bars.get_segments()[0]
    assert (low, high) == (one.bound.lower, one.bound.upper)


def test_an_attack_that_is_never_wrong_has_an_interval_that_leaves_the_figure():
    drawn = figure([finding(100)])
    (bars,) = drawn.axes[0].collections
    high = bars.get_segments()[0][1][1]
    assert math.isfinite(high)
    assert high > drawn.axes[0].get_ylim()[1]


def test_there_is_a_panel_per_attack_and_one_legend():
    findings = [finding(attack=attack, label=label) for attack in ("lexical", "llm") for label in ("a", "b")]
    drawn = figure(findings)
    assert len(drawn.axes) == 2
    assert [len(lines(drawn, panel)) for panel in (0, 1)] == [2, 2]
    (legend,) = drawn.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]


def test_a_mechanism_without_epsilon_is_drawn_across_the_figure():
    findings = [finding(epsilon=Nominal(1)), finding(epsilon=Nominal(8)),
                finding(99, label="identity", epsilon=NO_EPSILON)]  # fmt: skip
    across = lines(figure(findings))[1]
    assert len(across) == 2
    assert epsilon_grid([findings[2]]) == [1.0]
    alone = figure([findings[2]])
    assert len(lines(alone)[0]) == 1
    assert alone.axes[0].get_xlabel() == "takes no $\\epsilon$"
    assert list(alone.axes[0].get_xticks()) == []


def test_a_label_is_shown_as_it_is():
    labels = ["cost $x$ and $y_{", "_private", "a\\b", "<b>"]
    drawn = figure([finding(label=label) for label in labels])
    drawn.draw_without_rendering()  # broken mathematics would raise here
    shown = [text.get_text().strip() for text in drawn.legends[0].get_texts()]
    assert shown[1:] == ["_private", "a\\\\b", "<b>"] or shown[1:] == ["_private", "a\\b", "<b>"]
    assert shown[0].replace("\\$", "$") == labels[0]


@pytest.mark.parametrize("candidates", [2, 4, 16, 3600])
@pytest.mark.parametrize("top", [0.5, 4.0, 12.0, 21.0])
def test_the_marks_of_the_second_axis_are_where_they_belong_and_do_not_overlap(candidates, top):
    marks = success_marks(candidates, top)
    assert marks[0] == (f"{1 / candidates:.2g}", 0.0)
    for name, at in marks[1:]:
        assert at == epsilon_from_success(float(name), candidates)
    places = [at for _, at in marks]
    assert all(after - before > 0.06 * top for before, after in pairwise(places))


def test_crowded_epsilons_lose_their_labels_but_the_last_never_does():
    assert labels_with_room([0.5, 1.5, 100, 102, 104]) == [0.5, 1.5, 104]
    assert labels_with_room([3.0]) == [3.0]
