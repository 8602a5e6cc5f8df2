"""Settings for all tests.

In CI, generated examples are the same every time, so that a run can be trusted. Tests name their models:
the zoo is kept out of the defaults, except where a test is about them. Corpora that cannot be shipped are
kept from every test that does not ask for them with the fixture `corpora`: all others run as they do for
somebody who has none. Temporary folders lie in memory if
there is room: every file of a run is flushed to its disk, for which thousands of audits would wait.
"""

import gc
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.pop("COLUMNS", None)
os.unsetenv("COLUMNS")  # pytest imports readline, which sets it for children: tables are as wide as without
MEMORY = Path("/dev/shm")
ROOM = 2 * 2**30  # bytes, several times of what lies there at any moment
ROOT, KEPT = "TEDAUDIT_DATA", "CORPORA_FOR_TESTS"  # what tedaudit reads, and what the fixture `corpora` does

LONGEST = (
    "test_mldp", "test_releases", "test_dry_runs", "test_reproduction", "test_action", "test_ray_engine",
    "test_golden", "test_processes", "test_browser", "test_cli_killed", "test_runner_resuming",
    "test_contracts",
    "test_found", "test_browser_layout", "test_leaks", "test_sampling_settings", "test_commands",
    "test_serving", "test_notebooks", "test_site",
)  # fmt: skip

BLANK = {
    "execution", "forecast", "attacks", "releasing", "mechanisms", "test_known_answers",
    "test_comparison", "test_comparison_unpaired", "test_disagreement", "test_family", "test_reading",
    "test_reading_early", "test_planner", "test_looks", "test_preparation",
}  # fmt: skip
"""Folders and files of tests that never look at the page of a run."""

_BROWSER = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip

gc.disable()  # until all files are imported: a fifth of that time was spent on looking for garbage
os.environ["TEDAUDIT_ZOO"] = "off"
if ROOT in os.environ:  # before tests are imported; worker processes inherit the other name
    os.environ[KEPT] = os.environ.pop(ROOT)
if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None  # asked for again with the next folder
settings.register_profile("here", deadline=None)  # a busy machine is no reason to fail
settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "here")


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="every file and recipe: `make test-all`")


@pytest.fixture(scope="module")
def browser():
    """A real browser without a window; tests are skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api")
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=program, args=_BROWSER)
        yield found
        found.close()


@pytest.fixture(scope="session")
def is_thorough(request):
    """Whether everything is to be tried, and not only one of each kind."""
    return request.config.getoption("--all")


@pytest.fixture(scope="session")
def corpora():
    """The folder of the corpora that cannot be shipped; whoever asks for it is skipped without them."""
    if not os.environ.get(KEPT):
        pytest.skip(f"{ROOT} is not set")
    return Path(os.environ[KEPT])


@pytest.fixture(scope="module", autouse=True)
def blank_page(request):
    """Have runs write a blank page where no test looks at it: it takes half of the time of a small run."""
    if not BLANK & {request.path.parent.name, request.path.stem}:
        yield
        return
    from tedaudit.reports import files

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "make_page", lambda *_, **__: b"<!doctype html>\n")
        yield


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A current folder and a folder for temporary files, both empty."""
    for name in ("here", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path


@pytest.fixture
def no_long_texts(monkeypatch):
    """Leave the text of 3,000 words out of the contract: some packages take minutes for it."""
    from tedaudit.testing import checks

    monkeypatch.setattr(checks, "ODD", {what: text for what, text in checks.ODD.items() if len(text) < 1000})


def pytest_collection_modifyitems(config, items):
    """Mark tests that ask for corpora; begin with the longest files if there are several processes."""
    for item in items:
        if "corpora" in item.fixturenames:
            item.add_marker("corpora")
    rank = {name: number for number, name in enumerate(LONGEST)}
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: rank.get(item.path.stem, len(rank)))


def pytest_collection_finish():
    """Look for garbage again, but not among what was imported."""
    gc.freeze()
    gc.enable()
