"""Trying the tool on all that is known: what makes it fail, and how that is told."""

import subprocess
import sys
from dataclasses import replace

import pytest

from helpers import HERE
from planted.flaws import BY_NAME
from planted.trying import FULL, Tried, allow, try_all
from planted.work import Effort, JudgedFlaw, Seen
from planted.write import write_page
from tedaudit.testing import Known

SILENT = JudgedFlaw("constant", "demo", (Seen("lexical", 0.0, found=False, by_certain=False),), 0.0, ())
ACCUSED = replace(SILENT, leaks=("case",))
TINY = replace(FULL, nulls=1, known=1, flaws=("stop-words-kept",), null_effort=Effort(60, 50),
               flaw_effort=Effort(300, 50))  # fmt: skip


def make(**parts):
    given = {
        "size": FULL, "nulls": (SILENT,) * 50, "twins": (),
        "known": (Known("randomised response", 1.0, 1.0, 0.8, 731, 1000),),
        "flaws": ((BY_NAME["case-copied"], replace(SILENT, name="x", leaks=("case",))),),
    }  # fmt: skip
    return Tried(**{**given, **parts})


@pytest.fixture(scope="module")
def tiny():
    """All that is tried, as little as can be, and what was told of the progress."""
    told = []
    return try_all(TINY, lambda *step: told.append(step)), told


def test_several_processes_find_the_same_as_one(tiny):
    assert try_all(TINY, processes=2) == tiny[0]


def test_progress_counts_every_piece_of_work(tiny):
    told = tiny[1]
    assert [done for _, done, _ in told] == list(range(1, len(told) + 1))
    assert told[-1][1] == told[-1][2] == 1 + 1 + 5 + 1


def test_a_page_of_one_flaw_names_its_command_and_has_nothing_of_nulls(tiny):
    page = write_page(replace(tiny[0], nulls=(), known=()), "a command")
    assert page.startswith(
        "# The tool's own test\n\n`a command`\n\n**Passed.**\n\n## Planted flaws\n\n1 of 1 "
    )
    assert "Of 1 repaired twins 0 were accused" in page


def test_a_flaw_that_is_not_planted_is_refused_with_the_names_of_all():
    done = subprocess.run(
        [sys.executable, "-m", "planted.write", "--flaw", "hash-apended"],
        cwd=HERE, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "hash-appended" in done.stderr


def test_a_tool_that_is_right_passes():
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
    wrong = Known("randomised response", 1.0, 1.1, 1.2, 731, 1000)
    assert "1 of 1 bounds are above the truth" in make(known=(wrong,)).failures[0]
    assert "the mean estimate is 0.500" in make(known=(replace(wrong, bound=0.1, estimate=0.5),)).failures[0]


def test_a_tool_that_misses_a_flaw_fails_unless_the_flaw_needs_more_trials():
    rare = BY_NAME["one-text-in-200"]
    assert make(flaws=((rare, SILENT),)).failures == []
    missed = make(flaws=((BY_NAME["case-copied"], SILENT),))
    assert missed.failures == ["planted flaws that were not found: case-copied"]
    assert "**Failed:** planted flaws that were not found: case-copied." in write_page(missed, "x")
    assert "| one-text-in-200 | 20,000 |" in write_page(make(flaws=((rare, SILENT),)), "x")


def test_a_flaw_that_no_part_finds_is_named_beside_the_outcome():
    blind = replace(BY_NAME["repeats-told"], needs=None, why="nothing")
    page = write_page(make(flaws=((blind, SILENT),)), "x")
    assert "**Passed.** Known not to be found by any part, and not counted: repeats-told." in page
    assert "Known not to be" not in write_page(make(flaws=((blind, ACCUSED),)), "x")


def test_a_tool_that_accuses_repaired_rewriters_fails():
    assert make(twins=(SILENT,) * 20).failures == []
    assert "2 of 20 repaired rewriters" in make(twins=(SILENT,) * 18 + (ACCUSED,) * 2).failures[0]


def test_the_full_size_has_every_flaw_and_a_thousand_nulls():
    assert FULL.flaws == tuple(BY_NAME)
    assert (FULL.nulls, FULL.null_effort.trials, FULL.flaw_effort.trials) == (1_000, 300, 2_000)
