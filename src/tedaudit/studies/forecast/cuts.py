"""How many texts are too long for the mechanisms of the embedded audit, which cut them at a public limit.

Tokens are counted with the tokenizers of the zoo, words as the mechanism cuts them; no model is loaded. Of
many texts a sample is counted, spread evenly over the corpus.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tedaudit.plugins.protocols import LimitsInput
from tedaudit.plugins.registry import Reference, build
from tedaudit.runs.spec.flags import embedded_audit
from tedaudit.text.characters import replace_surrogates
from tedaudit.text.plain_data import PlainData

SAMPLE = 2_000


@dataclass(frozen=True, slots=True)
class Cut(PlainData):
    """How many of so many texts a mechanism would cut, and at which limit."""

    mechanism: str
    limit: int
    unit: str
    cut: int
    of: int


def count_cuts(texts: Sequence[str]) -> list[Cut]:
    """Return how many texts each mechanism of the embedded audit would cut, if it has a limit."""
    step = max(1, -(-len(texts) // SAMPLE))
    sample = list(map(replace_surrogates, texts[::step]))
    cuts = []
    for settings in embedded_audit()["mechanisms"]:
        mechanism = build(Reference("mechanism", settings["name"]))
        limit = mechanism.input_limit() if isinstance(mechanism, LimitsInput) else None
        if limit is not None:
            cut = sum(limit.count(text) > limit.limit for text in sample)
            cuts.append(
                Cut(
                    mechanism=mechanism.card.name, limit=limit.limit, unit=limit.unit, cut=cut, of=len(sample)
                )
            )
    return cuts
