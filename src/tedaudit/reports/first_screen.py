"""The few sentences below the first table: what a number is, how far it can be trusted, what was found most.

Each is printed only where it is true: for a run without a zero nothing is said of zeros.
"""

from collections.abc import Sequence

from tedaudit.nominal import Nominal
from tedaudit.reports.headline import sees_draw
from tedaudit.reports.pivot import CEILING, NOTHING, REFUTED, ZERO, Cell, Pivot
from tedaudit.reports.summary import describe_claims, explain_error
from tedaudit.results.findings import AuditResult, Finding

_NONE_CAN = "which does not show that none can"


def describe_screen(result: AuditResult, pivots: Sequence[Pivot]) -> list[str]:
    """Return what the tables of a first screen show, and how to read them."""
    cells = [cell for pivot in pivots for cell in pivot.cells.values()]
    found = [cell.finding for cell in cells if cell.finding is not None]
    told = [_describe_most(found)] if found else []
    told += describe_claims(result)
    told += [_explain_numbers(result, found)] if any(finding.leaks for finding in found) else []
    return [*told, *_explain_marks(cells, found)]


def explain_losses(pivot: Pivot) -> str:
    """Return how to read losses: an average over pairs, and no bound."""
    epsilons = " (inf: some output shows its source for sure)" if _has(pivot, "inf") else ""
    refuted = ""
    if _has(pivot, REFUTED):
        refuted = " Refuted: guesses do not fit the mechanism's own probabilities; the notes tell more."
    return (
        "The loss is what an adversary that knows the mechanism learns from what was drawn: an estimate of "
        f"epsilon on average over these pairs of texts{epsilons}. It has no ceiling; single pairs may lose "
        f"more, and an adversary that has only the text may learn less.{refuted}"
    )


def _has(pivot: Pivot, value: str) -> bool:
    return any(cell.value == value for cell in pivot.cells.values())


def _describe_most(found: Sequence[Finding]) -> str:
    """Return where most was found: on the text, or, if nothing was, on what was drawn."""
    of_text = [finding for finding in found if not sees_draw(finding)]
    of_draw = [finding for finding in found if sees_draw(finding)]
    if not any(finding.leaks for finding in found):
        return f"No attack did provably better than guessing, {_NONE_CAN}."
    leaking = [finding for finding in of_text if finding.leaks]
    if leaking:
        return f"Attacks on the text found most for {_describe_strongest(leaking)}."
    without = f"No attack on the text did provably better than guessing, {_NONE_CAN}. " if of_text else ""
    most = _describe_strongest([finding for finding in of_draw if finding.leaks])
    return f"{without}Whoever sees what was drawn, tokens or latent, finds most for {most}."


def _describe_strongest(leaking: Sequence[Finding]) -> str:
    """Return the setting of the largest bound with its counts, and how many others have the same bound."""
    most = max(leaking, key=lambda finding: finding.order)
    shown = round(most.eps_emp, 2)  # as the table shows them
    others = sum(round(finding.eps_emp, 2) >= shown for finding in leaking) - 1
    at = f" at {most.epsilon.phrase}" if most.epsilon.is_given else ""
    blind = f"blind guessing: 1 in {most.bound.candidates:,}"
    settings = "setting has" if others == 1 else "settings have"
    also = f"; {others} other {settings} the same bound" if others else ""
    return f"{most.label}{at} ({most.attack}: {most.evidence}; {blind}{also})"


def _explain_numbers(result: AuditResult, found: Sequence[Finding]) -> str:
    """Return what eps_emp is, at which delta, and the error of all numbers together."""
    deltas = sorted({finding.bound.delta for finding in found if finding.bound.delta > 0})
    at_delta = ""
    if deltas:
        ends = f"{deltas[0]:.2g}" if len(deltas) == 1 else f"{deltas[0]:.2g} to {deltas[-1]:.2g}"
        zero = all(finding.bound.delta > 0 for finding in found)
        at_delta = f" It is at delta {ends}{'' if zero else ' where the claim has one, otherwise at 0'}."
    plans = len({finding.plan_base for finding in result})
    over = f" A number is the largest over {plans} plans." if plans > 1 else ""
    return (
        "eps_emp is a lower bound: between some two texts, some outputs are at least e^eps_emp times "
        f"likelier from one text than from the other.{at_delta}{over} {explain_error(result)}"
    )


def _explain_marks(cells: Sequence[Cell], found: Sequence[Finding]) -> list[str]:
    """Return what the marks in the tables mean, of those that are there."""
    told = []
    bounds = [finding.bound for finding in found if finding.leaks]
    ceilings = sorted({round(bound.ceiling, 2) for bound in bounds if bound.is_at_ceiling})
    if ceilings:
        ends = f"{ceilings[0]:.2f}" + (f" to {ceilings[-1]:.2f}" if len(ceilings) > 1 else "")
        told.append(
            f"{CEILING} is the ceiling ({ends}), the most that so many trials and candidates can show: the "
            "true value may be far larger."
        )
    if any(cell.value == ZERO for cell in cells) and any(finding.leaks for finding in found):
        told.append(f"{ZERO}: no attack here did provably better than guessing, {_NONE_CAN}.")
    if any(cell.value == NOTHING for cell in cells):
        told.append(
            f"{NOTHING}: nothing can be concluded, since most rewrites failed or the notes say why not."
        )
    return [" ".join(told)] if told else []


def mention_no_epsilon(pivots: Sequence[Pivot]) -> str:
    """Return what the column of mechanisms without an epsilon means; empty if there is none."""
    without = [e for pivot in pivots for e in pivot.epsilons if not e.is_given]
    return f"{Nominal(without[0]).label}: the mechanism takes no epsilon." if without else ""
