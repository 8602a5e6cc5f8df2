"""The table of findings: one row per plan, mechanism, epsilon and attack, as cells of text."""

from collections.abc import Collection, Iterator

from tedaudit.estimators.likelihood_check import LIKELIHOOD
from tedaudit.nominal import Nominal
from tedaudit.reports.section import Column, Section, Table, format_number
from tedaudit.reports.summary import explain_error
from tedaudit.reports.writers.markdown import markdown_table, write_section
from tedaudit.results.findings import AuditResult, Finding, post_processing

COLUMNS = (
    Column("mechanism", "label", 0), Column("epsilon", "figures", 0), Column("claim", rank=2),
    Column("attack", "label", 0), Column("right / trials", "figures", 1), Column("attainable", "figures", 3),
    Column("eps_emp", "figures", 0), Column("interval", rank=3), Column("ceiling", "figures", 2),
    Column("alone", "figures", 4), Column("TeDA bound", "figures", 4), Column("if Gaussian", "figures", 3),
    Column("cosine", "figures", 5), Column("copied", "figures", 5), Column("empty", "figures", 5),
    Column("names first", "figures", 5), Column("own rewrites", "figures", 5),
    Column("unusable", "figures", 5), Column("failed", "figures", 5), Column("adjusted p", "figures", 3),
    Column("verdict", rank=0),
)  # fmt: skip
HEADINGS = tuple(column.name for column in COLUMNS)
RIGHT = {column.name for column in COLUMNS if column.is_figure}


def format_cells(finding: Finding) -> tuple[str, ...]:
    """Return one finding as text, in the order of the headings."""
    bound = finding.bound
    return (
        finding.label,
        finding.epsilon.label,
        "none" if finding.claim is None else str(finding.claim),
        finding.attack,
        f"{bound.correct:,} / {bound.guesses:,}{_format_surest(finding)}",
        _format_attainable(finding),
        f"{bound.lower:.2f}",
        f"{format_number(bound.point)} (to {format_number(bound.upper)})",
        f"{bound.ceiling:.2f}",
        f"{finding.alone:.2f}",
        f"{finding.teda.lower:.2f}",
        _format_gaussian(finding),
        _format_share(finding.measures.cosine),
        _format_share(finding.measures.copied),
        _format_share(finding.measures.empty),
        _format_share(finding.measures.first),
        f"{finding.measures.own_rewrites:,}" if finding.measures.own_rewrites else "",
        f"{finding.counts.unusable:,}",
        f"{finding.counts.failed:,}",
        "" if finding.verdict.adjusted_p is None else f"{finding.verdict.adjusted_p:.2g}",
        finding.verdict.name,
    )


def _format_surest(finding: Finding) -> str:
    """Return how many of the most certain guesses were right, if eps_emp comes from them."""
    sure = finding.surest
    return "" if sure is None else f"; surest {sure.right:,} / {sure.size:,}"


def _format_gaussian(finding: Finding) -> str:
    """Return the epsilon under GDP if what was attacked is a latent with a delta, as Gaussian noise has."""
    is_latent = finding.score == "latent similarity" and finding.bound.delta > 0
    return format_number(finding.gaussian.epsilon) if is_latent and finding.gaussian is not None else ""


def _format_share(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _format_attainable(finding: Finding) -> str:
    """Return the attainable success, and what share of its advantage over chance this attack reached."""
    if finding.refuted:  # in full where the likelihood attack itself stands
        return finding.refuted if finding.score == LIKELIHOOD else "refuted"
    if finding.measures.attainable is None:
        return ""
    share = "" if finding.strength is None else f" ({max(0.0, finding.strength):.0%})"
    return f"{finding.measures.attainable:.4f}{' saturated' if finding.saturated else share}"


def tell_plans(result: AuditResult) -> list[Section]:
    """Return one section per plan."""
    return [tell_plan(result, plan) for plan in plans(result)]


def tell_plan(result: AuditResult, plan: str) -> Section:
    """Return every finding on a plan, without columns that are empty everywhere."""
    findings = [finding for finding in result if finding.plan == plan]
    marked = frozenset(number for number, one in enumerate(findings) if one.verdict.is_violation)
    table = Table(COLUMNS, tuple(map(format_cells, findings)), marked)
    return Section(f"Plan {plan}", table.leave_empty_out())


def plans(result: AuditResult) -> list[str]:
    """Return the names of the plans, in order."""
    return list(dict.fromkeys(finding.plan for finding in result))


def explain_table(result: AuditResult, columns: Collection[str] = HEADINGS) -> str:
    """Return how to read the numbers and these columns, with the actual error of the bounds."""
    remarks = "".join(f"{text} " for name, text in _explain_columns(result) if name in columns)
    return (
        "eps_emp is a lower bound on the true epsilon between two texts: the larger of what all guesses and "
        f"what the most certain ones prove. {explain_error(result)} The ceiling is what eps_emp would be had "
        f"every guess been right; no attack proves privacy. {remarks}A claim is violated if an adjusted p, "
        "which counts all tests and looks of the run, is at most the run's error."
    )


def _explain_columns(result: AuditResult) -> Iterator[tuple[str, str]]:
    """Yield what further columns mean, of some only if a finding fills them."""
    findings = result.findings
    levels = " or ".join(f"{error:g}" for error in sorted({finding.teda.error for finding in findings}))
    yield "interval", "The interval (point, upper end) is of this attack's success over all guesses."
    yield (
        "alone",
        (
            "Alone: what eps_emp would be for a row that was named beforehand, wrong with probability "
            f"at most {result.alpha / 2:g} for that row, and not for the largest of several."
        ),
    )
    yield (
        "TeDA bound",
        (
            "TeDA bound: of all guesses, as in the TeDA paper, wrong with probability at most "
            f"{levels} per row, and not for the largest of several."
        ),
    )
    if any(map(_format_surest, findings)):
        yield (
            "right / trials",
            "Surest: eps_emp of that row comes from its most certain guesses, so many right of so many.",
        )
    if any(map(_format_attainable, findings)):
        yield (
            "attainable",
            (
                "Attainable: the mean posterior of the likeliest source, the success that no attack can be "
                "expected to exceed on these trials; in brackets, the share of its advantage over chance "
                "that the attack took, its strength."
            ),
        )
    if any(finding.refuted for finding in findings):
        yield "attainable", "Refuted: the guesses do not fit the likelihoods that it would follow from."
    if any(map(_format_gaussian, findings)):
        yield (
            "if Gaussian",
            (
                "If Gaussian: the epsilon that the success stands for under the assumption of Gaussian noise "
                "(GDP), for a row that was named beforehand; no bound otherwise, and in no verdict."
            ),
        )


def post_processing_table(result: AuditResult) -> str:
    """Return, as Markdown, how much of a latent its decoder hides; empty if no latent was attacked."""
    rows = post_processing(result)
    if not rows:
        return ""
    figures = ("internal", "external", "effect")
    lines = [
        (
            row["plan"], row["mechanism"], Nominal.of(row["epsilon"]).label,
            *(f"{row[key]:.2f}" for key in figures),
        )
        for row in rows
    ]  # fmt: skip
    title = "Post-processing effect: eps_emp on the latent less that on the text"
    return f"\n\n### {title}\n\n" + markdown_table(("plan", "mechanism", "epsilon", *figures), lines)


CLAIM_HEADINGS = ("mechanism", "epsilon", "claim", "tests", "why", "verdict")


def format_claims(result: AuditResult) -> list[tuple[str, ...]]:
    """Return one row of text for each claim: what was decided by all its tests together, and why."""
    return [
        (
            claim.witness.label, claim.witness.epsilon.label, str(claim.witness.claim),
            f"{claim.tests}{f' + {claim.pairs} pairs' if claim.pairs else ''}", claim.verdict.reason,
            claim.verdict.name,
        )
        for claim in result.claims
    ]  # fmt: skip


def claims_table(result: AuditResult) -> str:
    """Return the verdicts on all claims as Markdown; empty if nothing is claimed."""
    rows = format_claims(result)
    return f"### Claims\n\n{markdown_table(CLAIM_HEADINGS, rows)}\n\n" if rows else ""


def markdown_tables(result: AuditResult) -> str:
    """Return one Markdown table per plan."""
    return "\n\n".join(write_section(section, 3).rstrip() for section in tell_plans(result))
