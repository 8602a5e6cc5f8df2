"""Gates: what fails, what passes, and what does neither."""

from dataclasses import replace

import pytest

from helpers import Failing, Promising, SharedWords, audited, make_spec
from tedaudit.api import run
from tedaudit.plugins.nominal import Nominal
from tedaudit.results.gates import Gates, any_failed, judge_gates
from tedaudit.results.worst_pairs import TriedPair


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A claim that is refuted, one that is out of reach, and a mechanism that fails always."""
    out = tmp_path_factory.mktemp("gates") / "run"
    mechanisms = [Promising(), Failing(1.0), "constant"]
    return run(make_spec(out, mechanisms=mechanisms, attacks=[SharedWords()], epsilons=[0.1, 60]))


def outcome(result, gates):
    """Return what became of each mechanism at each epsilon as a whole."""
    return {(c.label, c.epsilon.label): "failed" if c.failed else "passed" if c.passed else "open"
            for c in judge_gates(result, gates) if not c.attack}  # fmt: skip


def test_a_gate_fails_on_the_outcomes_that_it_names_and_no_others(broken):
    told = outcome(broken, Gates(("violated",)))
    assert told[("promising", "0.1")] == "failed"
    assert told[("promising", "60")] == "open"
    assert told[("failing", "0.1")] == "open"
    assert told[("constant", "any")] == "passed"
    told = outcome(broken, Gates(("out-of-reach", "not-tested")))
    assert told[("promising", "0.1")] == "open"  # it is refuted, and nobody asked
    assert told[("promising", "60")] == "failed"
    assert told[("failing", "0.1")] == "failed"


def test_a_limit_fails_for_bounds_above_it(broken):
    told = outcome(broken, Gates((), 1.0))
    assert told[("promising", "0.1")] == told[("promising", "60")] == "failed"
    assert told[("constant", "any")] == "passed"
    assert told[("failing", "0.1")] == "open"
    assert set(outcome(broken, Gates((), 50.0)).values()) == {"open"}
    assert set(outcome(broken, Gates(("out-of-reach",), 50.0)).values()) >= {"failed"}


def test_no_gate_has_no_outcome(broken):
    assert judge_gates(broken, Gates()) == []
    assert not Gates()
    assert str(Gates(("violated",), 2.0)) == "--fail-on violated --fail-above 2"


def test_a_pair_above_a_limit_fails_although_no_row_is(tmp_path):
    result = audited(tmp_path / "run", "constant")
    assert not any_failed(judge_gates(result, Gates((), 1.0)))
    [finding] = result
    bound = replace(finding.bound, lower=1.7)
    for epsilon in (finding.epsilon, Nominal(9.0)):  # of a row, and of an output that has none
        pair = TriedPair(finding.label, epsilon, finding.attack, (0, 1), bound, finding.verdict)
        tried = replace(result, pairs=(pair,))
        assert any_failed(judge_gates(tried, Gates((), 1.0)))
        assert not any_failed(judge_gates(tried, Gates((), 1.8)))
