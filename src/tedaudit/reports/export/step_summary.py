"""A run as Markdown for the summary page of a CI job: gates first, then the bounds; no text of the corpus."""

from collections.abc import Sequence

from tedaudit.estimators import Bound
from tedaudit.reports.export.plan_table import make_plan_table
from tedaudit.reports.headline import headlines
from tedaudit.reports.table import claims_table, explain_table, plans
from tedaudit.reports.writers.markdown import markdown_list, markdown_table, markdown_text
from tedaudit.results.findings import AuditResult
from tedaudit.results.gates import Check, Gates, any_failed, judge_gates


def make_step_summary(result: AuditResult, gates: Gates) -> str:
    """Return the outcome of gates, if there are any, and a table of bounds by attack for every plan."""
    parts = [f"## Privacy audit {markdown_text(result.name)}"]
    checks = judge_gates(result, gates)
    if gates:
        parts += [_describe_gates(gates, checks)]
    if not result.findings:
        parts.append("No attack has finished a block yet: there is nothing to estimate from.")
        return "\n\n".join(parts) + "\n"
    parts.append(markdown_list([headline.text for headline in headlines(result)]))
    for plan in plans(result):
        parts += [f"### eps_emp, plan {markdown_text(plan)}", _make_table(result, plan)]
    folded = {
        "How to read it": explain_table(result, ()),
        "Claims": claims_table(result).strip().removeprefix("### Claims").strip(),
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
        said += "**passed**. That these attacks found nothing does not show that none can."
    return "\n\n".join([said, markdown_list(map(_describe_check, [*failed, *open_]))]).strip()


def _describe_check(check: Check) -> str:
    epsilon = f" at {check.epsilon.phrase}" if check.epsilon.is_given else ""
    return f"{check.label}{epsilon} ({check.gate}): {check.verdict.name}: {check.verdict.reason}"


def _make_table(result: AuditResult, plan: str) -> str:
    table = make_plan_table(result, plan)
    headings = ("mechanism", "epsilon", "claim", *table.columns)
    rows = [
        (line.label, line.epsilon.label, line.claim + (": violated" if line.refuted else ""),
         *map(_format_bound, line.bounds))
        for line in table.lines
    ]  # fmt: skip
    return markdown_table(headings, rows, right=("epsilon", *table.columns))


def _format_bound(bound: Bound | None) -> str:
    if bound is None:
        return ""
    return f"{bound.lower:.2f}{' (ceiling)' if bound.is_at_ceiling else ''}"
