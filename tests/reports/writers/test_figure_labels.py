# ruff: noqa: RUF001 - letters of other scripts look like Latin ones
"""Labels of figures in every script: no box, no warning, and no number that another word has moved."""

import re
import warnings

import pytest

from tedaudit.reports.writers import figures as figure_labels
from tedaudit.reports.writers.figures import find_family, fit_labels, save_figure, spell
from world_texts import LANGUAGES, write_texts

matplotlib = pytest.importorskip("matplotlib")


def draw(label):
    from matplotlib.figure import Figure

    drawn = Figure()
    axes = drawn.subplots()
    axes.set_title(label)
    axes.plot([1, 2], [1, 2], label=f"{label}: 12")
    axes.legend()
    return drawn


def title_of(drawn):
    return drawn.axes[0].get_title()


@pytest.fixture
def no_fonts(monkeypatch):
    """No installed font but matplotlib's own."""
    monkeypatch.setattr(figure_labels, "find_family", lambda _: "")


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_glyph_is_missing_whatever_the_script(language, no_fonts, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save_figure(draw(write_texts(language)[0][:12]), tmp_path / "figure")


def test_letters_without_a_font_are_spelled_and_stay_apart(no_fonts):
    drawn = draw("改写 a")
    fit_labels(drawn)
    assert title_of(drawn) == "[6539-5199] a"
    assert spell("เกม", frozenset("เกม")) == "[e-kai-ma]"
    assert spell("plain", frozenset()) == "plain"
    assert spell("改写", frozenset("改写")) != spell("写改", frozenset("改写"))


def test_an_installed_font_is_used_if_it_has_the_letters(monkeypatch):
    monkeypatch.setattr(figure_labels, "find_family", lambda _: "Some Font")
    drawn = draw("改写")
    fit_labels(drawn)
    assert title_of(drawn) == "改写"
    assert drawn.axes[0].title.get_fontfamily() == ["DejaVu Sans", "Some Font"]


def test_a_font_of_boxes_is_no_font():
    assert not find_family(frozenset("\U0010fffd")).startswith("Last Resort")


def test_what_runs_from_right_to_left_stands_between_marks():
    drawn = draw("كتابة")
    fit_labels(drawn)
    fit_labels(drawn)  # a figure that is saved twice has them once
    if figure_labels._lays_out():
        assert title_of(drawn) == "\u200eكتابة\u200e"
        [_, label] = [
            text.get_text() for text in drawn.findobj(matplotlib.text.Text) if "كتابة" in text.get_text()
        ]
        assert label == "\u200eكتابة\u200e: 12"


def test_older_versions_have_it_spelled(monkeypatch):
    monkeypatch.setattr(matplotlib, "__version_info__", (3, 10, 0))
    drawn = draw("كتاب 3/4")
    fit_labels(drawn)
    assert title_of(drawn) == "[kaf-teh-alef-beh] 3/4"


def test_labels_in_ascii_are_left_alone():
    drawn = draw("plain $x$")
    before = [text.get_text() for text in drawn.findobj(matplotlib.text.Text)]
    fit_labels(drawn)
    assert [text.get_text() for text in drawn.findobj(matplotlib.text.Text)] == before
    assert not any(re.search(r"\u200e", text) for text in before)
