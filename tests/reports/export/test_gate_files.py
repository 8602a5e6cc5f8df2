"""JUnit XML: a case fails if and only if its gate does, and passes only if something was tested."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from helpers import audited
from tedaudit.reports.export.gates import make_junit
from tedaudit.results.gates import Gates, any_failed, judge_gates

GATES = [Gates(("violated",)), Gates((), 1.0), Gates(("violated", "out-of-reach", "not-tested"), 2.0),
         Gates((), 50.0), Gates(("out-of-reach",), 50.0)]  # fmt: skip


def parse(text):
    return ET.fromstring(text.encode())


@pytest.mark.parametrize("gates", GATES, ids=str)
def test_a_case_fails_if_and_only_if_its_gate_does(made, gates):
    root, checks = parse(make_junit(made, gates)), judge_gates(made, gates)
    cases = list(root.iter("testcase"))
    assert len(cases) == len(checks) == int(root.get("tests"))
    assert [case.find("failure") is not None for case in cases] == [check.failed for check in checks]
    assert int(root.get("failures")) == sum(check.failed for check in checks)
    assert (int(root.get("failures")) > 0) == any_failed(checks)


@pytest.mark.parametrize("gates", GATES, ids=str)
def test_what_was_not_tested_is_skipped_with_its_reason_and_never_green(made, gates):
    root = parse(make_junit(made, gates))
    for case, check in zip(root.iter("testcase"), judge_gates(made, gates), strict=True):
        outcome = [part.tag for part in case]
        if check.verdict.name in ("no violation found", "not found above the limit"):
            assert outcome == ["system-out"]
        elif not check.failed:
            assert outcome == ["skipped"]
            assert check.verdict.reason in case.find("skipped").get("message")
    assert int(root.get("skipped")) == len(list(root.iter("skipped")))


def test_every_row_and_every_mechanism_at_an_epsilon_is_a_case(made):
    root = parse(make_junit(made, Gates(("violated",), 1.0)))
    claims, limit = root.findall("testsuite")
    assert (claims.get("name"), limit.get("name")) == ("audit: claims", "audit: limit")
    outputs = {(finding.label, finding.epsilon) for finding in made}
    assert len(claims) == len(made) + len(made.claims)
    assert len(limit) == len(made) + len(outputs)
    names = [(case.get("classname"), case.get("name")) for case in limit]
    assert len(set(names)) == len(names)


def test_a_limit_is_not_violated_and_a_claim_is_not_above_a_limit(made):
    root = parse(make_junit(made, Gates(("violated",), 1.0)))
    claims, limit = root.findall("testsuite")
    assert {case.get("type") for case in claims.iter("failure")} == {"violated"}
    assert {case.get("type") for case in limit.iter("failure")} == {"above-the-limit"}
    said = " ".join(limit.itertext()) + " ".join(case.get("message", "") for case in limit.iter())
    assert "above the limit: the bound is" in said
    assert "violat" not in said


def test_names_of_any_kind_give_xml_that_can_be_read(made):
    odd = replace(made, name="<&\"'>\x00\x1b\ud800 ]]>", findings=tuple(
        replace(finding, label="a\x0b<b>&\ufffe") for finding in made))  # fmt: skip
    root = parse(make_junit(odd, Gates((), 1.0)))
    assert "a?<b>&" in next(root.iter("testcase")).get("classname")


def test_rewrites_that_all_fail_pass_nothing(tmp_path):
    from helpers import Failing

    result = audited(tmp_path / "run", Failing(1.0), epsilons=[1])
    root = parse(make_junit(result, Gates(("violated",), 1.0)))
    assert {part.tag for case in root.iter("testcase") for part in case} == {"skipped"}
