"""Sections on pages: what stands where, and what becomes of what has no room."""

import pytest

from tedaudit.reports.section import Column, Section, Table
from tedaudit.reports.writers.pdf import draw_pages, write_pdf

pytest.importorskip("matplotlib")
TABLE = Table((Column("who", "label", 0), Column("what", rank=0)), (("ann", "$x$ \x1b one"), ("bob", "two")))
WHOLE = Section("Title", TABLE, "How to read it.", ("It was found.",), lambda axes: axes.plot([1, 2]))


def read(page):
    """Return all texts of a page with their places, from the top."""
    return sorted((round(-one.get_position()[1], 4), one.get_text()) for one in page.figure.texts)


def test_a_section_is_told_in_order_with_its_figure_before_its_table():
    [page] = draw_pages([("The page", [WHOLE])])
    told = [text for _, text in read(page)]
    assert told[:4] == ["The page", "Title", "How to read it.", "It was found."]
    assert {*told[4:6]} == {"who", "what"}
    assert {*told[6:10]} == {"ann", "$x$ \\x1b one", "bob", "two"}
    [axes] = page.figure.axes
    sentence, heading = (-next(place for place, text in read(page) if text == t) for t in (told[3], "who"))
    assert sentence > axes.get_position().y1 > axes.get_position().y0 > heading


def test_a_section_without_a_title_and_without_a_table_takes_no_room_for_them():
    [page] = draw_pages([("x", [Section("", sentences=("More.",))])])
    assert [text for _, text in read(page)][:2] == ["x", "More."]
    [bare] = draw_pages([("x", [Section("")])])
    [empty] = draw_pages([("x", [])])
    assert bare.height == empty.height


def test_a_cell_that_has_no_room_is_cut_and_the_others_are_not():
    table = Table(TABLE.columns, (("ann " * 60, "short"),))
    [page] = draw_pages([("x", [Section("", table)])])
    cut, *_ = (text for _, text in read(page) if text.startswith("ann"))
    assert cut.endswith("...")
    assert len(cut) < 108
    assert "short" in [text for _, text in read(page)]


def test_columns_that_have_no_room_are_named():
    columns = tuple(Column(f"column number {number}", rank=number) for number in range(12))
    [page] = draw_pages([("x", [Section("", Table(columns, (("some words",) * 12,)))])])
    [told] = [text for _, text in read(page) if text.startswith("No room for: ")]
    assert "column number 11" in told


def test_every_page_says_its_number_and_the_same_sections_give_the_same_file(tmp_path):
    pages = [("one", [WHOLE]), ("two", [])]
    assert "page 2 of 2" in read(draw_pages(pages)[1])[-1][1]
    for name in ("a.pdf", "b.pdf"):
        write_pdf(pages, tmp_path / name, "Title")
    assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()
