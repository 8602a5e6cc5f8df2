"""Read losses out of runs, hold every attack against them, and write docs/results/loss.md.

    python benchmarks/losses.py read runs/loss/* > losses.json
    python benchmarks/losses.py page losses.json > docs/results/loss.md

Same plan, same observed part, d in .05, .01 and .001: the reduced form of an attack, computed at d, must not
be above the upper end of eps_avg(d). All rows of all runs share an error of .01, and the likelihoods must
pass the check that the contract suite uses. A row that breaks this ends the command with an error.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tedaudit.api import load_run
from tedaudit.estimators import reduced_form
from tedaudit.estimators.likelihood_check import calibration_p
from tedaudit.estimators.loss import DELTAS, LossSample
from tedaudit.results.losses import LossRow, read_losses
from tedaudit.results.telling_losses import read_parts
from tedaudit.seeding import derive

ERROR = 0.01  # of everything that is held against each other, in all runs together
_TESTS = 4000  # at least as many comparisons as are ever made here; they share the error
_CHECK = 1e-4  # a right likelihood is refused with this probability, per row


def main() -> None:
    """Do what the first word says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("read", "page"))
    parser.add_argument("files", type=Path, nargs="+")
    given = parser.parse_args()
    if given.what == "read":
        json.dump([row for folder in given.files for row in _read(folder)], sys.stdout, indent=1)
        return
    rows = [row for path in given.files for row in json.loads(path.read_text())]
    print(_write(rows))
    broken = [words for row in rows for words in row["broken"]]
    if broken:
        sys.exit("\n".join(broken))


def _read(folder: Path) -> list[dict[str, Any]]:
    """Return the losses of a run with what was held against them."""
    result = load_run(folder)
    losses = read_losses(result)
    parts = {part.row.finding.setting: part for part in read_parts(result, losses)}
    rows = []
    for row in losses:
        finding = row.finding
        attacks, broken = {}, []
        for other in result:
            if other.setting != finding.setting or other.unfit:
                continue
            attacks[other.attack] = {"right": other.bound.correct, "lower": other.teda.lower}
            broken += _hold(row, other.attack, other.bound.correct, other.bound.trials)
        p = calibration_p(
            row.sample.losses, row.sample.losses > 0, derive(0, "losses", *map(str, finding.setting))
        )
        if p <= _CHECK:
            broken.append(f"{finding.label} at {finding.epsilon.label}: likelihoods do not fit, p = {p:.2g}")
        told = parts.get(finding.setting)
        rows.append(
            {
                "run": folder.name, "corpus": result.run.manifest()["corpus"]["name"], **row.to_dict(),
                "slack_told": "" if row.slack is None else str(row.slack), "refuted": row.refuted,
                "attacks": attacks, "fit": p, "broken": broken,
                "parts": None if told is None else told.to_dict(),
            }
        )  # fmt: skip
    return rows


def _hold(row: LossRow, attack: str, right: int, trials: int) -> list[str]:
    """Return where an attack is above what the losses allow."""
    share = ERROR / _TESTS  # half for the attack's bound, half for the end of the loss
    sample = LossSample(row.sample.losses, share / 2, row.sample.unknown)
    found = []
    for delta in DELTAS:
        bound, upper = reduced_form(right, trials, 2, share, delta).lower, sample.epsilon_upper(delta)
        if bound > upper:
            where = f"{row.finding.label} at {row.finding.epsilon.label}, delta {delta:g}"
            found.append(f"{where}: {attack} shows {bound:.2f}, above {upper:.2f}")
    return found


def _write(rows: list[dict[str, Any]]) -> str:
    lines = []
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        lines += [f"\n## {corpus}\n", _HEADING, _RULE]
        for row in (row for row in rows if row["corpus"] == corpus):
            at = {found["delta"]: found for found in row["epsilon_at"]}
            text = max((a["lower"] for name, a in row["attacks"].items() if name in _ON_TEXT), default=None)
            figures = ["refuted"] * (len(DELTAS) + 2)
            if not row["refuted"]:
                ends = [_ends(at[delta], row["trials"]) for delta in DELTAS]
                figures = [row["slack_told"], *ends, _supremum(row)]
            cells = [
                row["mechanism"], f"{row['epsilon']:g}", _claim(row), *figures,
                _show(row["attacks"].get("likelihood", {}).get("lower")), _show(text),
            ]  # fmt: skip
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, *_write_classes(rows), *_write_steps(rows), "", _write_checks(rows)])


def _write_classes(rows: list[dict[str, Any]]) -> list[str]:
    """Return the loss of a slot by the class of the word that stood there."""
    known = [row for row in rows if row["parts"] and row["parts"]["classes"]]
    names = list(dict.fromkeys(part["name"] for row in known for part in row["parts"]["classes"]))
    lines = ["\n## Which words carry the loss\n", f"| corpus | mechanism | epsilon | {' | '.join(names)} |"]
    lines.append("|---|---|" + "---:|" * (1 + len(names)))
    for row in known:
        parts = {part["name"]: part for part in row["parts"]["classes"]}
        cells = [_part(parts.get(name)) for name in names]
        lines.append(f"| {row['corpus']} | {row['mechanism']} | {row['epsilon']:g} | {' | '.join(cells)} |")
    return lines


def _part(part: dict[str, Any] | None) -> str:
    if part is None:
        return ""
    return f"{part['mean']:.3g}" + ("" if part["share"] is None else f" ({part['share']:.0%})")


def _write_steps(rows: list[dict[str, Any]]) -> list[str]:
    """Return the mean loss of some steps of mechanisms that draw tokens one after the other.

    Where outputs are impossible for the other text, the mean would be of the few that are not: left out.
    """
    known = [
        row
        for row in rows
        if row["parts"] and not row["parts"]["classes"] and row["claim"]["unit"] == "token"
        and not row["impossible"] and not row["refuted"]
    ]  # fmt: skip
    lines = [
        "\n## Which steps carry the loss\n",
        f"| corpus | mechanism | epsilon | {' | '.join(map(str, _STEPS))} |",
    ]
    lines.append("|---|---|" + "---:|" * (1 + len(_STEPS)))
    for row in known:
        steps = row["parts"]["steps"]
        cells = [f"{steps[step - 1]:.3g}" if step <= len(steps) else "" for step in _STEPS]
        lines.append(f"| {row['corpus']} | {row['mechanism']} | {row['epsilon']:g} | {' | '.join(cells)} |")
    return lines


def _write_checks(rows: list[dict[str, Any]]) -> str:
    """Return what was held against the losses."""
    held = sum(len(row["attacks"]) for row in rows) * len(DELTAS)
    fits = [row["fit"] for row in rows if row["fit"] is not None]
    broken = sum(len(row["broken"]) for row in rows)
    return (
        f"{held:,} comparisons of an attack at a delta with the upper end of the loss, {broken} of them "
        f"broken; smallest p of {len(fits)} checks of likelihoods: {min(fits):.2g}."
    )


_STEPS = (1, 2, 4, 8, 16, 32)
_ON_TEXT = ("embedding", "lexical")
_COLUMNS = (
    "mechanism", "epsilon", "claim in all", "slack", "eps at .05", "eps at .01", "eps at .001",
    "most possible", "TeDA bound, tokens or latent", "TeDA bound, text",
)  # fmt: skip
_HEADING = "| " + " | ".join(_COLUMNS) + " |"
_RULE = "|---|" + "---:|" * (len(_COLUMNS) - 1)


def _claim(row: dict[str, Any]) -> str:
    claim = row["claim"]
    if claim is None:
        return "none"
    return "no maximum" if claim["total"] is None else _show(claim["total"])


def _supremum(row: dict[str, Any]) -> str:
    found = row["supremum"]
    if found is None:
        return "unknown"
    if found["mu"]:
        return f"mu = {found['mu']:.3g}"
    return "infinite" if found["largest"] is None else _show(found["largest"])


def _ends(at: dict[str, Any], trials: int) -> str:
    """Return the epsilon at a delta with its ends; few trials have no upper one."""
    if at["lower"] is None:
        return "infinite"
    point, lower = _show(at["point"]) or "infinite", _show(at["lower"])
    upper = _show(at["upper"]) or ("infinite" if trials >= at["trials_for_upper"] else "unknown")
    return f"{point} ({lower} to {upper})"


def _show(value: float | None) -> str:
    if value is None or not np.isfinite(value):
        return "infinite" if value is not None else ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    main()
