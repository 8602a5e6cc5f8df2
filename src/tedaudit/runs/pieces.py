"""How mechanisms cut the texts that were sources, as a run keeps it: classes of pieces, and no text.

It is written while the mechanism is there, so that whoever reads the run need not make one.
"""

import json
from collections.abc import Callable, Mapping, Sequence

from tedaudit.errors import RunDirectoryError
from tedaudit.runs.checksums import ChecksumError, check_json, parse_json, seal_json
from tedaudit.runs.directory import RunDirectory
from tedaudit.text.words import CLASSES, classify_pieces

Cut = Callable[[str], Sequence[str]]  # a text as the mechanism cuts it
Pieces = Mapping[int, Sequence[str]]  # the classes of a text's pieces, by its position in the corpus
_LETTERS = {name: chr(ord("a") + number) for number, name in enumerate(CLASSES)}


def note_pieces(run: RunDirectory, label: str, cut: Cut, positions: Sequence[int]) -> None:
    """Keep the classes of the pieces of some texts, as a mechanism cuts them; those that are kept stay."""
    kept = _read_pieces(run)
    known, texts = kept.setdefault(label, {}), run.corpus().texts
    new = [position for position in positions if str(position) not in known]
    for position in new:
        known[str(position)] = "".join(_LETTERS[name] for name in classify_pieces(cut(texts[position])))
    if new:
        run.files.write({run.pieces: json.dumps(seal_json({"pieces": kept})).encode()}, redacted=False)


def read_pieces(run: RunDirectory) -> dict[str, Pieces]:
    """Return the classes of the pieces of texts by mechanism, as far as the run keeps them."""
    names = {letter: name for name, letter in _LETTERS.items()}
    try:
        return {
            label: {
                int(position): [names[letter] for letter in found] for position, found in of_label.items()
            }
            for label, of_label in _read_pieces(run).items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(run, error) from error


def _read_pieces(run: RunDirectory) -> dict[str, dict[str, str]]:
    raw = run.files.read(run.pieces)
    try:
        content = {"pieces": {}} if raw is None else parse_json(raw.decode("utf-8"))
        check_json(content)
        return dict(content["pieces"])
    except (ChecksumError, ValueError, KeyError, TypeError) as error:
        raise _damaged(run, error) from error


def _damaged(run: RunDirectory, error: Exception) -> RunDirectoryError:
    return RunDirectoryError(
        f"'{run.pieces}' is damaged ({error!r}). Delete it and run the same command again, which writes it."
    )
