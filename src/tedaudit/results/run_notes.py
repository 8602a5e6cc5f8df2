"""What a reader must know of how a run was made before believing its numbers."""

from collections.abc import Iterator, Mapping
from typing import Any


def note_repeats(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield which functions gave other outputs when they were called again on the same texts."""
    for label, found in manifest.get("repeats", {}).items():
        if not found["differing"]:
            continue
        outcome = f"{label}: {found['differing']} of {found['calls']} outputs differed when called again with"
        if found["seeded"]:
            yield (
                f"{outcome} the same text and seed: it is not repeatable, but keeps state between calls or "
                "draws noise from elsewhere; bounds assume that no call depends on another"
            )
        else:
            yield (
                f"{outcome} the same text: it takes neither `seed` nor `draw_key`, so its own noise cannot "
                "be told from state between calls; bounds assume that no call depends on another"
            )
