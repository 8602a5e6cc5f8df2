"""Sentences and phrases of film reviews, with their sentiment (SST-2).

Source: Socher et al. 2013, in the edition of GLUE (gluebenchmark.com, SST-2.zip).
Format: train.tsv, dev.tsv and test.tsv with a header and no quoting; columns `sentence` and `label`
(0 negative, 1 positive). GLUE's own test.tsv has `index` and `sentence`, without labels.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from tedaudit.corpora._official import Splits, find_tables, locate_corpus, read_edition, read_labelled
from tedaudit.corpora.files import assemble
from tedaudit.plugins.values import Card, Corpus

_ORIGIN = "GLUE's edition of SST-2 is at https://dl.fbaipublicfiles.com/glue/data/SST-2.zip."


@dataclass(frozen=True)
class Sst2:
    """SST-2 as in GLUE."""

    card: ClassVar[Card] = Card(
        name="sst2",
        summary="Sentences and phrases of film reviews, labelled negative (0) or positive (1).",
        paper="Socher et al. 2013, Recursive deep models for semantic compositionality over a "
        "sentiment treebank",
    )

    path: str = ""
    """Folder or file with the corpus; empty: the folder sst2 in $TEDAUDIT_DATA."""

    def load(self) -> Corpus:
        """Return train, valid (the dev file) and test, if present."""
        place = locate_corpus(self.card.name, self.path, _ORIGIN)
        editions = {"tsv files (train.tsv, dev.tsv, test.tsv) with the column sentence": _read_glue}
        splits, notes = read_edition(self.card.name, place, editions)
        return assemble(self.card.name, splits, notes)


def _read_glue(place: Path) -> Splits:
    return {split: read_labelled(file, "sentence") for split, file in find_tables(place, "tsv").items()}
