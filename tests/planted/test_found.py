"""Every planted flaw is found, and nothing is said of its repaired twin or of what reveals nothing.

`make test` tries a few flaws of each part of the tool in fewer trials, `make test-all` every one as the page
docs/results/selftest.md does; that has more nulls.
"""

import pytest

from planted.flaws import BY_NAME, FLAWS
from planted.nulls import NULLS
from planted.scripts import SCRIPTS
from planted.trying import FULL, allow
from planted.work import Effort, audit_flaw, audit_null, audit_twin, list_twins
from tedaudit.testing.known import ERROR

QUICK = {
    "stop-words-kept": "leaks", "case-copied": "resample", "word-count-kept": "trained",
    "overflow": "resample", "raw-without-triple": "lexical", "fixed-seed": "resample",
    "one-text-in-10": "lexical", "names-kept": "lexical", "hash-appended": "resample",
}  # fmt: skip
"""What a few hundred trials show too, and who sees it."""
QUICK_EFFORT = Effort(800, 60)
TWINS = list_twins(list(BY_NAME))
QUICK_TWINS = {"forked-workers", "kind-of-error", "capped-at-input"}
IN_REACH = [flaw for flaw in FLAWS if flaw.needs == FULL.flaw_effort.trials]


@pytest.mark.parametrize("flaw", IN_REACH, ids=lambda flaw: flaw.name)
def test_a_planted_flaw_is_found(flaw, is_thorough):
    if flaw.name not in QUICK and not is_thorough:
        pytest.skip("`make test-all` runs it")
    judged = audit_flaw(flaw.name, FULL.flaw_effort if is_thorough else QUICK_EFFORT)
    assert judged.finders
    assert QUICK.get(flaw.name, judged.finders[0]) in judged.finders


@pytest.mark.parametrize("name", TWINS)
def test_a_repaired_twin_is_not_accused(name, is_thorough):
    if name not in QUICK_TWINS and not is_thorough:
        pytest.skip("`make test-all` runs it")
    judged = audit_twin(name, FULL.flaw_effort if is_thorough else QUICK_EFFORT)
    assert judged.finders == ()


@pytest.mark.timeout(3600)  # 150 audits, on a machine that may be busy
def test_hardly_anything_is_said_of_any_null_by_any_part_on_texts_of_any_script(is_thorough):
    numbers = range(150) if is_thorough else (0, 6, 12, 18, 24, 25)
    judged = [audit_null(n, FULL.null_effort if is_thorough else Effort(100, 50)) for n in numbers]
    assert {one.name for one in judged} == {null.name for null in NULLS}
    assert {one.texts for one in judged} == {"demo", *SCRIPTS}
    assert {seen.attack for one in judged for seen in one.attacks} == {"lexical", "resample", "trained"}
    assert sum(one.says_anything for one in judged) <= allow(len(judged), 2 * ERROR)


def test_a_flaw_without_a_twin_has_none_to_be_audited():
    with pytest.raises(ValueError, match="no repaired twin"):
        audit_twin("classical-gaussian", QUICK_EFFORT)


def test_what_is_tried_quickly_is_a_part_of_all():
    assert set(QUICK) <= {flaw.name for flaw in IN_REACH}
    assert set(TWINS) >= QUICK_TWINS


def test_all_repaired_twins_are_tried():
    assert {BY_NAME[name].repaired() for name in TWINS} == {f.repaired() for f in FLAWS if f.repaired}
    assert len(TWINS) > 10
