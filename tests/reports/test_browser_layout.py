"""The page in a real browser, whatever it shows: widths, contrast, paper, keyboards."""

import pytest


@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_scrolls_sideways_but_the_tables(odd, demo, visit, look, width):
    for path in (odd, demo):
        tab = visit(path, width) if width < 1440 else look(path)
        tab.locator("details").evaluate_all("parts => parts.forEach((part) => { part.open = true; })")
        assert tab.evaluate("document.documentElement.scrollWidth") == width
        assert tab.evaluate("document.body.scrollWidth") <= width


@pytest.mark.parametrize("width", [390, 800])
def test_the_first_table_is_read_without_scrolling_on_a_narrow_page(odd, demo, look, width):
    for path in (odd, demo):
        tab = look(path, width)
        assert tab.locator("#strongest .scroll").evaluate("one => one.scrollWidth - one.clientWidth") == 0
        labels = (
            tab.locator("#strongest tbody tr")
            .first.locator("td")
            .evaluate_all("cells => cells.map((cell) => getComputedStyle(cell, '::before').content)")
        )
        headings = tab.locator("#strongest thead th").all_text_contents()[1:]
        assert labels == [f'"{heading}"' if width == 390 else "none" for heading in headings]


def luminance(colour):
    """Return the relative luminance of an rgb(...) colour, as contrast is defined."""
    parts = [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_in_light_and_dark(odd, visit, look, scheme):
    tab = visit(odd, color_scheme=scheme) if scheme == "dark" else look(odd)
    colours = tab.evaluate("""() => {
      const style = (selector) => getComputedStyle(document.querySelector(selector));
      const within = (selector) => { for (let e = document.querySelector(selector); e; e = e.parentElement) {
        const colour = getComputedStyle(e).backgroundColor;
        if (colour !== 'rgba(0, 0, 0, 0)') return colour; } };
      return ['body', '.quiet', '#headline', 'a[href="#trials"]', '.badge.right', '.tag.source',
              '.tag.guess', '#tables td', 'tr.violated td.verdict', '#private', '.card .label', 'select']
        .map((selector) => [selector, style(selector).color, within(selector)]);
    }""")
    for selector, ink, paper in colours:
        light, dark = sorted((luminance(ink), luminance(paper)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (selector, ink, paper)
    assert (luminance(colours[0][2]) < 0.1) == (scheme == "dark")
    axis = tab.locator("#calibration-chart .xtick text").first.evaluate("tick => getComputedStyle(tick).fill")
    assert (luminance(axis) > 0.5) == (scheme == "dark")


def test_charts_follow_when_the_scheme_changes_and_print_in_light(demo, visit, tmp_path):
    tab = visit(demo)
    tick = tab.locator("#calibration-chart .xtick text").first
    light = tick.evaluate("tick => getComputedStyle(tick).fill")
    tab.emulate_media(color_scheme="dark")
    tab.wait_for_function(
        "old => getComputedStyle(document.querySelector('#calibration-chart .xtick text')).fill !== old",
        arg=light,
    )
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tick.evaluate("tick => getComputedStyle(tick).fill") == light
    assert tab.locator("#calibration-chart .main-svg").first.bounding_box()["width"] == 680
    assert tab.locator("details[open]").count() == tab.locator("details").count()
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    tab.pdf(path=tmp_path / "report.pdf", format="A4")
    assert (tmp_path / "report.pdf").stat().st_size > 10_000


def width_of(tab, chart="calibration-chart"):
    """Return how wide a chart is drawn, and how wide its place is."""
    place = tab.locator(f"#{chart}")
    return place.locator(".main-svg").first.bounding_box()["width"], place.evaluate("e => e.clientWidth")


def test_charts_have_their_width_again_after_printing_and_follow_the_window(odd, visit, tmp_path):
    tab = visit(odd)
    opened = tab.locator("#manifest-parts details").first
    opened.locator("summary").click()
    before = width_of(tab)
    assert before[0] == before[1]
    tab.pdf(path=tmp_path / "report.pdf", format="A4")
    for chart in ("calibration-chart", "utility-chart"):
        drawn_width, place = width_of(tab, chart)
        assert drawn_width == place == before[0]
    assert opened.get_attribute("open") is not None  # it was open, so it stays so
    assert tab.locator("#manifest-parts details[open]").count() == 1
    for width in (700, 390, 1300):
        tab.set_viewport_size({"width": width, "height": 900})
        tab.wait_for_function("""() => { const place = document.querySelector('#calibration-chart');
          return place.querySelector('.main-svg').getBoundingClientRect().width === place.clientWidth; }""")


def test_a_printed_page_is_not_made_smaller_by_a_wide_table(odd, demo, look):
    for path in (odd, demo):
        tab = look(path, 688)  # of A4 without its margins; what is wider makes the browser shrink the page
        tab.evaluate("dispatchEvent(new Event('beforeprint'))")
        tab.emulate_media(media="print")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 688
        tab.evaluate("dispatchEvent(new Event('afterprint'))")


COVERED = """() => { const covered = [];
  for (const region of document.querySelectorAll('.scroll')) {
    const within = region.getBoundingClientRect();
    for (const cell of region.querySelectorAll('td, th')) {
      if (!cell.textContent.trim() || !cell.checkVisibility({ contentVisibilityAuto: true })) continue;
      cell.scrollIntoView({ block: 'center' });
      for (const at of [0, region.scrollWidth]) {
        region.scrollLeft = at;
        const box = cell.getBoundingClientRect();
        const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
        if (x < within.left + 2 || x > within.right - 2) continue; // scrolled away, not covered
        const top = document.elementFromPoint(x, y);
        if (top !== cell && !cell.contains(top)) covered.push(cell.textContent);
      }
    }
  }
  return covered; }"""


@pytest.mark.parametrize("width", [390, 800, 1440])
def test_no_number_of_a_table_is_covered_wherever_it_is_scrolled_to(odd, look, width):
    tab = look(odd, width)
    tab.add_style_tag(content="html { scroll-behavior: auto !important; }")
    assert tab.evaluate(COVERED) == []


def test_every_control_is_reached_by_keyboard_and_shows_it(demo, visit):
    tab = visit(demo)
    reached = set()
    for _ in range(60):
        tab.keyboard.press("Tab")
        reached.add(
            tab.evaluate("""() => { const e = document.activeElement;
          return e.dataset.filter || e.id || e.className || e.value || e.tagName; }""")
        )
        unseen = tab.evaluate("""() => document.activeElement !== document.body
          && getComputedStyle(document.activeElement).outlineStyle === 'none'""")
        assert not unseen
    assert {"skip", "mechanism", "epsilon", "attack", "guess", "order", "words", "more", "scroll"} <= reached
    assert {"word-rr", "constant", "identity"} <= reached


def test_every_control_has_a_name(odd, look):
    tab = look(odd)
    unnamed = tab.evaluate("""() => [...document.querySelectorAll('input, select, button')]
      .filter((e) => !e.labels?.[0]?.textContent.trim() && !(e.ariaLabel || e.textContent).trim()).length""")
    assert unnamed == 0
    assert tab.locator("#calibration-chart").get_attribute("aria-label").startswith("eps_emp against nominal")


def test_the_page_is_light_enough_to_open_quickly(demo, look):
    """By its size and by what a browser has to build, which do not depend on how busy the machine is."""
    assert demo.stat().st_size < 8_000_000  # of which Plotly's library takes most
    assert look(demo).evaluate("document.querySelectorAll('*').length") < 3_000
