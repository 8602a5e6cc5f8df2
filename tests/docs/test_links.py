"""Every link inside the documentation leads somewhere, headings included; nothing outside is asked."""

import re
from pathlib import Path

import pytest

from doc_pages import FENCE, PROJECT, list_pages, name_page

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
PAGES = list_pages()


def find_anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as code hosts and the site name them."""
    anchors: set[str] = set()
    for heading in HEADING.findall(FENCE.sub("", page.read_text("utf-8"))):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        name = re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-")
        twice = [anchor for anchor in anchors if re.fullmatch(rf"{re.escape(name)}(-\d+)?", anchor)]
        anchors.add(f"{name}-{len(twice)}" if twice else name)
    return anchors


def find_broken(page: Path, text: str) -> list[str]:
    """Return the links of a text that lead nowhere, seen from its page."""
    broken = []
    for link in LINK.findall(re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (anchor and anchor not in find_anchors(target)):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=map(name_page, PAGES))
def test_the_links_of_a_page_lead_somewhere(page):
    assert find_broken(page, page.read_text("utf-8")) == []


def test_a_broken_link_is_found_whatever_is_wrong_with_it():
    page = PROJECT / "README.md"
    text = (
        "[a](docs/nowhere.md) [b](docs/scale.md#on-a-gpu) [c](docs/scale.md#no-such-heading) [d](#install) "
        "[e](#nothing) `[f](code.md)` [g](https://example.org/x)\n```\n[h](block.md)\n```\n"
    )
    assert find_broken(page, text) == ["docs/nowhere.md", "docs/scale.md#no-such-heading", "#nothing"]


def test_pages_of_all_folders_are_looked_at():
    assert {"README.md", "docs/link.md", "docs/results/loss.md", "zoo/README.md"} <= set(
        map(name_page, PAGES)
    )
