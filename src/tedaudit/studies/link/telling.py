"""Tells what linking found: for the terminal, the report and the document."""

from tedaudit.reports.section import Column, Section, Table
from tedaudit.studies.link.inference import Share
from tedaudit.studies.link.result import PAIRS, LinkResult
from tedaudit.studies.link.words import MEANINGS, format_share

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


def describe_link(result: LinkResult, count: int = 10) -> list[Section]:
    """Return all sections, the records by evidence last."""
    sections = [describe_linkability(result), describe_singling_out(result)]
    if result.inferences:
        sections.append(describe_inference(result))
    return [*sections, describe_bounds(result), describe_records(result, count)]


def describe_linkability(result: LinkResult) -> Section:
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


def describe_singling_out(result: LinkResult) -> Section:
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


def describe_inference(result: LinkResult) -> Section:
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


def describe_bounds(result: LinkResult) -> Section:
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


def describe_records(result: LinkResult, count: int) -> Section:
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
