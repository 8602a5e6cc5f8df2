"""A result of an audit is kept only if it is asked for, and then as any run."""

import gc
import shutil
from pathlib import Path

import pytest

from helpers import snapshot
from tedaudit import (
    audit,
    load_run,
)
from tedaudit.errors import RunDirectoryError
from tedaudit.mechanisms.word_rr import WordRR

TEXTS = [f"{who} {did} the {what}" for who in ("ann", "bob", "cat", "dan", "eve")
         for did in ("lost", "sold") for what in ("ring", "boat", "lamp")]  # fmt: skip
pytestmark = pytest.mark.usefixtures("elsewhere")


def test_a_saved_result_is_a_run_with_the_same_findings(elsewhere):
    result = audit(WordRR(slots=2), TEXTS, epsilon=[1, 20], trials=60, attack="lexical")
    kept = result.save("kept")
    assert kept == Path("kept")
    told = result.to_dict()
    del result
    gc.collect()
    assert not list((elsewhere / "temporary").iterdir())
    found = load_run("kept")
    assert found.to_dict() == told
    assert found.folder == Path("kept")
    assert kept.stat().st_mode & 0o777 == 0o700


def test_a_saved_result_is_closed_to_others_before_a_text_is_in_it(monkeypatch):
    result = audit("identity", TEXTS, trials=20, attack="lexical")
    modes = []
    copy = shutil.copytree

    def watch(source, target, *others, **options):
        modes.append(Path(target).stat().st_mode & 0o777)
        monkeypatch.undo()
        return copy(source, target, *others, **options)

    monkeypatch.setattr(shutil, "copytree", watch)
    result.save(Path.cwd() / "kept")
    assert modes == [0o700]


def test_a_saved_result_can_be_extended_as_any_run():
    result = audit(WordRR(slots=2), TEXTS, epsilon=20, trials=60, attack="lexical")
    result.save(Path("deep") / "kept")
    longer = audit(WordRR(slots=2), TEXTS, epsilon=20, trials=90, out="deep/kept", attack="lexical")
    assert [finding.bound.trials for finding in longer] == [90]


@pytest.mark.parametrize("kind", ["folder", "file", "run"])
def test_a_result_is_not_saved_over_anything(elsewhere, kind):
    result = audit("identity", TEXTS, trials=20, attack="lexical")
    there = elsewhere / "here" / "there"
    if kind == "file":
        there.write_text("mine")
    elif kind == "folder":
        there.mkdir()
    else:
        audit("constant", TEXTS, trials=20, out=str(there), attack="lexical")
    before = snapshot(there.parent)
    with pytest.raises(RunDirectoryError, match="there' exists already; name a new folder"):
        result.save(there)
    assert snapshot(there.parent) == before
