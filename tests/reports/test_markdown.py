from markdown_it import MarkdownIt

from tedaudit.reports.markdown import markdown_list, markdown_table, markdown_text


def rendered(text):
    return MarkdownIt().enable("table").render(text)


def test_a_line_break_in_a_text_does_not_start_a_line():
    assert markdown_text("a\nb") == "a&#10;b"
    assert rendered(markdown_list(["a\n- b", "c"])).count("<li>") == 2


def test_a_cell_shows_its_content():
    html = rendered(markdown_table(("a|b", "c"), [("<i>", "x | y"), ("`z`", "[l](u)")]))
    assert html.count("<th") - html.count("<thead") == 2
    assert html.count("<td>") == 4
    for shown in ("a|b", "&lt;i&gt;", "x | y", "`z`", "[l](u)"):
        assert f">{shown}<" in html


def test_columns_can_be_aligned_to_the_right():
    html = rendered(markdown_table(("name", "count"), [("a", "1")], right={"count"}))
    assert '<td style="text-align:right">1</td>' in html
    assert "<td>a</td>" in html
