"""The page in a real browser: it draws, filters and tells on hover, and asks the network for nothing."""

import re
import shutil

import pytest

from pages import embedded
from tedaudit.api import run
from tedaudit.corpora._given import Given
from tedaudit.reports.files import write_reports
from tedaudit.reports.utility import Utility
from tedaudit.results.reading import read_result
from tedaudit.spec.flags import SMALL
from tedaudit.spec.model import parse_spec
from tedaudit.store.directory import RunDirectory

playwright = pytest.importorskip("playwright.sync_api")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if BROWSER is None:
    pytest.skip("chromium is not installed", allow_module_level=True)

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update"]  # fmt: skip
NASTY = "<script>alert(1)</script> <img src=x onerror=alert(2)> \"quoted\" & 'so' &lt;b&gt;"
TEXTS = [NASTY, *(f"{who} {did} the {what}" for who in ("ann", "bob", "cat", "dan", "eve")
                  for did in ("lost", "sold") for what in ("ring", "boat", "lamp"))]  # fmt: skip
UTILITY = Utility(
    [{"mechanism": "word-rr", "epsilon": float(e), "task": task, "score": 0.5 + e / 50, "spread": 0.01}
     for task in ("intent F1", "sentiment F1") for e in (1, 4, 8, 12)],
    {"intent F1": {"upper": 0.9, "lower": 0.1, "private": False},
     "sentiment F1": {"upper": 0.8, "lower": 0.3, "private": True}},
    "Made up for a test.",
)  # fmt: skip
ODD = '<b>odd "label"'


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The embedded audit that needs no model, with fewer trials."""
    out = tmp_path_factory.mktemp("runs") / "demo"
    run(parse_spec({**SMALL, "trials": 400, "out": str(out)}))
    return out / "report.html"


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """A run with violated claims, several plans and attacks, a nasty text and label, and utility."""
    out = tmp_path_factory.mktemp("runs") / "odd"
    run(
        parse_spec({
            "corpus": {"name": "given", "live": Given(TEXTS)},
            "mechanisms": [{"name": "function", "function": str.strip, "label": ODD}, "word-rr", "constant"],
            "attacks": ["lexical", {"name": "lexical", "label": "again"}], "epsilons": [1, 4, 8, 12],
            "trials": 300, "out": str(out),
            "plans": [{"k": 2, "lambda": 0}, {"k": 4, "lambda": 0},
                      {"k": 2, "lambda": 0, "estimator": "baseline"}],
        })
    )  # fmt: skip
    write_reports(read_result(RunDirectory(out)), utility=UTILITY)
    return out / "report.html"


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def visit(browser):
    """Open a page; in the end there was no complaint, no dialog and no request but for the file."""
    opened, trouble = [], []

    def go(path, width=1440, **more):
        tab = browser.new_page(viewport={"width": width, "height": 900}, **more)
        tab.on("console", lambda message: trouble.append(f"console: {message.text}"))
        tab.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        tab.on("dialog", lambda dialog: (trouble.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        asked = []
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(path.as_uri())
        tab.set_default_timeout(10_000)
        tab.wait_for_selector("#calibration-chart .main-svg")
        opened.append((tab, asked, path.as_uri()))
        return tab

    yield go
    for tab, asked, uri in opened:
        assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [uri]
        tab.close()
    assert trouble == []


def chosen(tab, name, value):
    tab.select_option(f"select[data-filter={name}]", value)


def everything(tab):
    """Lift every filter of the explorer."""
    for name in ("mechanism", "epsilon", "attack"):
        chosen(tab, name, "")


def names(tab):
    return tab.locator(".trial h3").all_text_contents()


def drawn(tab, chart="calibration-chart"):
    """Return how many lines with points are drawn."""
    return tab.locator(f"#{chart} .scatterlayer .trace .points:has(path)").count()


def test_the_chart_draws_every_mechanism_with_ceiling_and_second_axis(demo, visit):
    tab = visit(demo)
    assert tab.title() == "Audit demo"
    assert tab.locator("#calibration-chart .errorbars").count() >= 3
    texts = " ".join(tab.locator("#calibration-chart svg text").all_text_contents())
    for told in ("eps_emp (lower bound)", "success rate", "nominal epsilon", "ceiling", "0.5", "12"):
        assert told in texts


def test_hovering_over_a_point_shows_counts_and_claim(demo, visit):
    tab = visit(demo)
    point = tab.locator("#calibration-chart .scatterlayer .trace .point").last
    point.scroll_into_view_if_needed()
    box = point.bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.wait_for_selector("#calibration-chart .hoverlayer .hovertext")
    told = " ".join(tab.locator(".hoverlayer .hovertext tspan").all_text_contents())
    for part in ("attack: lexical", "claim:", "of 400", "eps_emp:", "ceiling", "verdict:"):
        assert part in told


def test_mechanisms_can_be_taken_off_the_chart_by_keyboard(demo, visit):
    tab = visit(demo)
    before, points = drawn(tab), tab.locator("#calibration-chart .point").count()
    box = tab.get_by_role("checkbox", name="word-rr")
    box.focus()
    tab.keyboard.press("Space")
    tab.wait_for_function(
        "before => document.querySelectorAll('#calibration-chart .point').length < before", arg=points
    )
    assert not box.is_checked()
    assert drawn(tab) == before - 1


def test_plans_and_attacks_are_switched(odd, visit):
    tab = visit(odd)
    section = tab.locator("#calibration-controls")
    first = tab.locator("#calibration-chart .annotation").text_content()
    section.get_by_label("k = 4, lambda = 0, reduced form").check()
    tab.wait_for_function(
        "old => document.querySelector('#calibration-chart .annotation').textContent !== old", arg=first
    )
    section.get_by_label("all attacks").check()
    assert "Lines: again solid, lexical dashed" in tab.locator("#calibration-caption").text_content()


def test_the_table_holds_every_column_and_marks_what_is_violated(odd, visit):
    tab = visit(odd)
    headings = tab.locator("#tables table").first.locator("thead th").all_text_contents()
    assert headings[0] == "mechanism"
    assert headings[-1] == "verdict"
    assert tab.locator("#tables table").count() == 4  # the claims, and one for each plan
    marked = tab.locator("#tables tr.violated")
    assert marked.count() > 0
    assert marked.first.locator("td").last.text_content() == "violated"
    assert "violated." in tab.locator("#headlines p").first.text_content()


def test_the_explorer_filters_by_mechanism_epsilon_attack_and_outcome(demo, visit):
    tab = visit(demo)
    everything(tab)
    all_of_them = tab.locator("#found").text_content()
    chosen(tab, "mechanism", "word-rr")
    assert set(names(tab)) == {"word-rr"}
    assert tab.locator("#found").text_content() != all_of_them
    chosen(tab, "epsilon", "8")
    assert all("epsilon 8 " in told for told in tab.locator(".trial header").all_text_contents())
    for outcome in ("wrong", "right"):
        chosen(tab, "guess", outcome)
        assert set(tab.locator(".trial .badge").all_text_contents()) == {outcome}
    chosen(tab, "mechanism", "identity")
    assert tab.locator("#found").text_content() == "No trial in the sample matches."


def test_the_worst_leaks_come_first_and_more_can_be_shown(demo, visit):
    tab = visit(demo)
    everything(tab)
    data = embedded(demo.parent)
    places = {}
    for trial in data["sample"]["trials"]:
        finding = data["findings"][trial["finding"]]
        epsilon = "any" if finding["epsilon"] is None else f"{finding['epsilon']:g}"
        places[finding["mechanism"], epsilon, finding["attack"], trial["row"]] = trial.get("worst")
    shown = []
    for told in tab.locator(".trial header").all_text_contents():
        found = re.search(r"^(.*?)rightepsilon (\S+) · (\w+) · trial (\d+) ", told)
        shown.append(places[found[1], found[2], found[3], int(found[4])])
    assert len(shown) == 20
    assert shown == sorted(shown)
    assert set(tab.locator(".trial .badge").all_text_contents()) == {"right"}
    tab.get_by_role("button", name="Show more").click()
    assert tab.locator(".trial").count() == 40
    assert "a sample: for every mechanism" in tab.locator("#sampled").text_content()


def test_a_text_and_a_label_with_markup_show_as_text(odd, visit):
    tab = visit(odd)
    assert tab.locator(".choices").get_by_text(ODD).count() == 1
    everything(tab)
    chosen(tab, "plan", "")
    chosen(tab, "mechanism", ODD)
    tab.fill("#words", "alert(1)")
    shown = tab.locator(".trial .text").all_text_contents()
    assert NASTY in shown
    assert tab.locator(".trial img, .trial script, .trial b").count() == 0
    assert f"'{ODD}'" in tab.locator(".trial code").first.text_content()


def test_trials_with_several_rewrites_are_numbered_as_replay_counts_them(odd, visit):
    tab = visit(odd)
    data = embedded(odd.parent)
    everything(tab)
    chosen(tab, "mechanism", "constant")
    chosen(tab, "attack", "again")
    chosen(tab, "order", "row")
    for plan, rows_per_trial in (("k2-lambda0-baseline", 2), ("k4-lambda0", 1)):
        chosen(tab, "plan", plan)
        number = next(
            at
            for at, finding in enumerate(data["findings"])
            if (finding["plan"], finding["mechanism"], finding["attack"]) == (plan, "constant", "again")
        )
        rows = sorted(trial["row"] for trial in data["sample"]["trials"] if trial["finding"] == number)[:20]
        told = [re.search(r"trial (\d+)", head) for head in tab.locator(".trial header").all_text_contents()]
        assert [int(found.group(1)) for found in told] == [row // rows_per_trial for row in rows]


def test_utility_is_drawn_if_given_and_hidden_otherwise(odd, demo, visit):
    tab = visit(odd)
    assert tab.locator("#utility-chart .point").count() == 4
    tab.locator("#utility-controls").get_by_label("sentiment F1").check()
    words = " ".join(tab.locator("#utility-chart svg text").all_text_contents())
    assert "sentiment F1" in words
    assert "not rewritten" in words
    assert "majority class" in words
    told = tab.locator("#utility-caption").text_content()
    assert "lower is better" in told
    assert told.endswith("Made up for a test.")
    assert visit(demo).locator("#utility").is_hidden()


@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_scrolls_sideways_but_the_tables(odd, demo, visit, width):
    for path in (odd, demo):
        tab = visit(path, width)
        tab.locator("details").evaluate_all("parts => parts.forEach((part) => { part.open = true; })")
        assert tab.evaluate("document.documentElement.scrollWidth") == width
        assert tab.evaluate("document.body.scrollWidth") <= width


def luminance(colour):
    """Return the relative luminance of an rgb(...) colour, as contrast is defined."""
    parts = [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_in_light_and_dark(odd, visit, scheme):
    tab = visit(odd, color_scheme=scheme)
    colours = tab.evaluate("""() => {
      const style = (selector) => getComputedStyle(document.querySelector(selector));
      const within = (selector) => { for (let e = document.querySelector(selector); e; e = e.parentElement) {
        const colour = getComputedStyle(e).backgroundColor;
        if (colour !== 'rgba(0, 0, 0, 0)') return colour; } };
      return ['body', '.quiet', '#headlines p', 'a[href="#trials"]', '.badge.right', '.tag.source',
              '.tag.guess', '#tables td', 'tr.violated td:last-child', '#private', '.card .label', 'select']
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


def test_a_printed_page_is_not_made_smaller_by_a_wide_table(odd, demo, visit):
    for path in (odd, demo):
        tab = visit(path, 688)  # of A4 without its margins; what is wider makes the browser shrink the page
        tab.evaluate("dispatchEvent(new Event('beforeprint'))")
        tab.emulate_media(media="print")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 688


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
def test_no_number_of_a_table_is_covered_wherever_it_is_scrolled_to(odd, visit, width):
    tab = visit(odd, width)
    tab.add_style_tag(content="html { scroll-behavior: auto !important; }")
    assert tab.evaluate(COVERED) == []


def test_the_axis_is_switched_to_totals_by_keyboard_and_says_what_it_leaves_out(demo, visit):
    tab = visit(demo)
    words = lambda: " ".join(tab.locator("#calibration-chart svg text").all_text_contents())  # noqa: E731
    assert "nominal epsilon, per the mechanism's own unit" in words()
    assert drawn(tab) == 3
    radio = tab.get_by_role("radio", name="nominal epsilon")
    radio.focus()
    tab.keyboard.press("ArrowRight")
    tab.wait_for_function(
        "() => document.querySelector('#calibration-chart').textContent.includes('claimed epsilon of a')"
    )
    assert tab.get_by_role("radio", name="total epsilon").is_checked()
    assert drawn(tab) == 1  # word-rr: 16 units
    assert "192" in words()
    told = tab.locator("#calibration-caption").text_content()
    assert told.endswith("no total above 0 is claimed for a whole text: constant, identity.")
    assert "total epsilon" in tab.locator("#calibration-chart").get_attribute("aria-label")


def test_the_page_leads_with_an_example_that_is_shown_as_text(odd, visit):
    tab = visit(odd)
    assert tab.locator("main > section:visible").first.get_attribute("id") == "example"
    data = embedded(odd.parent)["example"]
    told = tab.locator("#example").inner_text()
    assert data["output"] in told
    assert "is not typical" in told
    assert tab.locator("#example .candidates .tag.source").count() == 1
    assert tab.locator("#example img, #example script, #example b").count() == 0
    assert tab.locator("#sections a").first.text_content() == "One trial"


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


def test_every_control_has_a_name(odd, visit):
    tab = visit(odd)
    unnamed = tab.evaluate("""() => [...document.querySelectorAll('input, select, button')]
      .filter((e) => !e.labels?.[0]?.textContent.trim() && !(e.ariaLabel || e.textContent).trim()).length""")
    assert unnamed == 0
    assert tab.locator("#calibration-chart").get_attribute("aria-label").startswith("eps_emp against nominal")


def test_the_page_is_light_enough_to_open_quickly(demo, visit):
    """By its size and by what a browser has to build, which do not depend on how busy the machine is."""
    assert demo.stat().st_size < 8_000_000  # of which Plotly's library takes most
    assert visit(demo).evaluate("document.querySelectorAll('*').length") < 3_000


def test_a_redacted_page_works_and_shows_no_text(odd, visit, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(odd.parent, copy)
    write_reports(read_result(RunDirectory(copy)), redact=True)
    tab = visit(copy / "report.html")
    assert "Texts" in tab.locator("#private").text_content()
    assert tab.locator("#example").is_hidden()
    assert tab.locator(".trial").count() == 20
    assert "of the corpus" in tab.locator(".trial .candidates").first.text_content()
    assert tab.locator("#words").count() == 0
    told = tab.locator("body").inner_text()
    assert not any(text in told for text in TEXTS)


def test_the_models_behind_the_results_are_listed_with_their_checksums(modelled, demo, visit):
    tab = visit(modelled.run.page)
    part = tab.locator("#manifest-parts details").filter(has=tab.get_by_text("Models", exact=True))
    assert part.locator("table").is_hidden()
    part.locator("summary").click()
    assert part.locator("table").is_visible()
    assert part.locator("thead th").all_text_contents() == ["used by", "model", "checksum", "of"]
    rows = [row.locator("th, td").all_text_contents() for row in part.locator("tbody tr").all()]
    assert rows == [[m["used_by"], m["model"], m["checksum"], m["part"]] for m in modelled.models]
    assert [row[0] for row in rows][1:] == ["embedding", "candidate sampling"]
    without = visit(demo).locator("#manifest-parts details").filter(has_text="No model, or none recorded.")
    assert without.count() == 1
