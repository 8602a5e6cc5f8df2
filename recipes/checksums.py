"""Write down the hash of every file of the zoo, after all models are in their folders.

python recipes/checksums.py
"""

import json

from common.saving import CARD, sha256
from common.vocabulary import FILE


def main() -> None:
    """Hash, write, and print the size of every model and of all."""
    models = FILE.parents[1]
    found: dict[str, dict[str, str]] = {}
    for folder in sorted(path for path in models.iterdir() if path.is_dir()):
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        found[folder.name] = {str(f.relative_to(folder)): sha256(f) for f in files if f.name != CARD}
        print(f"{folder.name:12} {sum(path.stat().st_size for path in files):>12,} bytes")
    (models.parent / "checksums.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"{'all':12} {sum(p.stat().st_size for p in models.rglob('*') if p.is_file()):>12,} bytes")


if __name__ == "__main__":
    main()
