"""Metadata that is made when a distribution is built: project addresses, a description without dead links.

The README links to files beside it; whoever reads it on a package index has none of them. With the address
of the repository such links become absolute, to the files of the released version. Without an address they
become plain words: no link is better than one that leads nowhere, or to somebody else.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_FENCE = re.compile(r"^(```.*?^```[^\n]*$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)  # has a scheme or a host already
ADDRESS = "TEDAUDIT_REPOSITORY"  # in the environment of a build: goes before the one in pyproject.toml


class Metadata(MetadataHookInterface):
    """Fills in what pyproject.toml calls dynamic: the description and the project's addresses."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the description and, if the repository's address is known, the addresses."""
        root = Path(self.root)
        address = os.environ.get(ADDRESS, self.config.get("repository", "")).rstrip("/")
        version = re.search(r'__version__ = "(.+)"', (root / "src/tedaudit/version.py").read_text("utf-8"))
        tag = f"v{version.group(1)}" if version else "HEAD"
        text = describe((root / "README.md").read_text("utf-8"), address, tag)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = list_addresses(address, tag)


def describe(readme: str, address: str, tag: str) -> str:
    """Return a README whose links work anywhere; code is left as it is."""
    pieces = _FENCE.split(readme)
    return "".join(
        piece if piece.startswith("```") else _LINK.sub(lambda link: _rewrite(link, address, tag), piece)
        for piece in pieces
    )


def _rewrite(link: re.Match[str], address: str, tag: str) -> str:
    mark, text, target = link.groups()
    if _ELSEWHERE.match(target) or target.startswith("#"):
        return link.group()
    if not address:
        return f"({text})" if mark else text
    return f"{mark}[{text}]({address}/{'raw' if mark else 'blob'}/{tag}/{target})"


def list_addresses(address: str, tag: str) -> dict[str, str]:
    """Return the addresses of the project by name; none if the repository has none."""
    if not address:
        return {}
    return {
        "Repository": address,
        "Documentation": f"{address}/blob/{tag}/docs/README.md",
        "Changelog": f"{address}/blob/{tag}/CHANGELOG.md",
        "Issues": f"{address}/issues",
    }
