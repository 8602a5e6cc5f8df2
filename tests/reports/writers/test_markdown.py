from markdown_it import MarkdownIt

from tedaudit.reports.writers.markdown import markdown_list, markdown_text, write_section, write_table
from tedaudit.results.section import Column, Section, Table


def rendered(text):
    return MarkdownIt().enable("table").render(text)


def test_a_line_break_in_a_text_does_not_start_a_line():
    assert markdown_text("a\nb") == "a&#10;b"
    assert rendered(markdown_list(["a\n- b", "c"])).count("<li>") == 2


def test_a_cell_shows_its_content():
    cells = (("<i>", "x | y"), ("`z`", "[l](u)"))
    html = rendered(write_table(Table((Column("a|b"), Column("c")), cells)))
    assert html.count("<th") - html.count("<thead") == 2
    assert html.count("<td>") == 4
    for shown in ("a|b", "&lt;i&gt;", "x | y", "`z`", "[l](u)"):
        assert f">{shown}<" in html


def test_columns_can_be_aligned_to_the_right():
    html = rendered(write_table(Table((Column("name"), Column("count", "count")), (("a", 1),))))
    assert '<td style="text-align:right">1</td>' in html
    assert "<td>a</td>" in html


def test_a_section_has_its_title_its_remarks_and_figures_on_the_right():
    table = Table((Column("who", "label"), Column("n", "count")), (("a|b", 1234),))
    html = rendered(write_section(Section("*A* title", table, "How.", ("Found.",)), 3))
    assert "<h3>*A* title</h3>" in html
    assert "<p>How. Found.</p>" in html
    assert '<td style="text-align:right">1,234</td>' in html
    assert "<td>a|b</td>" in html
    assert rendered(write_section(Section("None", Table(table.columns)))).count("<p>") == 1  # "Nothing."


def test_a_table_without_rows_says_nothing_and_a_section_without_a_table_has_none():
    assert write_section(Section("Found", Table((Column("who"),)))) == "## Found\n\nNothing.\n\n"
    assert write_section(Section("Found", reading="It is."), 3) == "### Found\n\nIt is.\n\n"
