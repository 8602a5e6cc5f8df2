"""The site is built as `make docs` builds it, and read: nothing is missing, nothing is fetched."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import tedaudit
from doc_pages import PROJECT
from pages import Elements
from tedaudit.plugins.registry import find, names
from tedaudit.plugins.settings import list_settings

KINDS = {"mechanisms": "mechanism", "attacks": "attack", "corpora": "corpus"}

pytestmark = pytest.mark.skipif(not (PROJECT / "mkdocs.yml").is_file(), reason="not run from a checkout")


def build(root):
    """Build the site of the pages in a folder; return the exit code and what was said."""
    program = Path(sys.executable).parent / "zensical"
    done = subprocess.run(
        [str(program), "build", "--strict"], cwd=root, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with the pages put together."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(PROJECT / "mkdocs.yml", folder)
    script = PROJECT / "docs" / "site" / "assemble.py"
    subprocess.run([sys.executable, str(script), str(folder / "build" / "docs")], check=True)
    return folder


@pytest.fixture(scope="module")
def site(root):
    pytest.importorskip("zensical")
    code, said = build(root)
    assert code == 0, said
    made = root / "build" / "site"
    subprocess.run([sys.executable, str(PROJECT / "docs" / "site" / "finish.py"), str(made)], check=True)
    return made


def test_every_page_asks_for_files_of_the_site_and_for_nothing_else(site):
    """Opened from a folder, without a network: fonts, scripts, styles and pictures."""
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        for tag, given in Elements(page.read_text("utf-8")).found:
            wanted = [given.get(name) for name in ("src", "data-src", "srcset", "poster")]
            wanted += [given.get("href")] if tag == "link" else []
            for address in filter(None, wanted):
                assert not re.match(r"(https?:)?//", address), (page.name, tag, address)
                if tag in ("script", "img") and page.name != "404.html":  # which only a server shows
                    assert (page.parent / address.partition("#")[0].partition("?")[0]).exists(), (
                        page,
                        address,
                    )
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import )[\"']?(https?:)?//", style.read_text("utf-8")), style.name


def test_a_link_that_leads_nowhere_stops_the_build(root, tmp_path):
    pytest.importorskip("zensical")
    shutil.copytree(root / "build" / "docs", tmp_path / "build" / "docs")
    shutil.copy(root / "mkdocs.yml", tmp_path)
    page = tmp_path / "build" / "docs" / "CONTRIBUTING.md"
    text = page.read_text("utf-8")
    page.write_text(f"{text}\n[x](nowhere.md) [x](docs/scale.md#no-such-heading)\n")
    code, said = build(tmp_path)
    assert code != 0
    assert "page does not exist" in said
    assert "anchor does not exist" in said


def test_every_public_name_is_in_the_reference_with_what_it_is(root):
    folder = root / "build" / "docs" / "reference"
    reference = "\n".join(
        (folder / f"{n}.md").read_text("utf-8") for n in ("functions", "results", "plugins", "errors")
    )
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", reference, re.MULTILINE | re.DOTALL))
    assert set(sections) == set(tedaudit.__all__)
    for name, text in sections.items():
        told = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        assert len(told.split()) >= 3 or name == "NO_EPSILON", f"{name} needs a docstring"


@pytest.mark.parametrize(("page", "kind"), KINDS.items())
def test_every_setting_of_every_plug_in_is_in_its_table(page, kind, root):
    text = (root / "build" / "docs" / "reference" / f"{page}.md").read_text("utf-8")
    for name in names(kind):
        section = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[1]
        for setting in list_settings(find(kind, name)):
            assert f"| `{setting.name}` | {setting.meaning} *{setting.type}* |" in section
        assert (
            f"{len(list_settings(find(kind, name)))}"
            == f"{len(re.findall(r'^[|] `', section, re.MULTILINE))}"
        )


def test_every_key_of_a_spec_says_what_it_means(root):
    text = (root / "build" / "docs" / "reference" / "spec.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", text, re.MULTILINE)
    assert len(rows) > 25
    assert [key for key, meaning in rows if len(meaning) < 8 and key != "baseline"] == []


def test_the_guides_and_the_reference_are_all_in_the_menu(root):
    menu = json.dumps(yaml.safe_load((root / "mkdocs.yml").read_text("utf-8"))["nav"])
    pages = root / "build" / "docs"
    wanted = [*pages.glob("*.md"), *(pages / "docs").glob("*.md"), *(pages / "reference").glob("*.md")]
    wanted += (pages / "docs" / "notebooks").glob("*.md")
    assert [p.name for p in wanted if f'"{p.relative_to(pages).as_posix()}"' not in menu] == []


def test_no_page_is_in_the_menu_twice(root):
    menu = json.dumps(yaml.safe_load((root / "mkdocs.yml").read_text("utf-8"))["nav"])
    pages = re.findall(r'"([^"]+[.]md)"', menu)
    assert len(pages) == len(set(pages))


def test_no_code_is_cut_off_at_the_right(site):
    """Blocks without a language are tables and scroll."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("chromium is not installed")
    from playwright.sync_api import sync_playwright

    wide = """() => [...document.querySelectorAll('[class*="language-"]:not(.language-text) pre > code')]
        .map(code => [code.innerText, code.scrollWidth - code.clientWidth])"""
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 800})
        for name in ("index", "docs/gate", "docs/adapters", "docs/tutorial-mechanism-author"):
            page.goto((site / f"{name}.html").as_uri())
            found = page.evaluate(wide)
            assert len(found) > 3
            assert [text for text, over in found if over > 1] == []
        browser.close()


def test_the_search_finds_pages_in_a_folder_without_a_network(site):
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("chromium is not installed")
    from playwright.sync_api import expect, sync_playwright

    flags = ["--no-sandbox", "--disable-background-networking"]
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=flags)
        page = browser.new_page()
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "docs" / "reading-a-bound.html").as_uri())
        page.locator(".md-search__button").first.click()
        page.keyboard.type("eps_emp")
        expect(page.get_by_text(re.compile(r"^\d+ results$"))).to_be_visible(timeout=300_000)
        assert [url for url in asked if not url.startswith("file:")] == []
        browser.close()
