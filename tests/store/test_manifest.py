"""The manifest, whoever wrote it: of the right shape, with a checksum that fits, and without a way out."""

import copy
import json

import pytest

from helpers import make_spec
from tedaudit.api import load_run, run
from tedaudit.errors import RunDirectoryError
from tedaudit.store.checksums import seal_json
from tedaudit.store.directory import RunDirectory
from tedaudit.store.formats import read_manifest


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    root = tmp_path_factory.mktemp("finished") / "run"
    run(make_spec(root))
    return root


@pytest.fixture
def manifest(finished):
    return json.loads((finished / "manifest.json").read_text())


def _write(tmp_path, content, seal=seal_json):
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(seal(content)))
    return path


def _put(content, place, value):
    changed = copy.deepcopy(content)
    *folders, last = place.split("/")
    target = changed
    for folder in folders:
        target = target[int(folder) if isinstance(target, list) else folder]
    target[last] = value
    return changed


PLAN = "plans/k2-lambda0"


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("name", 3), ("name", None), ("spec", []), ("spec", None), ("spec/alpha", "x"), ("spec/alpha", 2),
        ("spec/mechanisms", {}), ("spec/mechanisms", ["identity"]), ("spec/attacks", None), ("corpus", []),
        ("corpus/splits", "train"), ("corpus/splits", [1]), ("corpus/splits", ["../../secret"]),
        ("corpus/splits", [".hidden"]), ("corpus/texts", "many"), ("corpus/notes", {}),
        ("corpus/fingerprint", 7),
        ("plans", []), ("plans", {"../x": {}}), (PLAN, []), (f"{PLAN}/key", 1), (f"{PLAN}/looks", 5),
        (f"{PLAN}/looks", ["5"]), (f"{PLAN}/k", "2"), (f"{PLAN}/k", 1), (f"{PLAN}/notes", None),
        (f"{PLAN}/determinants", []), (f"{PLAN}/top", "one"), (f"{PLAN}/lambda", "--"), ("models", {}),
        ("models", [1]),
        ("format_notes", "x"),
        ("machine", []), ("machine", {"versions": 3}), ("sealed", "yes"),
    ],
)  # fmt: skip
def test_a_value_of_a_wrong_type_is_damage_that_is_named(tmp_path, manifest, place, value):
    path = _write(tmp_path, _put(manifest, place, value))
    with pytest.raises(
        RunDirectoryError, match=r"manifest\.json' is damaged \(.*Restore it, or move"
    ) as caught:
        read_manifest(path)
    assert str(caught.value).isprintable()


def test_a_manifest_is_read_as_it_was_written(tmp_path, finished, manifest):
    plain = {key: value for key, value in manifest.items() if key != "checksum"}
    assert read_manifest(_write(tmp_path, manifest)) == plain == RunDirectory(finished).manifest()
    assert (plain["format"], plain["sealed"]) == (4, True)


@pytest.mark.parametrize("place", ["spec/alpha", f"{PLAN}/k", "sealed"])
def test_a_manifest_that_somebody_edited_is_noticed(tmp_path, manifest, place):
    changed = _put(manifest, place, {"spec/alpha": 0.5, f"{PLAN}/k": 3, "sealed": False}[place])
    with pytest.raises(RunDirectoryError, match="it changed after it was written"):
        read_manifest(_write(tmp_path, changed, dict))


def test_a_manifest_without_its_checksum_is_refused_unless_it_is_of_an_older_format(tmp_path, manifest):
    del manifest["checksum"]
    with pytest.raises(RunDirectoryError, match="it lacks: checksum"):
        read_manifest(_write(tmp_path, manifest, dict))
    older = read_manifest(_write(tmp_path, {**manifest, "format": 2}, dict))
    assert older["sealed"] is False
    assert "damage to them is not noticed" in older["format_notes"][-1]


@pytest.mark.parametrize("value", [3, [], {}, "x", None])
@pytest.mark.parametrize("place", ["plans", PLAN, f"{PLAN}/estimator"])
def test_wrong_types_in_a_manifest_of_format_1_are_named_too(tmp_path, manifest, place, value):
    first = _put({**manifest, "format": 1}, place, value)
    del first["checksum"]
    if place == "plans" and value == {}:
        return
    path = _write(tmp_path, first, dict)
    if (place, value) != (f"{PLAN}/estimator", "x"):
        with pytest.raises(RunDirectoryError, match="is damaged"):
            read_manifest(path)


@pytest.mark.parametrize("text", ['{"a": ' + "[" * 100_000, '"\\ud800"', '{"format": ' + "9" * 5000 + "}"])
def test_json_that_python_cannot_hold_is_damage(tmp_path, text):
    path = tmp_path / "manifest.json"
    path.write_text(text)
    with pytest.raises(RunDirectoryError, match="manifest"):
        read_manifest(path)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("about/claim", 3), ("about/claim", {"epsilon": "x"}), ("about/claim/neighbours", {}),
        ("about/claim/unit", "page"), ("about/claim/new", 1), ("about/claim/delta", 2), ("about/epsilon",
        "3"), ("about/label", None),
        ("about/plan", "another"), ("about/attack", 3), ("about", []), ("determinants", None),
        ("determinants/attack", "lexical"), ("key", None), ("about/own_rewrites", "1"),
    ],
)  # fmt: skip
def test_wrong_types_in_the_description_of_a_table_are_named(finished, place, value):
    path = next(finished.glob("guesses/**/table.json"))
    whole = path.read_text()
    path.write_text(json.dumps(seal_json(_put(json.loads(whole), place, value))))
    try:
        with pytest.raises(RunDirectoryError) as caught:
            load_run(finished)
    finally:
        path.write_text(whole)
    assert str(path.parent) in str(caught.value)


def test_a_folder_that_is_no_epsilon_is_named(finished):
    stranger = finished / "guesses" / "k2-lambda0" / "word-rr" / "notes" / "x"
    stranger.mkdir(parents=True)
    (stranger / "table.json").write_text("{}")
    try:
        with pytest.raises(RunDirectoryError, match="notes"):
            load_run(finished)
    finally:
        (stranger / "table.json").unlink()
        stranger.rmdir()
        stranger.parent.rmdir()
