"""Makes the search of a built site work in a folder without a network.

The builder's pages ask another machine for the script that stands in for a worker there; this puts our own in
its place.

    python docs/site/finish.py build/site
"""

import os
import shutil
import sys
from pathlib import Path

ELSEWHERE = "https://unpkg.com/iframe-worker/shim"
SCRIPT = "search_worker.js"


def finish(site: Path) -> int:
    """Put the script into the site and name it in its pages; return in how many."""
    folder = site / "assets" / "javascripts"
    shutil.copy(Path(__file__).parent / SCRIPT, folder)
    changed = 0
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        address = Path(os.path.relpath(folder / SCRIPT, page.parent)).as_posix()
        if ELSEWHERE in text:
            page.write_text(text.replace(ELSEWHERE, address), "utf-8")
            changed += 1
    return changed


if __name__ == "__main__":
    root = Path(sys.argv[1])
    if finish(root) != sum(1 for _ in root.rglob("*.html")):
        sys.exit("Some pages do not ask for the script of the search: has the builder changed that?")
