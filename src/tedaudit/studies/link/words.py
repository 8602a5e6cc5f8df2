"""What is said about a release: the regulators' three words, a sentence for each finding, and the limits."""

from collections.abc import Mapping

from tedaudit.studies.link.inference import Inference
from tedaudit.studies.link.result import LinkedAttack, LinkResult

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
        f"at least {format_points(inference.gain[0])} more often than the most frequent class"
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


def format_share(share: float) -> str:
    """Return a share in per cent, with as many digits as a small one needs."""
    percent = 100 * share
    return f"{percent:.1f} %" if percent >= 1 or percent == 0 else f"{percent:.2g} %"


def format_points(share: float) -> str:
    """Return a difference of shares."""
    return f"{100 * share:.1f} percentage points"
