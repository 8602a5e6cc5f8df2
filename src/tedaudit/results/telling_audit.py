"""An audit as tables: every finding, the claims, the models behind them, and bounds by attack for a paper."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tedaudit.estimators import Bound, find_estimator
from tedaudit.estimators.likelihood_check import LIKELIHOOD
from tedaudit.plugins.nominal import Nominal
from tedaudit.results.findings import AuditResult, Finding, post_processing
from tedaudit.results.section import Cell, Column, Mark, Marked, Section, Table, format_interval
from tedaudit.results.summary import ADVERSARIES, explain_error, find_adversary, find_best

_COLUMNS = (
    Column("mechanism", "label", 0), Column("verdict", rank=0), Column("epsilon", "figures", 0),
    Column("claim", rank=2), Column("attack", "label", 0), Column("knows", rank=4),
    Column("right / trials", "figures", 1),
    Column("attainable", "figures", 3), Column("eps_emp", "bound", 0), Column("interval", rank=3),
    Column("ceiling", "bound", 2),
    Column("alone", "bound", 4), Column("TeDA bound", "bound", 4), Column("if Gaussian", "bound", 3),
    Column("cosine", "share", 5), Column("copied", "share", 5), Column("empty", "share", 5),
    Column("names first", "share", 5), Column("own rewrites", "count", 5),
    Column("median rank", "figures", 4),
    Column("unusable", "count", 5), Column("failed", "count", 5), Column("adjusted p", "p", 3),
)  # fmt: skip
_SUREST = "Surest (right / guesses): the attack's most certain guesses, from which eps_emp of that row comes."
HEADINGS = tuple(column.name for column in _COLUMNS)


def tell_audit(result: AuditResult) -> tuple[Section, ...]:
    """Return all tables of an audit: claims, the findings of each plan, what decoders hide, and models."""
    return (
        *tell_claims(result), *tell_plans(result), *tell_post_processing(result), *tell_models(result.models)
    )  # fmt: skip


def _list_cells(finding: Finding, *, ceilings: bool) -> tuple[Cell, ...]:
    """Return one finding, in the order of the headings."""
    bound, measures = finding.bound, finding.measures
    return (
        finding.label,
        finding.verdict.name,
        finding.epsilon.label,
        "none" if finding.claim is None else str(finding.claim),
        finding.attack,
        f"{finding.knows} and the draw" if finding.sees_draw else finding.knows,
        f"{bound.correct:,} / {bound.guesses:,}{_format_surest(finding)}",
        _format_attainable(finding),
        _mark_bound(bound) if ceilings else bound.lower,
        format_interval(bound.point, bound.upper),
        bound.ceiling,
        finding.alone,
        finding.teda.lower,
        _find_gaussian(finding),
        measures.cosine,
        measures.copied,
        measures.empty,
        measures.first,
        measures.own_rewrites or None,
        "" if measures.median_rank is None else f"{measures.median_rank:g} of {bound.candidates:,}",
        finding.counts.unusable,
        finding.counts.failed,
        finding.verdict.adjusted_p,
    )


def _format_surest(finding: Finding) -> str:
    """Return how many of the most certain guesses were right, if eps_emp comes from them."""
    sure = finding.surest
    return "" if sure is None else f"; surest {sure.right:,} / {sure.size:,}"


def _find_gaussian(finding: Finding) -> float | None:
    """Return the epsilon under GDP if what was attacked is a latent with a delta, as Gaussian noise has."""
    is_latent = finding.score == "latent similarity" and finding.bound.delta > 0
    return finding.gaussian.epsilon if is_latent and finding.gaussian is not None else None


def _format_attainable(finding: Finding) -> str:
    """Return the attainable success, and what share of its advantage over chance this attack reached."""
    if finding.refuted:  # in full where the likelihood attack itself stands
        return finding.refuted if finding.score == LIKELIHOOD else "refuted"
    if finding.measures.attainable is None:
        return ""
    share = "" if finding.strength is None else f" ({max(0.0, finding.strength):.0%})"
    return f"{finding.measures.attainable:.4f}{' saturated' if finding.saturated else share}"


def tell_plans(result: AuditResult, *, ceilings: bool = False) -> tuple[Section, ...]:
    """Return every finding, a section per plan, without columns that are empty everywhere.

    `ceilings` marks each eps_emp that could not be larger.
    """
    found = [(plan, [finding for finding in result if finding.plan == plan]) for plan in plans(result)]
    return tuple(_tell_plan(plan, findings, ceilings=ceilings) for plan, findings in found)


def _tell_plan(plan: str, findings: Sequence[Finding], *, ceilings: bool) -> Section:
    marked = frozenset(number for number, one in enumerate(findings) if one.verdict.is_violation)
    table = Table(_COLUMNS, tuple(_list_cells(finding, ceilings=ceilings) for finding in findings), marked)
    return Section(f"Plan {plan}", table.leave_empty_out())


def plans(result: AuditResult) -> list[str]:
    """Return the names of the plans, in order."""
    return list(dict.fromkeys(finding.plan for finding in result))


def plan_words(name: str, manifest: Mapping[str, Any]) -> str:
    """Return a plan as a reader would say it: candidates, how they were drawn, estimator."""
    return describe_plan(manifest["plans"][name])


def describe_plan(info: Mapping[str, Any]) -> str:
    """Return the same from what a manifest says of the plan."""
    if info["strategy"] is None:
        how = "every text a candidate"
    elif info["strategy"] == "author":
        texts = "other texts of theirs" if info.get("knows") == "other" else "their texts"
        how = f"authors, {texts} known"
    elif info["lambda"] is not None:
        how = f"lambda = {float(info['lambda']):g}"
    elif info["top"] is None:
        how = "given sets"
    else:
        how = f"{info['strategy']} {info['top']}"
    if info.get("rewrites"):
        how += f", {info['rewrites']} rewrites seen" if info["rewrites"] > 1 else ", one rewrite seen"
    return f"k = {info['k']:,}, {how}, {find_estimator(info['estimator']).title}"


def explain_table(result: AuditResult, columns: Collection[str] = HEADINGS) -> str:
    """Return how to read the numbers and these columns, with the actual error of the bounds."""
    return f"{_explain_number(result)} {explain_columns(result, columns)}"


def _explain_number(result: AuditResult) -> str:
    """Return what eps_emp and its ceiling are, and the error of all bounds together."""
    several = " (of all rewrites that are seen, together)" if any(f.rewrites > 1 for f in result) else ""
    return (
        f"eps_emp is a lower bound on the true epsilon between two texts{several}: the larger of what all "
        f"guesses and what the most certain ones prove. {explain_error(result)} The ceiling is what eps_emp "
        "would be had every guess been right; no attack proves privacy."
    )


def explain_columns(result: AuditResult, columns: Collection[str] = HEADINGS) -> str:
    """Return what further columns of the tables mean, and when a claim is violated."""
    remarks = "".join(f"{text} " for name, text in _explain_columns(result) if name in columns)
    return (
        f"{remarks}A claim is violated if an adjusted p, which counts all tests and looks of the run, is at "
        "most the run's error."
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
        yield "right / trials", _SUREST
    if any(map(_format_attainable, findings)):
        yield (
            "attainable",
            (
                "Attainable: the mean posterior of the likeliest source, the success that no attack can be "
                "expected to exceed on these trials, one without a likelihood, such as a failed rewrite, "
                "counted as right; in brackets, the share of its advantage over chance that the attack took, "
                "its strength."
            ),
        )
    if any(finding.refuted for finding in findings):
        yield "attainable", "Refuted: the guesses do not fit the likelihoods that it would follow from."
    if any(finding.measures.median_rank is not None for finding in findings):
        yield (
            "median rank",
            (
                "Median rank: the place of the source among its candidates by score, in half of the trials "
                "that or better; 1 is the first, and blind guessing stands in the middle."
            ),
        )
    if any(_find_gaussian(finding) is not None for finding in findings):
        yield (
            "if Gaussian",
            (
                "If Gaussian: the epsilon that the success stands for under the assumption of Gaussian noise "
                "(GDP), for a row that was named beforehand; no bound otherwise, and in no verdict."
            ),
        )


# --- The table that a reader sees first: a row for each mechanism and epsilon.

_STRONGEST = (
    Column("mechanism", "label", 0), Column("verdict", rank=0), Column("epsilon", "figures", 0),
    Column("eps_emp", "bound", 0), Column("ceiling", "bound", 2), Column("strongest attack", "label"),
    Column("right / guesses", "figures", 1), Column("plan", "label", 3),
    *(Column(adversary.name, "bound", 1) for adversary in ADVERSARIES), Column("claim", rank=2),
)  # fmt: skip


def tell_strongest(result: AuditResult) -> Section:
    """Return the strongest attack on the text for each mechanism and epsilon, and the verdict on its claim.

    Everybody who knows as much has a column, unless nobody knows more or less: whoever knows less, or has
    only the text, cannot do what they do.
    """
    several = len({finding.plan_base for finding in result}) > 1
    verdicts = {(finding.label, finding.epsilon): finding.verdict for finding in result}
    verdicts |= {(claim.witness.label, claim.witness.epsilon): claim.verdict for claim in result.claims}
    claims = {(finding.label, finding.epsilon): finding.claim for finding in result}
    rows: dict[tuple[str, Nominal], tuple[Cell, ...]] = {}
    alike = len({find_adversary(finding) for finding in result}) == 1
    for label in dict.fromkeys(finding.label for finding in result):
        of_text = find_best(result, label, lambda finding: not finding.sees_draw)
        by_level = [{} if alike else find_best(result, label, one.has) for one in ADVERSARIES]
        for epsilon in sorted({*of_text, *(epsilon for best in by_level for epsilon in best)}):
            claim = claims[label, epsilon]
            bounds = [None if (found := best.get(epsilon)) is None else found.eps_emp for best in by_level]
            rows[label, epsilon] = (
                label, verdicts[label, epsilon].name, epsilon.label,
                *_list_strongest(of_text.get(epsilon), several=several, tried=epsilon in of_text),
                *bounds, "" if claim is None else str(claim),
            )  # fmt: skip
    marked = frozenset(number for number, key in enumerate(rows) if verdicts[key].is_violation)
    table = Table(_STRONGEST, tuple(rows.values()), marked).leave_empty_out()
    reading = _explain_strongest(result, table.headings)
    return Section("Strongest attack and verdict", table, reading)


def _list_strongest(best: Finding | None, *, several: bool, tried: bool) -> tuple[Cell, ...]:
    """Return eps_emp, ceiling, attack, counts and plan; nothing but a word if no guess counts."""
    if best is None:
        return None, None, "", "nothing to conclude" if tried else "", ""
    bound = best.bound
    counted = f"{bound.correct:,} / {bound.guesses:,}{_format_surest(best)}"
    return bound.lower, bound.ceiling, best.attack, counted, best.plan if several else ""


def _explain_strongest(result: AuditResult, shown: Collection[str]) -> str:
    """Return what a row is, and what its columns mean."""
    over = ", over all plans" if "plan" in shown else ""
    told = [
        f"A row has the attack with the largest eps_emp at that epsilon that sees the text alone{over}.",
        "The verdict is on the claim, by all attacks and plans together.",
        _explain_number(result),
    ]
    if any(finding.surest for finding in result):
        told.append(_SUREST)
    named = [adversary for adversary in ADVERSARIES if adversary.name in shown]
    if named:
        meanings = "; ".join(f"{adversary.name}, {adversary.knows}" for adversary in named)
        told.append(f"The largest eps_emp of everybody who knows as much: {meanings}.")
    return " ".join(told)


def tell_post_processing(result: AuditResult) -> tuple[Section, ...]:
    """Return how much of a latent its decoder hides; nothing if no latent was attacked."""
    figures = ("internal", "external", "effect")
    rows = tuple(
        (row["plan"], row["mechanism"], Nominal.of(row["epsilon"]).label, *(row[key] for key in figures))
        for row in post_processing(result)
    )
    columns = (
        Column("plan", "label"), Column("mechanism", "label", 0), Column("epsilon", "figures", 0),
        *(Column(name, "bound", 0) for name in figures),
    )  # fmt: skip
    title = "Post-processing effect: eps_emp on the latent less that on the text"
    return (Section(title, Table(columns, rows)),) if rows else ()


def tell_claims(result: AuditResult) -> tuple[Section, ...]:
    """Return what was decided on each claim by all its tests together, and why; nothing without a claim."""
    columns = (
        Column("mechanism", "label", 0), Column("verdict", rank=0), Column("epsilon", "figures", 0),
        Column("claim"), Column("tests", "figures", 2), Column("why", rank=3),
    )  # fmt: skip
    rows = tuple(
        (
            claim.witness.label, claim.verdict.name, claim.witness.epsilon.label, str(claim.witness.claim),
            f"{claim.tests}{f' + {claim.pairs} pairs' if claim.pairs else ''}", claim.verdict.reason,
        )
        for claim in result.claims
    )  # fmt: skip
    marked = frozenset(n for n, claim in enumerate(result.claims) if claim.verdict.is_violation)
    title = "Claims: one verdict each, by all attacks and plans together"
    return (Section(title, Table(columns, rows, marked)),) if rows else ()


def tell_models(models: Sequence[Mapping[str, str]]) -> tuple[Section, ...]:
    """Return which checkpoints the numbers come from; nothing if no model is behind them."""
    names = {"used by": "used_by", "model": "model", "checksum": "checksum", "of": "part"}
    columns = tuple(Column(name, "label") for name in names)
    rows = tuple(tuple(model[key] for key in names.values()) for model in models)
    return (Section("Models", Table(columns, rows)),) if rows else ()


# --- For papers and the pages of CI: a row per mechanism and epsilon, and a column per attack.

TEDA = "TeDA bound"


def tell_bounds(result: AuditResult, *, teda: bool = False) -> tuple[Section, ...]:
    """Return eps_emp by attack, a section per plan, with TeDA bounds beside it if they are asked for.

    The sentences say what the numbers are, so that a table does not lie when it is copied without its text.
    A claim is refuted if anything in the run refutes it.
    """
    return tuple(_tell_bounds(result, plan, teda=teda) for plan in plans(result))


def _tell_bounds(result: AuditResult, plan: str, *, teda: bool) -> Section:
    findings = [finding for finding in result if finding.plan == plan]
    attacks = tuple(dict.fromkeys(finding.attack for finding in findings))
    found = {(one.label, one.epsilon, one.attack): one for one in findings if not one.unfit}
    refuted = {(c.witness.label, c.witness.epsilon) for c in result.claims if c.verdict.is_violation}
    rows = []
    for output in dict.fromkeys((finding.label, finding.epsilon) for finding in findings):
        claim = next((str(f.claim) for f in findings if (f.label, f.epsilon) == output and f.claim), "none")
        bounds = [
            bound for attack in attacks for bound in _list_bounds(found.get((*output, attack)), teda=teda)
        ]
        shown = Marked(claim, "violated") if output in refuted else claim
        rows.append((output[0], output[1].label, shown, *map(_mark_bound, bounds)))
    columns = (
        Column("mechanism", "label", 0), Column("epsilon", "figures", 0), Column("claim"),
        *(Column(name, "bound", 0) for attack in attacks for name in _name_bounds(attack, teda=teda)),
    )  # fmt: skip
    legend: dict[Mark, str] = {
        "ceiling": "At the ceiling: the most that so many trials can show.",
        "violated": (
            f"Refuted by this run, with an error of {result.alpha / 2:g} for all rows and looks together."
        ),
    }
    return Section(
        f"Lower bounds on epsilon by attack (eps_emp), {result.name}, plan {plan}",
        Table(columns, tuple(rows), legend=legend),
        sentences=tuple(_explain_bounds(result, list(found.values()), teda=teda)),
    )


def _name_bounds(attack: str, *, teda: bool) -> tuple[str, ...]:
    return (attack, f"{attack}, {TEDA}") if teda else (attack,)


def _list_bounds(finding: Finding | None, *, teda: bool) -> tuple[Bound | None, ...]:
    """Return the bounds of a cell; none if the attack was not tried, or nothing may be concluded from it."""
    if finding is None:
        return (None, None) if teda else (None,)
    return (finding.bound, finding.teda) if teda else (finding.bound,)


def _mark_bound(bound: Bound | None) -> Cell:
    if bound is None:
        return None
    return Marked(bound.lower, "ceiling") if bound.is_at_ceiling else bound.lower


def _explain_bounds(result: AuditResult, findings: Sequence[Finding], *, teda: bool) -> Iterator[str]:
    """Yield what has to be known to read the bounds of a table."""
    bounds = [bound for finding in findings for bound in _list_bounds(finding, teda=teda) if bound]
    if not bounds:
        return
    yield f"{explain_error(result)} A low one does not prove privacy."
    if teda:
        errors = _join_numbers(finding.teda.error for finding in findings)
        yield (
            f"{TEDA}: of all guesses, as in the TeDA paper, wrong with probability at most {errors} "
            "for each row, and not for the largest of several."
        )
    trials = _join_numbers((bound.trials for bound in bounds), ",")
    yield f"{trials} trials with {_join_numbers((b.candidates for b in bounds), ',')} candidates."
    yield f"Ceiling of eps_emp: {_join_numbers((finding.bound.ceiling for finding in findings), '.2f')}."
    if any(bound.delta for bound in bounds):
        yield f"Delta: {_join_numbers(bound.delta for bound in bounds)}."
    looked = [bound.any_time for bound in bounds]
    if any(looked):
        yield (
            f"{'All' if all(looked) else 'Some'} bounds are of the kind that holds at every look: the run is "
            "not finished, or was extended after its results had been seen."
        )


def _join_numbers(numbers: Iterable[float], mark: str = "g") -> str:
    """Return the distinct numbers in order: all of a few, otherwise the range."""
    shown = list(dict.fromkeys(f"{number:{mark}}" for number in sorted(set(numbers))))
    return " or ".join(shown) if len(shown) <= 3 else f"{shown[0]} to {shown[-1]}"
