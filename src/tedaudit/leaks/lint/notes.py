"""What lint says: notes with a level, the field that would fix them, and all of it as data."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from tedaudit.plugins.values import Level, Note
from tedaudit.text.plain_data import PlainData

LEVELS: tuple[Level, ...] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class LintReport(PlainData):
    """All notes on one mechanism or model, errors first."""

    subject: str
    notes: tuple[Note, ...]
    in_json: ClassVar[str] = "subject, counts, notes"

    @classmethod
    def of(cls, subject: str, notes: Iterable[Note]) -> "LintReport":
        """Return notes in the order of their levels, each once."""
        return cls(subject, tuple(sorted(dict.fromkeys(notes), key=lambda note: LEVELS.index(note.level))))

    @property
    def rules(self) -> frozenset[str]:
        """The names of the rules that have something to say."""
        return frozenset(note.rule for note in self.notes)

    def at(self, level: Level) -> tuple[Note, ...]:
        """Return the notes of one level."""
        return tuple(note for note in self.notes if note.level == level)

    def reaches(self, level: Level) -> bool:
        """Return whether there is a note of this level or a graver one."""
        return any(LEVELS.index(note.level) <= LEVELS.index(level) for note in self.notes)

    @property
    def counts(self) -> dict[Level, int]:
        """How many notes there are of each level."""
        return {level: len(self.at(level)) for level in LEVELS}
