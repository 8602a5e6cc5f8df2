"""The triple itself."""

from typing import NamedTuple


class Triple(NamedTuple):
    """Who does what to whom; the parts hold no line break and no bar."""

    subject: str
    verb: str
    object: str

    @property
    def text(self) -> str:
        """The triple as one line."""
        return " | ".join(self)


def as_triple(subject: str, verb: str, what: str) -> Triple | None:
    """Return a triple with white space folded and bars replaced; None where a part is empty."""
    parts = [" ".join(part.replace("|", "/").split()) for part in (subject, verb, what)]
    return Triple(*parts) if all(parts) else None
