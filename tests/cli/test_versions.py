"""`tedaudit --version`: the versions that matter, of what is installed, without loading it."""

import platform
import sys
from importlib.metadata import version

from command_line import process
from tedaudit.cli import listing
from tedaudit.cli.listing import describe_versions
from tedaudit.plugins.extras import EXTRAS


def test_every_line_says_what_is_installed():
    ours, python, core, _ = describe_versions().splitlines()
    assert ours.startswith("tedaudit ")
    assert python.startswith(f"Python {platform.python_version()}, ")
    assert f"numpy {version('numpy')}" in core
    assert f"polars {version('polars')}" in core


def test_what_is_not_installed_is_left_out(monkeypatch):
    monkeypatch.setattr(listing, "OPTIONAL", ("no-such-library", "plotly"))
    assert describe_versions().splitlines()[-1] == f"plotly {version('plotly')}"
    monkeypatch.setattr(listing, "OPTIONAL", ("no-such-library",))
    assert describe_versions().splitlines()[-1].startswith("no extra is installed")


def test_every_library_of_an_extra_is_told():
    brought = {module.replace("_", "-") for modules in EXTRAS.values() for module in modules}
    assert brought - set(listing.OPTIONAL) <= {"huggingface-hub"}


def test_no_library_is_loaded_for_it():
    script = "import sys; from tedaudit.cli.listing import describe_versions; describe_versions()"
    code = f"{script}; print(*sys.modules)"
    import subprocess

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "torch", "polars", "transformers"} & set(done.stdout.split())


def test_the_command_prints_it(here):
    assert process("--version").stdout.splitlines()[0].startswith("tedaudit ")
