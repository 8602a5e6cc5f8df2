"""The folder of a run for which nobody names one: how it is called, who goes on in it, who gets another."""

import json
import subprocess
import sys
from dataclasses import dataclass, field

import pytest

from command_line import TEXTS
from tedaudit import api
from tedaudit.errors import RunDirectoryError, TedauditError
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.runs.own_folder import foresee_folder, name_run, own_folder
from tedaudit.runs.spec.model import AuditSpec, parse_spec
from tedaudit.studies.forecast.forecast import plan_audit

SPEC = {
    "corpus": {"name": "files", "path": "texts.txt"}, "mechanisms": ["word-rr"], "epsilons": [2],
    "attacks": ["lexical"], "encoder": "lexical", "trials": 40,
}  # fmt: skip


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.txt").write_text(TEXTS)
    (tmp_path / "pairs.csv").write_text("original,rewrite\na b,c\nd e,f\ng h,i\n")
    return tmp_path


def run(**changes):
    """Run the audit, and return the name of its folder."""
    return api.run({**SPEC, **changes}, page=False, announce=lambda _: None).folder.name


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "word-rr-texts"),
        ({"corpus": None}, "word-rr-demo"),
        ({"corpus": "demo"}, "word-rr-demo"),
        ({"corpus": {"name": "hub", "dataset": "owner/reviews"}}, "word-rr-reviews"),
        ({"corpus": {"name": "files", "path": "/a b/My Notes (2).csv.gz"}}, "word-rr-My-Notes-2"),
        ({"corpus": {"name": "files", "path": "x.csv", "label": "notes"}}, "word-rr-notes"),
        ({"mechanisms": ["identity", "constant", "word-rr"]}, "identity-constant-word-rr-texts"),
        ({"mechanisms": ["adept", "dp-st", "dp-mlm", "dp-bart"]}, "adept-and-3-more-texts"),
        ({"mechanisms": ["py:package.module:rewrite"]}, "rewrite-texts"),
        ({"mechanisms": [str.upper]}, "upper-texts"),
        ({"mechanisms": [{"name": "word-rr", "label": "../ my: label?"}]}, None),
        ({"mechanisms": [{"name": "recorded", "path": "p/pairs.csv"}], "corpus": None}, "recorded-pairs"),
        ({"mechanisms": [{"name": "word-rr", "label": "词" * 50}]}, "词" * 13 + "-texts"),
        ({"mechanisms": [{"name": "word-rr", "label": "-?"}]}, "mechanism-texts"),
        ({"corpus": {"name": "files", "path": "..."}}, "word-rr-texts"),
    ],
)
def test_a_folder_is_called_after_mechanisms_and_corpus(changes, name):
    if name is None:
        with pytest.raises(TedauditError, match="no '/'"):
            parse_spec({**SPEC, **changes})
        return
    assert name_run(parse_spec({**SPEC, **changes})) == name


def test_the_same_audit_goes_on_and_any_other_gets_a_folder_of_its_own(here):
    assert run() == "word-rr-texts"
    assert run() == "word-rr-texts"
    assert run(trials=60) == "word-rr-texts"
    assert run(trials=50) == "word-rr-texts-2"  # fewer
    assert run(trials=55) == "word-rr-texts-2"  # goes on where least is added
    assert run(trials=60) == "word-rr-texts"
    others = (
        {"epsilons": [3]}, {"seed": 1}, {"alpha": 0.02}, {"delta": 1e-3}, {"plans": [{"k": 3}]},
        {"attacks": ["lexical", "likelihood"]}, {"mechanisms": [{"name": "word-rr", "slots": 3}]},
    )  # fmt: skip
    for number, change in enumerate(others, 3):
        assert run(**change) == f"word-rr-texts-{number}"
        assert run(**change) == f"word-rr-texts-{number}"


def test_what_changes_no_result_changes_no_folder():
    assert run() == "word-rr-texts"
    for change in ({"batch_size": 7}, {"block": 20}, {"engine": {"name": "processes", "workers": 1}},
                   {"mechanisms": [{"name": "word-rr", "slots": WordRR().slots}]}):  # fmt: skip
        assert run(**change) == "word-rr-texts"
    program = {"name": "command", "program": "tr a-z A-Z", "lines": "plain"}
    names = {run(mechanisms=[{**program, "timeout": seconds}]) for seconds in (50, 60)}
    assert names == {"command-texts"}


def test_every_setting_is_compared_unless_it_is_known_to_change_nothing():
    incidental = {"name", "out", "engine", "batch_size", "block", "trials"}
    compared = {"mechanisms", "corpus", "epsilons", "attacks", "plans", "encoder", "alpha", "delta", "seed"}
    assert set(AuditSpec.model_fields) == incidental | compared


def test_other_texts_and_other_code_are_another_audit(here):
    assert run() == "word-rr-texts"
    (here / "texts.txt").write_text(TEXTS + "one more line\n")
    assert run() == "word-rr-texts-2"
    assert run(mechanisms=[lambda text: text]) == "lambda-texts"
    assert run(mechanisms=[lambda text: text[:1]]) == "lambda-texts-2"
    names = [run(mechanisms=[WordRR(slots=slots)]) for slots in (3, 4, 3)]
    assert names == ["word-rr-texts-3", "word-rr-texts-4", "word-rr-texts-3"]


def test_other_settings_of_what_a_mechanism_tells_of_texts_are_another_audit():
    @dataclass(frozen=True)
    class Reading(WordRR):
        readings: int = field(default=16, kw_only=True, metadata={"scores_only": True})

    names = [run(mechanisms=[Reading(readings=readings)]) for readings in (16, 4, 16)]
    assert names == ["word-rr-texts", "word-rr-texts-2", "word-rr-texts"]


def test_a_name_or_a_folder_that_is_given_is_used():
    assert run(name="mine") == "mine"
    assert run(out="elsewhere") == "elsewhere"
    assert run(name="audit") == "audit"


def test_a_folder_that_somebody_made_is_left_alone(here):
    (here / "runs" / "word-rr-texts").mkdir(parents=True)
    (here / "runs" / "word-rr-texts-2").write_text("mine")
    assert run() == "word-rr-texts-3"
    assert list((here / "runs" / "word-rr-texts").iterdir()) == []


def test_nothing_is_left_of_an_audit_that_cannot_begin(here):
    for changes in ({"epsilons": []}, {"trials": 1, "plans": [{"k": 900}]}):
        with pytest.raises(TedauditError):
            run(**changes)
    assert not (here / "runs").exists()


def test_a_killed_run_goes_on_in_its_folder_whenever_it_was_killed(here):
    """Killed right after the folder was made; after the first manifest; and after the last guess."""
    spec = parse_spec(SPEC)
    code = (
        "import os, sys, json\nfrom tedaudit.runs.own_folder import own_folder\n"
        "from tedaudit.runs.spec.model import parse_spec\n"
        "with own_folder(parse_spec(json.loads(sys.argv[1]))):\n    os._exit(9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, json.dumps(SPEC)], check=False)
    assert done.returncode == 9
    assert [path.name for path in (here / "runs").iterdir()] == ["word-rr-texts"]
    assert foresee_folder(spec).folder.name == "word-rr-texts"
    assert run() == "word-rr-texts"
    (here / "runs" / "word-rr-texts" / "summary.json").unlink()
    assert run() == "word-rr-texts"


def test_two_that_start_at_once_get_two():
    """Each begins while the other is at it, as two processes do."""
    first, second = parse_spec(SPEC), parse_spec({**SPEC, "seed": 1})
    with own_folder(first) as (one, _), own_folder(second) as (two, _), own_folder(first) as (again, _):
        assert one.folder != two.folder
        assert again.folder == one.folder


def test_a_folder_that_another_process_makes_first_is_not_taken(here, monkeypatch):
    """Between looking for a free one and making it."""
    made = []
    whole = type(here).mkdir

    def make_first(path, *arguments, **settings):
        if path.name == "word-rr-texts" and not made:
            made.append(path)
            whole(path)
        return whole(path, *arguments, **settings)

    monkeypatch.setattr(type(here), "mkdir", make_first)
    assert run() == "word-rr-texts-2"
    assert list(made[0].iterdir()) == []


def test_a_plan_says_the_folder_and_makes_none(here):
    assert plan_audit(SPEC).to_dict()["out"] == "runs/word-rr-texts"
    assert not (here / "runs").exists()
    run()
    assert plan_audit(SPEC).to_dict()["out"] == "runs/word-rr-texts"
    assert plan_audit({**SPEC, "seed": 1}).to_dict()["out"] == "runs/word-rr-texts-2"
    assert [path.name for path in (here / "runs").iterdir()] == ["word-rr-texts"]


def test_going_on_is_told_and_with_more_trials_as_a_look():
    told = []
    for trials in (40, 40, 60):
        api.run({**SPEC, "trials": trials}, page=False, announce=told.append)
    assert "'runs/word-rr-texts' holds the same audit, which is continued." in told
    [look] = [line for line in told if "look" in line]
    assert "from 40 trials to 60: that is look 2 at it" in look


def test_three_audits_do_not_lower_each_others_bounds(here):
    """In one folder, the second and the third would be looks at the first."""
    alone = api.run({**SPEC, "out": "alone"}, page=False)
    for change in ({}, {"seed": 1}, {"attacks": ["lexical", "likelihood"]}):
        last = api.run({**SPEC, **change}, page=False)
        assert last.family.look.number == 1
    again = api.run(SPEC, page=False)
    assert again.eps_emp == alone.eps_emp


def test_a_damaged_note_is_named_with_the_way_out(here):
    run()
    note = here / "runs" / "word-rr-texts" / ".claim.json"
    good = note.read_text()
    for wrong in (
        good.replace('"trials": 40', '"trials": 41'),
        good[:-5],
        "{}",
        "[]",
        '{"audit": "", "trials": 1}',
    ):
        note.write_text(wrong)
        with pytest.raises(RunDirectoryError, match=r"'runs/word-rr-texts/\.claim\.json' is damaged"):
            run()
    note.unlink()
    assert run() == "word-rr-texts-2"
