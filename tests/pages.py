"""Texts and labels that are hard to print or tell too much, and ways to read the page of a run."""

import io
import json
import re
from html import unescape
from html.parser import HTMLParser

import pytest

NASTY = "</script><script>alert(1)</script> \"quoted\" 'too' & <!-- \u2028"
TEXTS = [f"{who} {did} the {what}" for who in ("ann", "bob", "cat", "dan", "eve")
         for did in ("lost", "sold") for what in ("ring", "boat", "lamp")]  # fmt: skip
LABEL = "my sister called about the rent"
MARKUP = "<script>alert(1)</script> <img src=x onerror=alert(2)> \"quoted\" & 'so' &lt;b&gt;"
ODD_LABEL = '<b>odd "label"'


class Elements(HTMLParser):
    """Takes a page apart as a browser does."""

    def __init__(self, page):
        super().__init__()
        self.found, self.contents = [("", {})], {}
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.contents.setdefault(self.found[-1][1].get("id"), "")
        self.contents[self.found[-1][1].get("id")] += data


def page(folder):
    return (folder / "report.html").read_text(encoding="utf-8")


def embedded(folder):
    return json.loads(Elements(page(folder)).contents["data"])


def list_trials(data):
    """Return the trials of a page's data one by one, as its script does."""
    sample = data["sample"]
    trials = []
    for number, table in enumerate(sample["tables"]):
        for n, row in enumerate(table["row"]):
            source, *members = sample["sets"][table["set"][n]]
            candidates = [
                {"at": at, "text": sample["corpus"].get(str(at)), "score": score,
                 "source": place == source, "guess": place == table["guess"][n]}
                for place, (at, score) in enumerate(zip(members, table["scores"][n], strict=True))
            ]  # fmt: skip
            trials.append({
                "finding": number, "row": row, "output": table["output"][n], "margin": table["margin"][n],
                "worst": n if n < table["worst"] else None, "right": source == table["guess"][n],
                "candidates": candidates,
            })  # fmt: skip
    return trials


def read_words(document, page=None):
    """Return what a reader of a printable document, or of one of its pages, sees, its spaces as one."""
    shown = document if page is None else document.split("<section>")[page]
    return " ".join(unescape(re.sub(r"<style>.*?</style>|<[^>]*>", " ", shown, flags=re.DOTALL)).split())


def count_sheets(browser, document):
    """Return on how many sheets a real browser prints a document."""
    pypdf = pytest.importorskip("pypdf")
    tab = browser.new_page()
    tab.set_content(document)
    printed = tab.pdf(prefer_css_page_size=True)
    tab.close()
    return len(pypdf.PdfReader(io.BytesIO(printed)).pages)
