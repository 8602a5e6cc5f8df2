"""Gates as JUnit XML, for the test pages of CI systems: one test case per gate on a mechanism and epsilon.

A case passes only if the claim or limit was tested and kept. What could not be tested is skipped, with the
reason: a green tick for a claim that no attack could have refuted would be a lie.
"""

from collections.abc import Sequence
from xml.etree import ElementTree as ET  # only written here, never parsed

from tedaudit.results.findings import AuditResult
from tedaudit.results.gates import Check, Gates, judge_gates

_TITLES = {"claim": "claims", "limit": "limit"}


def make_junit(result: AuditResult, gates: Gates) -> str:
    """Return the outcome of gates as XML; it holds no text of the corpus."""
    checks = judge_gates(result, gates)
    root = ET.Element("testsuites", _count("tedaudit", checks))
    for gate, title in _TITLES.items():
        of_gate = [check for check in checks if check.gate == gate]
        if of_gate:
            suite = ET.SubElement(root, "testsuite", _count(f"{result.name}: {title}", of_gate))
            for check in of_gate:
                suite.append(_make_case(check, result.name))
    ET.indent(root)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{ET.tostring(root, encoding='unicode')}\n"


def _count(name: str, checks: Sequence[Check]) -> dict[str, str]:
    failed = sum(check.failed for check in checks)
    skipped = sum(not check.failed and not check.passed for check in checks)
    return {
        "name": _clean(name), "tests": str(len(checks)), "failures": str(failed), "errors": "0",
        "skipped": str(skipped),
    }  # fmt: skip


def _make_case(check: Check, run: str) -> ET.Element:
    parts = (check.epsilon.phrase, check.attack or "all attacks", check.plan)
    named = {"classname": f"{run}.{check.label}", "name": " ".join(part for part in parts if part)}
    case = ET.Element("testcase", {key: _clean(value) for key, value in named.items()} | {"time": "0"})
    reason = _clean(f"{check.verdict.name}: {check.verdict.reason}")
    if check.failed:
        ET.SubElement(case, "failure", {"message": reason, "type": check.verdict.decision.flag}).text = reason
    elif not check.passed:
        ET.SubElement(case, "skipped", {"message": reason})
    else:
        ET.SubElement(case, "system-out").text = reason
    return case


def _clean(text: str) -> str:
    """Return a text of characters that XML may hold at all."""
    return "".join(c if c.isprintable() and not 0xD800 <= ord(c) <= 0xDFFF else "?" for c in text)
