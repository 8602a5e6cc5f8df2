"""Questions to an air travel information system, with their intents (ATIS).

Source: Hemphill et al. 1990; the Linguistic Data Consortium distributes the recordings. The editions of
the transcripts in circulation have 4,478 training, 500 validation and 893 test questions.
Formats: csv `intent,text` without header; BIO lines `BOS words EOS<TAB>tags intent`, such as
atis-2.train.w-intent.iob; folders train, valid, test with seq.in and label; JSON with
rasa_nlu_data.common_examples. All have the column `intent`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tedaudit.corpora._official import (
    Rows,
    Splits,
    find_split_files,
    locate_corpus,
    read_edition,
    read_intent_csv,
    read_json,
    read_slot_gated,
)
from tedaudit.corpora.files import assemble
from tedaudit.errors import CorpusError
from tedaudit.plugins.values import Card, Corpus
from tedaudit.text.readers import lines_of, read_text

_ORIGIN = (
    "ATIS comes from the Linguistic Data Consortium (LDC93S5, LDC94S19, LDC95S26); editions of its "
    "transcripts are in the repositories yvchen/JointSLU and MiuLab/SlotGated-SLU on GitHub."
)


@dataclass(frozen=True)
class Atis:
    """ATIS in any of four editions."""

    card: ClassVar[Card] = Card(
        name="atis",
        summary="Questions to an air travel information system, with their intents.",
        paper="Hemphill, Godfrey and Doddington 1990, The ATIS spoken language systems pilot corpus",
    )

    path: str = ""
    """Folder or file with the corpus; empty: the folder atis in $TEDAUDIT_DATA."""

    def load(self) -> Corpus:
        """Return the splits that the edition has."""
        editions = {
            "csv files (atis_train.csv) of intent,text": read_intent_csv,
            "BIO files (atis-2.train.w-intent.iob)": _read_bio,
            "folders (train, valid, test) with seq.in and label": read_slot_gated,
            "JSON files (train.json) with rasa_nlu_data": _read_rasa,
        }
        place = locate_corpus(self.card.name, self.path, _ORIGIN)
        splits, notes = read_edition(self.card.name, place, editions)
        return assemble(self.card.name, splits, notes)


def _read_bio(place: Path) -> Splits:
    names = {entry.name for entry in place.iterdir()} if place.is_dir() else {place.name}
    with_intent = any(name.endswith(".w-intent.iob") for name in names)
    # The usual folder has atis.train as well, which is atis-2.train and atis-2.dev together.
    whole = "atis.train.w-intent.iob" if "atis-2.train.w-intent.iob" in names else ""

    def accepts(file: Path) -> bool:
        return file.name.endswith(".w-intent.iob" if with_intent else ".iob") and file.name != whole

    return {split: _read_bio_file(file) for split, file in find_split_files(place, accepts).items()}


def _read_bio_file(file: Path) -> Rows:
    texts: list[str] = []
    intents: list[str] = []
    for number, line in enumerate(lines_of(read_text(file)), 1):
        if not line.strip():
            continue
        sentence, _, tags = line.partition("\t")
        words = sentence.split()
        if not tags.split() or len(words) < 2 or words[0] != "BOS" or words[-1] != "EOS":
            raise CorpusError(
                f"'{file}', line {number:,} is not of the form `BOS words EOS<TAB>tags intent`. "
                "Fix or remove it."
            )
        texts.append(" ".join(words[1:-1]))
        intents.append(tags.split()[-1])
    # Files without intents end with the tag of EOS, which is always O.
    return texts, {} if set(intents) == {"O"} else {"intent": intents}


def _read_rasa(place: Path) -> Splits:
    files = find_split_files(place, lambda file: file.suffix.lower() == ".json")
    return {split: _read_rasa_file(file) for split, file in files.items()}


def _read_rasa_file(file: Path) -> Rows:
    document: Any = read_json(file)[0]
    try:
        examples = document["rasa_nlu_data"]["common_examples"]
        return [item["text"] for item in examples], {"intent": [item["intent"] for item in examples]}
    except (KeyError, TypeError) as error:
        raise CorpusError(
            f"'{file}' is not of the form rasa_nlu_data.common_examples, a list of objects with text and "
            f"intent: {error!r}. Use a file of this edition, or another edition."
        ) from error
