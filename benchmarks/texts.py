"""Read out of runs what published texts give away, and write docs/results/text.md.

    python benchmarks/texts.py read runs/text/* > texts.json
    python benchmarks/texts.py page texts.json       # the tables of docs/results/text.md
    python benchmarks/texts.py latex texts.json      # the same for a paper

The best of the attacks that do not know the mechanism's model is chosen on every other trial, and success is
counted on the rest, for all alike. The share of the gap that reading closes is (p_text - p_best) / (p_draw -
p_best) there, with a bootstrap interval over trials; none where the draw is named less than .05 more often.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tedaudit.api import load_run
from tedaudit.estimators.intervals import clopper_pearson
from tedaudit.estimators.loss import DELTAS
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.results.losses import read_losses

_OTHERS = ("lexical", "embedding", "resample", "trained")
_TEXT, _DRAW = "text-likelihood", "likelihood"
_GAP = 0.05  # between draw and best attack, below which no share is told
_REDRAWS = 2000


def main() -> None:
    """Do what the first word says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("read", "page", "latex"))
    parser.add_argument("files", type=Path, nargs="+")
    given = parser.parse_args()
    if given.what == "read":
        json.dump([row for folder in given.files for row in _read(folder)], sys.stdout, indent=1)
        return
    rows = [row for path in given.files for row in json.loads(path.read_text())]
    print(_write(rows) if given.what == "page" else _write_latex(rows))


def _read(folder: Path) -> list[dict[str, Any]]:
    """Return every setting of a run: who was right how often, and what texts and draws lose."""
    result = load_run(folder)
    losses = {row.finding.setting: row for row in read_losses(result)}
    corpus, rows = result.run.manifest()["corpus"]["name"], []
    for setting in dict.fromkeys(finding.setting for finding in result):
        right = {f.attack: _list_right(result, f) for f in result if f.setting == setting}
        row = {"corpus": corpus, "plan": setting[0], "mechanism": setting[1], "epsilon": setting[2].json}
        row |= _count(right)
        row["ranks"] = {f.attack: f.measures.median_rank for f in result if f.setting == setting}
        row["candidates"] = next(f.bound.candidates for f in result if f.setting == setting)
        loss = losses.get(setting)
        if loss is not None:
            row["draw"] = None if loss.refuted else _list_epsilon(loss.epsilons[0])
            if loss.text is not None:
                row["text"] = None if loss.text.refuted else _list_epsilon(loss.text.epsilon_at[0])
                row |= {"exact": loss.text.exact, "width": loss.text.width, "resolved": loss.text.resolved}
            row["refuted"] = [loss.refuted, "" if loss.text is None else loss.text.refuted]
        rows.append(row)
    return rows


def _list_right(result: AuditResult, finding: Finding) -> np.ndarray:
    choice = result.guesses(finding).choices().choice
    return np.asarray(choice == result.run.read_plan(finding.plan).secret[: len(choice)])


def _list_epsilon(at: Any) -> list[float]:
    return [at.point, at.lower, at.upper]


def _count(right: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return right guesses of every attack, and the share of the gap that reading closes."""
    told: dict[str, Any] = {"right": {attack: int(found.sum()) for attack, found in right.items()}}
    told["trials"] = min(map(len, right.values()))
    others = [attack for attack in _OTHERS if attack in right]
    if not others or _TEXT not in right or _DRAW not in right:
        return told
    best = max(others, key=lambda attack: right[attack][::2].sum())
    three = np.array([right[attack][1::2] for attack in (best, _TEXT, _DRAW)], dtype=np.float64)
    told["best"], told["rates"] = best, three.mean(axis=1).tolist()
    if told["rates"][2] - told["rates"][0] >= _GAP:
        generator = np.random.default_rng(0)
        picks = generator.integers(0, three.shape[1], (_REDRAWS, three.shape[1]))
        low, high = np.nanquantile([_share(three[:, pick].mean(axis=1)) for pick in picks], [0.025, 0.975])
        told["share"] = [_share(three.mean(axis=1)), low, high]
    return told


def _share(rates: np.ndarray) -> float:
    best, text, draw = rates
    return float((text - best) / (draw - best)) if draw > best else float("nan")


def _write(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the tables of the page, a section for each corpus and plan."""
    lines = []
    for corpus, plan in dict.fromkeys((row["corpus"], row["plan"]) for row in rows):
        own = [row for row in rows if (row["corpus"], row["plan"]) == (corpus, plan)]
        of_pairs = own[0]["candidates"] == 2
        lines += ["", f"## {corpus}, {plan}", "", *((_HEADING, _RULE) if of_pairs else (_RANKED, _RANK_RULE))]
        lines += [_format(row) if of_pairs else _format_ranks(row) for row in own]
    return "\n".join(lines)


_HEADING = (
    "| mechanism | epsilon | trials | best attack that does not know the model | text-likelihood | draw seen "
    f"| share of the gap | loss of the text at {DELTAS[0]:g} | loss of the draw at {DELTAS[0]:g} |"
)
_RULE = "|---|---:|---:|---|---|---|---|---|---|"
_RANKED = (
    "| mechanism | epsilon | trials | knows nothing (lexical) | can call it (resample) | knows model "
    "(text-likelihood) | sees draw (likelihood) |"
)
_RANK_RULE = "|---|---:|---:|---|---|---|---|"


def _format_ranks(row: Mapping[str, Any]) -> str:
    """Return how often the source came first, and its median rank, by what an attack knows."""
    cells = [row["mechanism"], f"{row['epsilon']:g}", f"{row['trials']:,}"]
    for attack in ("lexical", "resample", _TEXT, _DRAW):
        first, rank = row["right"].get(attack), row["ranks"].get(attack)
        cells.append("" if first is None else f"first {first / row['trials']:.0%}, median {rank:g}")
    return f"| {' | '.join(cells)} |"


def _format(row: Mapping[str, Any]) -> str:
    cells = [row["mechanism"], f"{row['epsilon']:g}", f"{row['trials']:,}"]
    others = {attack: row["right"][attack] for attack in _OTHERS if attack in row["right"]}
    best = row.get("best") or max(others, key=lambda attack: others[attack])
    cells += [f"{_rate(row, best)} ({best})", _rate(row, _TEXT), _rate(row, _DRAW)]
    cells.append(_interval(row["share"]) if "share" in row else "")
    if row.get("exact", True):
        cells.append(_interval(row.get("text")))
    else:
        _, low, high = row["text"]
        cells.append(f"{low:.3g} to {high:.3g}; {row['resolved']:.0%} within 0.1")
    cells.append(_interval(row.get("draw")))
    return f"| {' | '.join(cells)} |"


def _write_latex(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows of pairs as one table: success of the three, and both losses."""
    lines = [
        r"\begin{tabular}{lllrrrrrr}", r"\toprule",
        r"corpus & $\lambda$ & mechanism & $\varepsilon$ & other & text & draw & loss, text & loss, draw \\",
        r"\midrule",
    ]  # fmt: skip
    for row in rows:
        if row["candidates"] != 2:
            continue
        best = row.get("best") or max(_OTHERS, key=lambda attack: row["right"].get(attack, 0))
        rates = [
            f"{row['right'][attack] / row['trials']:.3f}" if attack in row["right"] else ""
            for attack in (best, _TEXT, _DRAW)
        ]
        losses = [_latex_loss(row, name) for name in ("text", "draw")]
        plan = row["plan"].partition("lambda")[2]
        cells = [row["corpus"], f"${plan}$", row["mechanism"], f"{row['epsilon']:g}", *rates, *losses]
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _latex_loss(row: Mapping[str, Any], name: str) -> str:
    """Return a loss, or the most that it is if the losses of texts are not all known."""
    if row.get(name) is None:
        return ""
    point, _, upper = row[name]
    known = name == "draw" or row.get("exact", True)
    value = point if known else upper
    number = r"\infty" if value == np.inf else f"{value:.3g}"
    return f"${number}$" if known else rf"$\le {number}$"


def _rate(row: Mapping[str, Any], attack: str) -> str:
    """Return the success of an attack with its interval of 95 %."""
    if attack not in row["right"]:
        return ""
    right, trials = row["right"][attack], row["trials"]
    low, high = clopper_pearson(right, trials, 0.05)
    return f"{right / trials:.3f} ({low:.3f} to {high:.3f})"


def _interval(ends: Sequence[float] | None) -> str:
    if ends is None:
        return ""
    point, low, high = ends
    return f"{point:.3g} ({low:.3g} to {high:.3g})"


if __name__ == "__main__":
    main()
