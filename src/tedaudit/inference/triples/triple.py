"""The triple itself."""

from typing import NamedTuple


class Triple(NamedTuple):
    """Who does what to whom; no part contains a line break or a bar."""

    subject: str
    verb: str
    object: str

    @property
    def text(self) -> str:
        """The triple as one line."""
        return " | ".join(self)


def as_triple(subject: str, verb: str, what: str) -> Triple | None:
    """Return a triple with white space collapsed and bars replaced; None if a part is empty."""
    parts = [" ".join(part.replace("|", "/").split()) for part in (subject, verb, what)]
    return Triple(*parts) if all(parts) else None
