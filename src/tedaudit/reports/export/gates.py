"""Gates for CI systems: as JUnit XML for their test pages, and as Markdown for the summary of a job.

A case passes only if the claim or limit was tested and kept. What could not be tested is skipped, with the
reason: a green tick for a claim that no attack could have refuted would be a lie. No text of the corpus is
in either.
"""

from collections.abc import Sequence
from xml.etree import ElementTree as ET  # only written here, never parsed

from tedaudit.reports.writers.markdown import markdown_list, markdown_text, write_table
from tedaudit.results.findings import AuditResult
from tedaudit.results.gates import Check, Gates, any_failed, judge_gates
from tedaudit.results.summary import headlines
from tedaudit.results.telling_audit import explain_table, tell_bounds, tell_claims

_TITLES = {"finished": "finished", "claim": "claims", "limit": "limit"}


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
    parts = [check.epsilon.phrase, check.attack or "all attacks", check.plan]
    named = {"classname": f"{run}.{check.label}", "name": " ".join(part for part in parts if part)}
    if check.gate == "finished":
        named = {"classname": run, "name": "finished"}
    case = ET.Element("testcase", {key: _clean(value) for key, value in named.items()} | {"time": "0"})
    reason = _clean(f"{check.verdict.name}: {check.verdict.reason}")
    if check.failed:
        ET.SubElement(case, "failure", {"message": reason, "type": check.verdict.flag}).text = reason
    elif not check.passed:
        ET.SubElement(case, "skipped", {"message": reason})
    else:
        ET.SubElement(case, "system-out").text = reason
    return case


def _clean(text: str) -> str:
    """Return a text of characters that XML may hold at all."""
    return "".join(c if c.isprintable() and not 0xD800 <= ord(c) <= 0xDFFF else "?" for c in text)


def make_step_summary(result: AuditResult, gates: Gates) -> str:
    """Return the outcome of gates, if there are any, and a table of bounds by attack for every plan."""
    parts = [f"## Privacy audit {markdown_text(result.name)}"]
    checks = judge_gates(result, gates)
    if gates:
        parts += [_describe_gates(gates, checks)]
    parts.append(markdown_list(headlines(result)))
    if not result.findings:
        return "\n\n".join(parts) + "\n"
    for section in tell_bounds(result):
        parts += [f"### {markdown_text(section.title)}", write_table(section.table)]
    folded = {
        "How to read it": explain_table(result, ()),
        "Claims": "".join(write_table(section.table) for section in tell_claims(result)),
        "Notes": markdown_list(result.notes),
    }
    for title, text in folded.items():
        if text:
            parts.append(f"<details><summary>{title}</summary>\n\n{text}\n\n</details>")
    return "\n\n".join(parts) + "\n"


def _describe_gates(gates: Gates, checks: Sequence[Check]) -> str:
    """Return how the gates came out, with the reasons of those that failed or could not be tested."""
    together = [check for check in checks if not check.attack]
    failed = [check for check in together if check.failed]
    open_ = [check for check in together if not check.failed and not check.passed]
    said = f"`{gates}`: "
    if any_failed(checks):
        said += f"**failed** for {len(failed)} of {len(together)}."
    elif not together:
        said += "**nothing to test**: there is no claim, or no bound yet."
    elif open_:
        said += f"not failed; **{len(open_)} of {len(together)} could not be tested**, which is no pass."
    else:
        said += "**passed**. That these attacks did not break it does not show that none can."
    return "\n\n".join([said, markdown_list(map(_describe_check, [*failed, *open_]))]).strip()


def _describe_check(check: Check) -> str:
    if check.gate == "finished":
        return check.verdict.reason
    epsilon = f" at {check.epsilon.phrase}" if check.epsilon.is_given else ""
    return f"{check.label}{epsilon} ({check.gate}): {check.verdict.name}: {check.verdict.reason}"
