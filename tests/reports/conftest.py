"""A run to report on, the same redacted, runs for a page in a browser, and the browser."""

import shutil

import pytest

import tiny_models
from pages import LABEL, MARKUP, NASTY, ODD_LABEL, TEXTS
from tedaudit.api import report, run
from tedaudit.corpora.files import Given
from tedaudit.reports.files import write_reports
from tedaudit.results.reading import read_result
from tedaudit.results.utility import Utility
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.spec.flags import SMALL
from tedaudit.runs.spec.model import parse_spec

_UTILITY = Utility(
    [{"mechanism": "word-rr", "epsilon": float(e), "task": task, "score": 0.5 + e / 50, "spread": 0.01}
     for task in ("intent F1", "sentiment F1") for e in (1, 4, 8, 12)],
    {"intent F1": {"upper": 0.9, "lower": 0.1, "private": False},
     "sentiment F1": {"upper": 0.8, "lower": 0.3, "private": True}},
    "Made up for a test.",
)  # fmt: skip


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A run with claims kept and broken, two plans, an odd text and labels that tell too much."""
    return run(
        parse_spec({
            "corpus": {"name": "given", "live": Given([*TEXTS, NASTY])},
            "mechanisms": [
                {"name": "function", "function": str.upper, "label": LABEL},
                {"name": "word-rr", "slots": 3},
                {"name": "constant", "output": "a secret sentence"},
                "identity",
            ],
            "epsilons": [0.5, 8], "trials": 300, "out": str(tmp_path_factory.mktemp("runs") / "made"),
            "plans": [{"k": 2, "lambda": 0}, {"k": 2, "lambda": 0, "estimator": "baseline"}],
        })
    )  # fmt: skip


@pytest.fixture(scope="session")
def clean(made, tmp_path_factory):
    """The same run, its reports redacted."""
    copy = tmp_path_factory.mktemp("runs") / "clean"
    shutil.copytree(made.folder, copy)
    report(copy, redact=True)
    return copy


@pytest.fixture(scope="session")
def modelled(tmp_path_factory):
    """A run with models given as paths: of a mechanism, of an attack and of the candidate sampling."""
    pytest.importorskip("transformers")
    pytest.importorskip("sentence_transformers")
    folder = tmp_path_factory.mktemp("patients of doctor who")
    encoder = str(tiny_models.save_static_encoder(folder / "encoder", tuple(TEXTS)))
    model = str(tiny_models.save_lstm(folder / "model"))
    return run(
        parse_spec({
            "corpus": {"name": "given", "live": Given(TEXTS)}, "encoder": encoder,
            "mechanisms": [{"name": "adept", "model": model, "delta": 1e-5, "label": LABEL},
                           {"name": "word-rr", "slots": 3}],
            "attacks": [{"name": "embedding", "encoder": encoder}, "lexical"], "epsilons": [8],
            "plans": [{"k": 2, "lambda": -100}], "trials": 20, "out": str(folder / "run"),
        })
    )  # fmt: skip


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """The embedded audit that needs no model, with fewer trials."""
    out = tmp_path_factory.mktemp("runs") / "demo"
    run(parse_spec({**SMALL, "trials": 400, "out": str(out)}))
    return out / "report.html"


@pytest.fixture(scope="session")
def odd(tmp_path_factory):
    """A run with violated claims, several plans and attacks, a nasty text and label, and utility."""
    out = tmp_path_factory.mktemp("runs") / "odd"
    run(
        parse_spec({
            "corpus": {"name": "given", "live": Given([MARKUP, *TEXTS])},
            "mechanisms": [{"name": "function", "function": str.strip, "label": ODD_LABEL}, "word-rr",
                           "constant"],
            "attacks": ["lexical", {"name": "lexical", "label": "again"}], "epsilons": [1, 4, 8, 12],
            "trials": 300, "out": str(out),
            "plans": [{"k": 2, "lambda": 0}, {"k": 4, "lambda": 0},
                      {"k": 2, "lambda": 0, "estimator": "baseline"}],
        })
    )  # fmt: skip
    write_reports(read_result(RunDirectory(out)), utility=_UTILITY)
    return out / "report.html"


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
        tab.set_default_timeout(300_000)  # a busy machine is no reason to fail
        tab.wait_for_selector("#calibration-chart .main-svg")
        opened.append((tab, asked, path.as_uri()))
        return tab

    yield go
    for tab, asked, uri in opened:
        assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [uri]
        tab.close()
    assert trouble == []


_READ = """() => [...document.querySelectorAll('input, select')]
  .map((one) => ['checkbox', 'radio'].includes(one.type) ? one.checked : one.value)"""
_RESET = """(first) => [...document.querySelectorAll('input, select')].forEach((one, at) => {
  if (['checkbox', 'radio'].includes(one.type)) {
    if (one.checked !== first[at] && (first[at] || one.type === 'checkbox')) one.click();
  } else if (one.value !== first[at]) {
    one.value = first[at];
    for (const kind of ['input', 'change']) one.dispatchEvent(new Event(kind, { bubbles: true }));
  }
})"""


@pytest.fixture(scope="module")
def opened_once(browser):
    """Pages that stay open: by their paths, with their controls as they were, requests and complaints."""
    pages = {}
    yield pages
    for tab, *_ in pages.values():
        tab.close()


@pytest.fixture
def look(opened_once, browser):
    """Show a page that is opened once for all tests, with every control as in the beginning.

    It is 1440 wide in the end again, and there was no complaint, no dialog and no request but for the file.
    """
    used = []

    def go(path, width=1440):
        if path not in opened_once:
            trouble, asked = [], []
            tab = browser.new_page(viewport={"width": 1440, "height": 900})
            tab.on("console", lambda message: trouble.append(f"console: {message.text}"))
            tab.on("pageerror", lambda error: trouble.append(f"error: {error}"))
            tab.on("dialog", lambda dialog: (trouble.append(f"dialog: {dialog.message}"), dialog.dismiss()))
            tab.on("request", lambda request: asked.append(request.url))
            tab.set_default_timeout(300_000)  # a busy machine is no reason to fail
            tab.goto(path.as_uri())
            tab.wait_for_selector("#calibration-chart .main-svg")
            opened_once[path] = tab, tab.evaluate(_READ), asked, trouble
        tab, first, *_ = opened_once[path]
        tab.mouse.move(0, 0)
        tab.evaluate(_RESET, first)
        assert tab.evaluate(_READ) == first
        tab.set_viewport_size({"width": width, "height": 900})
        tab.wait_for_function("""() => { const place = document.querySelector('#calibration-chart');
          return place.querySelector('.main-svg').getBoundingClientRect().width === place.clientWidth; }""")
        used.append(path)
        return tab

    yield go
    for path in used:
        tab, _, asked, trouble = opened_once[path]
        tab.emulate_media(media="null", color_scheme="null")
        tab.set_viewport_size({"width": 1440, "height": 900})
        assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [path.as_uri()]
        assert trouble == []
