"""What a shell offers when the name of a plug-in is half typed; no plug-in is imported for it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tedaudit.registry import Kind

# A shell falls back to names of files if nothing is offered, which is right for files of texts.


def complete_mechanism(incomplete: str) -> list[str]:
    """Return the mechanisms whose names begin like this."""
    return _complete("mechanism", incomplete)


def complete_attack(incomplete: str) -> list[str]:
    """Return the attacks whose names begin like this."""
    return _complete("attack", incomplete)


def complete_corpus(incomplete: str) -> list[str]:
    """Return the corpora whose names begin like this."""
    return _complete("corpus", incomplete)


def _complete(kind: "Kind", incomplete: str) -> list[str]:
    from tedaudit.registry import names

    return [name for name in names(kind) if name.startswith(incomplete)]
