"""The tool's own test: as a user runs it, and what makes it fail."""

import io
import json
from contextlib import redirect_stdout
from dataclasses import replace

import pytest

from command_line import call
from tedaudit.trust.planted.flaws import FLAWS, find_flaw
from tedaudit.trust.selftest import selftest as selftest_module
from tedaudit.trust.selftest import work as selftest_work
from tedaudit.trust.selftest.selftest import FULL, QUICK, SelfTest, allow, run_selftest
from tedaudit.trust.selftest.telling import write_page
from tedaudit.trust.selftest.work import (
    Effort,
    JudgedFlaw,
    Measured,
    Seen,
    audit_flaw,
    audit_null,
    list_twins,
)

SILENT = JudgedFlaw("constant", "demo", (Seen("lexical", 0.0, found=False, by_certain=False),), 0.0, ())
ACCUSED = replace(SILENT, leaks=("case",))
TINY = replace(QUICK, nulls=1, known=1, flaws=("stop-words-kept",), null_effort=Effort(60, 50),
               known_effort=Effort(300, 0), flaw_effort=Effort(300, 50))  # fmt: skip
SMALLER = replace(QUICK, nulls=2, known=2, flaws=("stop-words-kept", "case-copied", "fixed-seed", "overflow"))


def make(**parts):
    found = replace(SILENT, name="x", leaks=("case",))
    given = {
        "size": QUICK, "nulls": (SILENT,) * 50, "twins": (),
        "known": (Measured("randomised response", 1.0, 0.8, 1.0, 731, 1000),),
        "flaws": ((find_flaw("case-copied"), found),),
    }  # fmt: skip
    return SelfTest(**{**given, **parts})


@pytest.fixture(scope="module")
def quick(tmp_path_factory, is_thorough):
    """The quick test as a user runs it, once for all: its exit code, what it prints as JSON, and its page.

    A smaller one but for `--all`: half of the flaws, and fewer nulls (test_false_alarms.py has more of them).
    """
    page, printed = tmp_path_factory.mktemp("selftest") / "selftest.md", io.StringIO()
    with redirect_stdout(printed), pytest.MonkeyPatch.context() as patch:
        if not is_thorough:
            patch.setattr(selftest_module, "QUICK", SMALLER)
        code = call("selftest", "--quick", "--quiet", "--processes", 1, "--json", "--out", page)
    return code, json.loads(printed.getvalue()), page.read_text("utf-8")


def test_a_quick_test_passes_as_a_user_runs_it_and_says_that_it_is_quick(quick):
    code, found, page = quick
    assert (code, found["passed"], found["full"]) == (0, True, False), page
    assert "**Passed.** A quick test" in page
    assert all(name in page for name in SMALLER.flaws)
    assert "`tedaudit selftest --quick`" in page


def test_json_and_a_page_come_from_the_same_test(quick):
    _, found, page = quick
    assert set(SMALLER.flaws) <= {flaw["name"] for flaw in found["flaws"]} <= set(QUICK.flaws)
    assert page.startswith("# The tool's own test")


def test_flaws_are_found_in_few_trials_by_who_should_find_them(quick):
    finders = {flaw["name"]: flaw["finders"] for flaw in quick[1]["flaws"]}
    assert "resample" in finders["case-copied"]
    assert "leaks" in finders["stop-words-kept"]
    assert "resample" in audit_flaw("hash-appended", Effort(500, 60)).finders


@pytest.mark.parametrize("failing", [False, True])
def test_flags_choose_nulls_flaws_and_the_form_and_a_failure_is_an_exit_code(monkeypatch, capsys, failing):
    asked = []

    def run(size, *_, **__):
        asked.append(size)
        return make(nulls=(ACCUSED,) * 50) if failing else make()

    monkeypatch.setattr(selftest_module, "run_selftest", run)
    code = call("selftest", "--quick", "--nulls", "3", "--flaw", "hash-appended")
    assert code == failing
    assert asked == [replace(QUICK, nulls=3, flaws=("hash-appended",))]
    assert "`tedaudit selftest --quick --nulls 3 --flaw hash-appended`" in capsys.readouterr().out


def test_a_flaw_that_is_not_planted_is_refused_by_its_name(capsys):
    assert call("selftest", "--flaw", "hash-apended") == 2
    assert "hash-appended" in capsys.readouterr().err


@pytest.fixture(scope="module")
def tiny():
    """The smallest test, and what it told of its progress."""
    told = []
    return run_selftest(TINY, lambda *step: told.append(step)), told


def test_several_processes_do_the_same_as_one(tiny):
    assert run_selftest(TINY, processes=2) == tiny[0]


def test_progress_counts_every_piece_of_work(tiny):
    told = tiny[1]
    assert [done for _, done, _ in told] == list(range(1, len(told) + 1))
    assert told[-1][1] == told[-1][2] == 1 + 5 + 1


def test_a_test_that_is_right_passes():
    assert make().failures == []


def test_so_many_false_alarms_are_allowed_as_chance_may_bring():
    assert allow(1_000, 0.005) == 10
    assert allow(50, 0.005) == 2
    assert allow(0, 0.005) == 0
    assert make(nulls=(SILENT,) * 48 + (ACCUSED,) * 2).failures == []
    assert make(nulls=(SILENT,) * 47 + (ACCUSED,) * 3).failures == [
        "3 of 50 rewriters that reveal nothing were accused"
    ]


@pytest.mark.parametrize(
    "said",
    [
        {"leaks": ("case",)},
        {"largest": 0.01},
        {"attacks": (Seen("resample", 0.2, found=True, by_certain=False),)},
    ],
)
def test_a_finding_a_bound_and_a_violation_are_each_something_said(said):
    assert not SILENT.says_anything
    assert replace(SILENT, **said).says_anything


def test_a_tool_that_is_wrong_about_what_is_known_fails():
    wrong = Measured("randomised response", 1.0, 1.2, 1.1, 731, 1000)
    assert "1 of 1 bounds are above the truth" in make(known=(wrong,)).failures[0]
    assert "the mean estimate is 0.500" in make(known=(replace(wrong, lower=0.1, point=0.5),)).failures[0]


def test_a_tool_that_misses_a_flaw_fails_unless_the_flaw_needs_more_trials():
    rare = find_flaw("one-text-in-200")
    assert make(flaws=((rare, SILENT),)).failures == []
    missed = make(flaws=((find_flaw("case-copied"), SILENT),))
    assert missed.failures == ["planted flaws that were not found: case-copied"]
    assert "**Failed:** planted flaws that were not found: case-copied." in write_page(missed, "x")
    assert "| one-text-in-200 | 20,000 |" in write_page(make(flaws=((rare, SILENT),)), "x")


def test_a_flaw_that_no_part_finds_is_named_beside_the_outcome():
    blind = replace(find_flaw("repeats-told"), needs=None, why="nothing")
    page = write_page(make(flaws=((blind, SILENT),)), "x")
    assert "**Passed.** Known not to be found by any part, and not counted: repeats-told." in page
    assert "Known to be" not in write_page(make(flaws=((blind, ACCUSED),)), "x")


def test_a_tool_that_accuses_repaired_rewriters_fails():
    assert make(twins=(SILENT,) * 20).failures == []
    assert "2 of 20 repaired rewriters" in make(twins=(SILENT,) * 18 + (ACCUSED,) * 2).failures[0]


def test_the_full_test_has_every_flaw_and_a_thousand_nulls():
    assert FULL.is_full
    assert (FULL.nulls, FULL.null_effort.trials, FULL.flaw_effort.trials) == (1_000, 300, 2_000)
    assert set(QUICK.flaws) < set(FULL.flaws) == {flaw.name for flaw in FLAWS}
    assert len(list_twins(FULL.flaws)) > 10


def test_a_null_is_audited_by_all_default_attacks_on_texts_of_every_script():
    effort = Effort(60, 50)
    judged = [audit_null(number, effort) for number in (0, 6, 27)]
    assert {one.texts for one in judged} == {"demo", "chinese", "hebrew"}
    assert {seen.attack for seen in judged[0].attacks} == {"lexical", "resample", "trained"}


def test_a_flaw_without_a_twin_has_none_to_be_audited():
    with pytest.raises(ValueError, match="no repaired twin"):
        selftest_work.audit_twin("classical-gaussian", Effort(60, 50))
