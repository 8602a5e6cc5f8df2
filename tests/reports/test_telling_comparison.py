"""The page of a comparison: one file that needs nothing and holds no text of the corpus."""

import io
import json
import math
import re
from dataclasses import replace

import pytest
from rich.console import Console

from helpers import make_spec
from tedaudit.api import run
from tedaudit.corpora.files import Given
from tedaudit.errors import RunDirectoryError
from tedaudit.reports.telling_comparison import (
    explain_comparison,
    format_cells,
    headings,
    page_data,
    redact_comparison,
    tell_comparison,
    write_comparison,
)
from tedaudit.reports.writers.terminal import fit_table, to_rich
from tedaudit.results.comparison import Span, compare_runs
from tedaudit.runs.directory import RunDirectory

NASTY = "</script><script>alert(1)</script>"
TEXTS = [f"{who} {did} the {what}" for who in ("ann", "bob", "cat", "dan", "eve")
         for did in ("lost", "sold") for what in ("ring", "boat", "lamp")]  # fmt: skip
LABEL = "ann lost the ring"


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Two runs on one plan, with labels and settings that tell too much."""
    folder, found = tmp_path_factory.mktemp("runs"), []
    for name in ("old", "new"):
        odd = {"name": "constant", "output": "bob sold the boat", "label": "<script>alert(1)"}
        mechanisms = ["identity", {"name": "word-rr", "slots": 3, "label": LABEL}, odd]
        run(
            make_spec(
                folder / name, corpus={"name": "given", "live": Given([*TEXTS, NASTY])}, name=name,
                mechanisms=mechanisms, attacks=[{"name": "lexical", "label": "eve sold the lamp"}],
            )
        )  # fmt: skip
        found.append(RunDirectory(folder / name))
    return compare_runs(found)


@pytest.fixture(scope="module")
def page(compared, tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "comparison.html"
    write_comparison(compared, path)
    return path


def test_the_page_asks_the_network_for_nothing_and_runs_its_own_scripts_only(page):
    html = page.read_text(encoding="utf-8")
    without_plotly = re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)
    assert "default-src 'none'" in html
    assert "'unsafe-inline'; img-src" in html
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", without_plotly)
    assert html.count("'sha256-") == 4


def test_no_text_label_or_path_is_on_it(page, compared):
    html = page.read_text(encoding="utf-8")
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL).group(1)
    assert not any(text in data for text in [*TEXTS, NASTY, "alert"])
    told = json.loads(data)
    assert told["headline"].startswith(
        "Against old: not told in 3 of 3 comparisons. mechanism 1 under attack 1 "
    )
    assert "None of 3 comparisons shows a difference." in told["paragraphs"]
    assert str(compared.comparisons[0].first.run.store.root.parent) not in data


def test_labels_of_several_words_are_numbered_the_same_way_everywhere(compared):
    shown = redact_comparison(compared)
    assert {c.first.finding.label for c in shown.comparisons} == {"identity", "mechanism 1", "mechanism 2"}
    assert {c.first.finding.attack for c in shown.comparisons} == {"attack 1"}
    assert {a.within for a in shown.agreements} == {"attack 1"}
    assert {(c.first.member, c.second.member) for c in shown.comparisons} == {("old", "new")}


@pytest.mark.parametrize("against", [LABEL, "<script>alert(1)"])
def test_table_and_chart_call_a_mechanism_by_one_name(compared, against):
    some = compare_runs([compared.opened[0].store], "mechanism", against)
    shown, data = redact_comparison(some), page_data(some)
    lower = {f["mechanism"]: f["lower"] for f in data["findings"]}
    for one in shown.comparisons:
        for side in (one.first, one.second):
            assert lower[side.member] == side.finding.bound.lower
            assert side.member == side.finding.label


def test_the_page_holds_every_row_of_the_table(compared):
    data, shown = page_data(compared), redact_comparison(compared)
    assert [*data["table"]["rows"]] == [format_cells(one, shown) for one in shown.comparisons]
    assert data["table"]["headings"] == headings(shown)
    assert len(data["table"]["rows"]) == len(data["rows"])
    assert [len(one["rows"]) for one in data["agreement"]] == [len(shown.agreements)] * bool(shown.agreements)


@pytest.mark.parametrize("by", ["mechanism", "run"])
def test_the_headings_name_what_both_sides_share(compared, by):
    runs = [
        RunDirectory(side.run.store.root)
        for side in (compared.comparisons[0].first, compared.comparisons[0].second)
    ]
    some = compare_runs(runs, by)
    shared = {"run": ["mechanism", "attack"], "mechanism": ["attack"]}[by]
    assert list(headings(some)[1 : headings(some).index("epsilon")]) == shared
    assert all(len(format_cells(one, some)) == len(headings(some)) for one in some.comparisons)


def test_the_reading_says_which_test_and_interval_and_what_they_prove(compared):
    assert "intervals of both sides" not in explain_comparison(compared)  # they are those of epsilon
    told = explain_comparison(compared, both=True)
    parts = ("McNemar's exact test", "Clopper-Pearson", "intervals of both sides", "Bonferroni")
    for part in (*parts, "does not prove privacy"):
        assert part in told
    assert "On different plans" not in told


def test_the_reading_says_with_what_others_are_compared_and_why(compared):
    told = explain_comparison(compared)
    assert "Compared with old: no run is in more settings (" in told
    assert "never by results" in told
    named = compare_runs([run.store for run in compared.opened], "run", "new")
    assert "Compared with new, as asked." in explain_comparison(named)
    labelled = compare_runs([compared.opened[0].store], "mechanism", LABEL)
    assert LABEL not in page_data(labelled)["reading"]  # a name that may be a text


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (Span(0.5, 0.25, 0.75), "+0.50 (+0.25 to +0.75)"),
        (Span(0.5, 0.25, math.inf), "at least +0.25"),
        (Span(-0.5, -math.inf, -0.25), "at most -0.25"),
        (Span(0.0, -math.inf, math.inf), "unknown"),
    ],
)
def test_a_difference_without_an_end_is_told_in_words(compared, span, words):
    shown = replace(compared.comparisons[0], epsilon_span=span)
    of_epsilon = replace(compared, scale="epsilon", comparisons=(shown,))
    cells = dict(zip(headings(of_epsilon), format_cells(shown, of_epsilon), strict=True))
    assert cells["difference of eps"] == words
    told = explain_comparison(of_epsilon)
    assert ("never wrong" in told) == (words[0] != "+")
    json.dumps(shown.to_dict(), allow_nan=False)


def test_a_page_that_cannot_be_written_is_named(compared, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunDirectoryError, match=r"file' cannot be made \(File exists\)"):
        write_comparison(compared, tmp_path / "file" / "page.html")


def test_every_plan_of_every_run_can_be_chosen_for_the_chart(compared):
    data = page_data(compared)
    assert [plan["words"].partition(":")[0] for plan in data["plans"]] == ["old, given", "new, given"]
    assert {finding["plan"] for finding in data["findings"]} == {plan["name"] for plan in data["plans"]}
    assert {f["mechanism"] for f in data["findings"]} == {"identity", "mechanism 1", "mechanism 2"}
    assert len(data["findings"]) == sum(len(run.result.findings) for run in compared.opened)


def test_the_page_draws_itself_in_a_browser(page, compared, browser):
    trouble, asked = [], []
    tab = browser.new_page()
    tab.on("console", lambda message: trouble.append(message.text))
    tab.on("pageerror", lambda error: trouble.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(page.as_uri())
    tab.wait_for_selector("#difference-chart .main-svg", timeout=300_000)
    assert tab.locator("#table tbody tr").count() == 3
    assert tab.locator("#agreement").is_visible()
    shown = tab.locator("#calibration-chart .scatterlayer .point")
    assert shown.count() == len([f for f in page_data(compared)["findings"] if f["plan"][0] == "0"])
    tab.get_by_label("new, given").first.check()
    assert tab.locator("#calibration-chart").inner_text().count("ceiling") == 1
    tab.get_by_label("epsilon", exact=True).check()
    assert "difference of epsilon" in tab.locator("#difference-chart").inner_text()
    tab.close()
    assert trouble == []
    assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [page.as_uri()]


def test_a_terminal_of_80_columns_has_what_differs_and_every_word_whole(compared):
    stream = io.StringIO()
    for section in tell_comparison(compared):
        Console(file=stream, width=80).print(to_rich(section, 80))
    printed = stream.getvalue()
    assert max(map(len, printed.splitlines())) <= 80
    [differences, *_] = tell_comparison(compared)
    shown, _ = fit_table(differences.table, 80)
    assert {"first", "second", "difference of success", "answer"} <= set(shown.headings)
    words = {word for row in shown.cells for cell in row for word in cell.split()}
    assert {word for word in words if len(word) <= 20} <= set(printed.split())
