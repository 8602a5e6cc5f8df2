"""Runs of format 1, made by the version before: they are read, reported, resumed and extended as they are."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from helpers import HERE, snapshot, strict, tables
from tedaudit.api import load_run, report, run
from tedaudit.errors import RunDirectoryError
from tedaudit.releasing.replay import replay
from tedaudit.spec.model import parse_spec, read_spec
from tedaudit.store.checking import find_damage
from tedaudit.store.directory import RunDirectory
from tedaudit.store.files import read_notes
from tedaudit.store.formats import FORMAT, score_of, upgrade_manifest

RUNS = HERE / "fixtures" / "format_1"
NAMES = ("first", "table")
DISTANT = {"first": 1, "table": 4}  # plans whose candidates were drawn by distance


@pytest.fixture
def old(tmp_path, monkeypatch):
    """The folder with both runs, their specs and texts, as the current one."""
    folder = shutil.copytree(RUNS, tmp_path / "old")
    monkeypatch.chdir(folder)
    return folder


def _spec(name, **changes):
    return parse_spec({**read_spec(Path(f"{name}.yaml")), **changes})


def _manifest(name):
    return json.loads(Path(name, "manifest.json").read_text(encoding="utf-8"))


def _told_then(name):
    return strict((RUNS / name / "summary.json").read_text(encoding="utf-8"))


OF_ROW = ("lower", "upper", "ceiling", "error", "success_low", "success_high", "leakage_low")


def _check_findings(found, then):
    """Compare the findings but for their verdicts: other versions judged by other rules.

    What was told of a row alone then is the TeDA bound now; what all rows share is not in those documents.
    """
    assert len(found) == len(then)
    for now, old in zip(found, then, strict=True):
        before = {key: value for key, value in old.items() if key not in ("verdict", "reason", *OF_ROW)}
        assert now["teda_bound"] == pytest.approx(old["lower"], rel=1e-12)
        numbers = {key: value for key, value in before.items() if isinstance(value, float)}
        assert {key: now[key] for key in numbers} == pytest.approx(numbers, rel=1e-12)
        others = {key: value for key, value in before.items() if key not in numbers}
        assert {key: now[key] for key in others} == others


# --- reading


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize("name", NAMES)
def test_an_old_run_shows_the_numbers_that_it_showed_then(name):
    then = _told_then(name)
    result = load_run(name)
    now = result.to_dict()
    assert {key: now[key] for key in ("name", "alpha", "violated", "post_processing")} == {
        key: then[key] for key in ("name", "alpha", "violated", "post_processing")
    }
    assert now["eps_emp"] == max(finding["lower"] for finding in now["findings"])
    assert result.family.look.noted
    gone = {note for note in then["notes"] if note not in now["notes"]}
    assert all(note.startswith("attainable is the mean posterior") for note in gone)  # told with the table
    _check_findings(now["findings"], then["findings"])


@pytest.mark.parametrize("name", NAMES)
def test_the_reports_of_an_old_run_are_written_with_the_same_numbers(old, name):
    before = snapshot(old / name, "[rg]*es/**/*")
    report(name)
    _check_findings(
        strict((old / name / "summary.json").read_text())["findings"], _told_then(name)["findings"]
    )
    assert (old / name / "report.html").is_file()
    assert snapshot(old / name, "[rg]*es/**/*") == before
    assert _manifest(name)["format"] == 1  # whoever only reads changes nothing


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize("name", NAMES)
def test_an_old_run_says_which_weights_were_not_recorded(name):
    told = [note for note in load_run(name).notes if "weights not recorded" in note]
    assert len(told) == DISTANT[name]
    assert "plan k2-lambda-10000: weights not recorded for the encoder that drew its candidates" in " ".join(
        told
    )
    assert not any("k-all" in note or "lambda0" in note for note in told)
    assert load_run(name).models == ()
    report(name)
    assert "weights not recorded" in Path(name, "report.md").read_text()


@pytest.mark.parametrize(("encoder", "told"), [("zoo:encoder", 1), ("lexical", 0), (None, 0)])
def test_only_an_encoder_that_has_weights_is_said_to_have_none_recorded(encoder, told):
    plan = {"estimator": "reduced", "determinants": {"encoder": encoder}}
    manifest = upgrade_manifest({"format": 1, "plans": {"k2-lambda0": plan}})
    assert len([note for note in manifest["format_notes"] if "weights" in note]) == told


@pytest.mark.usefixtures("old")
def test_an_old_plan_gets_the_fields_that_only_its_name_told():
    fields = ("base", "mechanism", "strategy", "lambda", "top")
    found = {
        plan: tuple(info[field] for field in fields)
        for name in NAMES
        for plan, info in RunDirectory(Path(name)).manifest()["plans"].items()
    }
    assert found == {
        "k2-lambda-10000": ("k2-lambda-10000", None, "transition", -10000.0, None),
        "k2-lambda0-baseline": ("k2-lambda0-baseline", None, "transition", 0.0, None),
        "k-all": ("k-all", None, None, None, None),
        "k2-furthest3-baseline": ("k2-furthest3-baseline", None, "furthest", None, 3),
        "k2-lambda-10000@vendor table": ("k2-lambda-10000", "vendor table", "transition", -10000.0, None),
        "k2-furthest3-baseline@vendor table": ("k2-furthest3-baseline", "vendor table", "furthest", None, 3),
    }


@pytest.mark.parametrize(
    "plan",
    [
        {"k": 2, "lambda": 1e-7}, {"k": 5, "lambda": "-inf"}, {"k": 3, "lambda": float("inf")},
        {"k": 9, "strategy": "nearest", "top": 12}, {"k": "all"},
        {"k": 2, "lambda": 12.5, "estimator": "baseline"},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("owner", [None, "a table"])
def test_the_fields_read_out_of_a_name_are_those_that_a_new_plan_records(plan, owner):
    [spec] = parse_spec({"mechanisms": ["identity"], "plans": [plan]}).plans
    name = spec.name if owner is None else f"{spec.name}@{owner}"
    stored = {"key": "k", "determinants": {}, "estimator": spec.estimator}
    found = upgrade_manifest({"format": 1, "plans": {name: stored}})["plans"][name]
    assert found == {**stored, "base": spec.name, "mechanism": owner, **spec.sampling_fields}


def test_a_manifest_of_the_current_format_is_left_as_it_is():
    manifest = {"format": FORMAT, "plans": {"k2-lambda0": {"key": "k"}}}
    assert upgrade_manifest(manifest) == manifest


def test_old_tables_of_guesses_get_the_kind_of_score_that_their_attack_had():
    assert score_of({}, {"name": "lexical"}) == "word cosine"
    assert score_of({}, {"name": "mine"}) == ""
    assert score_of({"score": "cosine"}, {"name": "lexical"}) == "cosine"


@pytest.mark.usefixtures("old")
def test_copies_and_empty_rewrites_of_an_old_run_are_counted_when_it_is_read():
    shares = {}
    for name in NAMES:
        directory = RunDirectory(Path(name))
        for label, epsilon, folder in directory.rewrite_folders():
            for path in folder.path.glob("part-*"):
                assert "released" not in read_notes(path, folder.info().key)
            table = directory.rewrites(label, epsilon)
            counts = table.count_released(lambda d=directory: d.corpus().texts)
            assert counts.rewrites > 0
            shares[label, epsilon.name] = counts.copied / counts.rewrites, counts.empty / counts.rewrites
    then = {
        (finding["mechanism"], f"{finding['epsilon']:g}" if finding["epsilon"] else "any"): (
            finding["copied"], finding["empty"],
        )
        for name in NAMES
        for finding in _told_then(name)["findings"]
    }  # fmt: skip
    assert shares == then
    assert shares["identity", "any"] == (1.0, 0.0)


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize("name", NAMES)
def test_a_trial_of_an_old_run_is_done_again_with_the_same_outcome(name):
    replayed = replay(RunDirectory(Path(name)), 7, {})
    assert replayed
    assert all(one.same for one in replayed)


# --- going on


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize("name", NAMES)
def test_an_old_run_that_lost_parts_is_resumed_to_the_same_tables_and_is_then_of_the_new_format(name):
    before = tables(Path(name))
    for kind in ("rewrites", "guesses"):
        for folder in {path.parent for path in Path(name, kind).rglob("part-*")}:
            max(folder.glob("part-*")).unlink()
    assert tables(Path(name)) != before
    result = run(_spec(name))
    assert tables(Path(name)) == before
    _check_findings(result.to_dict()["findings"], _told_then(name)["findings"])
    manifest = _manifest(name)
    assert manifest["format"] == FORMAT == 4
    assert {plan["key"] for plan in manifest["plans"].values()} == {
        plan["key"] for plan in json.loads((RUNS / name / "manifest.json").read_text())["plans"].values()
    }
    told = [note for note in load_run(name).notes if "weights not recorded" in note]
    assert len(told) == DISTANT[name]  # still true, and still said


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize("name", NAMES)
def test_a_finished_old_run_is_left_alone_by_the_same_command_and_loads_no_encoder(name, monkeypatch):
    import tedaudit.preparing.planner

    def refuse(encoder):
        raise AssertionError(f"{encoder} was loaded")

    monkeypatch.setattr(tedaudit.preparing.planner, "load_encoder", refuse)
    before = snapshot(Path(name), "[rg]*es/**/*")
    run(_spec(name))
    assert snapshot(Path(name), "[rg]*es/**/*") == before
    assert _manifest(name)["format"] == FORMAT


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize("name", NAMES)
def test_another_encoder_is_refused_for_an_old_run_by_its_name(name):
    before = snapshot(Path(name))
    with pytest.raises(RunDirectoryError, match=r"encoder: zoo:encoder -> lexical") as caught:
        run(_spec(name, encoder="lexical"))
    assert "weights" not in str(caught.value)
    assert snapshot(Path(name)) == before


@pytest.mark.usefixtures("old")
def test_an_old_run_can_be_extended_and_keeps_the_rows_that_it_had():
    pytest.importorskip("tedaudit_zoo")
    before = tables(Path("first"))
    result = run(_spec("first", trials=90))
    assert {finding.bound.trials for finding in result} == {90}
    assert all(finding.bound.any_time for finding in result)
    after = tables(Path("first"))
    assert set(after) == set(before)
    for name, rows in before.items():
        if name.startswith("rewrites"):  # by text and replicate, in which the new ones stand between the old
            assert {row[:3] for row in rows} < {row[:3] for row in after[name]}
        else:
            assert after[name][: len(rows)] == rows
            assert len(after[name]) == len(rows) * 90 // 60


@pytest.mark.usefixtures("old")
def test_a_table_that_was_audited_with_the_old_version_can_be_extended_too():
    pytest.importorskip("tedaudit_zoo")
    result = run(_spec("table", trials=28))
    assert {finding.bound.trials for finding in result} == {28}


@pytest.mark.usefixtures("old")
def test_a_new_plan_of_an_old_run_records_the_weights_and_the_old_ones_go_on_without():
    pytest.importorskip("tedaudit_zoo")
    plans = [{"k": 2, "lambda": -1e4}, {"k": 3, "lambda": -1e4}]
    result = run(_spec("first", plans=plans))
    about = {name: info["determinants"] for name, info in _manifest("first")["plans"].items()}
    assert "encoder_weights" not in about["k2-lambda-10000"]
    assert about["k3-lambda-10000"]["encoder_weights"]["encoder weights"]
    assert [model["model"] for model in result.models if model["used_by"] == "candidate sampling"] == [
        "zoo:encoder"
    ]
    assert not any("k3-lambda" in note and "not recorded" in note for note in result.notes)


# --- format 2: as now, but without checksums


@pytest.fixture
def second(tmp_path, monkeypatch):
    """The folder with a run of format 2, its spec and texts, as the current one."""
    folder = shutil.copytree(HERE / "fixtures" / "format_2", tmp_path / "second")
    monkeypatch.chdir(folder)
    return folder


def _not_checked(name):
    return [note for note in load_run(name).notes if "were written before files carried checksums" in note]


@pytest.mark.usefixtures("second")
def test_a_run_of_format_2_opens_reports_and_replays_and_says_that_it_is_not_checked():
    before = snapshot(Path("run"), "[rg]*es/**/*")
    result = report("run")
    assert {finding.label for finding in result} == {"identity", "word-rr"}
    assert {finding.bound.trials for finding in result} == {60}
    assert len(_not_checked("run")) == 1
    assert "run of format 2" in Path("run", "report.md").read_text()
    assert all(one.same for one in replay(RunDirectory(Path("run")), 5, {}))
    assert snapshot(Path("run"), "[rg]*es/**/*") == before
    assert _manifest("run")["format"] == 2


# --- format 3: as now, but without a list of the files beside the tables


@pytest.fixture
def third(tmp_path, monkeypatch):
    """The folder with a run of format 3, its spec and texts, as the current one."""
    folder = shutil.copytree(HERE / "fixtures" / "format_3", tmp_path / "third")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.usefixtures("third")
def test_a_run_of_format_3_opens_reports_and_goes_on_and_is_listed_from_then_on():
    then = _told_now("run")
    assert not Path("run", "files.json").exists()
    report("run")
    assert _manifest("run")["format"] == 3  # whoever only reads changes no table
    assert _told_now("run") == then
    assert "Records at risk" in Path("run", "report.html").read_text()
    run(_spec("run"))
    assert (_manifest("run")["format"], _told_now("run")) == (FORMAT, then)
    assert find_damage(RunDirectory(Path("run")))[1] == []
    Path("run", "sections", "records.json").write_text("{}")
    with pytest.raises(RunDirectoryError, match=r"records\.json' is not the file that was written here"):
        report("run")


@pytest.mark.usefixtures("third")
def test_an_edit_from_before_the_list_is_nobodys_business_and_one_after_it_is():
    path = Path("run", "sections", "records.json")
    path.write_text(path.read_text().replace("Records at risk", "Records at peace"))
    report("run")
    assert "Records at peace" in Path("run", "report.html").read_text()
    path.write_text(path.read_text().replace("Records at peace", "Records at rest"))
    with pytest.raises(RunDirectoryError, match="was damaged, edited or put in the place of another"):
        report("run")


@pytest.mark.usefixtures("third")
def test_a_run_of_format_3_that_is_redacted_is_of_the_new_format_so_that_its_list_is_missed():
    report("run", redact=True)
    assert _manifest("run")["format"] == FORMAT
    Path("run", "files.json").unlink()
    with pytest.raises(
        RunDirectoryError, match=r"files\.json' is damaged \(it is gone\).*--redact`, or --full"
    ):
        report("run")


def _told_now(name):
    return [finding.to_dict() for finding in load_run(name)]


@pytest.mark.usefixtures("second")
def test_a_run_of_format_2_that_lost_parts_goes_on_with_parts_that_carry_checksums():
    before, parts = tables(Path("run")), sorted(Path("run").glob("*es/**/part-*"))
    lost = [
        path for path in parts if path.name in ("part-000001.parquet", "part-000000030-000000060.parquet")
    ]
    for path in lost:
        path.unlink()
    run(_spec("run"))
    assert tables(Path("run")) == before
    for path in parts:
        key = json.loads((path.parent / "table.json").read_text())["key"]
        assert ("checksum" in read_notes(path, key)) == (path in lost)
    manifest = RunDirectory(Path("run")).manifest()
    assert (manifest["format"], manifest["sealed"]) == (FORMAT, False)
    assert len(_not_checked("run")) == 1  # still true of the parts that were kept
    path = lost[0]
    path.write_bytes(path.read_bytes().replace(b"checksum", b"checksun"))
    with pytest.raises(RunDirectoryError, match="changed after it was written"):
        read_notes(path, json.loads((path.parent / "table.json").read_text())["key"])


@pytest.mark.usefixtures("second")
def test_texts_of_an_older_run_that_a_label_had_overwritten_are_noticed_and_stored_anew():
    path = Path("run", "corpus", "train.parquet")
    fingerprint, texts = _manifest("run")["corpus"]["fingerprint"], pl.read_parquet(path)["text"]
    wrong = pl.DataFrame({"text": [f"label {number}" for number in range(len(texts))]})
    wrong.write_parquet(path, metadata={"tedaudit": fingerprint})
    with pytest.raises(
        RunDirectoryError, match=r"does not hold the texts that were audited. Delete that folder"
    ):
        RunDirectory(Path("run")).corpus()
    shutil.rmtree(path.parent)
    run(_spec("run"))
    assert list(RunDirectory(Path("run")).corpus().texts) == texts.to_list()
