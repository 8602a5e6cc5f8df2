"""What a run says if its texts are plainly not English: a counted share, and what was made for English.

An attack that cannot read the texts is blind, and its bound of 0 would look like privacy. So a reader is told
which parts of an audit were made for English, before the run and in its report. No language is guessed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from tedaudit.inference.lexical import CHARACTERS, choose_reading
from tedaudit.scripts import format_share, measure_scripts

PLAINLY = 0.1  # of the letters: from there on texts are plainly not all English
_NO_MODEL = "lexical"  # an encoder that was made for no language


def describe_texts(texts: Sequence[str], plugins: Mapping[str, Any]) -> list[str]:
    """Return what a reader must know of these texts' scripts, for plug-ins by their titles."""
    if all(map(str.isascii, texts)):
        return []
    shares = measure_scripts(texts)
    notes = []
    if shares.other >= PLAINLY:
        counted = f"{format_share(shares.other)} of the letters are not Latin ({shares.describe()})"
        made = {title: list(find_english(plugin)) for title, plugin in plugins.items()}
        named = "; ".join(f"{title} ({', '.join(parts)})" for title, parts in made.items() if parts)
        english = f"Made for English: {named}. A bound that is low here may be low for that reason alone"
        notes.append(f"{counted}. {english}" if named else counted)
    if choose_reading(texts) == CHARACTERS and shares.unspaced:
        notes.append(
            f"{format_share(shares.unspaced)} of the letters are of scripts without spaces between words: "
            "wherever words are counted, each of these letters is one"
        )
    return notes


def find_english(plugin: Any) -> Iterator[str]:
    """Yield what of a plug-in was made for English, with the settings that it has."""
    defaults = {part.name: part for part in fields(plugin)} if is_dataclass(plugin) else {}
    for part in plugin.card.english:
        field, colon, what = part.partition(": ")
        if not colon:
            yield part
        elif field not in defaults or _has_default(plugin, defaults[field]):
            yield what


def _has_default(plugin: Any, part: Any) -> bool:
    """Return whether a field has its default value, if that is one that was made for any language at all."""
    default = part.default if part.default is not MISSING else part.default_factory()
    value = getattr(plugin, part.name)
    return bool(value == default and value != _NO_MODEL)
