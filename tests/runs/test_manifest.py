"""The manifest, whoever wrote it: of the right shape, with a checksum that fits, and without a way out."""

import copy
import json
import shutil

import pytest

from helpers import make_spec, snapshot
from tedaudit.api import load_run, report, run
from tedaudit.errors import RunDirectoryError
from tedaudit.runs.checksums import seal_json
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.formats import FORMAT, read_manifest


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
        ("tables", []), ("looks", "x"), ("looks", None), ("machine", []), ("machine", {"versions": 3}),
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
    assert plain["format"] == FORMAT


@pytest.mark.parametrize("place", ["spec/alpha", f"{PLAN}/k"])
def test_a_manifest_that_somebody_edited_is_noticed(tmp_path, manifest, place):
    changed = _put(manifest, place, {"spec/alpha": 0.5, f"{PLAN}/k": 3}[place])
    with pytest.raises(RunDirectoryError, match="it changed after it was written"):
        read_manifest(_write(tmp_path, changed, dict))


def test_a_manifest_without_its_checksum_is_refused(tmp_path, manifest):
    del manifest["checksum"]
    with pytest.raises(RunDirectoryError, match="it lacks: checksum"):
        read_manifest(_write(tmp_path, manifest, dict))


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (
            FORMAT - 1,
            "made by an older tedaudit; this one reads format 5. Make the run again",
        ),
        (1, "made by an older tedaudit"),
        (FORMAT + 1, "made by a newer tedaudit; this one reads format 5. Update tedaudit."),
        (None, "it names no format"),
        ("4", "it names no format"),
        (True, "it names no format"),
    ],
)
def test_a_run_of_another_format_is_refused_in_a_line_that_says_what_to_do(finished, tmp_path, found, told):
    run_of = shutil.copytree(finished, tmp_path / "run")
    content = json.loads((run_of / "manifest.json").read_text()) | {"format": found}
    (run_of / "manifest.json").write_text(json.dumps(seal_json(content)))
    before = snapshot(run_of)
    for read in (load_run, report, lambda place: run(make_spec(place))):
        with pytest.raises(RunDirectoryError) as caught:
            read(run_of)
        assert told in str(caught.value)
        assert "\n" not in str(caught.value)
    assert snapshot(run_of) == before


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
