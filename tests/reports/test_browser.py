"""The page in a real browser: it draws, filters and tells on hover, and asks the network for nothing."""

import re
import shutil

import tedaudit
from pages import MARKUP, ODD_LABEL, TEXTS, embedded, list_trials
from tedaudit.api import report


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


def test_the_chart_draws_every_mechanism_with_ceiling_and_second_axis(demo, look):
    tab = look(demo)
    assert tab.title() == "Audit demo"
    assert f"tedaudit report {demo.parent} --redact" in tab.locator("#private").text_content()
    assert tab.locator("#calibration-chart .errorbars").count() >= 3
    texts = " ".join(tab.locator("#calibration-chart svg text").all_text_contents())
    for told in ("eps_emp (lower bound)", "success rate", "nominal epsilon", "ceiling", "0.5", "12"):
        assert told in texts


def test_points_of_unequal_trials_are_not_joined_and_each_has_its_ceiling(visit, look, demo, tmp_path):
    """All guesses are right, and larger epsilons have fewer trials, so that a line would fall."""
    settings = {
        "attack": ["lexical", "likelihood"],
        "lambda_": 0,
        "encoder": "lexical",
        "out": str(tmp_path / "run"),
    }
    mechanism = {"name": "word-rr", "vocabulary": " ".join(TEXTS).split()}
    tedaudit.audit(mechanism, TEXTS, epsilon=[60, 70], trials=100, **settings)
    tedaudit.audit(mechanism, TEXTS, epsilon=[40, 50], trials=600, **settings)
    tab = visit(tmp_path / "run" / "report.html")
    heights = [
        round(one["lower"], 3) for one in embedded(tmp_path / "run")["findings"] if one["attack"] == "lexical"
    ]
    assert heights[0] == heights[1] > heights[2] == heights[3]
    parts = "all => all.map((one) => one.querySelectorAll('.lines path.js-line').length)"
    for chart, attacks in (("calibration", 1), ("loss", 2)):
        drawn = tab.locator(f"#{chart}-chart .scatterlayer .trace").evaluate_all(parts)
        assert drawn.count(2) == attacks
        assert "ceilings" in tab.locator(f"#{chart}-chart .annotation").text_content()
        assert "not joined" in tab.locator(f"#{chart}-caption").text_content()
        assert tab.locator(f"#{chart}-chart .shapelayer path").count() == 0  # no dashed line for all of them
    tab = look(demo)
    assert 2 not in tab.locator("#calibration-chart .scatterlayer .trace").evaluate_all(parts)
    assert tab.locator("#calibration-chart .shapelayer path").count() == 1
    assert "not joined" not in tab.locator("#calibration-caption").text_content()


def test_the_page_of_a_calibration_leads_with_its_answer(visit, tmp_path):
    found = tedaudit.calibrate(
        {"name": "word-rr", "slots": 4}, TEXTS, target=1.5, attack="likelihood", trials=600, lambda_=0,
        searched=(0.1, 100), out=str(tmp_path / "run"),
    ).of("word-rr")  # fmt: skip
    tab = visit(tmp_path / "run" / "report.html")
    assert tab.locator("main > section:visible").first.get_attribute("id") == "lead"
    assert tab.locator("#headline").text_content() == found.sentences[0]
    shown = tab.locator("#lead").inner_text()
    cells = tab.locator("#answers tbody tr").first.locator("th, td").all_text_contents()
    assert {"word-rr", found.low.label, found.high.label, f"{found.eps_emp_high:.2f}"} <= set(cells)
    assert "error 0.01" in shown
    assert "likelihood" in shown
    assert "surest guesses; a coin gets" not in shown  # what the search saw


def test_hovering_over_a_point_shows_counts_and_claim(demo, look):
    tab = look(demo)
    point = tab.locator("#calibration-chart .scatterlayer .trace .point").last
    point.scroll_into_view_if_needed()
    box = point.bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.wait_for_selector("#calibration-chart .hoverlayer .hovertext")
    told = " ".join(tab.locator(".hoverlayer .hovertext tspan").all_text_contents())
    for part in ("attack: lexical", "claim:", "of 400", "eps_emp:", "ceiling", "verdict:"):
        assert part in told


def test_mechanisms_can_be_taken_off_the_chart_by_keyboard(demo, look):
    tab = look(demo)
    before, points = drawn(tab), tab.locator("#calibration-chart .point").count()
    box = tab.get_by_role("checkbox", name="word-rr")
    box.focus()
    tab.keyboard.press("Space")
    tab.wait_for_function(
        "before => document.querySelectorAll('#calibration-chart .point').length < before", arg=points
    )
    assert not box.is_checked()
    assert drawn(tab) == before - 1


def test_plans_and_attacks_are_switched(odd, look):
    tab = look(odd)
    section = tab.locator("#calibration-controls")
    first = tab.locator("#calibration-chart .annotation").text_content()
    section.get_by_label("k = 2, lambda = 0, reduced form").check()
    tab.wait_for_function(
        "old => document.querySelector('#calibration-chart .annotation').textContent !== old", arg=first
    )
    section.get_by_label("all attacks").check()
    assert "Lines: again solid, lexical dashed" in tab.locator("#calibration-caption").text_content()


def test_the_table_holds_every_column_and_marks_what_is_violated(odd, look):
    tab = look(odd)
    headings = tab.locator("#tables table").first.locator("thead th").all_text_contents()
    assert headings[:2] == ["mechanism", "verdict"]
    assert tab.locator("#tables table").count() == 4  # the claims, and one for each plan
    assert tab.locator("#tables table").first.is_hidden()  # until it is asked for
    assert tab.locator("#strongest thead th").all_text_contents()[:2] == ["mechanism", "verdict"]
    for place in ("#strongest", "#tables"):
        marked = tab.locator(f"{place} tr.violated")
        assert marked.count() > 0
        assert marked.first.locator("td").first.text_content() == "violated"
    assert " violated" in tab.locator("#explained").inner_text()


def test_no_row_of_a_table_is_cut_off_on_a_wide_page(odd, demo, look):
    for path in (odd, demo):
        tab = look(path)
        tab.locator("details").evaluate_all("parts => parts.forEach((part) => { part.open = true; })")
        cut = tab.locator(".scroll").evaluate_all(
            "all => all.map((one) => one.scrollWidth - one.clientWidth)"
        )
        tab.locator("details").evaluate_all("parts => parts.forEach((part) => { part.open = false; })")
        assert cut
        assert set(cut) == {0}


def test_charts_and_trials_open_on_the_strongest_finding(odd, look):
    tab = look(odd)
    data = embedded(odd.parent)
    best = data["findings"][data["opened"]]
    assert best["lower"] == max(one["lower"] for one in data["findings"])
    words = next(plan["words"] for plan in data["plans"] if plan["name"] == best["plan"])
    assert tab.locator("#calibration-controls").get_by_label(words).is_checked()
    assert tab.locator("#calibration-controls").get_by_label(best["attack"], exact=True).is_checked()
    assert tab.locator("select[data-filter=plan]").input_value() == best["plan"]
    assert tab.locator("select[data-filter=mechanism]").input_value() == best["mechanism"]


def test_the_explorer_filters_by_mechanism_epsilon_attack_and_outcome(demo, look):
    tab = look(demo)
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


def test_the_worst_leaks_come_first_and_more_can_be_shown(demo, look):
    tab = look(demo)
    everything(tab)
    data = embedded(demo.parent)
    places = {}
    for trial in list_trials(data):
        finding = data["findings"][trial["finding"]]
        epsilon = "any" if finding["epsilon"] is None else f"{finding['epsilon']:g}"
        places[finding["mechanism"], epsilon, finding["attack"], trial["row"]] = trial["worst"]
    shown = []
    for told in tab.locator(".trial header").all_text_contents():
        found = re.search(r"^(.*?)rightepsilon (\S+) · ([\w-]+) · trial (\d+) ", told)
        shown.append(places[found[1], found[2], found[3], int(found[4])])
    assert len(shown) == 20
    assert shown == sorted(shown)
    assert set(tab.locator(".trial .badge").all_text_contents()) == {"right"}
    tab.get_by_role("button", name="Show more").click()
    assert tab.locator(".trial").count() == 40
    assert "A sample of " in tab.locator("#sampled").text_content()


def test_a_text_and_a_label_with_markup_show_as_text(odd, look):
    tab = look(odd)
    assert tab.locator(".choices").get_by_text(ODD_LABEL).count() == 1
    everything(tab)
    chosen(tab, "plan", "")
    chosen(tab, "mechanism", ODD_LABEL)
    tab.fill("#words", "alert(1)")
    shown = tab.locator(".trial .text").all_text_contents()
    assert MARKUP in shown
    assert tab.locator(".trial img, .trial script, .trial b").count() == 0
    assert f"'{ODD_LABEL}'" in tab.locator(".trial code").first.text_content()


def test_trials_with_several_rewrites_are_numbered_as_replay_counts_them(odd, look):
    tab = look(odd)
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
        rows = sorted(trial["row"] for trial in list_trials(data) if trial["finding"] == number)[:20]
        told = [re.search(r"trial (\d+)", head) for head in tab.locator(".trial header").all_text_contents()]
        assert [int(found.group(1)) for found in told] == [row // rows_per_trial for row in rows]


def test_utility_is_drawn_if_given_and_hidden_otherwise(odd, demo, look):
    tab = look(odd)
    assert tab.locator("#utility-chart .point").count() == 4
    tab.locator("#utility-controls").get_by_label("sentiment F1").check()
    words = " ".join(tab.locator("#utility-chart svg text").all_text_contents())
    assert "sentiment F1" in words
    assert "not rewritten" in words
    assert "majority class" in words
    told = tab.locator("#utility-caption").text_content()
    assert "lower is better" in told
    assert told.endswith("Made up for a test.")
    assert look(demo).locator("#utility").is_hidden()


def test_the_axis_is_switched_to_totals_by_keyboard_and_says_what_it_leaves_out(demo, look):
    tab = look(demo)
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


def test_the_page_leads_with_counts_and_then_with_an_example_that_is_shown_as_text(odd, look):
    tab = look(odd)
    shown = tab.locator("main > section:visible").evaluate_all("all => all.map((one) => one.id)")
    assert shown[:3] == ["lead", "example", "results"]
    assert tab.locator("#headline").text_content().startswith("Shown a rewrite by ")
    assert "at error 0.005" in tab.locator("#detail").text_content()
    data = embedded(odd.parent)["example"]
    told = tab.locator("#example").inner_text()
    assert data["output"] in told
    assert "is not typical" in told
    assert tab.locator("#example .candidates .tag.source").count() == 1
    assert tab.locator("#example img, #example script, #example b").count() == 0
    assert tab.locator("#sections a").all_text_contents()[:3] == ["Summary", "One trial", "Results"]


def test_a_redacted_page_works_and_shows_no_text(odd, visit, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(odd.parent, copy)
    report(copy, redact=True)
    tab = visit(copy / "report.html")
    assert "Texts" in tab.locator("#private").text_content()
    assert str(tmp_path) not in tab.locator("body").text_content()
    assert tab.locator("#example").is_hidden()
    assert tab.locator("#headline").text_content().startswith("Shown a rewrite by ")
    assert tab.locator(".trial").count() == 20
    assert "of the corpus" in tab.locator(".trial .candidates").first.text_content()
    assert tab.locator("#words").count() == 0
    told = tab.locator("body").inner_text()
    assert not any(text in told for text in (MARKUP, *TEXTS))


def test_the_models_behind_the_results_are_listed_with_their_checksums(modelled, demo, look, visit):
    tab = visit(modelled.run.page)
    part = tab.locator("#manifest-parts details").filter(has=tab.get_by_text("Models", exact=True))
    assert part.locator("table").is_hidden()
    part.locator("summary").click()
    assert part.locator("table").is_visible()
    assert part.locator("thead th").all_text_contents() == ["used by", "model", "checksum", "of"]
    rows = [row.locator("th, td").all_text_contents() for row in part.locator("tbody tr").all()]
    assert rows == [[m["used_by"], m["model"], m["checksum"], m["part"]] for m in modelled.models]
    assert [row[0] for row in rows][1:] == ["embedding", "candidate sampling"]
    without = look(demo).locator("#manifest-parts details").filter(has_text="No model, or none recorded.")
    assert without.count() == 1


def test_the_axis_of_a_mechanism_without_epsilon_says_so(visit, tmp_path):
    made = tedaudit.audit(str.upper, TEXTS, trials=20, attack="lexical", out=str(tmp_path / "run"))
    chart = visit(made.run.page).locator("#calibration-chart")
    words = chart.locator("svg text").all_text_contents()
    assert "takes no epsilon" in words
    assert not any("nominal" in word for word in words)
    assert "nominal" not in chart.get_attribute("aria-label")


def test_what_stands_between_backticks_is_shown_as_code_and_never_as_markup(demo, look):
    tab = look(demo)
    parts = tab.evaluate("""() => coded("run `tedaudit report <b>`, then look")
      .map((part) => (part.outerHTML ?? part))""")
    assert parts == ["run ", "<code>tedaudit report &lt;b&gt;</code>", ", then look"]
    assert "`" not in tab.locator("#notes").text_content()


def test_a_line_of_the_chart_of_losses_is_explained_only_if_it_is_drawn(visit, tmp_path):
    made = tedaudit.audit(
        {"name": "word-rr", "slots": 3},
        TEXTS,
        epsilon=[1, 4],
        trials=40,
        attack="likelihood",
        out=str(tmp_path),
    )
    tab = visit(made.run.page)
    caption = lambda: tab.locator("#loss-caption").text_content()  # noqa: E731
    assert "The dotted line is the most" in caption()
    tab.evaluate("""() => { for (const row of data.losses.rows) row.supremum = null;
      sandwich({ plan: data.losses.rows[0].plan, mechanism: "word-rr" }); }""")
    assert "dotted" not in caption()
