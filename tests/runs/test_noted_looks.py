"""Looks: every state of the tables that was judged is counted once, and only judging counts."""

import json
import shutil

import pytest

from helpers import Promising, SharedWords, audited, make_spec, stopped
from tedaudit.api import load_run, report, run
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.looks import Look, find_look


def looks(folder):
    return json.loads((folder / "manifest.json").read_text())["looks"]


def test_a_run_is_one_look_and_reading_it_again_is_none(tmp_path):
    audited(tmp_path, Promising(), epsilons=[1])
    for _ in range(3):
        assert load_run(tmp_path).family.look == report(tmp_path).family.look == Look(1, noted=True)
        audited(tmp_path, Promising(), epsilons=[1])
    assert len(looks(tmp_path)) == 1


@pytest.mark.parametrize("change", [{"trials": 130}, {"epsilons": [1, 2]}, {"attacks": ["lexical"]}])
def test_anything_that_adds_guesses_is_another_look(tmp_path, change):
    audited(tmp_path, Promising(), epsilons=[1])
    result = audited(tmp_path, Promising(), **{"epsilons": [1], **change})
    assert result.family.look == Look(2, noted=True)


def test_an_unfinished_run_is_judged_only_by_a_look_that_is_counted(tmp_path):
    spec = make_spec(tmp_path, mechanisms=[Promising()], epsilons=[0.1], attacks=[SharedWords()])
    store = stopped(spec, 2)
    assert find_look(store) == Look(1, noted=False)
    assert [f.verdict.name for f in load_run(tmp_path)] == ["not tested"]
    assert looks(tmp_path) == []
    assert [f.verdict.name for f in report(tmp_path)] == ["violated"]
    assert len(looks(tmp_path)) == 1
    [finding] = result = run(spec)
    assert result.family.look == Look(2, noted=True)
    assert finding.bound.any_time  # its trials went on after a look


def test_a_run_in_use_is_reported_without_a_verdict(tmp_path):
    spec = make_spec(tmp_path, mechanisms=[Promising()], epsilons=[0.1], attacks=[SharedWords()])
    with RunDirectory(stopped(spec, 2).root).locked():
        assert [f.verdict.name for f in report(tmp_path)] == ["not tested"]
    assert looks(tmp_path) == []


def test_what_is_left_of_judged_guesses_decides_nothing_and_counts_as_no_look(tmp_path):
    """Whoever takes tables away after seeing them could choose which tests share the error."""
    spec = {"epsilons": [0.1], "attacks": [SharedWords(), "lexical"]}
    whole = audited(tmp_path, Promising(), **spec)
    assert whole.violated
    folder = next(tmp_path.glob("guesses/*/*/*/lexical"))
    for part in sorted(folder.glob("part-*"))[-1:]:
        part.unlink()
    for _ in range(2):
        told = report(tmp_path)
        assert [f.verdict.name for f in told] == ["not tested"] * 2
        assert not told.violated
    shutil.rmtree(folder)
    assert [f.verdict.name for f in report(tmp_path)] == ["not tested"]
    assert audited(tmp_path, Promising(), **spec | {"attacks": [SharedWords()]}).family.look.lost
    assert len(looks(tmp_path)) == 1
    again = audited(tmp_path, Promising(), **spec)
    assert [f.to_dict() for f in again] == [f.to_dict() for f in whole]
    assert again.family.look == Look(1, noted=True)
