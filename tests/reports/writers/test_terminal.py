"""How a table is fitted into a terminal: columns that have room, widths, and no word that is cut."""

import io

import pytest
from rich.console import Console

from tedaudit.reports.writers.terminal import fit_section, fit_table, tell_left_out, to_rich, write_lines
from tedaudit.results.section import Column, Section, Table

TABLE = Table(
    (
        Column("who", "label", 0), Column("how many", "figures", 2), Column("interval", rank=3),
        Column("verdict", rank=0),
    ),
    (("ann", "12 / 200", "1.25 (to 3.50)", "out of reach"), ("bob", "7 / 9", "0.10 (to 0.20)", "no claim")),
    frozenset({1}),
)  # fmt: skip


def show(section, width):
    stream = io.StringIO()
    Console(file=stream, width=width).print(to_rich(section, width))
    return stream.getvalue()


def test_a_table_that_has_room_keeps_its_natural_widths():
    assert fit_table(TABLE, 200) == (TABLE, [3, 8, 14, 12])


@pytest.mark.parametrize("width", range(20, 60))
def test_a_table_fits_and_has_room_for_every_word(width):
    shown, widths = fit_table(TABLE, width)
    assert sum(size + 3 for size in widths) + 1 <= width
    for i, size in enumerate(widths):
        words = [word for row in (shown.headings, *shown.cells) for word in row[i].split()]
        assert size >= max(map(len, words))


def test_columns_of_the_highest_rank_go_first_and_those_of_rank_0_stay():
    kept = {width: fit_table(TABLE, width)[0].headings for width in range(5, 60)}
    assert list(dict.fromkeys(kept[width] for width in sorted(kept, reverse=True))) == [
        ("who", "how many", "interval", "verdict"), ("who", "how many", "verdict"), ("who", "verdict"),
    ]  # fmt: skip


def test_neither_a_heading_nor_a_cell_does_anything_to_a_terminal():
    table = Table((Column("only \x1b[31mmine\n", rank=0),), (("\x1b]0;x\x07",),))
    shown = show(Section("\x1b[2J", table), 80)
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "only \\x1b[31mmine\\n" in shown


def test_a_table_can_be_made_safe_for_an_output_that_knows_few_letters():
    def to_ascii(text):
        return text.encode("ascii", "backslashreplace").decode()

    section = Section("名前", Table((Column("名", rank=0),), (("名前",),)))
    drawn = to_rich(fit_section(section, 80, to_ascii), 80, to_ascii)
    stream = io.StringIO()
    Console(file=stream, width=80).print(drawn)
    assert "\\u540d\\u524d" in stream.getvalue()
    assert "名" not in stream.getvalue()


def test_what_is_left_out_is_named():
    section = Section("A title", TABLE)
    assert tell_left_out(TABLE, fit_section(section, 200).table) == ""
    assert tell_left_out(TABLE, fit_section(section, 20).table) == "No room for: how many, interval."


def test_what_a_column_means_is_told_only_if_it_is_shown():
    columns = (Column("who", rank=0), Column("interval", meaning="at 99 %."))
    section = Section("A title", Table(columns, (("ann", "1.25 (to 3.50)"),)))
    assert fit_section(section, 200).remarks == ("Interval: at 99 %.",)
    assert fit_section(section, 12).remarks == ()


def test_a_word_of_any_length_takes_no_more_than_it_may():
    table = Table((Column("path"),), (("x" * 500,),))
    assert fit_table(table, 40) == (table, [36])


def test_a_table_without_rows_has_its_headings():
    table = Table((Column("a"), Column("b")))
    assert fit_table(table, 80) == (table, [1, 1])


def test_figures_stand_on_the_right_and_nothing_is_markup_or_a_control_character():
    table = Table((Column("who", "text"), Column("n", "count")), (("[bold]\x1b[31m", 1234), ("b", 7)))
    printed = show(Section("[red]", table), 80)
    assert "\x1b" not in printed
    assert "[red]" in printed
    assert "[bold]" in printed
    assert "│ 1,234 │" in printed
    assert "│     7 │" in printed


def test_marked_rows_are_red():
    drawn = to_rich(Section("A title", TABLE))
    assert [row.style for row in drawn.rows] == ["", "red"]


def test_sections_without_a_table_are_lines_that_fit_with_what_they_say_indented():
    sections = (Section("Found. " * 20), Section("1. One\x1b.", sentences=("in words " * 20, "Fix: it.")))
    lines = write_lines(sections)
    assert max(map(len, lines)) <= 78
    assert lines.count("") == 1
    assert lines[lines.index("") + 1] == "1. One\\x1b."
    assert all(line.startswith("   ") and "words" in line for line in lines[lines.index("") + 2 : -1])
    assert lines[-1] == "   Fix: it."
    assert write_lines(sections[1:], str.upper)[-1] == "   FIX: IT."
