# ruff: noqa: RUF001 - letters of other scripts look like Latin ones
"""The page in a real browser with texts of the world: direction, isolation, and what cannot be seen."""

import pytest

from tedaudit.api import run
from tedaudit.corpora.files import Given
from tedaudit.results.section import Column, Section, Table, store_section
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.spec.model import parse_spec
from world_texts import BIDI, write_texts

LABEL = "إعادة كتابة"
FAMILY, FLAG, PERSIAN, LEAK = "👨‍👩‍👧", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "می\u200cخواهم", "a\u200db zero"


@pytest.fixture(scope="module")
def page(tmp_path_factory, browser):
    """A run on Arabic, emoji, texts without spaces and characters that cannot be seen, as a page."""
    from tedaudit.api import report

    out = tmp_path_factory.mktemp("runs") / "world"
    texts = [*write_texts("arabic")[:8], *BIDI, FAMILY, FLAG, PERSIAN, LEAK, "字" * 3000]
    run(
        parse_spec({
            "corpus": {"name": "given", "live": Given(texts)}, "trials": 200, "out": str(out),
            "mechanisms": [{"name": "identity", "label": LABEL}], "attacks": ["lexical"],
            "plans": [{"k": 2, "lambda": 0}],
        })
    )  # fmt: skip
    rows = ((LABEL, texts[0], "3 / 4"),)
    columns = (Column("mechanism", "label"), Column("text", "text"), Column("n", "figures"))
    store_section(RunDirectory(out), "pairs", Section("Pairs", Table(columns, rows), "How."))
    report(out)
    trouble = []
    tab = browser.new_page(viewport={"width": 390, "height": 900})
    tab.on("pageerror", lambda error: trouble.append(str(error)))
    tab.goto((out / "report.html").as_uri())
    while tab.locator("#more").is_visible():
        tab.locator("#more").click()
    yield tab
    tab.close()
    assert trouble == []


def shown(page, part):
    return page.locator(".trial .text", has_text=part).first


def test_a_text_is_laid_out_in_its_own_direction_and_language_unknown(page):
    for text in page.locator(".trial .text").all()[:20]:
        assert text.get_attribute("dir") == "auto"
        assert text.get_attribute("lang") == ""
    direction = "element => getComputedStyle(element).direction"
    assert shown(page, "خاتم").evaluate(direction) == "rtl"
    assert shown(page, "字").evaluate(direction) == "ltr"


def test_a_name_from_right_to_left_moves_no_number_beside_it(page):
    line = page.locator("#headline")
    assert line.locator("bdi").text_content() == LABEL
    place = """element => { const range = document.createRange(), parts = [...element.childNodes];
      element.style.whiteSpace = 'nowrap';  // all in one line
      const lefts = parts.map((part) => { range.selectNodeContents(part);
        return range.getClientRects()[0].left; });
      element.style.whiteSpace = '';
      return lefts; }"""
    lefts = line.evaluate(place)
    assert lefts == sorted(lefts)  # what follows the name stands to the right of it


def test_a_cell_of_a_section_that_holds_a_text_is_laid_out_as_one(page):
    cells = page.locator("#worst-tables tbody tr").first
    assert cells.locator(".text").count() == 1
    assert cells.locator("th bdi").text_content() == LABEL
    assert cells.locator("td").last.text_content() == "3 / 4"


def test_characters_that_cannot_be_seen_are_shown_by_their_numbers(page):
    assert shown(page, "right").locator(".unseen").all_text_contents() == ["U+202E"]
    assert shown(page, "zero").locator(".unseen").all_text_contents() == ["U+200D"]
    text = page.evaluate("document.body.innerText")
    assert "\u202e" not in text
    assert "\u2067" not in text


@pytest.mark.parametrize("text", [FAMILY, FLAG, PERSIAN])
def test_joiners_that_belong_to_the_spelling_are_left_alone(page, text):
    found = shown(page, text)
    assert found.text_content() == text
    assert found.locator(".unseen").count() == 0


def test_a_long_text_without_spaces_wraps_on_a_telephone(page):
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_search_finds_another_normal_form(page):
    page.fill("#words", "\u0623\u0645\u0633")  # with a hamza of its own letter
    whole = page.locator("#found").text_content()
    page.fill("#words", "\u0627\u0654\u0645\u0633")  # and as a mark
    assert page.locator("#found").text_content() == whole
    assert "No trial" not in whole
    page.fill("#words", "")
