"""Tells what linking found: for the terminal, the report and the document.

In the regulators' three words, a sentence and a table for each finding, and with the limits.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tedaudit.reports.redaction import PLAIN_LABEL, rename_labels
from tedaudit.reports.section import Column, Section, Table
from tedaudit.reports.writers.figures import GREY, STYLES, escape_label
from tedaudit.reports.writers.pdf import Page, write_pdf
from tedaudit.studies.link.inference import BROUGHT, LLM, Inference, Share
from tedaudit.studies.link.result import ALL, PAIRS, LinkedAttack, LinkResult

SOURCE = "Article 29 Data Protection Working Party, Opinion 05/2014 on Anonymisation Techniques (WP 216)"
MEANINGS: Mapping[str, str] = {
    "Singling out": (
        "Can one person's record be picked out? Measured: how often the adversary is right if it answers "
        "only for the rewrites it is surest of."
    ),
    "Linkability": (
        "Can records of the same person be linked? Measured: how many rewrites lead to their own original "
        "among all originals of this release."
    ),
    "Inference": (
        "Can something private be deduced? Measured: how often somebody who reads a rewrite guesses a "
        "private column right."
    ),
}
"""The three risks that the Working Party names, and what is measured for each."""
LIMITS = (
    "Other attacks may find more than these did: a low figure does not prove privacy.",
    (
        "The adversary chooses among all originals and knows nothing else. Someone who can narrow the choice "
        "down, or who knows more about a person, may find more."
    ),
    (
        "Intervals and bounds hold only if each record was rewritten on its own. They do not hold for a tool "
        "that remembers earlier replacements, or that read all records together."
    ),
    (
        "The three terms are the regulators'; the figures are measurements. Whether a release is anonymous "
        "in the legal sense is a question that they do not answer."
    ),
)
"""What the figures do not say."""
NO_BOUND = (
    "No bound on epsilon follows: it was not declared that the guesses were made from the rewrite alone, by "
    "a rule that was fixed before."
)
"""Why guesses that were brought prove nothing of the rewriter."""
NEARLY_ALL = 0.95
_EIGHTH = 3  # the place of the surest eighth among halves of halves


def tell_title(result: LinkResult) -> str:
    """Return which table was linked, how large it is, and when."""
    when = f"{result.made.day} {result.made:%B %Y}"
    return f"{result.source or 'A table'}, {result.records:,} records, {when}"


def tell_headline(result: LinkResult) -> str:
    """Return how many rewrites the strongest attack matched, beside blind guessing.

    If originals occur more than once, each counts once, with one of its rewrites.
    """
    found, size = result.strongest, result.originals
    right = found.linkability.right
    every = "both" if size == 2 else f"all {size:,}"
    is_once = result.records == size
    held = f"{every} originals" if is_once else f"{every} different originals, and one rewrite of each,"
    is_shown = result.bounds[found.attack, ALL][0].lower > 0
    doubt = "" if is_shown or right <= 1 else ", so this may be chance"
    return (
        f"Someone who holds {held} matched {right:,} of the {size:,} rewrites to the right one "
        f"{_say_how(found, 'by comparing')}; blind guessing matches 1 on average{doubt}."
    )


def tell_linkability(found: LinkedAttack) -> str:
    """Return how many originals an attack found."""
    share = found.linkability
    return (
        f"{_say_how(found)}, the adversary matched {share.right:,} of {share.asked:,} rewrites to the right "
        f"original ({format_share(share.rate)})."
    )


def tell_singling_out(found: LinkedAttack) -> str:
    """Return how often an attack was right if it was sure.

    Of the largest part of its guesses of which nearly all were right; if there is none, of the surest eighth.
    """
    nearly = [part for part in found.sure if part.right >= NEARLY_ALL * part.size]
    part = nearly[0] if nearly else found.sure[: _EIGHTH + 1][-1]
    rate, is_all = format_share(part.right / part.size), part == found.sure[0]
    if nearly and is_all:
        return f"{_say_how(found)}, nearly all guesses were right ({rate}), sure or not."
    which = f"all {part.size:,} guesses" if is_all else f"its {part.size:,} surest guesses"
    return f"{_say_how(found)}, the adversary was right in {part.right:,} of {which} ({rate})."


def tell_inference(inference: Inference) -> str:
    """Return how often a column was guessed right."""
    read, frequent, is_brought = inference.rewrites, inference.frequent, inference.guesser == BROUGHT
    who, they = ("the guesses that were brought", "these guesses") if is_brought else ("", "the guesser")
    who = who or f"a {'language model' if inference.guesser == LLM else 'classifier'} that read the rewrites"
    be, do = ("were", "do") if is_brought else ("was", "does")
    gain = (
        f"{do} at least {100 * inference.gain[0]:.1f} percentage points better"
        if inference.is_shown
        else f"{'are' if is_brought else 'is'} not shown to do better"
    )
    told = (
        f"'{inference.column}': {who} {be} right about {read.right:,} of {read.asked:,} records "
        f"({format_share(read.rate)}). Always naming the most frequent value is right about "
        f"{format_share(frequent.rate)}; {they} {gain}."
    )
    if inference.originals is not None:
        told += f" With the originals instead it is right about {format_share(inference.originals.rate)}."
    if inference.unanswered:
        told += f" No value was named for {inference.unanswered:,} records, which count as wrong."
    return told if inference.epsilon is not None else f"{told} {NO_BOUND}"


def tell_bound(result: LinkResult) -> str:
    """Return the largest bound of all rows."""
    if result.eps_emp == 0:
        return (
            "No privacy loss above 0 was shown: what the attacks got right may be chance (error "
            f"{result.error:g} for all bounds together)."
        )
    return (
        f"If each record was rewritten on its own, the privacy loss between some two of these originals is "
        f"at least {result.eps_emp:.2f} (eps_emp). The probability that any bound of this study is too high "
        f"is at most {result.error:g}."
    )


def tell_findings(result: LinkResult) -> list[str]:
    """Return a sentence for everything that the headline does not say, the bound last."""
    others = [found for found in result if found is not result.strongest]
    return [
        *map(tell_linkability, others), *map(tell_singling_out, result),
        *map(tell_inference, result.inferences), tell_bound(result),
    ]  # fmt: skip


def _say_how(found: LinkedAttack, verb: str = "Comparing") -> str:
    """Return how an attack went about it; one of which no more is known is called by its name."""
    if found.compares:
        return f"{verb} {found.compares}"
    return f"{'With' if verb[0].isupper() else 'with'} the attack '{found.attack}'"


def tell_source() -> str:
    """Return where the three terms come from."""
    return f"Singling out, linkability and inference are terms of the {SOURCE}."


def format_share(share: float) -> str:
    """Return a share in per cent, with as many digits as a small one needs."""
    percent = 100 * share
    return f"{percent:.1f}%" if percent >= 1 or percent == 0 else f"{percent:.2g}%"


# --- The tables, and how to read each.

_ATTACK = Column("attack", "label", 0)
_LINKABILITY = (
    _ATTACK, Column("own original", rank=0), Column("rewrites", "figures", 0), Column("interval", "figures"),
    Column("by chance", "figures"),
)  # fmt: skip
_INFERENCE = (
    Column("column", "label", 0), Column("values", "count", 3),
    Column("learnt from / tested on", "figures", 3), Column("from rewrites", "figures", 0),
    Column("interval", "figures"), Column("most frequent value", "figures"),
    Column("from originals", "figures", 2), Column("gain", "figures", 0), Column("eps_emp", "bound"),
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
            found.name, "first" if place == 1 else f"in first {place}",
            f"{share.right:,} ({format_share(share.rate)})", _format_interval(share),
            format_share(place / share.asked),
        )
        for found in result
        for place, share in found.places.items()
    )  # fmt: skip
    reading = (
        f"{MEANINGS['Linkability']} {_explain_names(result)}Originals with equal scores are put in random "
        "order. The interval is for the share to expect if these originals were rewritten again in the same "
        f"way, each on its own; either end of a row is wrong with a probability of at most {result.error:g}. "
        "It says nothing about other texts, or about another number of originals."
    )
    return Section("Linkability", Table(_LINKABILITY, rows), reading)


def _describe_singling_out(result: LinkResult) -> Section:
    """Return how often each attack was right among its surest guesses."""
    right = (Column(found.name, "figures", min(2 * place, 2)) for place, found in enumerate(result))
    columns = (Column("surest guesses", "count", 0), *right)
    rows = tuple(
        (parts[0].size, *(f"{part.right:,} ({format_share(part.right / part.size)})" for part in parts))
        for parts in zip(*(found.sure for found in result), strict=True)
    )
    reading = (
        f"{MEANINGS['Singling out']} A guess is surer the further the best original scores above the second: "
        "shown are all guesses, the surer half, the surest quarter and so on. These are counts for this "
        f"release; what surest guesses prove is the bound from {PAIRS} (the table of bounds)."
    )
    return Section("Singling out", Table(columns, rows), reading)


def _describe_inference(result: LinkResult) -> Section:
    """Return how often private columns were inferred."""
    rows = tuple(
        (
            found.column, found.classes, f"{found.trained or '-'} / {found.rewrites.asked:,}",
            format_share(found.rewrites.rate), _format_interval(found.rewrites),
            format_share(found.frequent.rate),
            "" if found.originals is None else format_share(found.originals.rate),
            f"{100 * found.gain[0]:+.1f} to {100 * found.gain[1]:+.1f}", found.epsilon,
        )
        for found in result.inferences
    )  # fmt: skip
    is_brought = any(found.guesser == BROUGHT for found in result.inferences)
    whom = "for guesses made in the same way" if is_brought else "for this guesser"
    reading = (
        f"{MEANINGS['Inference']} Gain: from rewrites, compared with always naming the most frequent value, "
        f"in percentage points. Intervals are {whom} and further records drawn as these were; an end is "
        f"wrong with a probability of at most {result.inferences[0].error:.2g}. A stronger guesser may infer "
        "more, and a rare value may be inferred even if the gain is 0. "
    )
    reading += (
        NO_BOUND
        if all(found.epsilon is None for found in result.inferences)
        else (
            f"eps_emp, a lower bound on epsilon, shares the error {result.error:g} with all bounds here."
            + (" It is declared, and was not checked, how the guesses were made." if is_brought else "")
        )
    )
    return Section("Inference", Table(_INFERENCE, rows), reading)


def _describe_bounds(result: LinkResult) -> Section:
    """Return the bounds on epsilon of every attack and kind of trials."""
    rows, names = [], {found.attack: found.name for found in result}
    for (attack, design), (bound, sure) in result.bounds.items():
        right = f"{bound.correct:,} / {bound.trials:,}"
        right += "" if sure is None else f"; surest {sure.right:,} / {sure.size:,}"
        rows.append((names[attack], design, right, bound.lower, bound.ceiling))
    reading = (
        "eps_emp is a lower bound on the privacy loss between some two of these originals, on the same scale "
        "as in every audit: a rewriter that is epsilon-LDP for any two texts has at least this epsilon. It "
        "is the larger of what all guesses prove and what the surest ones prove (surest: right / guesses). "
        f"The probability that any of the {result.number_of_bounds} bounds of this study is too high is at "
        f"most {result.error:g}. For "
        f"{PAIRS}, originals are paired at random, each in one pair, and a coin decides whose rewrite is "
        "shown. The ceiling is what eps_emp would be if every guess were right."
    )
    return Section("Bounds", Table(_BOUNDS, tuple(rows)), reading)


def _describe_records(result: LinkResult, count: int) -> Section:
    """Return the records that lead to their original most surely: evidence, and no risk."""
    names = {found.attack: found.name for found in result}
    rows = tuple(
        (
            record.id, names[record.attack], f"{record.rank:g}", record.tied, f"{record.margin:.4g}",
            record.sharing,
        )
        for record in result.rank_evidence(count)
    )  # fmt: skip
    reading = (
        "The records whose rewrites lead to their original most surely, each by the attack that ranks it "
        "highest. Rank 1 and tied 1 mean that the original scores above every other; the margin is by how "
        "much. Each record has only one rewrite, so no rate can be measured: the list says where to look "
        "first, and is no risk."
    )
    return Section("Records by evidence", Table(_RECORDS, rows), reading)


def _format_interval(share: Share) -> str:
    return f"{format_share(share.low).removesuffix('%')} to {format_share(share.high)}"


def _explain_names(result: LinkResult) -> str:
    """Return what the attacks are called elsewhere, if tables say what they compare."""
    told = [f"'{found.attack}' {found.name}" for found in result if found.compares]
    return f"The attack {', '.join(told)}. " if told else ""


# --- Two pages for a committee: what was measured, the figures, what they do not say. No text at all.
#
# Nothing is on them that somebody typed or that came from the table but figures, and names of columns and
# attacks of one word.

_QUESTION = "Can rewritten texts be linked to their originals?"
_MOST_ATTACKS, _MOST_COLUMNS, _MOST_PARTS, _MOST_IDS = 2, 3, 4, 5  # that have room


def write_document(result: LinkResult, path: Path, *, ids: int = 0) -> None:
    """Write the document; with `ids`, it names so many records with the most evidence, and else none."""
    write_pdf(tell_committee(redact_names(result), ids), path, _QUESTION)


def tell_committee(result: LinkResult, ids: int = 0) -> tuple[Page, Page]:
    """Return both pages; bounds speak of all attacks, shown or not."""
    attacks = sorted(result, key=lambda found: -found.linkability.right)[:_MOST_ATTACKS]
    columns = sorted(result.inferences, key=lambda found: -found.gain[0])[:_MOST_COLUMNS]
    shown = replace(result, attacks=tuple(attacks), inferences=tuple(columns))
    first = _tell_first(shown, tell_headline(result), tell_bound(result))
    return (_QUESTION, first), ("How to read the figures", _tell_second(shown, _describe_bounds(result), ids))


def redact_names(result: LinkResult) -> LinkResult:
    """Return the result with names of one word: other attacks and columns become numbers, a file a table."""
    attacks = rename_labels("attack", [found.attack for found in result])
    columns = rename_labels("column", [found.column for found in result.inferences])
    return replace(
        result,
        source=result.source if PLAIN_LABEL.fullmatch(result.source) else "",
        attacks=tuple(replace(found, attack=attacks[found.attack]) for found in result),
        inferences=tuple(replace(found, column=columns[found.column]) for found in result.inferences),
    )


def _tell_first(result: LinkResult, headline: str, bound: str) -> list[Section]:
    """Return the findings."""
    title = f"{tell_title(result)}. This document holds no text of any record."
    inferred = tuple(map(tell_inference, result.inferences))
    sentences: dict[str, tuple[str, ...]] = {
        "Linkability": (),
        "Singling out": tuple(map(tell_singling_out, result)),
        "Inference": inferred or ("Not measured: no private column was named.",),
    }
    linked, single, inference = (
        Section(title, reading=MEANINGS[title], sentences=told) for title, told in sentences.items()
    )
    table, figure = _describe_linkability(result).table, partial(_draw_places, result)
    return [
        Section("", sentences=(title,)), Section(headline),
        replace(linked, table=table, figure=figure), single, inference,
        Section("Privacy loss", sentences=(bound,)),
    ]  # fmt: skip


def _tell_second(result: LinkResult, bounds: Section, ids: int) -> list[Section]:
    """Return bounds, how to read them, and what is not said."""
    names, sure = [found.name for found in result], _describe_singling_out(result)
    own = tuple(row for row in bounds.table.rows if row[0] in names)
    few = (
        f"At most {_MOST_ATTACKS} attacks, {_MOST_COLUMNS} private columns and {_MOST_PARTS + 1} groups of "
        "guesses are shown here; the report has all of them."
    )
    named = "Records that lead to their original most surely (named on request)"
    records = [Section(named, _describe_records(result, min(ids, _MOST_IDS)).table)] if ids else []
    inferred = (_describe_inference(result).reading,) if result.inferences else ()
    columns = [Section("Private columns", sentences=inferred)] if inferred else []
    return [
        Section("Bounds on the privacy loss", replace(bounds.table, rows=own), sentences=(bounds.reading,)),
        Section(
            "The surest guesses",
            replace(sure.table, rows=(*sure.table.rows[:_MOST_PARTS], *sure.table.rows[_MOST_PARTS:][-1:])),
            sentences=(sure.reading,),
        ),
        *columns,
        *records,
        Section("What this does not say", sentences=(few, *LIMITS)),
        Section("The three terms", sentences=(tell_source(),)),
    ]


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
            label=escape_label(found.name),
            drawstyle="steps-post",
        )
    axes.plot(places, 100 * places / size, color=GREY, linestyle="--", linewidth=1, label="by chance")
    axes.set(xscale="log", ylim=(0, 104), xlim=(1, size), ylabel="% of rewrites",
             xlabel="own original is among the first ... that the adversary would name")  # fmt: skip
    axes.set_xticks([10**power for power in range(len(str(size)))])
    axes.xaxis.set_major_formatter(lambda place, _: f"{place:,.0f}")
    axes.minorticks_off()
    axes.tick_params(labelsize=7)
    axes.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 0.98), ncols=3, borderpad=0)
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
