"""Draws the figure of the README from a run: what one mechanism claims and loses, and attacks show.

All lines are at one delta, and each says what it is over: any two texts, the pairs that were drawn, or the
share of outputs that lose more. The file is SVG with two sets of colours, for light and for dark pages.

    python docs/figures/draw_loss.py runs/dp-mlm docs/figures/loss.svg
"""

import math
import sys
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

import tedaudit
from tedaudit.estimators.loss import DELTAS
from tedaudit.results.findings import Finding
from tedaudit.results.losses import LossRow

WIDTH, HEIGHT = 760, 520
LEFT, RIGHT, TOP, BOTTOM = 74, 22, 58, 62
TICKS = (0, 1, 10, 100, 1000)
AT = 1  # the epsilon, by its place, at which numbers are written on the lines
LABELS = {
    "claim": (0, 0, -76), "most": (-1, -1, 162), "draw": (-1, -1, 178), "text": (-1, -1, 199),
    "known": (-1, -1, -12), "shown": (-1, -1, 74),
}  # fmt: skip
"""Where the name of a line stands: beside which point, and how far to the right and down."""
NUMBERS = {
    "claim": (2, -14), "most": (-8, 21), "draw": (8, 24), "text": (12, 12), "known": (-8, -12),
    "shown": (-8, -10),
}  # fmt: skip
STYLE = """
text { font-family: system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 20px; }
text { fill: #1f2328; }
.title { font-size: 22px; font-weight: 600; }
.faint { fill: #59636e; font-size: 18px; }
.grid { stroke: #d1d9e0; stroke-width: 1; }
.draw.band { fill: #0969da; stroke: none; opacity: .16; }
.text.band { fill: #1a7f37; stroke: none; opacity: .16; }
path { fill: none; stroke-width: 3; stroke-linejoin: round; }
.claim { stroke: #59636e; stroke-dasharray: 9 6; } text.claim { fill: #59636e; stroke: none; }
.most { stroke: #8250df; stroke-dasharray: 2 6; stroke-linecap: round; }
text.most { fill: #8250df; stroke: none; }
.draw { stroke: #0969da; } text.draw { fill: #0969da; stroke: none; }
.text { stroke: #1a7f37; } text.text { fill: #1a7f37; stroke: none; }
.known { stroke: #9a6700; } text.known { fill: #9a6700; stroke: none; }
.shown { stroke: #bc4c00; } text.shown { fill: #bc4c00; stroke: none; }
text.name, text.number { font-weight: 600; }
circle.claim { fill: #59636e; } circle.most { fill: #8250df; }
circle.draw { fill: #0969da; } circle.text { fill: #1a7f37; }
circle.known { fill: #9a6700; } circle.shown { fill: #bc4c00; }
circle { stroke: none; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; } .faint { fill: #9198a1; } .grid { stroke: #3d444d; }
  .claim { stroke: #9198a1; } text.claim, circle.claim { fill: #9198a1; }
  .most { stroke: #ab7df8; } text.most, circle.most { fill: #ab7df8; }
  .draw { stroke: #4493f8; } text.draw, circle.draw, .draw.band { fill: #4493f8; }
  .text { stroke: #3fb950; } text.text, circle.text, .text.band { fill: #3fb950; }
  .known { stroke: #d29922; } text.known, circle.known { fill: #d29922; }
  .draw.band, .text.band { opacity: .25; }
  .shown { stroke: #f0883e; } text.shown, circle.shown { fill: #f0883e; }
}
"""


def main(run: Path, target: Path) -> None:
    """Draw the losses of a run with one mechanism and one plan, beside its claim and its attacks."""
    result = tedaudit.load_run(run)
    losses = sorted(tedaudit.read_losses(result), key=lambda row: row.finding.epsilon)
    delta = losses[0].finding.bound.delta
    attacks = [finding for finding in result if not finding.sees_draw]
    target.write_text(draw(losses, attacks, delta), encoding="utf-8")


def draw(losses: Sequence[LossRow], attacks: Sequence[Finding], delta: float) -> str:
    """Return the figure; all that is drawn holds at delta."""
    epsilons = [float(row.finding.epsilon) for row in losses]
    share = f"at least 1 in {1 / delta:g}"
    lost = {"draw": [row.sample.epsilon_at(delta) for row in losses]}
    lines = {
        "claim": (
            "claimed for any two texts",
            [row.finding.claim.total if row.finding.claim else math.inf for row in losses],
        ),
        "most": (
            "most possible for a drawn pair",
            [row.supremum.epsilon(delta) if row.supremum else math.inf for row in losses],
        ),
        "draw": (f"{share} draws loses more", [at.point for at in lost["draw"]]),
    }
    texts = [row.believed_text for row in losses if row.believed_text is not None]
    if len(texts) == len(losses) and delta in DELTAS:
        lost["text"] = [text.epsilon_at[DELTAS.index(delta)] for text in texts]
        lines["text"] = (f"{share} texts loses more", [at.point for at in lost["text"]])
    known = [finding for finding in attacks if finding.knows != "nothing"]
    others = [finding for finding in attacks if finding.knows == "nothing"]
    for kind, words, own in (
        ("known", "shown by attacks, model known", known),
        ("shown", "shown by attacks, model unknown", others),
    ):
        if own:
            best = [max(f.eps_emp for f in own if f.epsilon == row.finding.epsilon) for row in losses]
            lines[kind] = (words, best)
    across = _make_axis(math.log(epsilons[0]), math.log(epsilons[-1]), LEFT + 26, WIDTH - RIGHT - 26)
    top = 2 * max(lines["claim"][1])
    up = _make_axis(0.0, _squeeze(top), HEIGHT - BOTTOM, TOP)

    def place(epsilon: float, value: float) -> tuple[float, float]:
        return across(math.log(epsilon)), up(_squeeze(value))

    finding = losses[0].finding
    unit = finding.claim.unit if finding.claim else "text"
    parts = _draw_axes(epsilons, place, f"epsilon per {unit} that {finding.label.upper()} is set to")
    parts.append(_write(LEFT - 60, 26, f"epsilon of a whole text, at delta {delta:g}", "title"))
    x, bottom = place(epsilons[AT], 0)
    parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom:.1f}"/>')
    for kind, ends in lost.items():
        edge = [place(e, min(at.upper, top)) for e, at in zip(epsilons, ends, strict=True)]
        edge += reversed([place(e, at.lower) for e, at in zip(epsilons, ends, strict=True)])
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in edge)
        parts.append(f'<polygon class="{kind} band" points="{points}"/>')
    for kind, (name, values) in lines.items():
        points = [place(epsilon, value) for epsilon, value in zip(epsilons, values, strict=True)]
        parts.append(f'<path class="{kind}" d="M{" L".join(f"{x:.1f} {y:.1f}" for x, y in points)}"/>')
        parts += [f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>' for x, y in points]
        parts.append(_write_beside(points[AT], NUMBERS[kind], f"{values[AT]:,.3g}", f"{kind} number"))
        beside, *moved = LABELS[kind]
        parts.append(_write_beside(points[beside], moved, name, f"{kind} name"))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
    title = f"{finding.label.upper()}: what a rewritten text gives away"
    described = f"<title>{escape(title)}</title>"
    return "\n".join([head, described, f"<style>{STYLE}</style>", *parts, "</svg>", ""])


def _draw_axes(
    epsilons: Sequence[float], place: Callable[[float, float], tuple[float, float]], name: str
) -> list[str]:
    parts = []
    for value in TICKS:
        y = place(epsilons[0], value)[1]
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_write(LEFT - 10, y + 6, f"{value:,}", "faint", "end"))
    below = HEIGHT - BOTTOM + 26
    parts += [_write(place(value, 0)[0], below, f"{value:g}", "faint", "middle") for value in epsilons]
    return [*parts, _write((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, name, "faint", "middle")]


def _squeeze(value: float) -> float:
    """Return where a value lies: in proportion near 0, then by its logarithm."""
    return math.asinh(value)


def _make_axis(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    return lambda value: start + (value - low) / (high - low) * (end - start)


def _write_beside(point: tuple[float, float], moved: Sequence[float], words: str, kind: str) -> str:
    return _write(point[0] + moved[0], point[1] + moved[1], words, kind, "end" if moved[0] < 0 else "start")


def _write(x: float, y: float, words: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
