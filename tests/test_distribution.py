"""What is built for a release: a small source, a description without dead links, a first bound."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import tedaudit
from fresh_environment import call, make_environment

PROJECT = Path(tedaudit.__file__).parents[2]
ADDRESS = "https://example.org/owner/tedaudit"
LINK = re.compile(r"\]\(([^)\s]+)\)")
pytest.importorskip("hatchling")
pytestmark = pytest.mark.skipif(not (PROJECT / "pyproject.toml").is_file(), reason="not a checkout")


def build(target, folder, source=PROJECT, **environment):
    """Build a distribution as a release is built, and return the file."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    plain = {name: value for name, value in os.environ.items() if name != "TEDAUDIT_REPOSITORY"}
    done = subprocess.run(
        command, cwd=source, env={**plain, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (built,) = [path for path in folder.iterdir() if path.suffix in (".whl", ".gz")]
    return built


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    return build("sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory, sdist):
    """The wheel, built from the source distribution: it must hold all that a build needs."""
    folder = tmp_path_factory.mktemp("unpacked")
    shutil.unpack_archive(sdist, folder)
    return build("wheel", tmp_path_factory.mktemp("wheel"), next(folder.iterdir()))


def read_metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return archive.read(name).decode()


def test_the_source_distribution_is_small_and_has_no_model(sdist):
    assert sdist.stat().st_size < 6e6
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    assert not [name for name in names if name.startswith("zoo") or name.endswith((".safetensors", ".xz"))]
    wanted = {"src/tedaudit/api.py", "tests/helpers.py", "README.md", "docs/data.md", "hatch_build.py",
              "action.yml", ".pre-commit-hooks.yaml", "LICENSE", "CITATION.cff"}  # fmt: skip
    assert wanted <= set(names)


def test_a_wheel_built_from_it_is_that_of_the_checkout(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(build("wheel", tmp_path)) as other:
        assert {(item.filename, item.CRC) for item in one.infolist()} == {
            (item.filename, item.CRC) for item in other.infolist()
        }


def test_without_an_address_the_description_has_no_link_into_the_repository(wheel):
    metadata = read_metadata(wheel)
    assert "Project-URL" not in metadata or "example.org" not in metadata
    description = metadata.partition("\n\n")[2]
    assert description.startswith("# tedaudit")
    assert [target for target in LINK.findall(description) if not target.startswith(("https://", "#"))] == []


def test_with_an_address_every_link_is_absolute_and_its_file_is_there(tmp_path):
    metadata = read_metadata(build("wheel", tmp_path, TEDAUDIT_REPOSITORY=f"{ADDRESS}/"))
    assert f"Project-URL: Repository, {ADDRESS}\n" in metadata
    version = f"v{tedaudit.__version__}"
    description = metadata.partition("\n\n")[2]
    targets = [target for target in LINK.findall(description) if target.startswith(ADDRESS)]
    assert f"{ADDRESS}/raw/{version}/docs/figures/loss.svg" in targets
    assert len(targets) > 10
    for target in targets:
        kind, tag, path = target.removeprefix(f"{ADDRESS}/").partition("#")[0].split("/", 2)
        assert (kind in ("blob", "raw"), tag) == (True, version)
        assert (PROJECT / path).exists(), path
    assert [target for target in LINK.findall(description) if not target.startswith(("https://", "#"))] == []


def test_only_versions_of_python_that_were_tried_are_named(wheel):
    tried = re.findall(r"Classifier: Programming Language :: Python :: (3\.\d+)", read_metadata(wheel))
    assert tried == ["3.11", "3.12"]


@pytest.mark.skipif(os.name != "posix", reason="links need other rights")
def test_the_wheel_alone_gives_a_first_bound(wheel, tmp_path):
    python = make_environment(tmp_path / "fresh", wheel)
    listed = "from importlib.util import find_spec as f; print([n for n in ('torch', 'plotly') if f(n)])"
    assert call(python, "-c", listed).stdout == "[]\n"
    options = ("-m", "word-rr", "-e", "1", "-e", "8", "--trials", "500", "--json", "--quiet")
    done = call(python, "-m", "tedaudit", "run", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert {finding["attack"] for finding in told["findings"]} == {"lexical", "text-likelihood"}
    assert told["eps_emp"] > 1
