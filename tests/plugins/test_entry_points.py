"""What packages declare: it is read once, and again if a package came or went."""

import importlib.metadata
import shutil

import pytest

from tedaudit.plugins.registry import list_entry_points

GROUP = "tedaudit.of-this-test"


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Return a function that installs a package into a folder that is on the import path already."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(name):
        about = tmp_path / f"{name}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {name}:thing\n")
        return about

    return install


def declared():
    return sorted(entry.name for entry in list_entry_points(GROUP))


def test_a_package_that_comes_or_goes_is_noticed(put):
    assert declared() == []
    put("one")
    assert declared() == ["one"]
    two = put("two")
    assert declared() == ["one", "two"]
    shutil.rmtree(two)
    assert declared() == ["one"]


def test_packages_are_read_once_as_long_as_nothing_changes(put, monkeypatch):
    put("one")
    declared()
    monkeypatch.setattr(importlib.metadata, "entry_points", None)
    assert declared() == ["one"]


def test_a_path_that_is_no_folder_is_no_obstacle(put, monkeypatch, tmp_path):
    put("one")
    for entry in ("", str(tmp_path / "gone")):
        monkeypatch.syspath_prepend(entry)
    assert declared() == ["one"]
