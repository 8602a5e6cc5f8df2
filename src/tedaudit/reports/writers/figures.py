"""What all figures for a paper share: panels, axes, labels in any script, and files without time stamps."""

import importlib.util
import io
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.files import make_folders, write_atomically
from tedaudit.text.characters import RIGHT_TO_LEFT, is_right_to_left

STYLES = (
    ("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"), ("#E69F00", "v"),
    ("#56B4E9", "P"), ("#000000", "X"), ("#882255", "*"),
)  # fmt: skip
"""Okabe and Ito's colours, distinguishable with any colour vision, and shapes for print in grey."""
GREY = "#666666"
_ALIKE = 0.01  # how far ceilings may lie apart that are one
FONTS = {"pdf.fonttype": 42, "font.size": 9}
_METADATA: dict[str, dict[str, Any]] = {"pdf": {"CreationDate": None}, "png": {"Software": None}}


def figures_missing() -> str:
    """Return how to get figures if they cannot be drawn, otherwise an empty string."""
    if importlib.util.find_spec("matplotlib") is not None:
        return ""
    return "No figures were drawn: matplotlib is not installed. pip install 'tedaudit[reports]'"


@contextmanager
def draw_panels(
    count: int,
    panel: tuple[float, float],
    margin: tuple[float, float] = (0.0, 0.0),
    *,
    across: int = 0,
    share: bool = False,
) -> Iterator[tuple[Any, list[Any]]]:
    """Yield a figure with so many panels of one size in inches, `across` beside each other or all of them.

    `share` gives all of them one vertical axis.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    columns = min(across or count, count)
    rows = math.ceil(count / columns)
    with rc_context(FONTS):
        size = (margin[0] + panel[0] * columns, margin[1] + panel[1] * rows)
        drawn = Figure(figsize=size, layout="constrained")
        panels = drawn.subplots(rows, columns, sharey=share, squeeze=False).ravel()
        for spare in panels[count:]:
            spare.remove()
        yield drawn, list(panels[:count])


def finish_panel(axes: Any, title: str) -> None:
    """Name a panel, and draw lines that help to read its heights."""
    axes.set_title(escape_label(title), fontsize=9)
    axes.grid(axis="y", color="#dddddd", linewidth=0.5)


def mark_epsilons(axes: Any, epsilons: Sequence[float], label: str) -> None:
    """Make a logarithmic axis of the epsilons that were tried, each with its number if there is room."""
    labelled = labels_with_room(epsilons) if len(epsilons) > 1 else epsilons
    axes.set(xscale="log", xlabel=label)
    axes.set_xticks(epsilons, [f"{epsilon:g}" if epsilon in labelled else "" for epsilon in epsilons])
    axes.minorticks_off()


def mark_no_epsilon(axes: Any) -> None:
    """Make an axis without numbers, for mechanisms that take no epsilon."""
    mark_epsilons(axes, [], "takes no $\\epsilon$")


def mark_height(axes: Any, height: float, words: str) -> None:
    """Draw a dashed line at a height, and say on its left what it is."""
    axes.axhline(height, linestyle="--", color=GREY, linewidth=1)
    axes.annotate(f"{words} {height:.2f}", (0.01, height), (0, 3), xycoords=("axes fraction", "data"),
                  textcoords="offset points", color=GREY, fontsize=8)  # fmt: skip


def are_alike(heights: Sequence[float]) -> bool:
    """Return whether ceilings are one for a reader; those of unequal trials are not."""
    return max(heights) - min(heights) <= _ALIKE


def break_line(points: Sequence[tuple[float, ...]], ceilings: Sequence[float]) -> list[tuple[float, ...]]:
    """Return points with a gap wherever the ceiling changes: there a line would fall because trials do."""
    broken: list[tuple[float, ...]] = []
    for number, point in enumerate(points):
        if number and not are_alike(ceilings[number - 1 : number + 1]):
            broken.append((math.nan,) * len(point))
        broken.append(point)
    return broken


def mark_ceilings(axes: Any, points: Sequence[tuple[float, float]]) -> None:
    """Draw the ceiling of points: one dashed line, or a short one at each if ceilings differ."""
    heights = [height for _, height in points]
    if are_alike(heights):
        mark_height(axes, max(heights), "ceiling")
    else:
        axes.plot(*zip(*points, strict=True), color=GREY, linestyle="", marker="_", markersize=9)
        axes.annotate("ceilings", (0.01, max(heights)), (0, 3), xycoords=("axes fraction", "data"),
                      textcoords="offset points", color=GREY, fontsize=8)  # fmt: skip


def add_legend(drawn: Any, panels: Sequence[Any], place: str, **options: Any) -> None:
    """Explain every line of some panels once, outside them."""
    named = (zip(*panel.get_legend_handles_labels(), strict=True) for panel in panels)
    marks = {name: mark for lines in named for mark, name in lines}
    if marks:
        drawn.legend(marks.values(), marks.keys(), loc=f"outside {place}", frameon=False, **options)


def labels_with_room(epsilons: Sequence[float], share: float = 0.13) -> list[float]:
    """Return the epsilons whose labels have room on a logarithmic axis; the last one always has."""
    width = math.log(epsilons[-1] / epsilons[0])
    labelled_epsilons = [epsilons[-1]]
    for epsilon in epsilons[:-1]:
        if all(abs(math.log(epsilon / other)) > share * width for other in labelled_epsilons):
            labelled_epsilons.append(epsilon)
    return sorted(labelled_epsilons)


def escape_label(text: str) -> str:
    """Return a label that matplotlib shows literally: without mathematics, never hidden for an underscore."""
    shown = text.replace("\\", "\\\\").replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def save_figure(
    drawn: Any,
    target: Path,
    run: RunDirectory | None = None,
    write: Callable[[Path, bytes], None] = write_atomically,
) -> list[Path]:
    """Save a figure as PDF and PNG, without time stamps, and return the files.

    One of a run shows names as they may be shown there.
    """
    from matplotlib import rc_context

    fit_labels(drawn)
    contents = {}
    for kind, metadata in _METADATA.items():
        buffer = io.BytesIO()
        with rc_context(FONTS):  # read when a file is written
            drawn.savefig(buffer, format=kind, dpi=200, metadata=metadata)
        contents[target.with_name(f"{target.name}.{kind}")] = buffer.getvalue()
    if run is not None:
        run.files.write(contents, redacted=run.files.is_redacted)
        return list(contents)
    make_folders(target.parent, None)
    for path, content in contents.items():
        write(path, content)
    return list(contents)


# --- Labels in any script: matplotlib's own font has letters of few, and a box helps nobody.
#
# What that font lacks is drawn with an installed font that has it. If there is none, it is spelled: letters
# by the last word of their names in Unicode, ideographs by their numbers. What runs from right to left stands
# between two marks, so that it cannot move the numbers beside it; versions that cannot draw it have it
# spelled.

_LAYS_OUT = (3, 11)  # the first version of matplotlib that lays out complex scripts in both directions
_OWN = "DejaVu Sans"
_BOXES = "Last Resort"  # a font that has a box for every character
_LEFT_TO_RIGHT = "\u200e"
_RUN = re.compile(rf"{RIGHT_TO_LEFT}(?:[^\w]*{RIGHT_TO_LEFT})*")


def fit_labels(drawn: Any) -> None:
    """Change every text of a figure that its font could not show, so that a reader sees what it says."""
    from matplotlib.text import Text

    for artist in drawn.findobj(Text):
        text = artist.get_text()
        if text.isascii():
            continue
        if is_right_to_left(text) and not _lays_out():
            text = spell(text, frozenset(filter(is_right_to_left, text)))
        missing = frozenset(text) - _read_letters(_find_own())
        family = find_family(missing) if missing else ""
        if family:
            artist.set_fontfamily([_OWN, family])
        else:
            text = spell(text, missing)
        text = _RUN.sub(rf"{_LEFT_TO_RIGHT}\g<0>{_LEFT_TO_RIGHT}", text.replace(_LEFT_TO_RIGHT, ""))
        if text != artist.get_text():
            artist.set_text(text)


def spell(text: str, letters: frozenset[str]) -> str:
    """Return a text in which runs of some letters are spelled, in brackets."""
    parts = []
    for is_spelled, run in groupby(text, letters.__contains__):
        characters = list(run)
        parts.append(f"[{'-'.join(map(_name, characters))}]" if is_spelled else "".join(characters))
    return "".join(parts)


def _name(character: str) -> str:
    """Return what a letter is called, in one word, or its number."""
    name = unicodedata.name(character, "")
    if not name or name.startswith("CJK"):
        return f"{ord(character):04X}"
    return name.split()[-1].lower()


@lru_cache(maxsize=64)
def find_family(letters: frozenset[str]) -> str:
    """Return the first installed font, by name, that has all of some letters; "" if none has."""
    from matplotlib.font_manager import fontManager

    for name, path in sorted({(entry.name, entry.fname) for entry in fontManager.ttflist}):
        if not name.startswith(_BOXES) and letters <= _read_letters(path):
            return str(name)
    return ""


@lru_cache(maxsize=512)
def _read_letters(path: str) -> frozenset[str]:
    """Return the characters that a font file can draw; none if it cannot be read."""
    from matplotlib.ft2font import FT2Font

    try:
        return frozenset(map(chr, FT2Font(path).get_charmap()))
    except (RuntimeError, OSError, ValueError):
        return frozenset()


def _find_own() -> str:
    from matplotlib.font_manager import findfont

    return str(findfont(_OWN))


def _lays_out() -> bool:
    import matplotlib

    return tuple(matplotlib.__version_info__[:2]) >= _LAYS_OUT
