"""Tells a forecast: what an audit would take, and what it could show."""

from tedaudit.results.section import Cell, Column, Section, Table
from tedaudit.studies.forecast.forecast import Forecast
from tedaudit.studies.forecast.prospects import Prospect
from tedaudit.studies.forecast.work import Rewriting

_WORK = (
    Column("mechanism", "label", 0), Column("rewrites", "count", 0), Column("by attacks", "count"),
    Column("guesses", "count"), Column("likelihoods", "count"),
)  # fmt: skip


def describe_forecast(forecast: Forecast) -> list[Section]:
    """Return the work and the prospects of an audit as tables with remarks."""
    return [_describe_work(forecast), _describe_prospects(forecast)]


def _describe_work(forecast: Forecast) -> Section:
    """Return what is left to do."""
    rows = tuple(_format_work(forecast, part) for part in forecast.work.rewriting)
    title, told = f"To do in {forecast.spec.folder}", tuple(_tell_more(forecast))
    return Section(title, Table(_WORK, rows), _explain_rows(forecast), told)


def _format_work(forecast: Forecast, part: Rewriting) -> tuple[Cell, ...]:
    guessing = forecast.work.of(part.label)
    return (
        part.label, part.audited + part.repeats, part.by_attacks, sum(guess.rows for guess in guessing),
        sum(guess.likelihoods for guess in guessing),
    )  # fmt: skip


def _explain_rows(forecast: Forecast) -> str:
    encoded = forecast.work.encoded
    told = (
        "What is stored already is not counted. By attacks: rewrites that attacks ask for or make, beside "
        "the audited ones. Guesses and likelihoods are upper limits: most attacks are not given failed "
        "rewrites."
    )
    return told + (f" Encoders read up to {encoded:,} texts." if encoded else "")


def _tell_more(forecast: Forecast) -> list[str]:
    worst = [
        f"--worst adds up to {part.rewrites:,} rewrites and {part.guesses:,} guesses on {part.label}."
        for part in forecast.worst
    ]
    return [forecast.calls, *worst] if forecast.calls else worst


def _describe_prospects(forecast: Forecast) -> Section:
    """Return what the trials could show."""
    prospects, goals = forecast.prospects, forecast.goals
    has_plans = len({prospect.plan for prospect in prospects}) > 1
    reach = (
        "whether guesses that are all right would refute the claim, at the error that the "
        f"{forecast.rows:,} rows of this run share; never: in no number of trials that can be run."
    )
    found = (
        "an attack that is right so often is told from the claim (without one: from chance) with probability "
        "0.8; one that is right less often is not found, whatever the mechanism's epsilon."
    )
    columns = [
        Column("mechanism", "label", 0), Column("epsilon", "figures", 0),
        *([Column("plan")] if has_plans else []),
        Column("claim", "figures", meaning="epsilon of a whole text, and its delta."),
        Column("in reach", rank=0, meaning=reach), Column("ceiling", "bound", 0, "the largest eps_emp."),
        Column("TeDA bound", "bound", 3, "the largest one of the paper."),
        Column("found from", "figures", meaning=found),
    ]  # fmt: skip
    if goals.ceiling is not None:
        columns.append(Column(f"trials for {goals.ceiling:g}", "figures", 0))
    if goals.success is not None:
        columns.append(Column(f"for {goals.success:g} right", "figures", 0))
    rows = tuple(_format_prospect(forecast, prospect, has_plans=has_plans) for prospect in prospects)
    title = f"What {forecast.spec.trials:,} trials can show"
    return Section(title, Table(tuple(columns), rows), sentences=tuple(_tell_goals(forecast)))


def _format_prospect(forecast: Forecast, prospect: Prospect, *, has_plans: bool) -> tuple[Cell, ...]:
    goals = forecast.goals
    cells: list[Cell] = [prospect.label, prospect.epsilon.label, *([prospect.plan] if has_plans else [])]
    cells += [_format_claim(prospect), _format_reach(prospect)]
    cells += [prospect.ceiling, prospect.teda_ceiling]
    cells.append("" if prospect.detectable is None else f"{prospect.detectable:.3f}")
    if goals.ceiling is not None:
        cells.append(f"{_count(prospect.trials_for_ceiling)} / {_count(prospect.trials_for_teda_ceiling)}")
    if goals.success is not None:
        cells.append(_count(prospect.trials_for_success))
    return tuple(cells)


def _format_claim(prospect: Prospect) -> str:
    claim = prospect.claim
    if claim is None or prospect.in_reach is None:
        return "none" if claim is None else "no total"
    return f"{claim.total:g}" + (f", {claim.total_delta:.1g}" if claim.total_delta else "")


def _format_reach(prospect: Prospect) -> str:
    if prospect.in_reach is None:
        return ""
    if prospect.in_reach:
        return "yes"
    needed = prospect.trials_needed
    return "never" if needed is None else f"from {needed:,} trials"


def _tell_goals(forecast: Forecast) -> list[str]:
    """Return which look it would be, and what the trials for a goal are."""
    goals, told = forecast.goals, list[str]()
    if forecast.look > 1:
        told.append(f"It would be look {forecast.look} at this run, which has less error than the first.")
    if goals.ceiling is not None:
        told.append(
            f"Trials for {goals.ceiling:g}: of a new run whose ceiling is above it / whose TeDA bound can be."
        )
    if goals.success is not None:
        told.append(f"For {goals.success:g} right: trials of a new run in which such an attack is found.")
    return told + _tell_limit(forecast.limit)


def _tell_limit(limit: tuple[float, int, int] | None) -> list[str]:
    if limit is None:
        return []
    above, near, rows = limit
    return [f"--fail-above {above:g} is in reach of {near:,} of {rows:,} rows."]


def _count(number: int | None) -> str:
    return "never" if number is None else f"{number:,}"
