"""Reviews of companies, with what the writers say about themselves (Trustpilot).

Source: Hovy, Johannsen and Søgaard 2015, bitbucket.org/lowlands/release, folder WWW2015/data, one file
for each country; for research only.
Formats: the original, one user per line with gender, birth_year and reviews, each with text and rating (the
files are called jsonl, though their lines are often Python literals: both are read); and csv files with the
column text and labels such as age, age_cat and gender.
The original has no splits: about a tenth of the users, by a hash, become the test split. A rating of 1 or
2 is negative and 4 or 5 positive; reviews with 3 stars or none are left out, and counted in the notes.
"""

import ast
import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tedaudit.corpora._official import (
    Rows,
    Splits,
    find_split_files,
    find_tables,
    locate_corpus,
    read_edition,
    read_labelled,
)
from tedaudit.corpora.files import assemble
from tedaudit.errors import CorpusError, join_names
from tedaudit.plugins.values import Card, Corpus
from tedaudit.text.readers import lines_of, read_text

_ORIGIN = (
    "The Trustpilot reviews of Hovy et al. are at https://bitbucket.org/lowlands/release, folder "
    "WWW2015/data; unpack one country, such as united_states.auto-adjusted_gender.geocoded.jsonl.zip."
)
_SENTIMENT = {"1": "negative", "2": "negative", "4": "positive", "5": "positive"}
_COLUMNS = ("gender", "sentiment", "rating", "birth_year")
_Review = tuple[str, str, tuple[Any, ...]]


@dataclass(frozen=True)
class Trustpilot:
    """Trustpilot reviews, the original by user or a csv subset."""

    card: ClassVar[Card] = Card(
        name="trustpilot",
        summary="Reviews of companies, with gender and, if the edition has them, sentiment and age.",
        paper="Hovy, Johannsen and Søgaard 2015, User review sites as a resource for large-scale "
        "sociolinguistic studies",
    )

    path: str = ""
    """Folder or file with the corpus; empty: the folder trustpilot in $TEDAUDIT_DATA."""

    def load(self) -> Corpus:
        """Return train and test, from the edition's own files or by splitting its users."""
        own_notes: list[str] = []
        editions = {
            "csv files (train.csv, test.csv) with the column text": _read_csv,
            "the original, unpacked (one .jsonl or .jsonl.tmp file, one user a line)": lambda path: (
                _read_original(path, own_notes)
            ),
        }
        place = locate_corpus(self.card.name, self.path, _ORIGIN)
        splits, notes = read_edition(self.card.name, place, editions)
        return assemble(self.card.name, splits, notes + own_notes)


def _read_csv(place: Path) -> Splits:
    return {split: read_labelled(file, "text") for split, file in find_tables(place, "csv").items()}


def _read_original(place: Path, notes: list[str]) -> Splits:
    """Read the file of users, or one such file per split; how it was read is added to `notes`."""
    counts: Counter[str] = Counter()
    files = find_split_files(place, _is_lines) if place.is_dir() else {}
    if "train" in files:
        reviews_of = {split: list(_read_reviews(file, counts)) for split, file in files.items()}
    else:
        entries = [place] if place.is_file() else sorted(place.iterdir())
        users = [file for file in entries if file.is_file() and _is_lines(file)]
        if not users:
            return {}
        if len(users) > 1:
            names = join_names(file.name for file in users)
            raise CorpusError(f"'{place}' contains several files of users: {names}. Set 'path' to one.")
        reviews_of = {"train": [], "test": []}
        for review in _read_reviews(users[0], counts):
            reviews_of["test" if _is_test(review[0]) else "train"].append(review)
        notes.append(
            "split by user, on the SHA-256 of the user's id: about 9 in 10 to train, the rest to test"
        )
    notes += [f"{label}: {count:,}" for label, count in sorted(counts.items())]
    return {split: _to_rows(reviews) for split, reviews in reviews_of.items() if reviews or split == "train"}


def _is_lines(file: Path) -> bool:
    return file.suffix != ".zip" and any(ending in (".jsonl", ".ndjson") for ending in file.suffixes)


def _is_test(user: str) -> bool:
    digest = hashlib.sha256(user.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % 10 == 0


def _to_rows(reviews: list[_Review]) -> Rows:
    columns = {name: [labels[place] for _, _, labels in reviews] for place, name in enumerate(_COLUMNS)}
    return [text for _, text, _ in reviews], columns


def _read_reviews(file: Path, counts: Counter[str]) -> Iterator[_Review]:
    """Yield the user id, text and labels of every review with a sentiment; count the others."""
    for number, line in enumerate(lines_of(read_text(file)), 1):
        if not line.strip():
            continue
        user = _parse_user(line, number, file)
        gender = user.get("gender") if user.get("gender") in ("M", "F") else None
        # The line number replaces a missing id.
        user_id = str(user.get("user_id") or f"line {number}")
        for review in user.get("reviews") or ():
            rating = str(review.get("rating"))
            if rating not in _SENTIMENT:
                counts[
                    "reviews left out for 3 stars" if rating == "3" else "reviews left out for no rating"
                ] += 1
                continue
            if gender is None:
                counts["reviews by users of unknown gender"] += 1
            text = review.get("text") or ""
            whole = text if isinstance(text, str) else " ".join(text)
            yield user_id, whole, (gender, _SENTIMENT[rating], int(rating), user.get("birth_year"))


def _is_review(review: Any) -> bool:
    text = review.get("text") or "" if isinstance(review, dict) else None
    return isinstance(text, str) or (isinstance(text, list) and all(isinstance(part, str) for part in text))


def _parse_user(line: str, number: int, file: Path) -> dict[str, Any]:
    """Return one user, written as JSON or as a Python literal."""
    try:
        user = json.loads(line)
    except (ValueError, RecursionError):
        try:
            user = ast.literal_eval(line.strip())
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            user = None
    reviews = user.get("reviews") or [] if isinstance(user, dict) else None
    if not isinstance(reviews, list) or not all(map(_is_review, reviews)):
        raise CorpusError(
            f"'{file}', line {number:,} is not a user, as JSON or Python literal: an object with gender, "
            "birth_year and reviews, a list of objects with text and rating. Fix or remove the line."
        )
    return dict(user)
