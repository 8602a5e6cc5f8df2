"""Tells what linking found: for the terminal, the report and the document.

In the regulators' three words, a sentence and a table for each finding, and with the limits.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tedaudit.reports.redaction import rename_labels
from tedaudit.reports.section import Cell, Column, Section, Table
from tedaudit.reports.writers.figures import GREY, STYLES, escape_label
from tedaudit.reports.writers.pdf import Page, write_pdf
from tedaudit.studies.link.inference import Inference, Share
from tedaudit.studies.link.result import PAIRS, LinkedAttack, LinkResult

SOURCE = "Article 29 Data Protection Working Party, Opinion 05/2014 on Anonymisation Techniques (WP 216)"
MEANINGS: Mapping[str, str] = {
    "Singling out": (
        "Can somebody's record be isolated? Measured: how often an adversary is right that names the "
        "original of a rewrite only if it is sure."
    ),
    "Linkability": (
        "Can records of the same person be linked? Measured: how many rewrites lead to their own original "
        "among all originals of this release."
    ),
    "Inference": (
        "Can something private be deduced? Measured: how often a classifier that learnt a private column "
        "from the rewrites of some records is right about others."
    ),
}
"""The three risks that the Working Party names, and what stands for each here."""
LIMITS = (
    (
        "These attacks found what is told here. Another attack may find more: a low figure is no proof of "
        "privacy."
    ),
    (
        "The adversary is assumed to choose among all originals, and to know nothing else. One who can "
        "narrow the choice down, or knows more about a person, may find more."
    ),
    (
        "Intervals and bounds hold if every record was rewritten on its own. A tool that remembers what it "
        "replaced before, or that saw all records together, breaks that."
    ),
    (
        "The words are the regulators'; the figures are measurements. Whether a release is anonymous in the "
        "sense of a law is a legal question that they do not answer."
    ),
)
"""What the figures do not say."""
NEARLY_ALL = 0.95
_EIGHTH = 3  # the place of the surest eighth among halves of halves


def tell_linkability(found: LinkedAttack) -> str:
    """Return how many originals an attack found."""
    share = found.linkability
    return (
        f"{found.attack}: {share.right:,} of {share.asked:,} rewrites ({format_share(share.rate)}) lead to "
        f"their own original before any other of the {share.asked:,}; a blind guess does in "
        f"{format_share(1 / share.asked)}."
    )


def tell_singling_out(found: LinkedAttack) -> str:
    """Return how often an attack was right if it was sure.

    Of the largest part of its guesses of which nearly all were right; if there is none, of the surest eighth.
    """
    nearly = [part for part in found.sure if part.right >= NEARLY_ALL * part.size]
    part = nearly[0] if nearly else found.sure[: _EIGHTH + 1][-1]
    is_all = part == found.sure[0]
    which = f"all {part.size:,} guesses" if is_all else f"the {part.size:,} guesses that it was surest of"
    told = f"of {which}, {part.right:,} right"
    whether = "" if nearly else f"; there is no such part with {NEARLY_ALL:.0%} right"
    return f"{found.attack}: {told} ({format_share(part.right / part.size)}){whether}."


def tell_inference(inference: Inference) -> str:
    """Return how often a column was inferred."""
    outcome = (
        f"at least {100 * inference.gain[0]:.1f} percentage points more often than the most frequent class"
        if inference.is_shown
        else "not shown to be more often than the most frequent class"
    )
    return (
        f"'{inference.column}' was right for {format_share(inference.rewrites.rate)} of "
        f"{inference.rewrites.asked:,} records from their rewrites, {outcome} "
        f"({format_share(inference.frequent.rate)}); from their originals for "
        f"{format_share(inference.originals.rate)}."
    )


def tell_bound(result: LinkResult) -> str:
    """Return the largest bound of all rows."""
    if result.eps_emp == 0:
        return (
            f"No bound above 0 was shown at an error of {result.error:g} for all rows together: what "
            "these attacks named rightly may be chance."
        )
    return (
        f"If every record was rewritten on its own, the privacy loss between some two of these originals is "
        f"at least {result.eps_emp:.2f} (eps_emp); that this is too large has a probability of at most "
        f"{result.error:g}, for all rows together."
    )


def tell_findings(result: LinkResult) -> list[str]:
    """Return a sentence for everything that was found, the bound last."""
    return [
        *map(tell_linkability, result), *map(tell_singling_out, result),
        *map(tell_inference, result.inferences), tell_bound(result),
    ]  # fmt: skip


def format_share(share: float) -> str:
    """Return a share in per cent, with as many digits as a small one needs."""
    percent = 100 * share
    return f"{percent:.1f} %" if percent >= 1 or percent == 0 else f"{percent:.2g} %"


# --- The tables, and how to read each.

_ATTACK = Column("attack", "label", 0)
_LINKABILITY = (
    _ATTACK, Column("own original is", rank=0), Column("found", "figures"), Column("share", "figures", 0),
    Column("interval", "figures"), Column("by chance", "figures"),
)  # fmt: skip
_SINGLING_OUT = (
    _ATTACK, Column("most certain guesses", "count", 0), Column("right", "count", 0),
    Column("share", "figures"),
)  # fmt: skip
_INFERENCE = (
    Column("column", "label", 0), Column("classes", "count", 3),
    Column("learnt from / tested on", "figures", 3), Column("from rewrites", "figures", 0),
    Column("interval", "figures"), Column("most frequent class", "figures"),
    Column("from originals", "figures", 2), Column("gain", "figures", 0),
)  # fmt: skip
_BOUNDS = (
    _ATTACK, Column("trials from", rank=0), Column("right", "figures"), Column("eps_emp", "bound", 0),
    Column("ceiling", "bound"),
)  # fmt: skip
_RECORDS = (
    Column("record", "text", 0), _ATTACK, Column("rank", "figures", 0), Column("tied", "count"),
    Column("margin", "figures"), Column("records with this original", "count", 2),
)  # fmt: skip


def tell(result: LinkResult, count: int = 10) -> tuple[Section, ...]:
    """Return all sections, so many records by evidence last."""
    sections = [_describe_linkability(result), _describe_singling_out(result)]
    if result.inferences:
        sections.append(_describe_inference(result))
    return (*sections, _describe_bounds(result), _describe_records(result, count))


def _describe_linkability(result: LinkResult) -> Section:
    """Return how many originals were found, first and among the first few."""
    rows = tuple(
        (
            found.attack, "first" if place == 1 else f"among the first {place}",
            f"{share.right:,} / {share.asked:,}", *_format(share), format_share(place / share.asked),
        )
        for found in result
        for place, share in found.places.items()
    )  # fmt: skip
    reading = (
        f"{MEANINGS['Linkability']} Places among equal scores are drawn at random. The interval is for the "
        "share that is expected if these originals were rewritten again in the same way, each on its own; "
        f"either end of a row is wrong with a probability of at most {result.error:g}. It says nothing about "
        "other texts or another number of originals."
    )
    return Section("Linkability", Table(_LINKABILITY, rows), reading)


def _describe_singling_out(result: LinkResult) -> Section:
    """Return how often an attack was right among its most certain guesses."""
    rows = tuple(
        (found.attack, part.size, part.right, format_share(part.right / part.size))
        for found in result
        for part in found.sure
    )
    reading = (
        f"{MEANINGS['Singling out']} Guesses are ordered by how far the best original is before the second: "
        "all of them, the surer half, and so on. These are counts of this release; what they prove is the "
        f"bound of {PAIRS} (section Bounds)."
    )
    return Section("Singling out", Table(_SINGLING_OUT, rows), reading)


def _describe_inference(result: LinkResult) -> Section:
    """Return how often private columns were inferred."""
    rows = tuple(
        (
            found.column, found.classes, f"{found.trained:,} / {found.rewrites.asked:,}",
            *_format(found.rewrites), format_share(found.frequent.rate), format_share(found.originals.rate),
            f"{100 * found.gain[0]:+.1f} to {100 * found.gain[1]:+.1f}",
        )
        for found in result.inferences
    )  # fmt: skip
    reading = (
        f"{MEANINGS['Inference']} Gain: from rewrites against the most frequent class, in percentage points. "
        "Intervals are for further records drawn as these were and this very classifier; an end is wrong "
        f"with a probability of at most {result.inferences[0].error:.2g}. A stronger classifier may infer "
        "more, and one class may be inferred although the most frequent one is as often right."
    )
    return Section("Inference", Table(_INFERENCE, rows), reading)


def _describe_bounds(result: LinkResult) -> Section:
    """Return the bounds on epsilon of every attack and kind of trials."""
    rows = []
    for (attack, design), (bound, sure) in result.bounds.items():
        right = f"{bound.correct:,} / {bound.trials:,}"
        right += "" if sure is None else f"; surest {sure.right:,} / {sure.size:,}"
        rows.append((attack, design, right, bound.lower, bound.ceiling))
    reading = (
        "eps_emp is a lower bound on the privacy loss between some two of these originals, on the scale of "
        "every audit: a rewriter that is epsilon-LDP for any two texts has at least this epsilon. It is the "
        "larger of what all guesses and what the most certain ones prove (surest: so many right of so many). "
        f"That any of the {len(result.rows)} is too large has a probability of at most {result.error:g}. In "
        f"{PAIRS} every record is in one pair alone and a coin says whose rewrite is shown. The ceiling is "
        "what all guesses being right would have given."
    )
    return Section("Bounds", Table(_BOUNDS, tuple(rows)), reading)


def _describe_records(result: LinkResult, count: int) -> Section:
    """Return the records that lead to their original most surely: evidence, and no risk."""
    rows = tuple(
        (
            record.id, record.attack, f"{record.rank:g}", record.tied, f"{record.margin:.4g}",
            record.sharing,
        )
        for record in result.rank_evidence(count)
    )  # fmt: skip
    reading = (
        "Records by how surely their rewrite leads to their original, by the attack that ranks it highest. "
        "Rank 1 with nothing tied means found; the margin is how far its own original is before the best "
        "other. There is one rewrite of each record, so that no rate can be measured: this ranks evidence "
        "and is no risk."
    )
    return Section("Records by evidence", Table(_RECORDS, rows), reading)


def _format(share: Share) -> tuple[str, str]:
    return format_share(share.rate), f"{format_share(share.low)} to {format_share(share.high)}"


# --- Two pages for a committee: what was measured, the figures, what they do not say. No text at all.
#
# Nothing is on them that somebody typed or that came from the table but figures, and names of columns and
# attacks of one word.

_MOST_ATTACKS, _MOST_COLUMNS, _MOST_IDS = 2, 3, 5  # that have room


def write_document(result: LinkResult, path: Path, *, ids: int = 0) -> None:
    """Write the document; with `ids`, it names so many records with the most evidence, and else none."""
    write_pdf(tell_committee(redact_names(result), ids), path, "Linking rewrites to their originals")


def tell_committee(result: LinkResult, ids: int = 0) -> tuple[Page, Page]:
    """Return both pages; bounds speak of all attacks, shown or not."""
    attacks = sorted(result, key=lambda found: -found.linkability.right)[:_MOST_ATTACKS]
    columns = sorted(result.inferences, key=lambda found: -found.gain[0])[:_MOST_COLUMNS]
    shown = replace(result, attacks=tuple(attacks), inferences=tuple(columns))
    first = ("Can rewritten texts be linked to their originals?", _tell_first(shown, tell_bound(result)))
    return first, ("How to read it", _tell_second(shown, _describe_bounds(result), ids))


def redact_names(result: LinkResult) -> LinkResult:
    """Return the result with names of one word for attacks and columns; others become numbers."""
    attacks = rename_labels("attack", [found.attack for found in result])
    columns = rename_labels("column", [found.column for found in result.inferences])
    return replace(
        result,
        attacks=tuple(replace(found, attack=attacks[found.attack]) for found in result),
        inferences=tuple(replace(found, column=columns[found.column]) for found in result.inferences),
    )


def _tell_first(result: LinkResult, bound: str) -> list[Section]:
    """Return the findings."""
    begin = (
        f"{len(result.release):,} records were rewritten before their release. An adversary that has the "
        f"rewrites and all {result.originals:,} distinct originals tried to find out which belong together. "
        "This page has no text of any record."
    )
    inferred = tuple(map(tell_inference, result.inferences))
    sentences = {
        "Singling out": tuple(map(tell_singling_out, result)),
        "Linkability": tuple(map(tell_linkability, result)),
        "Inference": inferred or ("Not measured: no private column was named.",),
    }
    single, linked, inference = (
        Section(title, reading=MEANINGS[title], sentences=told) for title, told in sentences.items()
    )
    table, figure = _describe_linkability(result).table, partial(_draw_places, result)
    return [
        Section("", sentences=(begin,)), single, replace(linked, table=table, figure=figure), inference,
        Section("Privacy loss", sentences=(bound,)),
    ]  # fmt: skip


def _tell_second(result: LinkResult, bounds: Section, ids: int) -> list[Section]:
    """Return bounds, how to read them, and what is not said."""
    names, sure = [found.attack for found in result], _describe_singling_out(result)
    own = tuple(row for row in bounds.table.rows if row[0] in names)
    few = (
        f"Up to {_MOST_ATTACKS} attacks, {_MOST_COLUMNS} columns and 3 parts of the guesses are shown; the "
        "report has all."
    )
    words = f"Singling out, linkability and inference are the words of: {SOURCE}."
    named = "Records with the most evidence (named on request)"
    records = [Section(named, _describe_records(result, min(ids, _MOST_IDS)).table)] if ids else []
    inferred = [_describe_inference(result).reading] if result.inferences else []
    return [
        Section("Bounds on the privacy loss", replace(bounds.table, rows=own), sentences=(bounds.reading,)),
        Section(
            "The most certain guesses",
            replace(sure.table, rows=_shorten(sure.table.rows)),
            sentences=(sure.reading,),
        ),
        Section("", sentences=tuple(inferred)),
        *records,
        Section("What this does not say", sentences=(few, *LIMITS)),
        Section("The words", sentences=(words,)),
    ]


def _shorten(rows: tuple[tuple[Cell, ...], ...]) -> tuple[tuple[Cell, ...], ...]:
    """Return the rows of all guesses, the surer half and the surest part of every attack: what has room."""
    attacks = dict.fromkeys(row[0] for row in rows)
    parts = [[row for row in rows if row[0] == attack] for attack in attacks]
    return tuple(row for own in parts for row in (own[:2] + own[2:][-1:]))


def _draw_places(result: LinkResult, axes: Any) -> None:
    """Draw the share of records whose original is among the first r, against r."""
    size = result.originals
    places = np.unique(np.geomspace(1, size, 60).astype(np.int64))
    for number, found in enumerate(result):
        place = np.sort(found.ranks.place[result.release.first])
        shares = np.searchsorted(place, places, side="right") / size
        colour, _ = STYLES[number % len(STYLES)]
        axes.plot(
            places,
            100 * shares,
            color=colour,
            linewidth=1.6,
            label=escape_label(found.attack),
            drawstyle="steps-post",
        )
    axes.plot(places, 100 * places / size, color=GREY, linestyle="--", linewidth=1, label="by chance")
    axes.set(xscale="log", ylim=(0, 104), xlim=(1, size), ylabel="% of originals",
             xlabel="own original is among the first ... of all originals")  # fmt: skip
    axes.set_xticks([10**power for power in range(len(str(size)))])
    axes.xaxis.set_major_formatter(lambda place, _: f"{place:,.0f}")
    axes.minorticks_off()
    axes.tick_params(labelsize=7)
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
