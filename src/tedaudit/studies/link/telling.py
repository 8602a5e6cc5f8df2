"""Tells what linking found: for the terminal, the report and the document.

In the regulators' three words, a sentence and a table for each finding, and with the limits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tedaudit.estimators.exposure import FEWEST_TRIALS
from tedaudit.reports.writers.figures import GREY, STYLES, escape_label
from tedaudit.reports.writers.html import Page
from tedaudit.results.redaction import PLAIN_LABEL, rename_labels
from tedaudit.results.section import Column, Section, Table
from tedaudit.studies.link.authors import EVERYONE, PAIRED, Exposed, Exposure
from tedaudit.studies.link.inference import BROUGHT, LLM, Inference, Share
from tedaudit.studies.link.result import ALL, PAIRS, LinkedAttack, LinkResult
from tedaudit.studies.utility.classifiers import name_classes

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
    """Return how many people the strongest attack named, if there are authors, and else rewrites."""
    people = _find_authors(result)
    return tell_matched(result) if people is None else tell_named(result, people)


def tell_matched(result: LinkResult) -> str:
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
    if inference.unseen:
        told += f" With none to learn from, and so never guessed right: {name_classes(inference.unseen)}."
    return told if inference.epsilon is not None else f"{told} {NO_BOUND}"


def tell_columns(result: LinkResult) -> tuple[str, ...]:
    """Return a sentence for each private column: how often it was guessed right, or why nobody could."""
    impossible = (f"Nothing was guessed of a private column: {one}." for one in result.not_inferred)
    return (*map(tell_inference, result.inferences), *impossible)


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
    authors = _find_authors(result)
    several = [
        sentence
        for exposure in result.exposures
        for sentence in (
            *([] if exposure is authors else [tell_named(result, exposure)]), *tell_exposure(result, exposure)
        )
    ]  # fmt: skip
    matched = [] if authors is None else [tell_matched(result)]
    return [
        *several, *matched, *map(tell_linkability, others), *map(tell_singling_out, result),
        *tell_columns(result), tell_bound(result),
    ]  # fmt: skip


# --- People who wrote several texts, and records that were rewritten several times.

_PERSON = {"author": ("people", "rewritten text"), "release": ("records", "rewrite")}  # by kind: who, by what
_KNOWING = {
    ("author", "other"): "Knowing other texts of {who}",
    ("author", "same"): "Knowing the originals of all texts of {who}, but not which belongs to which rewrite",
    ("release", "same"): "Holding the originals of {who}",
}
_RECOGNISED = (
    "A classifier of a private column may have learnt from other texts of the people it is asked about, and "
    "so recognise them."
)
PEOPLE_LIMITS = (
    "People are named among these people alone; among more, fewer are named.",
    "Somebody who knows more about them may name more.",
    "Whether style, topic or names in the texts gave somebody away is not told apart.",
)
"""What is not said about people."""


_LAW = "Whether a release is anonymous in the legal sense is a question that figures do not answer."


def list_limits(result: LinkResult) -> tuple[str, ...]:
    """Return what the figures of a result do not say."""
    limits = (*PEOPLE_LIMITS, *LIMITS) if _find_authors(result) else LIMITS
    return (*limits, _RECOGNISED) if _find_authors(result) and result.inferences else limits


def _find_authors(result: LinkResult) -> Exposure | None:
    return next((one for one in result.exposures if one.people.kind == "author"), None)


def tell_named(result: LinkResult, exposure: Exposure) -> str:
    """Return how many the strongest attack named from one rewrite of each and from the largest number."""
    people, found = exposure.people, exposure.strongest
    who, what = _PERSON[people.kind]
    knowing = _KNOWING[people.kind, people.knows].format(who=f"{len(people):,} {who}")
    first, last = found.named[1].right, found.named[people.largest].right
    told = f"{knowing}, the attack named {first:,} from one {what} each"
    if people.largest > 1:
        told += f" and {last:,} from {people.largest:,}"
    if found.originals:
        ones = "one unrewritten one" if people.largest == 1 else f"{people.largest:,} unrewritten ones"
        told += f"; from {ones} {found.originals[people.largest]:,}"
    bounds = result.exposed_bounds(exposure)
    is_shown = any(bound.lower > 0 for (name, *_), (bound, _) in bounds.items() if name == found.attack)
    doubt = "" if is_shown or max(first, last) <= 1 else " So this may be chance."
    return f"{told}; blind guessing names 1 on average.{doubt}"


def tell_exposure(result: LinkResult, exposure: Exposure) -> list[str]:
    """Return what else is to be said: who is left out, the bound, when somebody is known, equal rewrites."""
    people = exposure.people
    who, what = _PERSON[people.kind]
    told = [_tell_exposed_bound(result, exposure)]
    if any(map(exposure.strongest.has_enough, (EVERYONE, PAIRED))):
        told += [_tell_known(result, exposure, design) for design in (EVERYONE, PAIRED)]
    else:
        told.append(
            f"From how many {what}s on nearly all of them are known: too few {who} to say ({len(people):,}; "
            f"it needs {FEWEST_TRIALS:,})."
        )
    low, high = people.spread
    if high > people.largest:
        counts = f"{exposure.strongest.every:,} of {len(people):,}"
        why = ", because the number itself may give somebody away" if low < high else ""
        told.append(
            f"From all of their {what}s ({_say_range(low, high)} each) the same attack named {counts}: a "
            f"count without a bound{why}."
        )
    if people.left_out:
        told.append(
            f"{_say_left_out(exposure)} too few {what}s to be seen in {people.largest:,}"
            + (", or no other text to be known by: " if people.knows == "other" else ": ")
            + "left out of every number."
        )
    if people.copies and people.kind == "release":
        told.append(
            f"{people.copies:,} of {len(people):,} {who} have two or more equal rewrites: copies tell no "
            "more than one of them, but whoever sees them knows that they belong together."
        )
    return told


def _say_left_out(exposure: Exposure) -> str:
    number, is_author = exposure.people.left_out, exposure.people.kind == "author"
    if number == 1:
        return f"1 {'person' if is_author else 'record'} has"
    return f"{number:,} {'people' if is_author else 'records'} have"


def _tell_exposed_bound(result: LinkResult, exposure: Exposure) -> str:
    """Return the largest bound, and what it says of one text."""
    people = exposure.people
    bounds = {key: bound.lower for key, (bound, _) in result.exposed_bounds(exposure).items()}
    (_, _, number), largest = max(bounds.items(), key=lambda item: item[1])
    several = "texts of one author" if people.kind == "author" else "rewrites of one record"
    if largest == 0:
        return f"No privacy loss above 0 was shown from up to {people.largest:,} {several}."
    between = "people" if people.kind == "author" else "records"
    told = f"the privacy loss between some two of these {between} is at least {largest:.2f}"
    if number == 1:
        return f"If each record was rewritten on its own, {told}, from one rewrite of each."
    return (
        f"If each record was rewritten on its own, {told} over {number:,} {several} together; that is at "
        f"least {largest / number:.2f} for one of them."
    )


def _tell_known(result: LinkResult, exposure: Exposure, design: str) -> str:
    """Return from how many rewrites on nearly everyone is named, if that can be said."""
    people, found = exposure.people, exposure.strongest
    who, _ = _PERSON[people.kind]
    is_paired, trials = design == PAIRED, found.trials(design)
    asked = "told from one other of them" if is_paired else f"named among all {len(people):,}"
    if not found.has_enough(design):
        return (
            f"From how many rewrites on nearly all of these {who} are {asked}: too few trials to say "
            f"({trials:,}; it needs {FEWEST_TRIALS:,})."
        )
    number = found.known_from(design, result.known_alpha)
    if number is None:
        return (
            f"That 95% of these {who} or more are {asked} was not shown for any number up to "
            f"{people.largest:,} ({trials:,} trials)."
        )
    return (
        f"From {number:,} rewrite{'' if number == 1 else 's'} on, more than 95% of these {who} are {asked}, "
        f"as far as this was tried ({trials:,} trials, up to {people.largest:,})."
    )


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
_NAMED = (
    _ATTACK, Column("rewrites seen", "figures", 0), Column("named", "figures", 0),
    Column("interval", "figures"), Column("from originals", "figures"), Column("by chance", "figures"),
)  # fmt: skip
_NAMED_BOUNDS = (
    _ATTACK, Column("rewrites", "count", 0), Column("among all", "figures"), Column("bound", "bound", 0),
    Column("in pairs", "figures"), Column("bound", "bound", 0), Column("for one", "bound", 0),
)  # fmt: skip
_PEOPLE = (
    Column("who", "text", 0), _ATTACK, Column("rank", "figures", 0), Column("margin", "figures"),
    Column("rewrites", "count"),
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
    sections = []
    for exposure in result.exposures:
        sections += [_describe_named(result, exposure), _describe_named_bounds(result, exposure)]
        sections.append(_describe_people(result, exposure, count))
    sections += [_describe_linkability(result), _describe_singling_out(result)]
    if result.inferences:
        sections.append(_describe_inference(result))
    return (*sections, _describe_bounds(result), _describe_records(result, count))


_NAMED_TITLES = {"author": "People who wrote several texts", "release": "Several rewrites of a record"}


def _describe_named(result: LinkResult, exposure: Exposure) -> Section:
    """Return how many were named, by the number of rewrites that were seen."""
    people, size = exposure.people, len(exposure.people)
    names = {found.attack: found.name for found in result}
    low, high = people.spread
    rows: list[tuple[str, str, str, str, str, str]] = []
    for found in exposure.attacks:
        rows += [
            (
                names[found.attack], f"{number:,}", f"{share.right:,} ({format_share(share.rate)})",
                _format_interval(share), _say_originals(found.originals.get(number)), format_share(1 / size),
            )
            for number, share in found.named.items()
        ]  # fmt: skip
        if high > people.largest:
            every = f"all: {_say_range(low, high)}", f"{found.every:,} ({format_share(found.every / size)})"
            rows.append((names[found.attack], *every, "", _say_originals(found.every_original), ""))
    table = Table(_NAMED, tuple(rows)).leave_empty_out()
    return Section(_NAMED_TITLES[people.kind], table, _read_named(result, exposure))


def _say_range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _say_originals(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _read_named(result: LinkResult, exposure: Exposure) -> str:
    """Return how to read how many were named."""
    people = exposure.people
    knows = {
        "other": (
            "Half of everyone's texts, by coin, are known to the adversary; it names the author of rewrites "
            "of the other half. From originals: the same attack on these texts as they were written. "
        ),
        "same": (
            "The adversary knows the originals of everyone's texts, and not which rewrite belongs to which. "
        ),
    }
    known = knows[people.knows] if people.kind == "author" else "The adversary knows the original of each. "
    who, _ = _PERSON[people.kind]
    return (
        f"{known}All {who} are seen in the same number of rewrites, chosen by coin, and named among all "
        f"{len(people):,}. The interval is for the share to expect if these texts were rewritten again in "
        "the same way, each on its own; either end of a row is wrong with a probability of at most "
        f"{result.error:g}."
    )


def _describe_named_bounds(result: LinkResult, exposure: Exposure) -> Section:
    """Return the bounds for several rewrites together, and for one of them."""
    names, found = {one.attack: one.name for one in result}, result.exposed_bounds(exposure)
    rows = []
    for attack, number in dict.fromkeys((attack, number) for attack, _, number in found):
        whole, paired = (found[attack, design, number][0] for design in (EVERYONE, PAIRED))
        rows.append((
            names[attack], number, f"{whole.correct:,} / {whole.trials:,}", whole.lower,
            f"{paired.correct:,} / {paired.trials:,}", paired.lower, max(whole.lower, paired.lower) / number,
        ))  # fmt: skip
    ceilings = (f"{max(one.ceiling for (_, made, _), (one, _) in found.items() if made == design):.2f}"
                for design in (EVERYONE, PAIRED))  # fmt: skip
    reading = (
        "Lower bounds on the privacy loss of so many rewrites together: a rewriter that is epsilon-LDP for "
        "any two texts loses at most that many times epsilon. So its epsilon is at least the larger bound "
        "divided by the number (for one): the two must not be confused. In pairs, a coin decides whose "
        "rewrites are shown, and the surest guesses count by themselves. The probability that any of the "
        f"{result.number_of_bounds} bounds of this study is too high is at most {result.error:g}. If every "
        f"guess were right, they would be {' and '.join(ceilings)}."
    )
    several = "texts" if exposure.people.kind == "author" else "rewrites"
    return Section(f"Bounds for several {several} together", Table(_NAMED_BOUNDS, tuple(rows)), reading)


def _describe_people(result: LinkResult, exposure: Exposure, count: int) -> Section:
    """Return who is named most surely: evidence, and no risk."""
    names = {found.attack: found.name for found in result}
    rows = tuple(
        (one.name, names[one.attack], f"{one.rank:g}", f"{one.margin:.4g}", one.rewrites)
        for one in exposure.rank_evidence(count)
    )
    who, _ = _PERSON[exposure.people.kind]
    reading = (
        f"The {who} whose rewrites lead to them most surely, each by the attack that ranks them highest. No "
        "rate of one of them can be measured: the list says where to look first, and is no risk."
    )
    return Section(f"{who.capitalize()} by evidence", Table(_PEOPLE, rows), reading)


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
    every = f"the {result.number_of_bounds} bounds of this study"
    reading = (
        "eps_emp is a lower bound on the privacy loss between some two of these originals, on the same scale "
        "as in every audit: a rewriter that is epsilon-LDP for any two texts has at least this epsilon. It "
        "is the larger of what all guesses prove and what the surest ones prove (surest: right / guesses). "
        f"The probability that any of {every} is too high is at most {result.error:g}. For {PAIRS}, "
        "originals are paired at random, each in one pair, and a coin decides whose rewrite is shown. "
        "The ceiling is what eps_emp would be if every guess were right."
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
_PERSONS_QUESTION = "Can people be named by their rewritten texts?"
_MOST_ATTACKS, _MOST_COLUMNS, _MOST_PARTS, _MOST_IDS = 2, 3, 4, 5  # that have room


def tell_committee(result: LinkResult, ids: int = 0) -> tuple[Page, Page]:
    """Return both pages; bounds speak of all attacks, shown or not.

    With `ids` they name so many records with the most evidence, and else none.
    """
    attacks = sorted(result, key=lambda found: -found.linkability.right)[:_MOST_ATTACKS]
    columns = sorted(result.inferences, key=lambda found: -found.gain[0])[:_MOST_COLUMNS]
    shown = replace(result, attacks=tuple(attacks), inferences=tuple(columns))
    authors, bounds = _find_authors(result), _describe_bounds(result)
    if authors is not None:
        first, second = _tell_people(result, shown, authors, ids)
        return (_PERSONS_QUESTION, first), ("How to read the figures", second)
    several = [tell_named(result, one) for one in result.exposures]
    first = _tell_first(shown, tell_headline(result), tell_bound(result), several)
    return (_QUESTION, first), ("How to read the figures", _tell_second(shown, bounds, ids))


def redact_names(result: LinkResult) -> LinkResult:
    """Return the result with names of one word: other attacks and columns become numbers, a file a table."""
    attacks = rename_labels("attack", [found.attack for found in result])
    named = [found.column for found in result.inferences] + [one.column for one in result.not_inferred]
    columns = rename_labels("column", named)
    return replace(
        result,
        source=result.source if PLAIN_LABEL.fullmatch(result.source) else "",
        attacks=tuple(replace(found, attack=attacks[found.attack]) for found in result),
        inferences=tuple(
            replace(found, column=columns[found.column], unseen=()) for found in result.inferences
        ),
        not_inferred=tuple(
            replace(one, column=columns[one.column], unseen=()) for one in result.not_inferred
        ),
        exposures=tuple(
            replace(one, attacks=tuple(replace(found, attack=attacks[found.attack]) for found in one.attacks))
            for one in result.exposures
        ),
    )


def _tell_first(result: LinkResult, headline: str, bound: str, several: Sequence[str]) -> list[Section]:
    """Return the findings."""
    title = f"{tell_title(result)}. This document holds no text of any record."
    inferred = (*map(tell_inference, result.inferences), *_count_impossible(result))
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
        Section("Privacy loss", sentences=(bound, *several)),
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


def _tell_people(
    result: LinkResult, shown: LinkResult, authors: Exposure, ids: int
) -> tuple[list[Section], list[Section]]:
    """Return both pages about people: the strongest attack by number of texts, and one text after that."""
    found, largest = authors.strongest, authors.people.largest
    alone = replace(authors, attacks=(found,))
    named, bounds = _describe_named(result, alone), _describe_named_bounds(result, authors)
    name = next(one.name for one in result if one.attack == found.attack)
    ends = tuple(row for row in bounds.table.rows if row[0] == name and row[1] in (1, largest))
    none = _count_impossible(shown)
    columns = Section("Private columns", sentences=none or ("Not measured: no private column was named.",))
    if shown.inferences:
        best = (tell_inference(shown.inferences[0]), *none)
        columns = replace(columns, table=_keep_columns(_describe_inference(shown).table), sentences=best)
    title = f"{tell_title(result)}. This document holds no text of any record."
    releases = [tell_named(result, one) for one in result.exposures if one is not authors]
    single, texts = shown.strongest, _describe_bounds(result)
    first = [
        Section("", sentences=(title,)), Section(tell_headline(result)),
        replace(
            named, table=replace(named.table, rows=named.table.rows[: len(authors.people.grid)]),
            figure=partial(_draw_named, found, len(authors.people)),
        ),
        Section("", sentences=tuple(tell_exposure(result, authors))),
        Section(
            "One text at a time", sentences=(tell_matched(result), tell_singling_out(single), *releases),
        ),
        columns,
    ]  # fmt: skip
    people = _describe_people(result, authors, min(ids, _MOST_IDS))
    look = replace(people, title="Where to look first (named on request)", reading="")
    read = (_describe_inference(shown).reading,) if shown.inferences else ()
    few = (
        f"At most one attack on people, {_MOST_ATTACKS} on texts and {_MOST_COLUMNS} private columns are "
        "shown here; the report has all of them."
    )
    recognised = (_RECOGNISED,) if read else ()
    limits = (LIMITS[0], *PEOPLE_LIMITS, *recognised, LIMITS[2], _LAW, few)  # what holds for people
    own = tuple(row for row in texts.table.rows if row[0] in [one.name for one in shown])
    second = [
        replace(bounds, table=replace(bounds.table, rows=ends), reading="", sentences=(bounds.reading,)),
        Section(
            "Bounds for one text", replace(texts.table, rows=own),
            sentences=(tell_bound(result),),
        ),
        *([Section("Private columns", sentences=read)] if read else []),
        *([replace(look, sentences=(people.reading,))] if ids else []),
        Section("What this does not say", sentences=limits),
    ]  # fmt: skip
    return first, second


def _count_impossible(result: LinkResult) -> tuple[str, ...]:
    """Return a sentence on the private columns of which nothing was guessed, if there are any."""
    columns = [f"'{one.column}'" for one in result.not_inferred]
    more = f" and {len(columns) - _MOST_COLUMNS} more" if len(columns) > _MOST_COLUMNS else ""
    if len(columns) < 2:
        return tell_columns(replace(result, inferences=()))
    listed = ", ".join(columns[:_MOST_COLUMNS])
    return (f"Nothing was guessed of {len(columns)} private columns: {listed}{more}. The report says why.",)


def _keep_columns(table: Table) -> Table:
    """Return what has room in a table of inferred columns."""
    kept = ("column", "from rewrites", "interval", "most frequent value", "gain", "eps_emp")
    return table.keep([place for place, column in enumerate(table.columns) if column.name in kept])


def _draw_named(found: Exposed, size: int, axes: Any) -> None:
    """Draw the share of people who are named, against the number of texts that are seen of each."""
    numbers = list(found.named)
    (rewritten, _), (original, _) = STYLES[0], STYLES[1]
    low, high = ([100 * end for end in ends] for ends in zip(
        *((share.low, share.high) for share in found.named.values()), strict=True))  # fmt: skip
    axes.fill_between(numbers, low, high, color=rewritten, alpha=0.2, linewidth=0)
    shares = [100 * share.rate for share in found.named.values()]
    axes.plot(numbers, shares, color=rewritten, linewidth=1.6, marker="o", markersize=3, label="rewritten")
    if found.originals:
        shares = [100 * found.originals[number] / size for number in numbers]
        axes.plot(
            numbers, shares, color=original, linewidth=1.6, marker="s", markersize=3, label="unrewritten"
        )
    axes.plot(
        numbers, [100 / size] * len(numbers), color=GREY, linestyle="--", linewidth=1, label="by chance"
    )
    axes.set(ylim=(0, 104), ylabel="% of people named", xlabel="texts of each that the adversary sees")
    axes.set_xscale("log")
    axes.set_xticks(numbers)
    axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.0f}")
    _finish_axes(axes)


def _finish_axes(axes: Any) -> None:
    axes.minorticks_off()
    axes.tick_params(labelsize=7)
    axes.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 0.98), ncols=3, borderpad=0)
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)


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
    _finish_axes(axes)
