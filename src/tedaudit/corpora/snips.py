"""Requests to a voice assistant, with seven intents (SNIPS 2017).

Source: Coucke et al. 2018, github.com/sonos/nlu-benchmark, folder 2017-06-custom-intent-engines, CC0.
Formats: the original JSON, a folder for each intent with train_X_full.json, train_X.json (a part of it)
and validate_X.json, some of them Latin-1; csv `intent,text` without header and folders train, valid, test
with seq.in and label, both with 13,084 / 700 / 700 requests. All have the column `intent`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from tedaudit.corpora._official import (
    Splits,
    locate_corpus,
    read_edition,
    read_intent_csv,
    read_json,
    read_slot_gated,
)
from tedaudit.corpora.files import assemble
from tedaudit.errors import CorpusError
from tedaudit.plugins.values import Card, Corpus

_ORIGIN = "SNIPS is at https://github.com/sonos/nlu-benchmark, in the folder 2017-06-custom-intent-engines."
_NAME = re.compile(r"(train|validate)_([A-Za-z]+?)(_full)?\.json")


@dataclass(frozen=True)
class Snips:
    """SNIPS 2017 in any of three editions."""

    card: ClassVar[Card] = Card(
        name="snips",
        summary="Requests to a voice assistant, with seven intents.",
        paper="Coucke et al. 2018, Snips Voice Platform",
    )

    path: str = ""
    """Folder or file with the corpus; empty: the folder snips in $TEDAUDIT_DATA."""

    def load(self) -> Corpus:
        """Return the splits that the edition has; the original has train and valid."""
        latin: list[str] = []
        editions = {
            "csv files (snips_2017_train.csv) of intent,text": read_intent_csv,
            "folders (train, valid, test) with seq.in and label": read_slot_gated,
            "original JSON (train_X_full.json, train_X.json, validate_X.json)": lambda path: _read_original(
                path, latin
            ),
        }
        place = locate_corpus(self.card.name, self.path, _ORIGIN)
        splits, notes = read_edition(self.card.name, place, editions)
        if latin:
            notes.append(f"read as Latin-1, because they are not UTF-8: {', '.join(latin)}")
        return assemble(self.card.name, splits, notes)


def _read_original(place: Path, latin: list[str]) -> Splits:
    """Read the JSON files of all intents; names of files that are Latin-1 are added to `latin`."""
    splits: Splits = {}
    files = [place] if place.is_file() else place.rglob("*.json")
    for (split, _), file in sorted(_choose_files(files).items()):
        texts, columns = splits.setdefault(split, ([], {"intent": []}))
        document, is_latin = read_json(file)
        latin += [file.name] if is_latin else []
        try:
            for intent, requests in document.items():
                for request in requests:
                    texts.append("".join(piece["text"] for piece in request["data"]))
                    columns["intent"].append(intent)
        except (AttributeError, KeyError, TypeError) as error:
            raise CorpusError(
                f"'{file}' is not of the form {{intent: [{{data: [{{text: ...}}]}}]}}: {error!r}. "
                "Download it again."
            ) from error
    return splits


def _choose_files(files: Iterable[Path]) -> dict[tuple[str, str], Path]:
    """Return one file for each split and intent: the full one if there are two."""
    chosen: dict[tuple[str, str], Path] = {}
    is_full: dict[tuple[str, str], bool] = {}
    for file in sorted(files):
        match = _NAME.fullmatch(file.name)
        if not match:
            continue
        key = ("train" if match[1] == "train" else "valid", match[2])
        full = bool(match[3])
        if key in chosen and is_full[key] == full:
            raise CorpusError(
                f"There are two files '{file.name}': '{chosen[key]}' and '{file}'. "
                "Set 'path' to a folder that contains each intent once."
            )
        if key not in chosen or full:
            chosen[key], is_full[key] = file, full
    return chosen
