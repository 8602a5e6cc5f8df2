"""Sections as a document that is read or printed: what stands where, and nothing that is not escaped."""

from pages import count_sheets, read_words
from tedaudit.reports.writers.html import write_document
from tedaudit.results.section import Column, Section, Table

TABLE = Table((Column("who", "label", 0), Column("what", rank=0)), (("ann", "<b> \x1b one"), ("bob", "two")))
WHOLE = Section("Title", TABLE, "How to read it.", ("It was found.",), lambda axes: axes.plot([1, 2]))


def test_a_section_is_told_in_order_with_its_figure_before_its_table():
    document = write_document([("The page", [WHOLE])], "A & B")
    parts = (
        "The page",
        "Title",
        "How to read it.",
        "It was found.",
        "<svg",
        "who",
        "what",
        "ann",
        "bob",
        "two",
    )
    places = [document.index(f">{part}" if part != "<svg" else part) for part in parts]
    assert places == sorted(places)
    assert "<title>A &amp; B</title>" in document
    assert "&lt;b&gt;" in document
    assert "<b>" not in document


def test_a_section_without_a_title_and_without_a_table_takes_no_room_for_them():
    document = write_document([("x", [Section("", sentences=("More.",))])], "x")
    assert "<h2>" not in document
    assert "<table>" not in document
    assert read_words(document, 1).startswith("x More. ")


def test_what_steers_a_terminal_is_written_out():
    assert "\x1b" not in write_document([("a \x1b", [Section("\x1b", sentences=("\x1b",))])], "\x1b")


def test_every_page_says_its_number_and_the_same_sections_give_the_same_file():
    pages = [("one", [WHOLE]), ("two", [])]
    document = write_document(pages, "Title")
    assert read_words(document, 2).endswith("page 2 of 2")
    assert write_document(pages, "Title") == document


def test_each_page_is_printed_on_a_sheet_of_its_own_and_one_that_is_too_long_on_more(browser):
    assert count_sheets(browser, write_document([("one", [WHOLE]), ("two", [WHOLE])], "x")) == 2
    long = Section("Long", sentences=("A sentence that is told.",) * 300)
    assert count_sheets(browser, write_document([("one", [long])], "x")) > 1
